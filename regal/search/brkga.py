"""BRKGA on decoded plans: pure as in the papers' tables, or started from heuristic plans and never worse than them."""

from __future__ import annotations

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
from regal.search.warm_start import WarmStart, prepare, warm_start

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
        Default: population 100, 20 elites, 15 mutants, elite bias 0.7. A budget below the population costs as many
        rows of the initial population as it can.
    proposal : brkga.Proposal
        Distribution of fresh chromosomes over ``Layout.num_padded_keys`` keys.
    threads : int
    progress : callable, optional
    checkpoint : path, optional
        Saved there now and then. A search that finds the file goes on from it, with the proposal that it began with;
        evaluations and seconds spent before count.
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
    decoder = Decoder(problem, options.threads)
    check_size(decoder, options.parameters.population * options.parameters.islands)
    _compile(decoder)
    start = time.perf_counter()
    starts = warm_start(problem, budget) if options.warm_start else WarmStart([], [])
    found = _evolve(decoder, budget, seed, starts, options, start)
    best = min([*starts.candidates, *found.candidates], key=lambda candidate: problem.rank(candidate.cost))
    return Result(
        problem=problem,
        plan=best.plan,
        cost=best.cost,
        method="brkga",
        seed=seed,
        evaluations=len(starts.candidates) + found.evaluations,
        search_seconds=time.perf_counter() - start + found.seconds_before,
        stop_reason=found.stop_reason,
        baselines=tuple(starts.candidates),
        history=found.history,
    )


@dataclass(frozen=True)
class _Found:
    """What the genetic algorithm brings home; ``seconds_before`` are those of the checkpoint that it went on from."""

    stop_reason: str
    evaluations: int = 0
    candidates: tuple[Candidate, ...] = ()
    history: dict[str, list[float]] = field(default_factory=dict)
    seconds_before: float = 0.0


def _evolve(decoder: Decoder, budget: Budget, seed: int, starts: WarmStart, options: Options, start: float) -> _Found:
    """Run the genetic algorithm from the encoded ``starts`` within what is left of the budget."""
    engine = _saved_engine(decoder, seed, options)
    if engine is None and starts.stop_reason is not None:
        return _Found(starts.stop_reason)
    engine = engine or _engine(decoder, seed, starts, options)
    spent, before = len(starts.candidates), engine.state
    stop: list[brkga.StopRule] = []
    if budget.evaluations is not None:
        left = budget.evaluations - spent
        if not before.evaluations and left < before.next_evaluations:
            return _first_rows(decoder, engine, spent, left)
        stop.append(brkga.MaxEvaluations(max(left, 1)))
    if budget.seconds is not None:
        stop.append(brkga.MaxSeconds(max(budget.seconds - (time.perf_counter() - start), 0.0)))

    def report(state: brkga.State) -> None:
        if options.progress is not None:
            value = float(np.atleast_1d(state.best_fitness)[-1])
            options.progress(Progress(spent + state.evaluations, time.perf_counter() - start, value))

    try:
        result = engine.run(
            decoder,
            stop=stop,
            callbacks=[report],
            checkpoint=options.checkpoint,
            checkpoint_every=CHECKPOINT_SECONDS,
        )
    except KeyboardInterrupt:  # in the initial population
        if not spent:
            raise
        return _Found("interrupted")
    history = {name: values.tolist() for name, values in result.history.to_arrays().items()}
    candidates = (_candidate(decoder, result.best_keys),)
    return _Found(result.stop_reason, result.evaluations, candidates, history, before.seconds)


def _saved_engine(decoder: Decoder, seed: int, options: Options) -> brkga.BRKGA | None:
    """The search to go on from, if there is one."""
    if options.checkpoint is None or not Path(options.checkpoint).exists():
        return None
    engine = brkga.BRKGA.load(options.checkpoint)
    _check_same_search(engine, decoder, seed, options)
    return engine


def _engine(decoder: Decoder, seed: int, starts: WarmStart, options: Options) -> brkga.BRKGA:
    """A search that begins."""
    layout, parameters = decoder.layout, options.parameters
    rows = starts.rows(decoder.problem, parameters.population, seed) if starts.candidates else None
    return brkga.BRKGA(
        layout.num_padded_keys,
        parameters,
        proposal=options.proposal,
        seed=seed,
        key_dtype=layout.key_dtype.type,
        warm_start=rows,
    )


def _check_same_search(engine: brkga.BRKGA, decoder: Decoder, seed: int, options: Options) -> None:
    """Refuse a checkpoint of other keys, seed or parameters, or whose best row has another fitness here."""

    def same(name: str, found: object, wanted: object) -> None:
        if found != wanted:
            raise ValueError(f"{options.checkpoint}: the checkpoint is of another search: {name} {found}, not {wanted}")

    layout = decoder.layout
    same("keys", (engine.layout.num_keys, engine.layout.dtype.name), (layout.num_padded_keys, layout.key_dtype.name))
    same("seed", engine.seed, seed)
    same("parameters", engine.parameters, options.parameters)
    fitness = decoder(engine.best_keys[None])[0]
    same("best fitness", np.atleast_1d(engine.best_fitness).tolist(), np.atleast_1d(fitness).tolist())


def _first_rows(decoder: Decoder, engine: brkga.BRKGA, spent: int, left: int) -> _Found:
    """The best of the initial population's first rows, which is all that a small budget pays for.

    The rows of the ``spent`` warm starts stand first and are costed already.
    """
    rows = engine.ask()[spent:][:left]
    candidates = tuple(_candidate(decoder, row) for row in rows)
    return _Found("evaluations", len(rows), candidates)


def _candidate(decoder: Decoder, row: NDArray) -> Candidate:
    plan = decoder.plan(row)
    return Candidate("brkga", plan, evaluate(plan, decoder.problem.graph_arrays))


def check_size(decoder: Decoder, population: int) -> None:
    """Refuse a population that would not fit in memory with ``ValueError``."""
    layout = decoder.layout
    size = 2 * population * layout.num_padded_keys * layout.key_dtype.itemsize
    if size > MAX_POPULATION_BYTES:
        raise ValueError(
            f"a population of {population} rows of {layout.num_keys} keys needs {size / 2**30:.1f} GiB; "
            f"take fewer devices than {layout.num_devices} or a smaller population"
        )


def _compile(decoder: Decoder) -> None:
    """Compile or load the kernels on next to nothing, so that the search's clock starts after it."""
    prepare()
    layout = decoder.layout
    decoder(np.zeros((0, layout.num_padded_keys), layout.key_dtype))
    decoder.plan(np.zeros(layout.num_padded_keys, layout.key_dtype))
    engine = brkga.BRKGA(LANES, brkga.Parameters(), key_dtype=layout.key_dtype.type)
    engine.run(lambda keys, cutoff: np.zeros((len(keys), decoder.num_columns)), stop=brkga.MaxGenerations(1))
