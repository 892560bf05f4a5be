import dataclasses
from random import Random

import numpy as np
import pytest

import brkga
from regal.cluster import Cluster, Device
from regal.cost.reference import evaluate
from regal.decode import Decoder
from regal.graph import GraphBuilder
from regal.problem import Objective, Problem
from regal.search import brkga as search
from regal.search.brkga import Options, solve
from regal.search.budget import Budget
from regal.search.warm_start import warm_start
from tests.strategies import SINGLE_OBJECTIVES, random_cluster, random_graph

GRAPH = random_graph(Random(1), max_ops=60, min_ops=60)
CLUSTER = Cluster.uniform(2)


def same_plan(one, other):
    return (
        one.plan.placement.tolist() == other.plan.placement.tolist()
        and one.plan.schedule.tolist() == other.plan.schedule.tolist()
    )


@pytest.mark.parametrize("objective", SINGLE_OBJECTIVES)
def test_without_warm_start_it_is_brkga_and_nothing_else(objective):
    problem = Problem(GRAPH, random_cluster(Random(8), GRAPH), objective)
    result = solve(problem, Budget(5000), 11, Options(warm_start=False))
    decoder = Decoder(problem)
    engine = brkga.BRKGA(decoder.layout.num_padded_keys, brkga.Parameters(), seed=11, key_dtype=np.uint16)
    by_hand = engine.run(decoder, stop=brkga.MaxEvaluations(5000))
    assert by_hand.evaluations == result.evaluations == 4980
    plan = decoder.plan(by_hand.best_keys)
    assert result.plan.schedule.tolist() == plan.schedule.tolist()
    assert result.plan.placement.tolist() == plan.placement.tolist()
    assert problem.rank(result.cost) == tuple(np.atleast_1d(by_hand.best_fitness).tolist())
    assert result.baselines == ()
    assert result.history["best"] == by_hand.history.best.tolist()


def test_the_published_population_is_the_default():
    parameters = Options().parameters
    assert (parameters.population, parameters.elites, parameters.mutants, parameters.elite_bias) == (100, 20, 15, 0.7)


def test_a_plan_that_fits_beats_a_faster_one():
    # make ── 100 bytes, an output of the graph; twice, without a tensor between them. Side by side they take 1 s, but
    # device 1 holds nothing: one behind the other on device 0, 2 s, is the best that fits.
    builder = GraphBuilder()
    for _ in range(2):
        builder.add_op("make", outputs=[builder.add_tensor(100, is_output=True)], runtime=1.0)
    graph = builder.build()
    for heuristics in (True, False):
        options = Options(warm_start=heuristics)
        tight = solve(Problem(graph, Cluster((Device(200), Device(0))), "running-time"), Budget(500), 0, options)
        assert (tight.feasible, tight.running_time) == (True, 2.0)
        roomy = solve(Problem(graph, Cluster((Device(200), Device(100))), "running-time"), Budget(500), 0, options)
        assert (roomy.feasible, roomy.running_time) == (True, 1.0)
        # 100 bytes are too many either way: side by side has 100 in excess, on one device 100 too, and is slower.
        over = solve(Problem(graph, Cluster((Device(100), Device(0))), "running-time"), Budget(500), 0, options)
        assert (over.feasible, over.excess_bytes, over.running_time) == (False, 100, 1.0)


def test_a_small_budget_costs_the_first_rows_of_a_larger_one():
    problem = Problem(GRAPH, CLUSTER)
    ranks = [
        problem.rank(solve(problem, Budget(count), 2, Options(warm_start=False)).cost) for count in (1, 7, 50, 99, 100)
    ]
    assert ranks == sorted(ranks, reverse=True)
    decoder = Decoder(problem)
    engine = brkga.BRKGA(decoder.layout.num_padded_keys, seed=2, key_dtype=np.uint16)
    fitness = decoder(engine.ask())
    assert [rank[0] for rank in ranks] == [fitness[:count].min() for count in (1, 7, 50, 99, 100)]


def test_a_small_budget_does_not_cost_the_heuristic_plans_twice(monkeypatch):
    problem = Problem(GRAPH, CLUSTER)
    every, costed = warm_start(problem, Budget(100)), []
    candidate = search._candidate
    monkeypatch.setattr(search, "_candidate", lambda decoder, row: costed.append(row) or candidate(decoder, row))
    assert solve(problem, Budget(len(every.candidates) + 5), 3).evaluations == len(every.candidates) + 5
    assert np.array_equal(costed, every.rows(problem, 100, 3)[len(every.candidates) :][:5])


@pytest.mark.parametrize(
    "parameters",
    [
        brkga.Parameters(population=12, elites=3, mutants=2),
        brkga.Parameters(population=20, elites=4, mutants=3, islands=3, exchange_every=2),
        brkga.Parameters(population=20, elites=4, mutants=3, parents=3, elite_parents=2),
        brkga.Parameters(population=30, elites=6, mutants=5, reject_duplicates=True),
    ],
)
@pytest.mark.parametrize("evaluations", [1, 4, 11, 19, 61, 400])
def test_other_parameters(parameters, evaluations):
    for heuristics in (True, False):
        options = Options(warm_start=heuristics, parameters=parameters)
        result = solve(Problem(GRAPH, CLUSTER), Budget(evaluations), 0, options)
        assert 1 <= result.evaluations <= evaluations
        assert result.cost == evaluate(result.plan)


def test_a_proposal_takes_part():
    problem = Problem(GRAPH, CLUSTER)
    layout = Decoder(problem).layout
    a, b = np.ones(layout.num_padded_keys), np.ones(layout.num_padded_keys)
    a[layout.affinities][::2], b[layout.affinities][1::2] = 1000.0, 1000.0  # every op on device 0
    options = Options(warm_start=False, proposal=brkga.Beta(a, b))
    result = solve(problem, Budget(100), 0, options)
    assert result.plan.placement.tolist() == [0] * GRAPH.num_ops
    assert result.peak_memory[1] == 0


class Interrupt:
    """A progress callback that presses Ctrl-C after some generations."""

    def __init__(self, generations):
        self.left = generations

    def __call__(self, progress):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


def test_progress_is_reported():
    seen = []
    result = solve(Problem(GRAPH, CLUSTER, "running-time"), Budget(500), 0, Options(progress=seen.append))
    assert [state.evaluations for state in seen] == sorted({state.evaluations for state in seen})
    assert seen[-1].evaluations == result.evaluations
    assert seen[-1].objective_value == result.running_time
    assert 0 <= seen[0].seconds <= seen[-1].seconds <= result.search_seconds


def test_an_interruption_brings_the_best_so_far():
    problem = Problem(GRAPH, CLUSTER)
    result = solve(problem, Budget(5000), 0, Options(progress=Interrupt(3)))
    assert result.stop_reason == "interrupted"
    shorter = solve(problem, Budget(result.evaluations), 0)
    assert shorter.evaluations == result.evaluations < 5000
    assert same_plan(result, shorter)


def test_an_interruption_of_the_first_rows_brings_the_best_heuristic(monkeypatch):
    def interrupt(self, keys, cutoff=np.inf):
        if len(keys):
            raise KeyboardInterrupt
        return np.zeros(0)

    monkeypatch.setattr(Decoder, "__call__", interrupt)
    problem = Problem(GRAPH, CLUSTER)
    result = solve(problem, Budget(5000))
    assert result.stop_reason == "interrupted"
    assert result.evaluations == len(result.baselines) > 1
    assert problem.rank(result.cost) == min(problem.rank(baseline.cost) for baseline in result.baselines)
    with pytest.raises(KeyboardInterrupt):
        solve(problem, Budget(5000), 0, Options(warm_start=False))


@pytest.mark.parametrize("warm_start", [True, False])
@pytest.mark.parametrize("objective", SINGLE_OBJECTIVES)
def test_a_checkpoint_goes_on_as_if_nothing_had_happened(tmp_path, objective, warm_start):
    problem = Problem(GRAPH, CLUSTER, objective)
    options = Options(warm_start=warm_start, checkpoint=tmp_path / "search.npz")
    whole = solve(problem, Budget(3000), 4, dataclasses.replace(options, checkpoint=None))
    first = solve(problem, Budget(1400), 4, options)
    assert first.evaluations < 1400
    again = solve(problem, Budget(2000), 4, dataclasses.replace(options, progress=Interrupt(2), threads=2))
    assert again.stop_reason == "interrupted"
    resumed = solve(problem, Budget(3000), 4, options)
    assert same_plan(resumed, whole)
    assert resumed.evaluations == whole.evaluations
    assert resumed.history["best"] == whole.history["best"]
    assert resumed.search_seconds >= resumed.history["seconds"][-1] >= again.history["seconds"][-1]
    done = solve(problem, Budget(3000), 4, options)  # nothing is left to do
    assert same_plan(done, whole)
    assert (done.evaluations, done.stop_reason) == (whole.evaluations, "evaluations")


def test_a_checkpoint_outlives_a_budget_that_the_heuristics_use_up(tmp_path):
    problem = Problem(GRAPH, CLUSTER)
    options = Options(checkpoint=tmp_path / "search.npz")
    whole = solve(problem, Budget(3000), 4, options)
    assert same_plan(solve(problem, Budget(None, 1e-9), 4, options), whole)


def test_a_checkpoint_of_another_search_is_refused(tmp_path):
    path = tmp_path / "search.npz"
    solve(Problem(GRAPH, CLUSTER), Budget(300), 1, Options(checkpoint=path))
    before = path.read_bytes()

    def refused(reason, problem=None, seed=1, **options):
        with pytest.raises(ValueError, match=f"search.npz: the checkpoint is of another search: {reason}"):
            solve(problem or Problem(GRAPH, CLUSTER), Budget(600), seed, Options(checkpoint=path, **options))
        assert path.read_bytes() == before

    refused("seed 1, not 2", seed=2)
    refused("keys", Problem(GRAPH, Cluster.uniform(3)))
    refused("best fitness", Problem(GRAPH, CLUSTER, "peak-utilisation"))
    refused("best fitness", Problem(GRAPH, CLUSTER, "running-time"))
    refused("parameters", parameters=brkga.Parameters(population=50, elites=10, mutants=8))
    heavier = dataclasses.replace(GRAPH, tensor_bytes=GRAPH.tensor_bytes + 1)
    refused("best fitness", Problem(heavier, CLUSTER))
    path.write_bytes(before[: len(before) // 2])
    with pytest.raises(ValueError, match=r"search\.npz: the file is damaged"):
        solve(Problem(GRAPH, CLUSTER), Budget(600), 1, Options(checkpoint=path))


def test_a_population_beyond_memory_is_refused(monkeypatch):
    monkeypatch.setattr(search, "MAX_POPULATION_BYTES", 1000)
    with pytest.raises(ValueError, match=r"a population of 100 rows of \d+ keys needs 0\.0 GiB; take fewer devices"):
        solve(Problem(GRAPH, CLUSTER), Budget(600))


def test_pareto_is_refused():
    with pytest.raises(ValueError, match="made by method nsga2"):
        solve(Problem(GRAPH, CLUSTER, Objective.PARETO), Budget(600))
