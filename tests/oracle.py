"""The performance model and the rules of a plan written a second time, from lifetimes instead of counters.

Nothing here shares a line or an idea with ``regal.cost`` and ``regal.plan.validate``: a mistake would have to be made
twice.
"""

from collections.abc import Iterator
from itertools import product
from math import inf

import numpy as np

from regal.cluster import Cluster
from regal.cost import Cost
from regal.graph import ComputationGraph
from regal.plan import RUN, Plan

Event = tuple[int, int]


def needed_events(graph: ComputationGraph, placement: list[int]) -> dict[Event, set[Event]]:
    """Every run and required copy of a placement, with the events that must come before it."""
    needs: dict[Event, set[Event]] = {(op, RUN): set() for op in range(graph.num_ops)}
    for op in range(graph.num_ops):
        needs[op, RUN] |= {(other, RUN) for other in graph.control_inputs[op].tolist()}
    for tensor in graph.activations.tolist():
        home = placement[int(graph.producer[tensor])]
        made = (int(graph.producer[tensor]), RUN)
        for op in graph.consumers[tensor].tolist():
            if placement[op] == home:
                needs[op, RUN].add(made)
            else:
                needs[tensor, placement[op]] = {made}
                needs[op, RUN].add((tensor, placement[op]))
    return needs


def is_valid(plan: Plan) -> bool:
    """Whether a plan keeps every rule."""
    graph, placement = plan.graph, plan.placement.tolist()
    if len(placement) != graph.num_ops or not all(0 <= device < plan.cluster.num_devices for device in placement):
        return False
    pairs = {(group, place) for group, place in zip(graph.colocation.tolist(), placement, strict=True) if group >= 0}
    if len(pairs) > len({group for group, _ in pairs}):
        return False
    needs = needed_events(graph, placement)
    events = [tuple(event) for event in plan.schedule.tolist()]
    if sorted(events) != sorted(needs):
        return False
    at = {event: place for place, event in enumerate(events)}
    return all(at[first] < at[event] for event in events for first in needs[event])


def lifetimes(plan: Plan) -> dict[Event, tuple[int, float]]:
    """(tensor, device) -> the first and the last event at which the device holds the activation."""
    graph, placement = plan.graph, plan.placement.tolist()
    at = {tuple(event): place for place, event in enumerate(plan.schedule.tolist())}
    result: dict[Event, tuple[int, float]] = {}
    for tensor in graph.activations.tolist():
        source = int(graph.producer[tensor])
        home, readers = placement[source], graph.consumers[tensor].tolist()
        for device in {home, *(placement[op] for op in readers)}:
            first = at[source, RUN] if device == home else at[tensor, device]
            uses = [at[op, RUN] for op in readers if placement[op] == device]
            if device == home:
                uses += [at[tensor, other] for other in {placement[op] for op in readers} - {home}]
            forever = device == home and bool(graph.is_output[tensor])
            result[tensor, device] = (first, inf if forever else max([first, *uses]))
    return result


def memory(plan: Plan) -> tuple[list[int], list[list[int]], list[list[int]]]:
    """Bytes per device at the start, per event at its highest moment, and per event behind it."""
    graph, placement, num_devices = plan.graph, plan.placement.tolist(), plan.cluster.num_devices
    start = [0] * num_devices
    for tensor in np.flatnonzero(graph.producer < 0).tolist():
        for device in {placement[op] for op in graph.consumers[tensor].tolist()}:
            start[device] += int(graph.tensor_bytes[tensor])
    during = [list(start) for _ in plan.schedule]
    after = [list(start) for _ in plan.schedule]
    for (tensor, device), (first, last) in lifetimes(plan).items():
        size = int(graph.tensor_bytes[tensor])
        for place in range(first, int(min(last, len(plan.schedule) - 1)) + 1):
            during[place][device] += size
            after[place][device] += size if place < last else 0
    for place, (what, target) in enumerate(plan.schedule.tolist()):
        if target == RUN:
            during[place][placement[what]] += int(graph.workspace[what])
    return start, during, after


def times(plan: Plan) -> list[tuple[float, float]]:
    """(start, finish) of each event in seconds; a copy finishes when its tensor is available."""
    graph, cluster, placement = plan.graph, plan.cluster, plan.placement.tolist()
    events = [tuple(event) for event in plan.schedule.tolist()]
    at = {event: place for place, event in enumerate(events)}
    last_use = lifetimes(plan)
    holds_up: list[list[float]] = [[0.0] for _ in range(cluster.num_devices)]  # when each device may go on
    sent: dict[Event, float] = {}
    result: list[tuple[float, float]] = []
    for place, (what, target) in enumerate(events):
        if target == RUN:
            device = placement[what]
            waits = [result[at[other, RUN]][1] for other in graph.control_inputs[what].tolist()]
            for tensor in graph.inputs[what].tolist():
                source = int(graph.producer[tensor])
                if source >= 0:
                    local = placement[source] == device
                    waits.append(result[at[source, RUN] if local else at[tensor, device]][1])
            start = max(waits + holds_up[device])
            finish = start + float(graph.runtime[what]) / cluster.devices[device].speed
            holds_up[device].append(finish)
        else:
            source = int(graph.producer[what])
            home = placement[source]
            link = next((x for x in cluster.links if (x.source, x.target) == (home, target)), None)
            latency, bandwidth = (link.latency, link.bandwidth) if link else (0.0, inf)
            send = int(graph.tensor_bytes[what]) / bandwidth
            start = max([result[at[source, RUN]][1], sent.get((home, target), 0.0), *holds_up[target]])
            sent[home, target] = start + send
            finish = (start + latency) + send
            if last_use[what, home][1] == place:
                holds_up[home].append(finish)
        result.append((start, finish))
    return result


def evaluate(plan: Plan) -> Cost:
    """The cost of a valid plan."""
    peak, during, _ = memory(plan)
    finishes = [0.0]
    for (what, target), high, (_, finish) in zip(plan.schedule.tolist(), during, times(plan), strict=True):
        device = int(plan.placement[what]) if target == RUN else target
        peak[device] = max(peak[device], high[device])
        if target == RUN:
            finishes.append(finish)
    return Cost(tuple(peak), max(finishes))


def all_plans(graph: ComputationGraph, cluster: Cluster) -> Iterator[Plan]:
    """Every valid plan."""
    groups = graph.colocation.tolist()
    for placement in product(range(cluster.num_devices), repeat=graph.num_ops):
        pairs = {(group, place) for group, place in zip(groups, placement, strict=True) if group >= 0}
        if len(pairs) == len({group for group, _ in pairs}):
            for schedule in _orders(needed_events(graph, list(placement)), []):
                events = np.array(schedule, np.int32).reshape(-1, 2)
                yield Plan(graph, cluster, np.array(placement, np.int32), events)


def _orders(needs: dict[Event, set[Event]], done: list[Event]) -> Iterator[list[Event]]:
    if len(done) == len(needs):
        yield list(done)
    for event, first in needs.items():
        if event not in done and first <= set(done):
            yield from _orders(needs, [*done, event])
