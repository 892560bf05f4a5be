"""Where in a chromosome each decision has its key."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from regal.graph import ComputationGraph

KEY_DTYPES = (np.dtype(np.uint16), np.dtype(np.uint32))
LANES = 4
"""Rows are padded to a multiple of this many keys, so that they fill 64-bit words."""


@dataclass(frozen=True)
class Layout:
    """The keys of a graph's chromosome on a number of devices, in this order.

    Affinities (num_ops, num_devices), a row per op; priorities (num_ops,); transfer priorities
    (num_activations, num_devices), a row per activation in tensor order, the home device's key unused.

    Keys are unsigned integers; a higher key wins. 16 bits hold them while no more events than key values can occur,
    otherwise 32.

    Examples
    --------
    >>> layout = Layout(num_ops=10, num_activations=9, num_devices=2)
    >>> layout.num_keys, layout.num_padded_keys, layout.key_dtype.name
    (48, 48, 'uint16')
    """

    num_ops: int
    num_activations: int
    num_devices: int

    @classmethod
    def of(cls, graph: ComputationGraph, num_devices: int) -> Layout:
        """The layout of ``graph`` on ``num_devices`` devices."""
        return cls(graph.num_ops, graph.num_activations, num_devices)

    @cached_property
    def num_keys(self) -> int:
        """Keys that mean something."""
        return self.num_ops * self.num_devices + self.num_ops + self.num_activations * self.num_devices

    @cached_property
    def num_padded_keys(self) -> int:
        """Keys of a stored row; those behind ``num_keys`` mean nothing."""
        return -(-max(self.num_keys, 1) // LANES) * LANES

    @property
    def max_events(self) -> int:
        """Most events that a schedule can have: every run, and every copy to every other device."""
        return self.num_ops + self.num_activations * (self.num_devices - 1)

    @cached_property
    def key_dtype(self) -> np.dtype:
        """uint16, or uint32 where more events can occur than 16 bits tell apart."""
        return np.dtype(np.uint16 if self.max_events <= 2**16 else np.uint32)

    @property
    def affinities(self) -> slice:
        """Where the op-to-device affinities stand."""
        return slice(0, self.num_ops * self.num_devices)

    @property
    def priorities(self) -> slice:
        """Where the op priorities stand."""
        start = self.affinities.stop
        return slice(start, start + self.num_ops)

    @property
    def transfers(self) -> slice:
        """Where the tensor-to-device transfer priorities stand."""
        start = self.priorities.stop
        return slice(start, start + self.num_activations * self.num_devices)

    def check(self, keys: NDArray) -> None:
        """Raise ``ValueError`` unless ``keys`` (..., num_keys or num_padded_keys) has unsigned integers."""
        if keys.shape[-1] not in (self.num_keys, self.num_padded_keys):
            raise ValueError(f"a chromosome has {self.num_keys} keys, not {keys.shape[-1]}")
        if keys.dtype not in KEY_DTYPES:
            raise ValueError(f"keys are uint16 or uint32, not {keys.dtype}")
