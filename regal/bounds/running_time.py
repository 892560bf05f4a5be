"""Certified lower bounds on the running time.

Copies take no negative time, so a plan is no faster than its ops alone. With f the fastest speed, F the sum of the
speeds of the devices that can be used (no more than there are colocation units), and r the runtimes:

critical path
    An op starts no earlier than its producers and control inputs have finished and takes at least r / f. Computed with
    the model's own additions, which are monotone in float64, so the value is exact: a plan can reach it.
total work
    A device of speed s is done with the ops placed on it no earlier than after (sum of their r) / s. So all work
    takes at least (sum of r) / F.
largest jobs
    The ops of a colocation group share a device and count as one job. The j largest jobs use at most j devices, so
    they take at least (sum of their r) / (sum of the j highest speeds).
work window
    Let the head of an op be its earliest start and its tail the longest way from its finish to the end, both along
    paths at speed f. The ops with head >= h and tail >= q run after h and before the end - q, on devices of total speed
    F: the running time is at least h + (sum of their r) / F + q.

All but the first add in another order than a schedule does. A finish in a schedule's float64 arithmetic is the exact
value less at most two roundings (of 2^-53, relative) per op before it; the heads, sums and tails of a certificate
together round no more than three times per op. So these certificates are shaved by the relative
(num_ops + 16) * 2^-49, which allows for sixteen roundings per op: 2e-12 for a thousand ops.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from regal.bounds.bound import Bound, colocation_units
from regal.cluster import Cluster
from regal.graph import CSR, ComputationGraph

WINDOW_STEPS = 2**25
"""Pairs of a head h and a tail q that the work window tries, about: all of them up to some five thousand ops."""
SMALLEST = 1e-290
"""Seconds below which rounding is no longer relative; certificates that are shaved do not speak there."""


def running_time_bound(graph: ComputationGraph, cluster: Cluster, *, seconds: float | None = None) -> Bound:
    """Seconds that every valid plan takes at least, in the float64 arithmetic of the performance model.

    Parameters
    ----------
    seconds : float, optional
        After so long the work window tries no further levels, and the bound is not complete.

    Examples
    --------
    >>> from regal.graph import example_graph
    >>> bound = running_time_bound(example_graph("diamond"), Cluster.uniform(2))
    >>> bound.value, bound.certificate, bound.op
    (5.0, 'critical path', 3)
    """
    start = time.perf_counter()
    if not graph.num_ops:
        return Bound(0.0, "no ops", None, True, time.perf_counter() - start)
    unit = colocation_units(graph)
    with np.errstate(over="ignore", invalid="ignore"):
        speed = np.cumsum(np.sort(cluster.speed)[::-1][: int(unit.max()) + 1])
        fastest = graph.runtime / speed[0]
        heads = _longest_ways(fastest, graph.predecessors, range(graph.num_ops))
        tails = _longest_ways(fastest, graph.successors, reversed(range(graph.num_ops)))
        finish = heads + fastest
        jobs = np.sort(np.bincount(unit, weights=graph.runtime))[::-1][: len(speed)]
        deadline = math.inf if seconds is None else start + seconds
        window, complete = _window(graph.runtime / speed[-1], heads, tails, deadline)
        shaved = {
            "total work": (graph.runtime / speed[-1]).sum(),
            "largest jobs": (np.cumsum(jobs) / speed).max(),
            "work window": window,
        }
    op = int(finish.argmax())
    certificates: list[tuple[float, str, int | None]] = [(float(finish[op]), "critical path", op)]
    certificates += [(_shaved(float(value), graph.num_ops), name, None) for name, value in shaved.items()]
    value, name, proof = max(certificates, key=lambda certificate: certificate[0])
    return Bound(value, name, proof, complete, time.perf_counter() - start)


def _longest_ways(seconds: NDArray[np.float64], before: CSR, order: Iterable[int]) -> NDArray[np.float64]:
    """float64 array, shape (num_ops,): the longest way, in seconds, over ops before each op, itself left out."""
    finish = [0.0] * len(seconds)
    ways, own = np.zeros(len(seconds)), seconds.tolist()
    ops_before = before.to_lists()
    for op in order:
        ways[op] = max([finish[other] for other in ops_before[op]], default=0.0)
        finish[op] = float(ways[op]) + own[op]
    return ways


def _window(
    work: NDArray[np.float64], heads: NDArray[np.float64], tails: NDArray[np.float64], deadline: float
) -> tuple[float, bool]:
    """The largest h + q + work of the ops with head >= h and tail >= q, and whether the time was enough for it.

    Large graphs skip some h, evenly.
    """
    by_tail = np.argsort(-tails)
    levels = np.unique(heads)
    step = -(-len(levels) * len(heads) // WINDOW_STEPS)
    best = 0.0
    for level in levels[::step]:
        if time.perf_counter() >= deadline:
            return best, False
        ops = by_tail[heads[by_tail] >= level]
        best = max(best, float((level + np.cumsum(work[ops]) + tails[ops]).max()))
    return best, True


def _shaved(value: float, num_ops: int) -> float:
    """``value`` less what rounding can have added to it; 0, which is always true, where it is tiny or overflowed."""
    if not SMALLEST < value < math.inf:
        return 0.0
    return value * (1 - (num_ops + 16) * 2.0**-49)
