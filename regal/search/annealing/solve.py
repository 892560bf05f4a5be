"""Simulated annealing on orders and placements, from the best heuristic plan.

Kirkpatrick, Gelatt and Vecchi, "Optimization by simulated annealing", Science 220, 1983: a move that costs more is
taken with probability ``exp(-increase / temperature)``, and the temperature falls geometrically. A move brings an op to
another step, a run of ops to another device, or sends an activation early instead of late. Moves of one op are costed
incrementally under a memory objective.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from regal.cost.arrays import cluster_arrays
from regal.cost.kernels import evaluate
from regal.graph import example_graph
from regal.plan import Plan, plan_from_order
from regal.problem import Objective, Problem
from regal.search.annealing.arrays import graph_lists
from regal.search.annealing.kernels import anneal_memory, anneal_time
from regal.search.annealing.state import Clock, Order, Profiles, Scratch, order_of, plan_of
from regal.search.budget import Budget
from regal.search.placements import with_groups_together
from regal.search.result import Candidate, Progress, ProgressCallback, Result
from regal.search.warm_start import warm_start

CHUNKS = 50
"""A search reports and looks at the clock this many times, unless a chunk would be longer than ``MAX_CHUNK`` moves."""
MIN_CHUNK, MAX_CHUNK = 200, 20_000
CHUNK_SECONDS = 0.05
"""How long a chunk should take where time is the only limit."""
FROZEN = 1e-300
"""A temperature at which no increase is taken."""
EXCESS_SHARE = 0.05
"""Exceeding the memory by this share of it costs as much as the running time of the first plan."""


@dataclass(frozen=True)
class Options:
    """How annealing runs.

    Attributes
    ----------
    hot, cold : float
        Temperatures at the beginning and at the end, as shares of the first plan's cost.
    smoothing : float
        Weight of the mean live bytes beside the peak: a slope where the peak is flat.
    warm_start : bool
        Start from the best plan of :func:`regal.search.warm_start.warm_start`, whose plans count as evaluations and are
        candidates for the result. Without it the start is the program order with a random placement.
    start : Plan, optional
        Where to start instead.
    progress : callable, optional
    """

    hot: float = 1e-2
    cold: float = 1e-5
    smoothing: float = 0.05
    warm_start: bool = True
    start: Plan | None = None
    progress: ProgressCallback | None = None


Chunk = Callable[[int, float, float], None]
"""Takes a number of moves and the temperatures at both ends."""


def solve(problem: Problem, budget: Budget, seed: int = 0, options: Options | None = None) -> Result:
    """Anneal within ``budget``; every proposed move is one evaluation, and so is each heuristic plan.

    Raises
    ------
    ValueError
        For the Pareto objective.

    Examples
    --------
    >>> result = solve(Problem(example_graph("branches")), Budget(2_000))
    >>> result.method, result.evaluations
    ('annealing', 2000)
    """
    if problem.objective is Objective.PARETO:
        raise ValueError("annealing has one objective; the Pareto front is made by method nsga2")
    options = options or Options()
    _compile(problem.objective)
    start = time.perf_counter()
    candidates: list[Candidate] = []
    stop_reason = None
    if options.start is not None:
        first = options.start
    elif options.warm_start:
        heuristics = warm_start(problem, budget)
        candidates, stop_reason = heuristics.candidates, heuristics.stop_reason
        first = min(candidates, key=lambda candidate: problem.rank(candidate.cost)).plan
    else:
        first = _random_start(problem, seed)
    moves = 0
    if stop_reason is None:
        best = order_of(first)
        if problem.graph.num_ops:
            chunk = _chunk_of_time if problem.objective is Objective.RUNNING_TIME else _chunk_of_memory
            run = chunk(problem, order_of(first), best, options, seed)
            moves, stop_reason = _cool(run, best, budget, len(candidates), start, options)
        plan = plan_of(problem, best)
        candidates = [*candidates, Candidate("annealing", plan, evaluate(plan, problem.graph_arrays))]
    found = min(candidates, key=lambda candidate: problem.rank(candidate.cost))
    return Result(
        problem=problem,
        plan=found.plan,
        cost=found.cost,
        method="annealing",
        seed=seed,
        evaluations=len(candidates) - (moves > 0) + moves,
        search_seconds=time.perf_counter() - start,
        stop_reason=stop_reason or "nothing to move",
        baselines=tuple(candidate for candidate in candidates if candidate.name != "annealing"),
    )


def _random_start(problem: Problem, seed: int) -> Plan:
    graph = problem.graph
    random = np.random.Generator(np.random.Philox(seed))
    placement = random.integers(0, problem.cluster.num_devices, graph.num_ops, np.int32)
    placement = with_groups_together(graph, placement)
    return plan_from_order(graph, problem.cluster, placement, range(graph.num_ops))


def _cool(run: Chunk, best: Order, budget: Budget, spent: int, start: float, options: Options) -> tuple[int, str]:
    """Run chunk after chunk until the budget is used up; returns the moves made and why it ended."""
    left = None if budget.evaluations is None else budget.evaluations - spent
    size = MIN_CHUNK if left is None else min(max(left // CHUNKS, MIN_CHUNK), MAX_CHUNK)
    begin, moves, unit = time.perf_counter(), 0, 0.0
    None if budget.seconds is None else budget.seconds - (begin - start)
    reason = budget.reason_to_stop(spent, begin - start)
    try:
        while reason is None:
            now = time.perf_counter()
            size = size if left is None else min(size, left - moves)
            share = _share(
                moves, left, now - begin, None if budget.seconds is None else budget.seconds - (begin - start)
            )
            if not unit:
                run(0, options.hot, options.hot)
                unit = max(float(best.value[0]), 1e-300)
            ahead = share + (size / left if left else 0.0)
            run(size, unit * _temperature(options, share), unit * _temperature(options, min(ahead, 1.0)))
            moves += size
            seconds = time.perf_counter() - now
            if left is None:
                size = int(min(max(size * CHUNK_SECONDS / max(seconds, 1e-6), MIN_CHUNK), MAX_CHUNK))
            if options.progress is not None:
                value = float(best.value[0])
                options.progress(Progress(spent + moves, time.perf_counter() - start, value))
            reason = budget.reason_to_stop(spent + moves, time.perf_counter() - start)
    except KeyboardInterrupt:
        reason = "interrupted"
    return moves, reason


def _share(moves: int, most_moves: int | None, seconds: float, most_seconds: float | None) -> float:
    """How much of the budget is used, by whichever limit is nearer."""
    by_moves = moves / most_moves if most_moves else 0.0
    by_time = seconds / most_seconds if most_seconds else 0.0
    return min(max(by_moves, by_time), 1.0)


def _temperature(options: Options, share: float) -> float:
    if options.hot <= 0:
        return FROZEN
    return options.hot * (max(options.cold, FROZEN) / options.hot) ** share


def _chunk_of_memory(problem: Problem, state: Order, best: Order, options: Options, seed: int) -> Chunk:
    graph, num_devices = graph_lists(problem.graph), problem.cluster.num_devices
    profiles, saved = Profiles.empty(graph, num_devices), Profiles.empty(graph, num_devices)
    scratch, random = Scratch.empty(graph, num_devices), np.array([seed], np.uint64)
    weight = np.ones(num_devices)
    if problem.objective is Objective.PEAK_UTILISATION:
        memory = problem.cluster.memory.astype(np.float64)
        weight = memory.max(initial=1.0) / np.maximum(memory, 1e-9)

    def run(moves: int, hot: float, cold: float) -> None:
        args = (weight, options.smoothing, moves, max(hot, FROZEN), max(cold, FROZEN), random)
        anneal_memory(graph, state, best, profiles, saved, scratch, *args)

    return run


def _chunk_of_time(problem: Problem, state: Order, best: Order, options: Options, seed: int) -> Chunk:
    graph, cluster = graph_lists(problem.graph), cluster_arrays(problem.cluster)
    profiles, scratch = Profiles.empty(graph, len(cluster.memory)), Scratch.empty(graph, len(cluster.memory))
    clock, random = Clock.empty(graph, len(cluster.memory)), np.array([seed], np.uint64)
    total = sum(problem.graph.tensor_bytes.tolist()) + int(problem.graph.workspace.max(initial=0))
    fits = total <= int(cluster.memory.min())
    work = float(problem.graph.runtime.sum()) / float(cluster.speed.max())
    penalty = work / max(EXCESS_SHARE * float(cluster.memory.max()), 1.0)

    def run(moves: int, hot: float, cold: float) -> None:
        args = (fits, penalty, moves, max(hot, FROZEN), max(cold, FROZEN), random)
        anneal_time(graph, cluster, state, best, profiles, scratch, clock, *args)

    return run


def _compile(objective: Objective) -> None:
    """Compile what the search needs on a tiny graph, so that its clock can start after it."""
    problem = Problem(example_graph("branches"), objective=objective)
    warm = warm_start(problem, Budget())
    state = order_of(warm.candidates[0].plan)
    chunk = _chunk_of_time if objective is Objective.RUNNING_TIME else _chunk_of_memory
    chunk(problem, state, state.copy(), Options(), 0)(10, 1.0, 1.0)
