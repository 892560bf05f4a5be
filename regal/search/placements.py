"""Placements that need no search. Each returns int32 device numbers, shape (num_ops,)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from regal.cluster import Cluster
from regal.graph import ComputationGraph


def single_device(graph: ComputationGraph, cluster: Cluster, device: int) -> NDArray[np.int32]:
    """Every op on ``device``."""
    return np.full(graph.num_ops, device, np.int32)


def best_single_device(graph: ComputationGraph, cluster: Cluster) -> NDArray[np.int32]:
    """Every op on the device with the most memory, on a tie the fastest, then the lowest."""
    best = max(range(cluster.num_devices), key=lambda d: (cluster.memory[d], cluster.speed[d], -d))
    return single_device(graph, cluster, best)


def balanced_bytes(graph: ComputationGraph, cluster: Cluster, order: NDArray[np.int64]) -> NDArray[np.int32]:
    """Contiguous chunks of ``order`` that bring bytes to the devices in proportion to their memory.

    An op brings its outputs, its workspace, and the persistent tensors that it is the first to read.
    """
    weight = graph.workspace.astype(np.float64)
    np.add.at(weight, graph.outputs.row_of_value, graph.tensor_bytes[graph.outputs.values])
    position = np.empty(graph.num_ops, np.int64)
    position[order] = np.arange(graph.num_ops)
    first = np.full(graph.num_tensors, graph.num_ops, np.int64)
    np.minimum.at(first, graph.inputs.values, position[graph.inputs.row_of_value])
    read = np.flatnonzero((graph.producer < 0) & (first < graph.num_ops))
    np.add.at(weight, order[first[read]], graph.tensor_bytes[read])
    return _chunks(graph, order, weight, cluster.memory.astype(np.float64))


def balanced_work(graph: ComputationGraph, cluster: Cluster, order: NDArray[np.int64]) -> NDArray[np.int32]:
    """Contiguous chunks of ``order`` that bring running time to the devices in proportion to their speed."""
    return _chunks(graph, order, graph.runtime, cluster.speed)


def _chunks(
    graph: ComputationGraph, order: NDArray[np.int64], weight: NDArray, share: NDArray[np.float64]
) -> NDArray[np.int32]:
    placement = np.zeros(graph.num_ops, np.int32)
    total = float(weight.sum())
    if total > 0 and share.max() > 0:
        share = share / share.max()  # their sum could overflow
        middle = np.cumsum(weight[order]) - weight[order] / 2
        bounds = np.cumsum(share)[:-1] / share.sum() * total
        placement[order] = np.searchsorted(bounds, middle, side="right")
    return with_groups_together(graph, placement)


def with_groups_together(graph: ComputationGraph, placement: NDArray[np.int32]) -> NDArray[np.int32]:
    """Move every colocation group to the device of its lowest op."""
    result = placement.copy()
    grouped = np.flatnonzero(graph.colocation >= 0)
    _, first, group = np.unique(graph.colocation[grouped], return_index=True, return_inverse=True)
    result[grouped] = result[grouped[first][group]]
    return result
