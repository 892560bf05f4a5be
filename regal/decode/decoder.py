"""From keys to costs in batch, from one row of keys to a plan, and back."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from functools import partial

import numpy as np
from numba import config
from numpy.typing import NDArray

from regal.cluster import Cluster
from regal.decode.kernels import Limits, decode, decode_parts
from regal.decode.layout import Layout
from regal.graph import ComputationGraph
from regal.plan import RUN, Plan
from regal.problem import Objective, Problem

UNLIMITED = 2**63 - 1
EXACT = 2**53
"""Every integer up to this is a float64."""


class Decoder:
    """The fitness of chromosomes of one problem: ``decoder(keys, cutoff) -> fitness``, lower is better.

    It holds no working state and releases the interpreter lock, so that threads may share it.

    Parameters
    ----------
    problem : Problem
    threads : int
        Threads that share the rows of a batch, at most the cores; they have no effect on the result. A process that
        used more than one must not be forked (Numba's threads do not survive it).

    Attributes
    ----------
    layout : Layout
    num_columns : int
        Columns of the fitness: 1, or 2 for running time (excess bytes, seconds) and for Pareto (bytes, seconds).
    """

    def __init__(self, problem: Problem, threads: int = 1) -> None:
        self.problem = problem
        self._parts = min(threads, config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
        self.layout = Layout.of(problem.graph, problem.cluster.num_devices)
        self._timed = problem.objective in (Objective.RUNNING_TIME, Objective.PARETO)
        self.num_columns = 2 if self._timed else 1
        needs_tail = problem.objective is Objective.RUNNING_TIME
        tail = tails(problem.graph, problem.cluster) if needs_tail else np.zeros(problem.graph.num_ops)
        memory = np.full(problem.cluster.num_devices, UNLIMITED, np.int64)
        self._no_limits = Limits(memory, math.inf, math.inf, tail)

    def __call__(self, keys: NDArray, cutoff: float | NDArray = math.inf) -> NDArray[np.float64]:
        """Fitness of each row of ``keys``.

        Parameters
        ----------
        keys : uint16 or uint32, shape (m, num_keys or num_padded_keys)
        cutoff : float, or float64 shape (2,) for two columns
            A row whose fitness reaches it is not walked to the end, and the cutoff is returned for it. Pareto knows
            no cutoff.

        Returns
        -------
        float64, shape (m,), or (m, 2) for two columns
        """
        peaks, seconds, finished = self._decode(keys, self._limits(cutoff))
        memory = self.problem.cluster.memory
        objective = self.problem.objective
        if objective is Objective.PEAK_MEMORY:
            fitness = peaks.max(axis=1).astype(np.float64)
        elif objective is Objective.PEAK_UTILISATION:
            fitness = utilisation(peaks, memory).max(axis=1)
        elif objective is Objective.PARETO:
            fitness = np.column_stack([peaks.max(axis=1).astype(np.float64), seconds])
        else:
            fitness = np.column_stack([np.maximum(peaks - memory, 0).sum(axis=1).astype(np.float64), seconds])
        if not finished.all():
            fitness[~finished] = cutoff
        return fitness

    def costs(self, keys: NDArray) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Peak memory (m, num_devices) in bytes and running time (m,) in seconds of each row."""
        peaks, seconds, _ = self._decode(keys, self._no_limits, timed=True)
        return peaks, seconds

    def plan(self, keys: NDArray) -> Plan:
        """The plan behind one row of keys."""
        rows = np.ascontiguousarray(keys).reshape(1, -1)
        problem, layout = self.problem, self.layout
        graph, num_devices = problem.graph, problem.cluster.num_devices
        order = np.zeros(graph.num_ops + graph.num_activations * num_devices, np.uint32)
        num_events = self._record(rows, order)
        events = order[:num_events].astype(np.int64)
        placement = placement_of(graph, layout, rows[0])
        schedule = np.column_stack([events, np.full(num_events, RUN)])
        copies = events >= graph.num_ops
        activation, device = np.divmod(events[copies] - graph.num_ops, num_devices)
        schedule[copies, 0], schedule[copies, 1] = graph.activations[activation], device
        return Plan(graph, problem.cluster, placement, schedule)

    def _record(self, rows: NDArray, order: NDArray[np.uint32]) -> int:
        self.layout.check(rows)
        order[:] = UNUSED
        peaks, finished = np.zeros((1, self.layout.num_devices), np.int64), np.zeros(1, np.bool_)
        arrays, limits = (self.problem.graph_arrays, self.problem.cluster_arrays), self._no_limits
        decode(*arrays, rows, limits, peaks, np.zeros(1), finished, order, None, None, True)
        return int(np.count_nonzero(order != UNUSED))

    def _limits(self, cutoff: float | NDArray) -> Limits:
        objective, limits = self.problem.objective, self._no_limits
        if objective is Objective.RUNNING_TIME:
            excess, seconds = np.broadcast_to(cutoff, 2).tolist()
            return limits._replace(excess=excess, seconds=seconds)
        if objective is Objective.PARETO or cutoff == math.inf:
            return limits
        if objective is Objective.PEAK_MEMORY:
            bytes_ = [_least_reaching(float(cutoff), float) - 1] * self.layout.num_devices
        else:
            memory = self.problem.cluster.memory.tolist()
            bytes_ = [_least_reaching(float(cutoff), partial(_share, size)) - 1 for size in memory]
        return limits._replace(memory=np.array(bytes_, np.int64))

    def _decode(
        self, keys: NDArray, limits: Limits, timed: bool = False
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.bool_]]:
        self.layout.check(keys)
        keys = np.ascontiguousarray(keys)
        peaks = np.zeros((len(keys), self.layout.num_devices), np.int64)
        seconds, finished = np.zeros(len(keys)), np.zeros(len(keys), np.bool_)
        pair = True if self.layout.num_devices == 2 else None
        clock = True if timed or self._timed else None
        arrays = self.problem.graph_arrays, self.problem.cluster_arrays
        if self._parts > 1 and len(keys) != 1:
            decode_parts(*arrays, keys, limits, peaks, seconds, finished, self._parts, pair, clock)
        else:
            order = np.empty(0, np.uint32)
            decode(*arrays, keys, limits, peaks, seconds, finished, order, pair, clock, None)
        return peaks, seconds, finished


UNUSED = 0xFFFFFFFF


def utilisation(peaks: NDArray[np.int64], memory: NDArray[np.int64]) -> NDArray[np.float64]:
    """Peaks as shares of the devices' memory; infinite where a device without memory is used."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(peaks == 0, 0.0, peaks / memory)


def placement_of(graph: ComputationGraph, layout: Layout, row: NDArray) -> NDArray[np.int32]:
    """int32, shape (num_ops,): the device of each op behind one row of keys."""
    affinities = row[layout.affinities].reshape(layout.num_ops, layout.num_devices)
    placement = affinities.argmax(axis=1).astype(np.int32)
    grouped = np.flatnonzero(graph.colocation >= 0)
    if len(grouped):
        _, first, group = np.unique(graph.colocation[grouped], return_index=True, return_inverse=True)
        placement[grouped] = placement[grouped[first][group]]
    return placement


def encode(plan: Plan) -> NDArray:
    """A row of keys that decodes to ``plan``: uint16 or uint32, shape (num_padded_keys,).

    The chosen device's affinity is three quarters of the key range, the others one quarter; the events' keys fall
    evenly along the schedule.
    """
    graph, num_devices = plan.graph, plan.cluster.num_devices
    layout = Layout.of(graph, num_devices)
    size = 2 ** (8 * layout.key_dtype.itemsize)
    keys = np.zeros(layout.num_padded_keys, np.int64)
    affinities = keys[layout.affinities].reshape(graph.num_ops, num_devices)
    affinities[:] = size // 4
    affinities[np.arange(graph.num_ops), plan.placement] = 3 * size // 4
    num_events = len(plan.schedule)
    falling = size - 1 - np.arange(num_events, dtype=np.int64) * size // max(num_events, 1)
    runs = plan.schedule[:, 1] == RUN
    keys[layout.priorities][plan.schedule[runs, 0]] = falling[runs]
    activation_of = np.zeros(graph.num_tensors, np.int64)
    activation_of[graph.activations] = np.arange(graph.num_activations)
    slots = activation_of[plan.schedule[~runs, 0]] * num_devices + plan.schedule[~runs, 1]
    keys[layout.transfers][slots] = falling[~runs]
    return keys.astype(layout.key_dtype)


def order_keys(graph: ComputationGraph, layout: Layout, order: NDArray[np.int64]) -> NDArray:
    """A row of keys that runs the ops in ``order`` on any placement: layout's dtype, shape (num_padded_keys,).

    A copy has the key of the first op that reads its tensor plus one, so that it is made when it is needed.
    Affinities are left 0.
    """
    size = 2 ** (8 * layout.key_dtype.itemsize)
    keys = np.zeros(layout.num_padded_keys, np.int64)
    priorities = keys[layout.priorities]
    priorities[order] = size - 2 - np.arange(graph.num_ops, dtype=np.int64) * (size - 1) // max(graph.num_ops, 1)
    first = np.zeros(graph.num_tensors, np.int64)
    np.maximum.at(first, graph.inputs.values, priorities[graph.inputs.row_of_value])
    keys[layout.transfers] = np.repeat(first[graph.activations] + 1, layout.num_devices)
    return keys.astype(layout.key_dtype)


def tails(graph: ComputationGraph, cluster: Cluster) -> NDArray[np.float64]:
    """float64, shape (num_ops,): seconds of the longest path that starts after each op, at the highest speed."""
    fastest = float(cluster.speed.max())
    tail = [0.0] * graph.num_ops
    runtime = (graph.runtime / fastest).tolist()
    for op, before in reversed(list(enumerate(graph.predecessors.to_lists()))):
        reach = tail[op] + runtime[op]
        for other in before:
            if tail[other] < reach:
                tail[other] = reach
    return np.array(tail)


def _share(memory: int, peak: int) -> float:
    return float(peak) / float(memory) if memory else (math.inf if peak else 0.0)


def _least_reaching(value: float, figure: Callable[[int], float]) -> int:
    """The lowest byte count whose ``figure``, which grows with the bytes, is not below ``value``."""
    if figure is float and 0 <= value <= EXACT:
        return math.ceil(value)
    return bisect_left(range(UNLIMITED), value, key=figure)
