"""The performance model compiled: the same figures as :mod:`regal.cost.reference`, to the byte and the last bit."""

from __future__ import annotations

import numpy as np
from numba import njit

from regal.cost.arrays import END, OUTPUT_BIT, GraphArrays, cluster_arrays, graph_arrays
from regal.cost.cost import Cost
from regal.plan import Plan

FLAG = np.uint64(OUTPUT_BIT)
ACTIVATION = np.uint64((1 << OUTPUT_BIT) - 1)
LAST = np.uint32(END)
ONE = np.uint64(1)


@njit(cache=True, nogil=True)
def resident_bytes(graph, placement, memory):  # type: ignore[no-untyped-def]
    """Add to each device in ``memory`` the persistent tensors that its ops read."""
    seen = np.full(len(memory), -1, np.int64)
    at = 0
    for entry in range(len(graph.resident_bytes)):
        while graph.resident_links[at] != LAST:
            device = placement[graph.resident_links[at]]
            if seen[device] != entry:
                seen[device] = entry
                memory[device] += graph.resident_bytes[entry]
            at += 1
        at += 1


@njit(cache=True, nogil=True)
def evaluate_schedule(graph, cluster, placement, events, targets, peak):  # type: ignore[no-untyped-def]
    """Walk a valid schedule; write the peaks and return the running time.

    ``events`` holds an op where ``targets`` is -1, else an activation that is copied to device ``targets``.
    """
    num_devices, num_activations = len(peak), len(graph.producer)
    links = graph.links
    memory = np.zeros(num_devices, np.int64)
    resident_bytes(graph, placement, memory)
    peak[:] = memory
    remaining = np.zeros((num_activations, num_devices), np.int64)
    available = np.zeros((num_activations, num_devices), np.float64)
    earliest = np.zeros(len(placement), np.float64)  # latest finish of an op's control inputs so far
    device_free = np.zeros(num_devices, np.float64)
    link_free = np.zeros((num_devices, num_devices), np.float64)
    running_time = 0.0
    for index in range(len(events)):
        event, device = events[index], targets[index]
        if device < 0:
            device = placement[event]
            peak[device] = max(peak[device], memory[device] + graph.running_bytes[event])
            memory[device] += graph.output_bytes[event]
            start = max(device_free[device], earliest[event])
            at = np.uint64(graph.op_links[event])
            while links[at] != LAST:
                activation = links[at]
                start = max(start, available[activation, device])
                remaining[activation, device] -= 1
                if remaining[activation, device] == 0:
                    memory[device] -= graph.activation_bytes[activation]
                at += ONE
            at += ONE
            finish = start + graph.runtime[event] / cluster.speed[device]
            device_free[device] = finish
            running_time = max(running_time, finish)
            while links[at] != LAST:
                activation = links[at] & ACTIVATION
                available[activation, device] = finish
                remaining[activation, device] += links[at] >> FLAG  # an output waits for ever
                at += ONE
                while links[at] != LAST:
                    where = placement[links[at]]
                    if where != device and remaining[activation, where] == 0:
                        remaining[activation, device] += 1  # the copy to come
                    remaining[activation, where] += 1
                    at += ONE
                at += ONE
                if remaining[activation, device] == 0:
                    memory[device] -= graph.activation_bytes[activation]
            at += ONE
            while links[at] != LAST:
                earliest[links[at]] = max(earliest[links[at]], finish)
                at += ONE
        else:
            home = placement[graph.producer[event]]
            size = graph.activation_bytes[event]
            memory[device] += size
            peak[device] = max(peak[device], memory[device])
            send = size / cluster.bandwidth[home, device]
            start = max(available[event, home], max(link_free[home, device], device_free[device]))
            link_free[home, device] = start + send
            available[event, device] = (start + cluster.latency[home, device]) + send
            remaining[event, home] -= 1
            if remaining[event, home] == 0:
                memory[home] -= size
                device_free[home] = max(device_free[home], available[event, device])
    return running_time


def evaluate(plan: Plan, arrays: GraphArrays | None = None) -> Cost:
    """The cost of a valid plan; ``arrays`` of its graph are made when they are not at hand."""
    arrays = graph_arrays(plan.graph) if arrays is None else arrays
    events, targets = plan.schedule[:, 0].astype(np.int64), plan.schedule[:, 1].astype(np.int64)
    activation_of = np.full(plan.graph.num_tensors + 1, -1, np.int64)
    activation_of[plan.graph.activations] = np.arange(plan.graph.num_activations)
    copies = targets >= 0
    events[copies] = activation_of[events[copies]]
    peak = np.zeros(plan.cluster.num_devices, np.int64)
    placement = plan.placement.astype(np.int64)
    seconds = evaluate_schedule(arrays, cluster_arrays(plan.cluster), placement, events, targets, peak)
    return Cost(tuple(peak.tolist()), float(seconds))
