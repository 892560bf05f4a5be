"""Write a computation graph op by op; the frozen arrays come out at the end."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from operator import index
from typing import Any

import numpy as np

from regal.graph.computation_graph import NO_GROUP, ComputationGraph
from regal.graph.csr import CSR


class GraphBuilder:
    """Collects tensors and ops, then freezes them into a :class:`ComputationGraph`.

    Examples
    --------
    >>> builder = GraphBuilder("tiny")
    >>> x = builder.add_tensor(8)
    >>> hidden = builder.add_tensor(16)
    >>> loss = builder.add_tensor(4, is_output=True)
    >>> _ = builder.add_op("matmul", inputs=[x], outputs=[hidden], runtime=1e-3)
    >>> _ = builder.add_op("sum", inputs=[hidden], outputs=[loss])
    >>> builder.build()
    ComputationGraph('tiny', ops=2, tensors=3, bytes=28)
    """

    def __init__(self, name: str = "graph", meta: dict[str, Any] | None = None) -> None:
        self.name = name
        self.meta = dict(meta or {})
        self.names: list[str] = []
        self.types: list[str] = []
        self.runtimes: list[float] = []
        self.workspaces: list[int] = []
        self.groups: list[int] = []
        self.inputs: list[list[int]] = []
        self.outputs: list[list[int]] = []
        self.control_inputs: list[list[int]] = []
        self.tensor_bytes: list[int] = []
        self.is_output: list[bool] = []

    def add_tensor(self, num_bytes: int, is_output: bool = False) -> int:
        """Add a tensor of ``num_bytes`` bytes and return its index."""
        tensor = len(self.tensor_bytes)
        self.tensor_bytes.append(_integer(num_bytes, 2**63, f"tensor {tensor}: bytes"))
        self.is_output.append(is_output)
        return tensor

    def mark_output(self, tensor: int) -> None:
        """Say that ``tensor`` is a result of the whole graph."""
        self.is_output[tensor] = True

    def add_op(
        self,
        type: str,
        *,
        inputs: Iterable[int] = (),
        outputs: Iterable[int] = (),
        control_inputs: Iterable[int] = (),
        name: str | None = None,
        runtime: float = 0.0,
        workspace: int = 0,
        colocation: int | None = None,
    ) -> int:
        """Add an op and return its index; repeated entries within one list are dropped, the first stays."""
        op = len(self.names)
        name = f"{type}_{op}" if name is None else name
        where = f"op {op} {name!r}:"
        self.names.append(name)
        self.types.append(type)
        self.runtimes.append(runtime)
        self.workspaces.append(_integer(workspace, 2**63, f"{where} workspace"))
        self.groups.append(NO_GROUP if colocation is None else _integer(colocation, 2**63, f"{where} colocation"))
        for column, indices, what in (
            (self.inputs, inputs, "an input"),
            (self.outputs, outputs, "an output"),
            (self.control_inputs, control_inputs, "a control input"),
        ):
            column.append([_integer(entry, 2**31, f"{where} {what}") for entry in dict.fromkeys(indices)])
        return op

    def sort(self) -> None:
        """Bring the ops into a program order, moving as few as needed: of the ready ops the earliest comes next.

        Raises
        ------
        ValueError
            When the ops form a cycle; the message names one op of it.
        """
        producer = {tensor: op for op, tensors in enumerate(self.outputs) for tensor in tensors}
        n = len(self.names)
        before = [
            {producer[t] for t in self.inputs[op] if t in producer} | set(self.control_inputs[op]) for op in range(n)
        ]
        after: list[list[int]] = [[] for _ in range(n)]
        waiting = [len(ops) for ops in before]
        for op, ops in enumerate(before):
            for other in ops:
                after[other].append(op)
        ready = [op for op in range(n) if waiting[op] == 0]
        order: list[int] = []
        while ready:
            op = heapq.heappop(ready)
            order.append(op)
            for other in after[op]:
                waiting[other] -= 1
                if waiting[other] == 0:
                    heapq.heappush(ready, other)
        if len(order) < n:
            op = next(op for op in range(n) if waiting[op])
            raise ValueError(f"op {op} {self.names[op]!r}: the graph has a cycle through it or before it")
        self._permute(order)

    def _permute(self, order: list[int]) -> None:
        position = {op: place for place, op in enumerate(order)}
        for column in ("names", "types", "runtimes", "workspaces", "groups", "inputs", "outputs", "control_inputs"):
            values = getattr(self, column)
            setattr(self, column, [values[op] for op in order])
        self.control_inputs = [[position[op] for op in ops] for ops in self.control_inputs]

    def build(self) -> ComputationGraph:
        """Freeze and check.

        Raises
        ------
        ValueError
            When a rule is broken, see :func:`regal.graph.checks.check_graph`.
        """
        return ComputationGraph(
            name=self.name,
            op_names=tuple(self.names),
            op_types=tuple(self.types),
            runtime=np.array(self.runtimes, np.float64) + 0.0,  # no negative zero
            workspace=np.array(self.workspaces, np.int64),
            colocation=np.array(self.groups, np.int64),
            inputs=CSR.from_lists(self.inputs),
            outputs=CSR.from_lists(self.outputs),
            control_inputs=CSR.from_lists(self.control_inputs),
            tensor_bytes=np.array(self.tensor_bytes, np.int64),
            is_output=np.array(self.is_output, np.bool_),
            meta=self.meta,
        )


def _integer(value: int, bound: int, what: str) -> int:
    """``value`` as an int within ±``bound``, so that it fits its array; the rules of the graph are checked later."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or not -bound <= (number := index(value)) < bound:
        raise ValueError(f"{what} must be an integer within ±{bound}, not {value!r}")
    return number
