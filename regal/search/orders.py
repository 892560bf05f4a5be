"""Orders of the ops that a heuristic gives at once. Each returns int64 op indices, shape (num_ops,)."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from regal.graph import ComputationGraph

FLOW_BUDGET = 100_000
"""The min-cut order computes at most this many maximum flows, divided by the number of ops."""


def program_order(graph: ComputationGraph) -> NDArray[np.int64]:
    """The order in which the graph is written."""
    return np.arange(graph.num_ops)


def depth_first_order(graph: ComputationGraph) -> NDArray[np.int64]:
    """Depth-first post-order from the ops that nobody waits for: an op runs right after what it needs."""
    predecessors = graph.predecessors.to_lists()
    visited, order = [False] * graph.num_ops, []
    for root in np.flatnonzero(graph.successors.counts == 0).tolist():
        visited[root] = True
        stack = [(root, iter(predecessors[root]))]
        while stack:
            op, rest = stack[-1]
            following = next((other for other in rest if not visited[other]), None)
            if following is None:
                order.append(op)
                stack.pop()
            else:
                visited[following] = True
                stack.append((following, iter(predecessors[following])))
    return np.array(order, np.int64)


def memory_greedy_order(graph: ComputationGraph) -> NDArray[np.int64]:
    """Of the ready ops, the one that adds least to the live bytes goes next; on a tie the earliest."""
    size, producer = graph.tensor_bytes.tolist(), graph.producer.tolist()
    inputs, consumers = graph.inputs.to_lists(), graph.consumers.to_lists()
    successors, waiting = graph.successors.to_lists(), graph.predecessors.counts.tolist()
    readers = graph.consumers.counts.tolist()  # reads of each tensor still to come
    kept = graph.is_output.tolist()
    added = [0] * graph.num_ops
    for op, tensors in enumerate(graph.outputs.to_lists()):
        added[op] = sum(size[tensor] for tensor in tensors if consumers[tensor] or kept[tensor])

    def frees_last(tensor: int) -> bool:
        return producer[tensor] >= 0 and readers[tensor] == 1 and not kept[tensor]

    for op, tensors in enumerate(inputs):
        added[op] -= sum(size[tensor] for tensor in tensors if frees_last(tensor))
    ready = [(added[op], op) for op in range(graph.num_ops) if waiting[op] == 0]
    heapq.heapify(ready)
    done, order = [False] * graph.num_ops, []
    while ready:
        bytes_added, op = heapq.heappop(ready)
        if done[op] or bytes_added != added[op]:
            continue
        done[op] = True
        order.append(op)
        for tensor in inputs[op]:
            readers[tensor] -= 1
            if frees_last(tensor):
                last = next(other for other in consumers[tensor] if not done[other])
                added[last] -= size[tensor]
                if waiting[last] == 0:
                    heapq.heappush(ready, (added[last], last))
        for other in successors[op]:
            waiting[other] -= 1
            if waiting[other] == 0:
                heapq.heappush(ready, (added[other], other))
    return np.array(order, np.int64)


def min_cut_order(graph: ComputationGraph) -> NDArray[np.int64]:
    """The best one-device order met while computing minimum cuts; often optimal on one device."""
    from regal.bounds import Liveness, largest_min_cut

    flows = min(max(FLOW_BUDGET // max(graph.num_ops, 1), 1), 64)
    return largest_min_cut(Liveness(graph), max_flows=flows).order


ORDERS = {
    "program-order": program_order,
    "depth-first": depth_first_order,
    "memory-greedy": memory_greedy_order,
    "min-cut": min_cut_order,
}
