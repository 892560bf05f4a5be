"""A graph and a cluster as the flat arrays that compiled kernels read."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regal.cluster import Cluster
from regal.graph import CSR, ComputationGraph

END = 0xFFFFFFFF
"""Closes a list in a stream of links."""
OUTPUT_BIT = 31
"""Bit of an activation's number in ``links`` that says it is an output of the graph."""
DEVICE_BITS = 16
"""Low bits of an op's state that hold its device; the bits above count the events that it waits for."""


class GraphArrays(NamedTuple):
    """What the kernels know of a graph. Activations are numbered on their own, in tensor order.

    Lists of varying length stand in ``links``, each closed by ``END``, in the order in which an op's run needs them:
    its input activations; per output the activation (with ``OUTPUT_BIT`` where it is an output of the graph) and its
    consumers, descending; one more ``END``; then the ops that wait for it as a control input, descending.

    Attributes
    ----------
    waiting : uint64, shape (num_ops,)
        Predecessor events of each op, times 2^DEVICE_BITS: one per input activation, one per control input.
    runtime : float64, shape (num_ops,)
        Seconds on a device of speed 1.
    output_bytes : int64, shape (num_ops,)
        Bytes of all outputs of the op.
    running_bytes : int64, shape (num_ops,)
        ``output_bytes`` plus the op's workspace.
    leader : uint32, shape (num_ops,) or (0,)
        Lowest op of the op's colocation group, the op itself where it is free; empty without groups.
    links : uint32
    op_links : uint32, shape (num_ops,)
        Where an op's lists start in ``links``.
    consumer_links : uint32, shape (num_activations,)
        Where an activation's consumers start in ``links``.
    producer : uint32, shape (num_activations,)
    activation_bytes : int64, shape (num_activations,)
    resident_links : uint32
        Readers of persistent tensors, a list per entry; tensors with the same readers are one entry.
    resident_bytes : int64, shape (num_entries,)
    roots : uint32
        Ops that wait for nothing, descending.
    output_producers : uint32
        Producers of the graph's outputs that are activations.
    output_sizes : int64
        Bytes of those outputs.
    """

    waiting: NDArray[np.uint64]
    runtime: NDArray[np.float64]
    output_bytes: NDArray[np.int64]
    running_bytes: NDArray[np.int64]
    leader: NDArray[np.uint32]
    links: NDArray[np.uint32]
    op_links: NDArray[np.uint32]
    consumer_links: NDArray[np.uint32]
    producer: NDArray[np.uint32]
    activation_bytes: NDArray[np.int64]
    resident_links: NDArray[np.uint32]
    resident_bytes: NDArray[np.int64]
    roots: NDArray[np.uint32]
    output_producers: NDArray[np.uint32]
    output_sizes: NDArray[np.int64]


class ClusterArrays(NamedTuple):
    """What the kernels know of a cluster.

    Attributes
    ----------
    memory : int64, shape (num_devices,), bytes
    speed : float64, shape (num_devices,)
    latency : float64, shape (num_devices, num_devices), seconds
    bandwidth : float64, shape (num_devices, num_devices), bytes per second
    """

    memory: NDArray[np.int64]
    speed: NDArray[np.float64]
    latency: NDArray[np.float64]
    bandwidth: NDArray[np.float64]


def cluster_arrays(cluster: Cluster) -> ClusterArrays:
    """The arrays of ``cluster``."""
    return ClusterArrays(cluster.memory, cluster.speed, cluster.latency, cluster.bandwidth)


def graph_arrays(graph: ComputationGraph) -> GraphArrays:
    """The arrays of ``graph``."""
    activation_of = np.full(graph.num_tensors, -1, np.int64)
    activation_of[graph.activations] = np.arange(graph.num_activations)
    inputs = _activations_of(graph.inputs, activation_of)
    waiting = (inputs.counts + graph.control_inputs.counts).astype(np.uint64)
    output_bytes = np.zeros(graph.num_ops, np.int64)
    np.add.at(output_bytes, graph.outputs.row_of_value, graph.tensor_bytes[graph.outputs.values])
    links, op_links, consumer_links = _links(graph, inputs, activation_of)
    resident_links, resident_bytes = _residents(graph)
    producer = graph.producer[graph.activations].astype(np.uint32)
    activation_bytes = graph.tensor_bytes[graph.activations]
    outputs = np.flatnonzero(graph.is_output[graph.activations])
    return GraphArrays(
        waiting=waiting << np.uint64(DEVICE_BITS),
        runtime=graph.runtime,
        output_bytes=output_bytes,
        running_bytes=output_bytes + graph.workspace,
        leader=_leaders(graph),
        links=links,
        op_links=op_links,
        consumer_links=consumer_links,
        producer=producer,
        activation_bytes=activation_bytes,
        resident_links=resident_links,
        resident_bytes=resident_bytes,
        roots=np.flatnonzero(waiting == 0)[::-1].astype(np.uint32),
        output_producers=producer[outputs],
        output_sizes=activation_bytes[outputs],
    )


def _activations_of(tensors: CSR, activation_of: NDArray[np.int64]) -> CSR:
    activations = activation_of[tensors.values]
    keep = activations >= 0
    return CSR.from_pairs(tensors.row_of_value[keep], activations[keep], len(tensors))


def _links(
    graph: ComputationGraph, inputs: CSR, activation_of: NDArray[np.int64]
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]:
    consumers, is_output = graph.consumers.to_lists(), graph.is_output.tolist()
    activation = activation_of.tolist()
    links: list[int] = []
    op_links: list[int] = []
    consumer_links = [0] * graph.num_activations
    columns = (inputs.to_lists(), graph.outputs.to_lists(), graph.control_successors.to_lists())
    for read, written, control_successors in zip(*columns, strict=True):
        op_links.append(len(links))
        links += read
        links.append(END)
        for tensor in written:
            links.append(activation[tensor] | is_output[tensor] << OUTPUT_BIT)
            consumer_links[activation[tensor]] = len(links)
            links += consumers[tensor][::-1]
            links.append(END)
        links.append(END)
        links += control_successors[::-1]
        links.append(END)
    if len(links) >= END or graph.num_activations >= 2**OUTPUT_BIT - 1:
        raise ValueError(f"a graph of {len(links)} links is too large for the kernels, which count to {END}")
    return np.array(links, np.uint32), np.array(op_links, np.uint32), np.array(consumer_links, np.uint32)


def _leaders(graph: ComputationGraph) -> NDArray[np.uint32]:
    grouped = np.flatnonzero(graph.colocation >= 0)
    if len(grouped) == 0:
        return np.empty(0, np.uint32)
    leader = np.arange(graph.num_ops, dtype=np.uint32)
    _, first, group = np.unique(graph.colocation[grouped], return_index=True, return_inverse=True)
    leader[grouped] = grouped[first][group]
    return leader


def _residents(graph: ComputationGraph) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Persistent tensors grouped by the set of their readers."""
    sizes: dict[tuple[int, ...], int] = {}
    consumers, size_of = graph.consumers.to_lists(), graph.tensor_bytes.tolist()
    for tensor in np.flatnonzero(graph.producer < 0).tolist():
        readers = tuple(consumers[tensor])
        if readers and size_of[tensor]:
            sizes[readers] = sizes.get(readers, 0) + size_of[tensor]
    links = [op for readers in sizes for op in (*readers, END)]
    return np.array(links, np.uint32), np.array(list(sizes.values()), np.int64)
