"""Every rule that a computation graph obeys, checked on its arrays with messages that name the culprit."""

from __future__ import annotations

from collections.abc import Sized
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from regal.graph.computation_graph import ComputationGraph
    from regal.graph.csr import CSR

MAX_SIZE = 2**53
"""A single size in bytes stays below this, so that a float64 holds it exactly."""
MAX_TOTAL = 2**63
"""All bytes together, times the number of devices, stay below this, so that an int64 counter cannot overflow."""
MAX_SECONDS = 1e280
"""All running times together stay below this, so that neither sums of them nor products with bytes overflow."""


def check_graph(graph: ComputationGraph) -> None:
    """Raise ``ValueError`` for the first broken rule of ``graph``.

    Rules: columns of one length; indices in range; no repeated entry within ``inputs``, ``outputs`` or
    ``control_inputs``; at most one producer per tensor; runtimes finite, not negative, and their sum below 10^280;
    sizes in [0, 2^53) and their sum below 2^63; every op after its producers and control inputs.
    """
    _check_lengths(graph)
    _check_values(graph)
    _check_lists(graph)
    _check_producers(graph)
    _check_program_order(graph)


def _check_lengths(graph: ComputationGraph) -> None:
    n = len(graph.op_names)
    columns: dict[str, Sized] = {
        "op_types": graph.op_types,
        "runtime": graph.runtime,
        "workspace": graph.workspace,
        "colocation": graph.colocation,
        "inputs": graph.inputs,
        "outputs": graph.outputs,
        "control_inputs": graph.control_inputs,
    }
    for name, column in columns.items():
        if len(column) != n:
            raise ValueError(f"{name} has {len(column)} entries for {n} ops")
    if len(graph.is_output) != len(graph.tensor_bytes):
        raise ValueError(f"is_output has {len(graph.is_output)} entries for {len(graph.tensor_bytes)} tensors")


def _check_values(graph: ComputationGraph) -> None:
    _first(
        graph,
        ~np.isfinite(graph.runtime) | (graph.runtime < 0),
        graph.runtime,
        "runtime must be finite and not negative",
    )
    size_rule = "must be a size in bytes from 0 to 2^53 - 1"
    _first(graph, (graph.workspace < 0) | (graph.workspace >= MAX_SIZE), graph.workspace, f"workspace {size_rule}")
    _first(graph, graph.colocation < -1, graph.colocation, "colocation must be a group number from 0 on")
    bad = np.flatnonzero((graph.tensor_bytes < 0) | (graph.tensor_bytes >= MAX_SIZE))
    if len(bad):
        raise ValueError(f"tensor {bad[0]}: bytes {size_rule}, not {graph.tensor_bytes[bad[0]]}")
    total = sum(graph.runtime.tolist())
    if total >= MAX_SECONDS:
        raise ValueError(
            f"the running times of all ops together must stay below {MAX_SECONDS:g} seconds, not {total:g}"
        )
    check_total(graph, 1)


def check_total(graph: ComputationGraph, num_devices: int) -> None:
    """Raise ``ValueError`` unless all bytes times ``num_devices`` stay below 2^63."""
    total = sum(graph.tensor_bytes.tolist()) + sum(graph.workspace.tolist())
    if total * num_devices >= MAX_TOTAL:
        raise ValueError(f"all bytes times the number of devices must stay below 2^63, not {total} * {num_devices}")


def _first(graph: ComputationGraph, bad: NDArray[np.bool_], values: NDArray, rule: str) -> None:
    ops = np.flatnonzero(bad)
    if len(ops):
        raise ValueError(f"{graph.describe_op(int(ops[0]))}: {rule}, not {values[ops[0]]}")


def _check_lists(graph: ComputationGraph) -> None:
    for field, kind, csr, size in (
        ("inputs", "tensor", graph.inputs, len(graph.tensor_bytes)),
        ("outputs", "tensor", graph.outputs, len(graph.tensor_bytes)),
        ("control_inputs", "op", graph.control_inputs, len(graph.op_names)),
    ):
        rows, values = csr.row_of_value, csr.values
        outside = np.flatnonzero((values < 0) | (values >= size))
        if len(outside):
            at = outside[0]
            raise ValueError(
                f"{graph.describe_op(int(rows[at]))}: {field} name {kind} {values[at]}, "
                f"but the graph has {size} {kind}s"
            )
        at = _first_repeat(csr, size)
        if at is not None:
            raise ValueError(f"{graph.describe_op(int(rows[at]))}: {field} repeat {kind} {values[at]}")


def _first_repeat(csr: CSR, size: int) -> int | None:
    codes = csr.row_of_value.astype(np.int64) * max(size, 1) + csr.values
    order = np.argsort(codes, kind="stable")
    again = order[1:][codes[order[1:]] == codes[order[:-1]]]
    return int(again.min()) if len(again) else None


def _check_producers(graph: ComputationGraph) -> None:
    tensors, ops = graph.outputs.values, graph.outputs.row_of_value
    counts = np.bincount(tensors, minlength=len(graph.tensor_bytes))
    twice = np.flatnonzero(counts > 1)
    if len(twice):
        first, second = ops[tensors == twice[0]][:2]
        raise ValueError(
            f"tensor {twice[0]}: at most one op may produce it, but {graph.describe_op(int(first))} "
            f"and {graph.describe_op(int(second))} both do"
        )


def _check_program_order(graph: ComputationGraph) -> None:
    producer = graph.producer[graph.inputs.values]
    for before, after, what in (
        (producer, graph.inputs.row_of_value, "reads a tensor of"),
        (graph.control_inputs.values, graph.control_inputs.row_of_value, "has the control input"),
    ):
        late = np.flatnonzero(before >= after)
        if len(late):
            first, second = int(after[late[0]]), int(before[late[0]])
            raise ValueError(
                f"{graph.describe_op(first)}: every op comes after its producers and control inputs, "
                f"but it {what} {graph.describe_op(second)}"
            )
