"""A hash of what is connected to what, blind to names, sizes and running times."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from regal.graph import ComputationGraph

ROUNDS = 4
Labels = NDArray[np.uint64]


def topology_hash(graph: ComputationGraph, rounds: int = ROUNDS) -> str:
    """Hex digest of 32 characters, equal for graphs that differ in names, sizes, running times or numbering alone.

    The Weisfeiler–Lehman colours (Weisfeiler and Lehman, 1968; as a graph kernel Shervashidze et al., JMLR 12, 2011) of
    the bipartite graph of ops and tensors. An op starts with its type; a tensor with whether it has a producer, which
    of its producer's outputs it is, and whether it is an output of the graph. In each round an op takes in the colours
    of the tensors it reads, of those it makes, and of the ops before and after it by control inputs; a tensor takes in
    its producer's and its consumers'. The digest is over the sorted colours. Colocation groups do not count.

    Parameters
    ----------
    graph : ComputationGraph
    rounds : int
        Neighbourhoods of this radius are told apart.

    Examples
    --------
    >>> from regal.graph import example_graph
    >>> topology_hash(example_graph("chain")) == topology_hash(example_graph("chain"))
    True
    """
    digests = {text: _digest(text) for text in set(graph.op_types)}
    ops = np.array([digests[text] for text in graph.op_types], np.uint64)
    position = np.arange(len(graph.outputs.values)) - np.repeat(graph.outputs.offsets[:-1], graph.outputs.counts)
    tensors = _mixed(graph.is_output.astype(np.uint64), 1)
    tensors[graph.outputs.values] = _mixed(tensors[graph.outputs.values] + position.astype(np.uint64), 2)
    for _ in range(rounds):
        ops, tensors = (
            _mixed(
                ops
                + _gathered(graph.inputs.row_of_value, tensors[graph.inputs.values], len(ops), 3)
                + _gathered(graph.outputs.row_of_value, tensors[graph.outputs.values], len(ops), 4)
                + _gathered(graph.control_inputs.row_of_value, ops[graph.control_inputs.values], len(ops), 5)
                + _gathered(graph.control_inputs.values, ops[graph.control_inputs.row_of_value], len(ops), 6),
                7,
            ),
            _mixed(
                tensors
                + _gathered(graph.outputs.values, ops[graph.outputs.row_of_value], len(tensors), 8)
                + _gathered(graph.inputs.values, ops[graph.inputs.row_of_value], len(tensors), 9),
                10,
            ),
        )
    content = b"".join(np.sort(labels).astype("<u8").tobytes() + b"|" for labels in (ops, tensors))
    return hashlib.sha256(content).hexdigest()[:32]


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _gathered(rows: NDArray, labels: Labels, size: int, salt: int) -> Labels:
    """uint64 array, shape (size,): per row the sum of its mixed labels, whatever their order."""
    total = np.zeros(size, np.uint64)
    np.add.at(total, rows, _mixed(labels, salt))
    return total


def _mixed(labels: Labels, salt: int) -> Labels:
    """The finalizer of splitmix64 over labels shifted by ``salt`` of its steps (Steele et al., OOPSLA 2014)."""
    step = np.uint64((0x9E3779B97F4A7C15 * salt) % 2**64)
    z = labels + step
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
