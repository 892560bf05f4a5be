"""What each device holds at each moment of a schedule: levels, peaks, and the tensors behind them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regal.cost.reference import Step, start_memory, trace
from regal.graph import NO_PRODUCER, ComputationGraph
from regal.plan import RUN, Plan, check_plan

START = -1
"""The event index of the moment before the first event, when only persistent tensors are there."""
NO_TENSOR = -1


class Resident(NamedTuple):
    """Something that takes memory: a tensor, or the workspace of the op that runs."""

    name: str
    bytes: int
    tensor: int
    """Tensor index; -1 for a workspace."""


class Levels(NamedTuple):
    """Bytes on one device over the schedule; each level holds until the next.

    Attributes
    ----------
    position : float64 array, shape (num_levels,), ascending
        Event ``i`` is at its highest moment at ``i`` and over at ``i + 0.5``; the start is at -1.
    bytes : int64 array, shape (num_levels,)
    """

    position: NDArray[np.float64]
    bytes: NDArray[np.int64]

    @property
    def peak(self) -> int:
        """Highest level in bytes."""
        return int(self.bytes.max())

    @property
    def peak_event(self) -> int:
        """Event index at which the peak is first reached; -1 for the start."""
        return int(self.position[self.bytes.argmax()])

    def thinned(self, limit: int) -> Levels:
        """At most ``limit`` of the levels, at least 4: the first, last, lowest and highest of equal runs of them.

        The highest and lowest level of all stay, as does the picture at the width of a screen (Jugel et al., M4: a
        visualization-oriented time series data aggregation, PVLDB 7(10), 2014).
        """
        if len(self.bytes) <= limit:
            return self
        keep: set[int] = set()
        bounds = np.linspace(0, len(self.bytes), max(limit // 4, 1) + 1).astype(int).tolist()
        for a, b in pairwise(bounds):
            block = self.bytes[a:b]
            keep |= {a, b - 1, a + int(block.argmin()), a + int(block.argmax())}
        chosen = np.array(sorted(keep))
        return Levels(self.position[chosen], self.bytes[chosen])


def memory_levels(plan: Plan, steps: Sequence[Step]) -> list[Levels]:
    """The levels of every device, from the trace of a valid plan."""
    positions: list[list[float]] = [[float(START)] for _ in plan.cluster.devices]
    levels: list[list[int]] = [[num_bytes] for num_bytes in start_memory(plan)]
    for event, step in enumerate(steps):
        positions[step.device].append(event)
        levels[step.device].append(step.during)
        for device in {step.device, *(device for _, device in step.released)}:
            positions[device].append(event + 0.5)
            levels[device].append(step.memory[device])
    for device, last in enumerate(levels):
        if steps and positions[device][-1] < len(steps) - 0.5:
            positions[device].append(len(steps) - 0.5)
            last.append(last[-1])
    pairs = zip(positions, levels, strict=True)
    return [Levels(np.array(position), np.array(level, np.int64)) for position, level in pairs]


class Lifetimes(NamedTuple):
    """When each tensor is on each device: one entry per pair, int64 arrays of shape (num_pairs,).

    A pair is there at the highest moment of every event from ``first`` to ``last``, both included.
    """

    tensor: NDArray[np.int64]
    device: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]


def lifetimes(plan: Plan, steps: Sequence[Step]) -> Lifetimes:
    """The lifetimes behind the trace of a valid plan."""
    graph = plan.graph
    reads, readers = graph.inputs.values, graph.inputs.row_of_value
    persistent = graph.producer[reads] == NO_PRODUCER
    pairs = zip(reads[persistent].tolist(), plan.placement[readers[persistent]].tolist(), strict=True)
    first = dict.fromkeys(pairs, START)
    last: dict[tuple[int, int], int] = {}
    outputs = graph.outputs.to_lists()
    for event, step in enumerate(steps):
        for tensor in outputs[step.what] if step.target == RUN else (step.what,):
            first[tensor, step.device] = event
        last |= dict.fromkeys(step.released, event)
    rows = [(*pair, event, last.get(pair, len(steps))) for pair, event in first.items()]
    return Lifetimes(*np.array(rows, np.int64).reshape(-1, 4).T)


def live_tensors(plan: Plan, event_index: int, device: int) -> list[Resident]:
    """What ``device`` holds at the highest moment of an event, largest first; their bytes sum to its level there.

    Parameters
    ----------
    plan : Plan
    event_index : int
        Row of ``plan.schedule``, or -1 for the moment before the first event.
    device : int

    Raises
    ------
    ValueError
        For an event or device that is not there, or a plan that is not valid.

    Examples
    --------
    >>> from regal.cluster import Cluster
    >>> from regal.graph import example_graph
    >>> plan = Plan(example_graph("diamond"), Cluster.uniform(1), [0, 0, 0, 0], [[0, -1], [1, -1], [2, -1], [3, -1]])
    >>> [(resident.name, resident.bytes) for resident in live_tensors(plan, 2, 0)]
    [('c:0', 64), ('workspace of c', 16), ('a:0', 8), ('b:0', 4)]
    """
    if not START <= event_index < len(plan.schedule):
        raise ValueError(f"event_index must be from -1 to {len(plan.schedule) - 1}, not {event_index}")
    if not 0 <= device < plan.cluster.num_devices:
        raise ValueError(f"device must be from 0 to {plan.cluster.num_devices - 1}, not {device}")
    check_plan(plan)
    return residents(plan, lifetimes(plan, trace(plan)), event_index, device)


def residents(plan: Plan, alive: Lifetimes, event: int, device: int, limit: int | None = None) -> list[Resident]:
    """The ``limit`` largest of :func:`live_tensors`, from known lifetimes; all of them without a limit."""
    graph = plan.graph
    here = (alive.device == device) & (alive.first <= event) & (event <= alive.last)
    sizes = {int(tensor): int(graph.tensor_bytes[tensor]) for tensor in alive.tensor[here]}
    if event != START:
        op, target = plan.schedule[event].tolist()
        if target == RUN and plan.placement[op] == device and graph.workspace[op]:
            sizes[NO_TENSOR] = int(graph.workspace[op])
    largest = sorted(sizes, key=lambda tensor: (-sizes[tensor], tensor))[:limit]
    return [
        Resident(
            f"workspace of {graph.op_names[op]}" if tensor == NO_TENSOR else tensor_name(graph, tensor),
            sizes[tensor],
            tensor,
        )
        for tensor in largest
    ]


def tensor_name(graph: ComputationGraph, tensor: int) -> str:
    """``conv1:0`` for output 0 of op ``conv1``; a persistent tensor goes by its first reader.

    Examples
    --------
    >>> from regal.graph import example_graph
    >>> tensor_name(example_graph("chain"), 0), tensor_name(example_graph("chain"), 1)
    ('persistent, read by a and 2 more', 'a:0')
    """
    producer = int(graph.producer[tensor])
    if producer != NO_PRODUCER:
        return f"{graph.op_names[producer]}:{graph.outputs[producer].tolist().index(tensor)}"
    readers = graph.consumers[tensor]
    if not len(readers):
        return "persistent, read by nobody"
    more = f" and {len(readers) - 1} more" if len(readers) > 1 else ""
    return f"persistent, read by {graph.op_names[readers[0]]}{more}"
