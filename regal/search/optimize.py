"""The one door: a graph goes in, a plan with its figures and bounds comes out."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from regal.bounds import Bound, peak_memory_bound, peak_utilisation_bound, running_time_bound
from regal.cluster import Cluster
from regal.graph import ComputationGraph
from regal.problem import Objective, Problem
from regal.search import annealing, brkga, nsga2
from regal.search import warm_start as heuristics
from regal.search.brute_force import brute_force
from regal.search.budget import Budget
from regal.search.result import Front, ProgressCallback, Result

BOUND_SHARE = 0.2
"""Bounds take at most this share of the search's time unless told otherwise."""
METHODS = ("auto", "brkga", "annealing", "heuristics", "brute-force")
"""Methods for one objective."""
PARETO_METHODS = ("auto", "nsga2")


def optimize(
    graph: ComputationGraph,
    devices: int = 2,
    cluster: Cluster | None = None,
    objective: Objective | str = Objective.PEAK_MEMORY,
    method: str = "auto",
    evaluations: int | None = 5000,
    seconds: float | None = None,
    seed: int = 0,
    *,
    warm_start: bool = True,
    threads: int | None = None,
    bound_seconds: float | None = None,
    progress: ProgressCallback | None = None,
    checkpoint: str | Path | None = None,
    **options: Any,
) -> Result | Front:
    """Find a placement and a schedule of ``graph``.

    Parameters
    ----------
    devices : int
        Equal devices of 16 GiB with free links; ignored where ``cluster`` is given.
    cluster : Cluster, optional
    objective : Objective or str
        ``"peak-memory"``, ``"peak-utilisation"``, ``"running-time"`` or ``"pareto"``.
    method : str
        ``"auto"`` and ``"brkga"``: the genetic algorithm. ``"annealing"``: simulated annealing from the best of the
        warm starts. ``"heuristics"``: the best of the warm starts alone.
        ``"brute-force"``: the optimum, tiny graphs only. ``"nsga2"``: the Pareto front, which ``"auto"`` takes for
        that objective.
    evaluations, seconds : int and float, optional
        The search stops at whichever comes first; pass None for no such limit.
    seed : int
        The same seed gives the same plan, on any number of threads.
    warm_start : bool
        Start from heuristic plans and never do worse than the best of them. Without it ``"brkga"`` is the pure
        algorithm of the papers' tables.
    threads : int, optional
        Default: the cores at hand.
    bound_seconds : float, optional
        Time for lower bounds; by default at most a fifth of the search's time, and none after an interruption.
    progress : callable, optional
        Called with a :class:`regal.search.result.Progress` per generation.
    checkpoint : path, optional
        Where BRKGA saves its state now and then, and goes on from; other methods refuse it.
    options
        ``parameters`` and ``proposal`` of BRKGA, see :class:`regal.search.brkga.Options`.

    Returns
    -------
    Result, or Front for the Pareto objective

    Raises
    ------
    ValueError
        For arguments that make no sense; the message names the value.

    Examples
    --------
    >>> from regal.graph import example_graph
    >>> result = optimize(example_graph("branches"), devices=1, evaluations=500)
    >>> result.peak_memory, result.feasible
    ((106,), True)
    """
    problem = Problem(graph, Cluster.uniform(devices) if cluster is None else cluster, Objective.of(objective))
    budget = Budget(evaluations, seconds)
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**64:
        raise ValueError(f"seed must be an integer from 0 to 2^64 - 1, not {seed!r}")
    threads = available_cores() if threads is None else threads
    if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= 1024:
        raise ValueError(f"threads must be from 1 to 1024, not {threads!r}")
    if bound_seconds is not None and not bound_seconds >= 0:
        raise ValueError(f"bound_seconds must be seconds from 0 on, not {bound_seconds!r}")
    known = PARETO_METHODS if problem.objective is Objective.PARETO else METHODS
    if method not in known:
        raise ValueError(f"method must be one of {', '.join(known)} for {problem.objective.value}, not {method!r}")
    if (problem.objective is Objective.PARETO or method not in ("auto", "brkga")) and (checkpoint or options):
        names = ", ".join(sorted([*options, *(["checkpoint"] if checkpoint else [])]))
        raise ValueError(f"{names}: only the method brkga takes this")
    if problem.objective is Objective.PARETO:
        front = nsga2.solve(problem, budget, seed, warm_start=warm_start, progress=progress)
        return _with_bounds(front, bound_seconds)
    if method == "heuristics":
        result = heuristics.solve(problem, budget, seed)
    elif method == "annealing":
        result = annealing.solve(problem, budget, seed, annealing.Options(warm_start=warm_start, progress=progress))
    elif method == "brute-force":
        result = _brute_force(problem, seed)
    else:
        how = brkga.Options(warm_start=warm_start, threads=threads, progress=progress, checkpoint=checkpoint, **options)
        result = dataclasses.replace(brkga.solve(problem, budget, seed, how), method=method)
    return dataclasses.replace(result, lower_bound=_bound_after(result, problem, bound_seconds))


def lower_bound(
    problem: Problem, seconds: float | None = None, progress: Callable[[Bound], None] | None = None
) -> Bound:
    """What no plan of ``problem`` can go below, in the objective's unit; for Pareto, in bytes.

    ``seconds`` limits the time, ``progress`` is that of :func:`regal.bounds.peak_memory_bound`.
    """
    graph, cluster = problem.graph, problem.cluster
    if problem.objective is Objective.RUNNING_TIME:
        return running_time_bound(graph, cluster, seconds=seconds)
    if problem.objective is Objective.PEAK_UTILISATION:
        return peak_utilisation_bound(graph, cluster, seconds=seconds, progress=progress)
    return peak_memory_bound(graph, cluster, seconds=seconds, progress=progress)


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _with_bounds(front: Front, seconds: float | None) -> Front:
    memory_bound = _bound_after(front.results[0], front.problem, seconds)
    results = tuple(dataclasses.replace(result, lower_bound=memory_bound) for result in front.results)
    time_bound = running_time_bound(front.problem.graph, front.problem.cluster)
    return dataclasses.replace(front, results=results, time_bound=time_bound)


def _bound_after(result: Result, problem: Problem, seconds: float | None) -> Bound:
    """The lower bound that a search is followed by; an interruption keeps the plan and ends the bound early."""
    if seconds is None:
        seconds = 0.0 if result.stop_reason == "interrupted" else BOUND_SHARE * result.search_seconds
    try:
        return lower_bound(problem, seconds)
    except KeyboardInterrupt:
        return lower_bound(problem, 0.0)


def _brute_force(problem: Problem, seed: int) -> Result:
    start = time.perf_counter()
    plan, cost = brute_force(problem)
    seconds = time.perf_counter() - start
    return Result(problem, plan, cost, "brute-force", seed, 1, seconds, "optimal")
