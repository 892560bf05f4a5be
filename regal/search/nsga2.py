"""NSGA-II over decoded chromosomes: a front of plans in peak memory and running time.

Selection, non-dominated sorting and the hypervolume are DEAP's (Deb et al., 2002; Fortin et al., 2013); mating is
BRKGA's biased crossover with the better parent of two tournaments in the elite's place, and a share of fresh rows.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from deap import base, tools
from deap.benchmarks.tools import hypervolume
from numpy.typing import NDArray

from regal.cost.kernels import evaluate
from regal.decode import Decoder, encode
from regal.problem import Objective, Problem
from regal.search import warm_start as heuristics
from regal.search.brkga import check_size
from regal.search.budget import Budget
from regal.search.result import Candidate, Front, Progress, ProgressCallback, Result

POPULATION = 100
ELITE_BIAS = 0.7
MUTANT_SHARE = 0.1
REFERENCE_MARGIN = 1.1
"""The hypervolume is measured from the worst baseline or first-generation point, times this."""


class _Fitness(base.Fitness):
    weights = (-1.0, -1.0)


class _Individual:
    """A row of keys, or a plan at hand, with its two objectives, as DEAP's tools want it."""

    __slots__ = ("candidate", "fitness", "row")

    def __init__(self, row: NDArray, point: Sequence[float], candidate: Candidate | None = None) -> None:
        self.row = row
        self.candidate = candidate
        self.fitness = _Fitness(tuple(point))


def solve(
    problem: Problem,
    budget: Budget,
    seed: int = 0,
    *,
    warm_start: bool = True,
    progress: ProgressCallback | None = None,
) -> Front:
    """Search for the plans that nobody beats in both objectives.

    Every point ever found takes part, and the warm starts are candidates as plans, so that the front is never worse
    than they are. The generations have 100 rows; the last one is smaller where the budget asks for it.
    """
    problem = Problem(problem.graph, problem.cluster, Objective.PARETO)
    decoder = Decoder(problem)
    check_size(decoder, POPULATION)
    heuristics.prepare()
    decoder(np.empty((0, decoder.layout.num_padded_keys), decoder.layout.key_dtype))  # compiles
    start = time.perf_counter()
    begin = heuristics.warm_start(problem, budget) if warm_start else heuristics.WarmStart([], [])
    population = [
        _Individual(encode(c.plan), (c.cost.max_peak_memory, c.cost.running_time), c) for c in begin.candidates
    ]
    front, evaluations = _first_front(population), len(population)
    worst = np.zeros(2)
    random = np.random.Generator(np.random.Philox(seed))
    stop_reason = begin.stop_reason
    try:
        rows = _first_rows(begin, decoder, seed, random)
        while stop_reason is None:
            room = POPULATION if budget.evaluations is None else budget.evaluations - evaluations
            points = decoder(rows[:room]).tolist()
            fresh = [_Individual(row.copy(), point) for row, point in zip(rows, points, strict=False)]
            if not worst.any():
                worst = np.max([individual.fitness.values for individual in population + fresh], axis=0)
            front = _first_front(front + fresh)
            evaluations += len(points)
            population = tools.selNSGA2(population + fresh, POPULATION, nd="log")
            rows = _offspring(population, decoder, random)
            if progress is not None:
                progress(Progress(evaluations, time.perf_counter() - start, front[0].fitness.values[0]))
            stop_reason = budget.reason_to_stop(evaluations, time.perf_counter() - start)
    except KeyboardInterrupt:
        if not front:
            raise
        stop_reason = "interrupted"
    found = [individual.candidate or _candidate(decoder, individual.row) for individual in front]
    shared: dict[str, Any] = {
        "problem": Problem(problem.graph, problem.cluster, Objective.PEAK_MEMORY),
        "method": "nsga2",
        "seed": seed,
        "evaluations": evaluations,
        "search_seconds": time.perf_counter() - start,
        "stop_reason": stop_reason,
        "baselines": tuple(begin.candidates),
    }
    results = [Result(plan=candidate.plan, cost=candidate.cost, **shared) for candidate in found]
    if not worst.any():
        worst = np.max([individual.fitness.values for individual in front], axis=0)
    bytes_, seconds = (worst * REFERENCE_MARGIN).tolist()
    volume = float(hypervolume(front, [bytes_, seconds])) if bytes_ and seconds else 0.0
    return Front(problem, tuple(results), None, volume, (bytes_, seconds))


def _first_front(individuals: list[_Individual]) -> list[_Individual]:
    """The individuals that nobody dominates, by ascending peak memory; of equal points the first."""
    best: list[_Individual] = []
    for individual in sorted(individuals, key=lambda one: one.fitness.values):
        if not best or individual.fitness.values[1] < best[-1].fitness.values[1]:
            best.append(individual)
    return best


def _uniform_rows(count: int, decoder: Decoder, random: np.random.Generator) -> NDArray:
    width, dtype = decoder.layout.num_padded_keys, decoder.layout.key_dtype
    return random.integers(0, np.iinfo(dtype).max, (count, width), dtype=dtype, endpoint=True)


def _first_rows(begin: heuristics.WarmStart, decoder: Decoder, seed: int, random: np.random.Generator) -> NDArray:
    """The first generation: heuristic orders with random placements, where there are any, and uniform rows."""
    rows = _uniform_rows(POPULATION, decoder, random)
    if begin.candidates:
        ordered = begin.rows(decoder.problem, POPULATION, seed)[len(begin.candidates) :]
        rows[: len(ordered)] = ordered
    return rows


def _offspring(population: list[_Individual], decoder: Decoder, random: np.random.Generator) -> NDArray:
    """Crossover of the winners of two tournaments, and fresh rows.

    NSGA-II's selection leaves the population sorted by front, so that the lower place wins a tournament.
    """
    rows = _uniform_rows(POPULATION, decoder, random)
    for index in range(POPULATION):
        if random.random() >= MUTANT_SHARE:
            places = sorted(random.integers(0, len(population), (2, 2)).min(axis=1).tolist())
            better, other = (population[place].row for place in places)
            rows[index] = np.where(random.random(rows.shape[1], np.float32) < ELITE_BIAS, better, other)
    return rows


def _candidate(decoder: Decoder, row: NDArray) -> Candidate:
    plan = decoder.plan(row)
    return Candidate("nsga2", plan, evaluate(plan, decoder.problem.graph_arrays))
