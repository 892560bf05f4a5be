"""The computation graph: ops, tensors and what connects them, as flat arrays."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regal.graph.checks import check_graph
from regal.graph.csr import CSR

NO_GROUP = -1
NO_PRODUCER = -1


@dataclass(frozen=True, eq=False, repr=False)
class ComputationGraph:
    """A static computation graph whose op indices are its program order.

    Build one with :class:`regal.graph.GraphBuilder` or a frontend; the arrays are checked once, here, and are
    read-only from then on.

    Attributes
    ----------
    name : str
    op_names, op_types : tuple of str, length num_ops
    runtime : float64 array, shape (num_ops,)
        Seconds on a device of speed 1; finite and not negative.
    workspace : int64 array, shape (num_ops,)
        Bytes held only while the op runs.
    colocation : int64 array, shape (num_ops,)
        Group number; ops of one group share a device. -1 where the op is free.
    inputs, outputs : CSR, op -> tensors
    control_inputs : CSR, op -> ops
        Ops that must have run before, although no tensor says so.
    tensor_bytes : int64 array, shape (num_tensors,)
    is_output : bool array, shape (num_tensors,)
        Results of the whole graph, which are never released on their home device.
    meta : dict
        Free JSON values that travel with the graph and mean nothing to it.

    Raises
    ------
    ValueError
        When a rule of the format is broken; the message names the op or tensor, the rule and the value.
    """

    name: str
    op_names: tuple[str, ...]
    op_types: tuple[str, ...]
    runtime: NDArray[np.float64]
    workspace: NDArray[np.int64]
    colocation: NDArray[np.int64]
    inputs: CSR
    outputs: CSR
    control_inputs: CSR
    tensor_bytes: NDArray[np.int64]
    is_output: NDArray[np.bool_]
    meta: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_graph(self)
        arrays = [self.runtime, self.workspace, self.colocation, self.tensor_bytes, self.is_output]
        for csr in (self.inputs, self.outputs, self.control_inputs):
            arrays += [csr.offsets, csr.values]
        for array in arrays:
            array.setflags(write=False)

    @property
    def num_ops(self) -> int:
        """Number of ops."""
        return len(self.op_names)

    @property
    def num_tensors(self) -> int:
        """Number of tensors, persistent ones and activations together."""
        return len(self.tensor_bytes)

    @cached_property
    def producer(self) -> NDArray[np.int32]:
        """int32 array, shape (num_tensors,): the op that produces each tensor, -1 for a persistent one."""
        producer = np.full(self.num_tensors, NO_PRODUCER, np.int32)
        producer[self.outputs.values] = self.outputs.row_of_value
        return producer

    @cached_property
    def consumers(self) -> CSR:
        """CSR, tensor -> the ops that read it, ascending."""
        return self.inputs.transposed(self.num_tensors)

    @cached_property
    def control_successors(self) -> CSR:
        """CSR, op -> the ops that name it as a control input, ascending."""
        return self.control_inputs.transposed(self.num_ops)

    @cached_property
    def activations(self) -> NDArray[np.int32]:
        """int32 array, shape (num_activations,): the tensors that have a producer, ascending."""
        return np.flatnonzero(self.producer >= 0).astype(np.int32)

    @property
    def num_activations(self) -> int:
        """Number of tensors that have a producer."""
        return len(self.activations)

    @cached_property
    def predecessors(self) -> CSR:
        """CSR, op -> distinct ops that must run before it (producers and control inputs), ascending."""
        producer = self.producer[self.inputs.values]
        has_producer = producer >= 0
        before = np.concatenate([producer[has_producer], self.control_inputs.values]).astype(np.int64)
        after = np.concatenate([self.inputs.row_of_value[has_producer], self.control_inputs.row_of_value])
        pairs = np.unique(after.astype(np.int64) * max(self.num_ops, 1) + before)
        rows, values = np.divmod(pairs, max(self.num_ops, 1))
        return CSR.from_pairs(rows, values, self.num_ops)

    @cached_property
    def successors(self) -> CSR:
        """CSR, op -> distinct ops that must run after it, ascending."""
        return self.predecessors.transposed(self.num_ops)

    @cached_property
    def sha256(self) -> str:
        r"""Hex digest of the graph's content; its name and ``meta`` do not count.

        The canonical form is the UTF-8 text of ``json.dumps([ops, tensors], separators=(",", ":"))`` where ``ops``
        holds ``[name, type, runtime, workspace, inputs, outputs, control_inputs, colocation]`` per op (``runtime`` as
        a float, ``colocation`` null where the op is free) and ``tensors`` holds ``[bytes, is_output]`` per tensor;
        characters outside ASCII are written as ``\uXXXX``.
        """
        columns = [
            self.op_names,
            self.op_types,
            self.runtime.tolist(),
            self.workspace.tolist(),
            self.inputs.to_lists(),
            self.outputs.to_lists(),
            self.control_inputs.to_lists(),
            [None if group == NO_GROUP else group for group in self.colocation.tolist()],
        ]
        ops = list(zip(*columns, strict=True))
        tensors = list(zip(self.tensor_bytes.tolist(), self.is_output.tolist(), strict=True))
        return hashlib.sha256(json.dumps([ops, tensors], separators=(",", ":")).encode()).hexdigest()

    def describe_op(self, op: int) -> str:
        """``op 3 'conv1'``: how messages name an op."""
        return f"op {op} {self.op_names[op]!r}"

    def __repr__(self) -> str:
        return (
            f"ComputationGraph({self.name!r}, ops={self.num_ops}, tensors={self.num_tensors}, "
            f"bytes={int(self.tensor_bytes.sum())})"
        )

    def _repr_html_(self) -> str:
        from regal.plot.html import graph_to_html

        return graph_to_html(self)
