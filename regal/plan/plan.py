"""A plan: which device runs each op, and the order of every run and copy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from regal.cluster import Cluster
from regal.graph import ComputationGraph

if TYPE_CHECKING:
    import plotly.graph_objects as go

RUN = -1
"""The second column of a ``run`` event, where a ``copy`` event has its target device."""


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """A placement and a schedule of a graph on a cluster.

    Attributes
    ----------
    graph : ComputationGraph
    cluster : Cluster
    placement : int32 array, shape (num_ops,)
        Device of each op.
    schedule : int32 array, shape (num_events, 2)
        The total order of events. ``[op, -1]`` runs an op; ``[tensor, device]`` copies an activation from its home
        device, the one of its producer, to ``device``.

    A plan can be wrong: :func:`regal.plan.check_plan` tells.
    """

    graph: ComputationGraph
    cluster: Cluster
    placement: NDArray[np.int32]
    schedule: NDArray[np.int32]

    def __post_init__(self) -> None:
        placement = np.ascontiguousarray(self.placement, np.int32)
        schedule = np.ascontiguousarray(self.schedule, np.int32).reshape(-1, 2)
        for name, array in (("placement", placement), ("schedule", schedule)):
            if array.flags.writeable:
                array = array.copy()
                array.setflags(write=False)
            object.__setattr__(self, name, array)

    @property
    def num_copies(self) -> int:
        """Number of copy events."""
        return int(np.count_nonzero(self.schedule[:, 1] != RUN))

    @property
    def copied_bytes(self) -> int:
        """Bytes that all copy events together send."""
        copies = self.schedule[self.schedule[:, 1] != RUN, 0]
        return int(self.graph.tensor_bytes[copies].sum())

    def events(self) -> list[tuple[str, int] | tuple[str, int, int]]:
        """The schedule as ``("run", op)`` and ``("copy", tensor, device)`` tuples."""
        return [("run", what) if device == RUN else ("copy", what, device) for what, device in self.schedule.tolist()]

    def plot(self) -> go.Figure:
        """Interactive figure: memory of every device over the schedule, and a Gantt chart of devices and links."""
        from regal.plot import plot_plan

        return plot_plan(self)

    def __repr__(self) -> str:
        return (
            f"Plan({self.graph.name!r}, devices={self.cluster.num_devices}, ops={self.graph.num_ops}, "
            f"copies={self.num_copies})"
        )

    def _repr_html_(self) -> str:
        from regal.plot.html import plan_to_html

        return plan_to_html(self)
