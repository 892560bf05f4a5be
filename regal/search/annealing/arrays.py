"""A graph as the annealing kernels read it: plain lists of neighbours."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regal.graph import CSR, ComputationGraph


class Lists(NamedTuple):
    """Ragged lists: row ``i`` is ``values[offsets[i]:offsets[i + 1]]``."""

    offsets: NDArray[np.int64]
    values: NDArray[np.int32]


class Graph(NamedTuple):
    """What a move has to know.

    Activations and read persistent tensors are numbered on their own, in tensor order.

    Attributes
    ----------
    predecessors, successors : Lists, op -> ops
    inputs, outputs : Lists, op -> activations
    producer : int32, shape (num_activations,)
    consumers : Lists, activation -> ops
    size : int64, shape (num_activations,), bytes
    is_output : bool, shape (num_activations,)
    workspace : int64, shape (num_ops,), bytes
    runtime : float64, shape (num_ops,), seconds on a device of speed 1
    control_inputs : Lists, op -> ops
    persistent : Lists, op -> persistent tensors
    resident : int64, shape (num_persistent,), bytes
    members : Lists, op -> ops of its colocation group, itself among them
    """

    predecessors: Lists
    successors: Lists
    inputs: Lists
    outputs: Lists
    producer: NDArray[np.int32]
    consumers: Lists
    size: NDArray[np.int64]
    is_output: NDArray[np.bool_]
    workspace: NDArray[np.int64]
    runtime: NDArray[np.float64]
    control_inputs: Lists
    persistent: Lists
    resident: NDArray[np.int64]
    members: Lists


def graph_lists(graph: ComputationGraph) -> Graph:
    """The lists of ``graph``."""
    number = np.full(graph.num_tensors, -1, np.int64)
    number[graph.activations] = np.arange(graph.num_activations)
    read = (graph.producer < 0) & (graph.consumers.counts > 0)
    resident = np.full(graph.num_tensors, -1, np.int64)
    resident[read] = np.arange(np.count_nonzero(read))
    consumers = graph.consumers.to_lists()
    return Graph(
        predecessors=_lists(graph.predecessors),
        successors=_lists(graph.successors),
        inputs=_lists(_renumbered(graph.inputs, number)),
        outputs=_lists(_renumbered(graph.outputs, number)),
        producer=graph.producer[graph.activations],
        consumers=_lists(CSR.from_lists([consumers[t] for t in graph.activations.tolist()])),
        size=graph.tensor_bytes[graph.activations],
        is_output=graph.is_output[graph.activations],
        workspace=graph.workspace,
        runtime=graph.runtime,
        control_inputs=_lists(graph.control_inputs),
        persistent=_lists(_renumbered(graph.inputs, resident)),
        resident=graph.tensor_bytes[read],
        members=_lists(_groups(graph)),
    )


def _lists(csr: CSR) -> Lists:
    return Lists(csr.offsets, csr.values)


def _renumbered(lists: CSR, number: NDArray[np.int64]) -> CSR:
    values = number[lists.values]
    keep = values >= 0
    return CSR.from_pairs(lists.row_of_value[keep], values[keep], len(lists))


def _groups(graph: ComputationGraph) -> CSR:
    members: dict[int, list[int]] = {}
    group_of = graph.colocation.tolist()
    for op, group in enumerate(group_of):
        members.setdefault(group if group >= 0 else -2 - op, []).append(op)
    return CSR.from_lists([members[group if group >= 0 else -2 - op] for op, group in enumerate(group_of)])
