"""BRKGA on decoded plans: pure as in the papers' tables, or started from heuristic plans and never worse than them."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import brkga
from regal.cost.kernels import evaluate
from regal.decode import Decoder
from regal.decode.layout import LANES
from regal.problem import Objective, Problem
from regal.search.budget import Budget
from regal.search.result import Candidate, Progress, ProgressCallback, Result
from regal.search.warm_start import WarmStart, warm_start

MAX_POPULATION_BYTES = 8 * 2**30
"""Refuse a population, with the copy that the next generation is bred into, of more bytes than this."""
CHECKPOINT_SECONDS = 30.0


@dataclass(frozen=True)
class Options:
    """How the genetic algorithm runs; ``threads``, ``progress`` and ``checkpoint`` have no effect on the plan.

    Attributes
    ----------
    warm_start : bool
        Start from :func:`regal.search.warm_start.warm_start`, whose plans count as evaluations and are candidates for
        the result themselves. Without it the search is pure BRKGA.
    parameters : brkga.Parameters
        Default: population 100, 20 elites, 15 mutants, elite bias 0.7. A budget below the population shrinks it.
    proposal : brkga.Proposal
        Distribution of fresh chromosomes over ``Layout.num_padded_keys`` keys.
    threads : int
    progress : callable, optional
    checkpoint : path, optional
        Saved there now and then; a search that finds the file goes on from it.
    """

    warm_start: bool = True
    parameters: brkga.Parameters = field(default_factory=brkga.Parameters)
    proposal: brkga.Proposal = field(default_factory=brkga.Uniform)
    threads: int = 1
    progress: ProgressCallback | None = None
    checkpoint: str | Path | None = None


def solve(problem: Problem, budget: Budget, seed: int = 0, options: Options | None = None) -> Result:
    """Run BRKGA within ``budget`` and return the best plan.

    Raises
    ------
    ValueError
        For the Pareto objective, a population that would not fit in memory, or a checkpoint of another search.
    """
    if problem.objective is Objective.PARETO:
        raise ValueError("BRKGA has one objective; the Pareto front is made by method nsga2")
    options = options or Options()
    decoder = Decoder(problem)
    _check_size(decoder, options.parameters)
    _compile(decoder)
    start = time.perf_counter()
    starts = warm_start(problem) if options.warm_start else WarmStart([], [])
    found = _evolve(decoder, budget, seed, starts, options, start)
    best = min([*starts.candidates, *found.candidates], key=lambda candidate: problem.rank(candidate.cost))
    return Result(
        problem=problem,
        plan=best.plan,
        cost=best.cost,
        method="brkga",
        seed=seed,
        evaluations=len(starts.candidates) + found.evaluations,
        search_seconds=time.perf_counter() - start,
        stop_reason=found.stop_reason,
        baselines=tuple(starts.candidates),
        history=found.history,
    )


@dataclass(frozen=True)
class _Found:
    """What the genetic algorithm brings home."""

    candidates: list[Candidate]
    evaluations: int
    stop_reason: str
    history: dict[str, list[float]]


def _evolve(decoder: Decoder, budget: Budget, seed: int, starts: WarmStart, options: Options, start: float) -> _Found:
    """Run the genetic algorithm from the encoded ``starts`` within what is left of the budget."""
    spent = len(starts.candidates)
    left = None if budget.evaluations is None else budget.evaluations - spent
    seconds_left = None if budget.seconds is None else budget.seconds - (time.perf_counter() - start)
    if spent and ((left is not None and left < 1) or (seconds_left is not None and seconds_left <= 0)):
        return _Found([], 0, "evaluations" if left is not None and left < 1 else "seconds", {})
    if left is not None and left < 4:
        return _sampled(decoder, left, seed)
    parameters = _fitted(options.parameters, left)
    engine = _engine(decoder, parameters, seed, starts, options)

    def report(state: brkga.State) -> None:
        if options.progress is not None:
            value = float(np.atleast_1d(state.best_fitness)[-1])
            options.progress(Progress(spent + state.evaluations, time.perf_counter() - start, value))

    stop: list[brkga.StopRule] = []
    if left is not None:
        stop.append(brkga.MaxEvaluations(left))
    if seconds_left is not None:
        stop.append(brkga.MaxSeconds(max(seconds_left, 0.0)))
    result = engine.run(
        decoder,
        stop=stop,
        callbacks=[report],
        checkpoint=options.checkpoint,
        checkpoint_every=CHECKPOINT_SECONDS,
    )
    history = {name: values.tolist() for name, values in result.history.to_arrays().items()}
    return _Found([_candidate(decoder, result.best_keys)], result.evaluations, result.stop_reason, history)


def _engine(
    decoder: Decoder, parameters: brkga.Parameters, seed: int, starts: WarmStart, options: Options
) -> brkga.BRKGA:
    layout = decoder.layout
    if options.checkpoint is not None and Path(options.checkpoint).exists():
        engine = brkga.BRKGA.load(options.checkpoint, threads=options.threads)
        found, wanted = (engine.layout.num_keys, engine.seed), (layout.num_padded_keys, seed)
        if found != wanted:
            raise ValueError(
                f"{options.checkpoint}: the checkpoint is of another search: (keys, seed) is {found}, not {wanted}"
            )
        return engine
    rows = starts.rows(decoder.problem, parameters.population, seed) if starts.candidates else None
    return brkga.BRKGA(
        layout.num_padded_keys,
        parameters,
        proposal=options.proposal,
        seed=seed,
        key_dtype=layout.key_dtype.type,
        warm_start=rows,
        threads=options.threads,
    )


def _sampled(decoder: Decoder, count: int, seed: int) -> _Found:
    """With fewer evaluations than a population needs: the best of ``count`` uniform rows."""
    layout = decoder.layout
    random = np.random.Generator(np.random.Philox(seed))
    top = np.iinfo(layout.key_dtype).max
    rows = random.integers(0, top, (count, layout.num_padded_keys), dtype=layout.key_dtype, endpoint=True)
    return _Found([_candidate(decoder, row) for row in rows], count, "evaluations", {})


def _candidate(decoder: Decoder, row: NDArray) -> Candidate:
    plan = decoder.plan(row)
    return Candidate("brkga", plan, evaluate(plan, decoder.problem.graph_arrays))


def _fitted(parameters: brkga.Parameters, evaluations: int | None) -> brkga.Parameters:
    """The parameters with a population, elites and mutants that the budget can pay for."""
    size = parameters.population * parameters.islands
    if evaluations is None or evaluations >= size:
        return parameters
    population = max(evaluations // parameters.islands, 3)
    share = population / parameters.population
    return dataclasses.replace(
        parameters,
        population=population,
        elites=max(1, round(parameters.elites * share)),
        mutants=min(max(1, round(parameters.mutants * share)), population - 2),
    )


def _check_size(decoder: Decoder, parameters: brkga.Parameters) -> None:
    layout = decoder.layout
    size = 2 * parameters.population * parameters.islands * layout.num_padded_keys * layout.key_dtype.itemsize
    if size > MAX_POPULATION_BYTES:
        raise ValueError(
            f"a population of {parameters.population} rows of {layout.num_keys} keys needs {size / 2**30:.1f} GiB; "
            f"take fewer devices than {layout.num_devices} or a smaller population"
        )


def _compile(decoder: Decoder) -> None:
    """Compile or load the kernels on nearly nothing, so that the search's clock starts after it."""
    layout = decoder.layout
    decoder(np.zeros((0, layout.num_padded_keys), layout.key_dtype))
    engine = brkga.BRKGA(LANES, brkga.Parameters(), key_dtype=layout.key_dtype.type)
    engine.run(lambda keys, cutoff: np.zeros((len(keys), decoder.num_columns)), stop=brkga.MaxGenerations(1))
