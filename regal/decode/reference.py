"""Decoding in plain Python: obvious, slow, and the judge of the compiled kernels."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regal.cluster import Cluster
from regal.decode.layout import Layout
from regal.graph import ComputationGraph
from regal.plan import RUN, Plan


def decode_placement(graph: ComputationGraph, num_devices: int, keys: Sequence[float] | NDArray) -> list[int]:
    """Device of each op: the highest affinity, on a tie the lowest device; a group follows its lowest op."""
    keys = np.asarray(keys)
    affinities = keys[Layout.of(graph, num_devices).affinities].reshape(graph.num_ops, num_devices).tolist()
    placement = [row.index(max(row)) for row in affinities]
    first_of_group: dict[int, int] = {}
    for op, group in enumerate(graph.colocation.tolist()):
        if group >= 0:
            placement[op] = placement[first_of_group.setdefault(group, op)]
    return placement


def decode(graph: ComputationGraph, cluster: Cluster, keys: Sequence[float] | NDArray) -> Plan:
    """The plan behind one chromosome.

    List scheduling over all runs and required copies: of the events whose predecessors are done, the one with the
    highest key goes next; on a tie ops before copies, then the lowest op, then the lowest (tensor, device).
    """
    layout, keys = Layout.of(graph, cluster.num_devices), np.asarray(keys)
    placement = decode_placement(graph, cluster.num_devices, keys)
    priority = keys[layout.priorities].tolist()
    transfer = keys[layout.transfers].reshape(graph.num_activations, cluster.num_devices).tolist()
    activation = {tensor: index for index, tensor in enumerate(graph.activations.tolist())}
    producer = graph.producer.tolist()

    waiting: dict[tuple[int, int], int] = {}  # event -> predecessor events still to come
    followers: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for op in range(graph.num_ops):
        before: set[tuple[int, int]] = {(control, RUN) for control in graph.control_inputs[op].tolist()}
        for tensor in graph.inputs[op].tolist():
            if producer[tensor] < 0:
                continue
            source = (producer[tensor], RUN)
            if placement[producer[tensor]] != placement[op]:
                copy = (tensor, placement[op])
                if copy not in waiting:
                    waiting[copy] = 1
                    followers.setdefault(source, []).append(copy)
                source = copy
            before.add(source)
        waiting[op, RUN] = len(before)
        for event in before:
            followers.setdefault(event, []).append((op, RUN))

    def rank(event: tuple[int, int]) -> tuple[float, int, int, int]:
        what, device = event
        if device == RUN:
            return (-priority[what], 0, what, 0)
        return (-transfer[activation[what]][device], 1, what, device)

    ready = [(rank(event), event) for event, count in waiting.items() if count == 0]
    heapq.heapify(ready)
    schedule = []
    while ready:
        _, event = heapq.heappop(ready)
        schedule.append(event)
        for follower in followers.get(event, ()):
            waiting[follower] -= 1
            if waiting[follower] == 0:
                heapq.heappush(ready, (rank(follower), follower))
    return Plan(graph, cluster, np.array(placement, np.int32), np.array(schedule, np.int32).reshape(-1, 2))
