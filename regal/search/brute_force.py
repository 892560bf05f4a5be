"""The exact optimum of a tiny problem: every placement, and every order of runs and copies that could still win.

A judge for the other methods. It shares no code with the decoders, and it replays the performance model in its own way:
by sets of done events instead of counters.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np

from regal.cost.cost import Cost
from regal.plan import RUN, Plan
from regal.problem import Objective, Problem

MAX_OPS = 10
"""Graphs with more ops are refused."""


class State(NamedTuple):
    """A partial schedule: its events, the same as a bit set, and what the model's clocks and counters say."""

    schedule: tuple[int, ...]
    done: int
    memory: tuple[int, ...]
    peak: tuple[int, ...]
    device_free: tuple[float, ...]
    link_free: tuple[float, ...]
    arrival: tuple[float, ...]
    running_time: float


class Events:
    """The runs and copies of one placement, numbered: first the ops, then the copies.

    Attributes
    ----------
    events : list of (op, -1) or (tensor, device)
    before : list of set of event numbers
        What must come before each event.
    needs, followers : list of int
        ``before`` as a bit set, and the bit set of the events that have an event in their ``before``.
    touched : list of list of (tensor, device)
        What each event may release.
    holders : dict of (tensor, device) to int
        The bit set of events after which an activation is released from a device.
    taken, workspace : list of int
        Bytes that each event adds, and bytes that it holds beside them for a moment.
    """

    def __init__(self, problem: Problem, placement: tuple[int, ...]) -> None:
        graph, self.problem, self.placement = problem.graph, problem, placement
        self.sizes, self.producer = graph.tensor_bytes.tolist(), graph.producer.tolist()
        inputs = [[t for t in tensors if self.producer[t] >= 0] for tensors in graph.inputs.to_lists()]
        outputs = graph.outputs.to_lists()
        reads = [(tensor, placement[op]) for op, tensors in enumerate(inputs) for tensor in tensors]
        copies = sorted({(t, device) for t, device in reads if placement[self.producer[t]] != device})
        self.events = [(op, RUN) for op in range(graph.num_ops)] + copies
        number = {event: index for index, event in enumerate(self.events)}
        self.before = [
            {number.get((tensor, placement[op]), self.producer[tensor]) for tensor in tensors} | set(controls)
            for op, (tensors, controls) in enumerate(zip(inputs, graph.control_inputs.to_lists(), strict=True))
        ] + [{self.producer[tensor]} for tensor, _ in copies]
        self.needs = [sum(1 << other for other in others) for others in self.before]
        self.followers = [
            sum(1 << other for other, others in enumerate(self.before) if event in others)
            for event in range(len(self.events))
        ]
        self.touched = [
            [(tensor, placement[op]) for tensor in inputs[op] + outputs[op]] for op in range(graph.num_ops)
        ] + [[(tensor, placement[self.producer[tensor]])] for tensor, _ in copies]
        self.holders: dict[tuple[int, int], int] = {}
        for event, keys in enumerate(self.touched):
            for tensor, device in keys:
                self.holders[tensor, device] = self.holders.get((tensor, device), 0) | 1 << event
        never = 1 << len(self.events)
        for tensor in graph.activations[graph.is_output[graph.activations]].tolist():
            self.holders[tensor, placement[self.producer[tensor]]] |= never
        self.taken = [sum(self.sizes[tensor] for tensor in outputs[op]) for op in range(graph.num_ops)]
        self.taken += [self.sizes[tensor] for tensor, _ in copies]
        self.workspace = graph.workspace.tolist() + [0] * len(copies)

    def start(self) -> State:
        """Nothing has run; each device holds the persistent tensors that its ops read."""
        graph, num_devices = self.problem.graph, self.problem.cluster.num_devices
        memory = [0] * num_devices
        for tensor, readers in enumerate(graph.consumers.to_lists()):
            if self.producer[tensor] < 0:
                for device in {self.placement[op] for op in readers}:
                    memory[device] += self.sizes[tensor]
        level, free = tuple(memory), (0.0,) * num_devices
        return State((), 0, level, level, free, (0.0,) * num_devices**2, (0.0,) * len(self.events), 0.0)

    def step(self, state: State, event: int) -> State:
        """The partial schedule with one more event."""
        cluster = self.problem.cluster
        what, target = self.events[event]
        home = self.placement[what if target == RUN else self.producer[what]]
        device = home if target == RUN else target
        memory, peak, free = list(state.memory), list(state.peak), list(state.device_free)
        link_free, arrival, running_time = list(state.link_free), list(state.arrival), state.running_time
        memory[device] += self.taken[event]
        peak[device] = max(peak[device], memory[device] + self.workspace[event])
        start = max([free[device], *(arrival[other] for other in self.before[event])])
        if target == RUN:
            free[device] = arrival[event] = start + float(self.problem.graph.runtime[what]) / float(cluster.speed[home])
            running_time = max(running_time, arrival[event])
        else:
            way = home * cluster.num_devices + device
            send = self.sizes[what] / float(cluster.bandwidth[home, device])
            start = max(start, link_free[way])
            link_free[way] = start + send
            arrival[event] = (start + float(cluster.latency[home, device])) + send
        done = state.done | 1 << event
        for tensor, holder in self.touched[event]:
            if self.holders[tensor, holder] & ~done == 0:
                memory[holder] -= self.sizes[tensor]
                if target != RUN:
                    free[holder] = max(free[holder], arrival[event])
        clocks = tuple(free), tuple(link_free), tuple(arrival)
        return State((*state.schedule, event), done, tuple(memory), tuple(peak), *clocks, running_time)

    def plan(self, state: State) -> Plan:
        """The plan of a whole schedule."""
        schedule = np.array([self.events[event] for event in state.schedule], np.int32).reshape(-1, 2)
        return Plan(self.problem.graph, self.problem.cluster, np.array(self.placement, np.int32), schedule)


def brute_force(problem: Problem, max_plans: int = 1_000_000) -> tuple[Plan, Cost]:
    """A best plan of a tiny problem and its cost, proven by enumeration.

    A partial schedule is given up when its figures, which only grow, reach the best plan's; or when another one of the
    same events is nowhere worse. Memory depends on the set of done events alone, every clock on the others'
    monotonically, so that whatever completes the worse one completes the other at least as well. Where all devices and
    links are alike, of the placements that differ by renaming devices only one is looked at.

    Parameters
    ----------
    problem : Problem
        At most ``MAX_OPS`` ops; any objective but ``PARETO``.
    max_plans : int
        Most partial schedules that are walked.

    Raises
    ------
    ValueError
        For a larger graph, for ``PARETO``, and when ``max_plans`` is reached: then nothing is proven.

    Examples
    --------
    >>> from regal.cluster import Cluster
    >>> from regal.graph import example_graph
    >>> plan, cost = brute_force(Problem(example_graph("diamond"), Cluster.uniform(1)))
    >>> cost.peak_memory
    (88,)
    """
    if problem.objective is Objective.PARETO:
        raise ValueError("brute force knows one objective at a time, not 'pareto'")
    if problem.graph.num_ops > MAX_OPS:
        raise ValueError(f"brute force takes at most {MAX_OPS} ops, not {problem.graph.num_ops}")
    best: tuple[tuple[float, ...], Plan, Cost] | None = None
    walked = 0
    for placement in placements(problem):
        events = Events(problem, placement)
        whole = (1 << len(events.events)) - 1
        seen: dict[int, list[tuple[float, ...]]] = {}
        stack = [events.start()]
        while stack:
            state = stack.pop()
            cost = Cost(state.peak, state.running_time)
            rank = problem.rank(cost)
            if (best is not None and rank >= best[0]) or _dominated(seen, state, _figures(problem, events, state)):
                continue
            walked += 1
            if walked > max_plans:
                raise ValueError(f"brute force walked {max_plans} partial schedules and is not done")
            if state.done == whole:
                best = rank, events.plan(state), cost
                continue
            ready = (e for e, needs in enumerate(events.needs) if not state.done >> e & 1 and needs & ~state.done == 0)
            following = [events.step(state, event) for event in ready]
            following.sort(key=lambda other: problem.rank(Cost(other.peak, other.running_time)), reverse=True)
            stack += following
    assert best is not None  # there is always a placement, and it has an order
    return best[1], best[2]


def placements(problem: Problem) -> Iterator[tuple[int, ...]]:
    """Every placement that respects the colocation groups, once where devices can be renamed."""
    cluster, groups = problem.cluster, problem.graph.colocation.tolist()
    units = [("op", op) if group < 0 else ("group", group) for op, group in enumerate(groups)]
    number = {unit: index for index, unit in enumerate(dict.fromkeys(units))}
    others = ~np.eye(cluster.num_devices, dtype=bool)
    alike = cluster.is_uniform and all(
        len(np.unique(matrix[others])) <= 1 for matrix in (cluster.latency, cluster.bandwidth)
    )
    for devices in product(range(cluster.num_devices), repeat=len(number)):
        first_uses = list(dict.fromkeys(devices))
        if not alike or first_uses == list(range(len(first_uses))):
            yield tuple(devices[number[unit]] for unit in units)


def _figures(problem: Problem, events: Events, state: State) -> tuple[float, ...]:
    """What a partial schedule's future depends on beside the set of its events; lower is nowhere worse."""
    if problem.objective is not Objective.RUNNING_TIME:
        return problem.rank(Cost(state.peak, state.running_time))
    awaited = [
        seconds if followers & ~state.done else 0.0
        for seconds, followers in zip(state.arrival, events.followers, strict=True)
    ]
    over = [max(peak, device.memory) for peak, device in zip(state.peak, problem.cluster.devices, strict=True)]
    return (*over, state.running_time, *state.device_free, *state.link_free, *awaited)


def _dominated(seen: dict[int, list[tuple[float, ...]]], state: State, figures: tuple[float, ...]) -> bool:
    """Whether a partial schedule of the same events is nowhere worse; if not, ``figures`` takes its place."""
    others = seen.setdefault(state.done, [])
    if any(all(a <= b for a, b in zip(other, figures, strict=True)) for other in others):
        return True
    others[:] = [other for other in others if not all(b <= a for a, b in zip(other, figures, strict=True))]
    others.append(figures)
    return False
