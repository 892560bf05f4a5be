"""What every method promises, whatever the problem: one table of methods, one suite."""

from random import Random

import numpy as np
import pytest

from regal.cluster import Cluster, Device, Link
from regal.cost.reference import evaluate
from regal.graph import GraphBuilder, example_graph
from regal.plan import check_plan
from regal.problem import Objective, Problem
from regal.search import Front, optimize
from tests.strategies import SINGLE_OBJECTIVES, random_cluster, random_graph

METHODS = {
    "auto": {"method": "auto"},
    "brkga": {"method": "brkga"},
    "pure brkga": {"method": "brkga", "warm_start": False},
    "annealing": {"method": "annealing"},
    "pure annealing": {"method": "annealing", "warm_start": False},
    "heuristics": {"method": "heuristics"},
    "nsga2": {"method": "nsga2"},
    "pure nsga2": {"method": "nsga2", "warm_start": False},
    "brute-force": {"method": "brute-force"},
}
METHODS_WITH_BUDGET = [name for name in METHODS if name != "brute-force"]


def solve(name, graph, cluster, objective=Objective.PEAK_MEMORY, evaluations=300, **options):
    """The results of a method: one, or those of a front."""
    if METHODS[name]["method"] == "nsga2":
        objective = Objective.PARETO
    options = METHODS[name] | options
    found = optimize(graph, cluster=cluster, objective=objective, evaluations=evaluations, threads=1, **options)
    assert isinstance(found, Front) == (objective is Objective.PARETO)
    return list(found.results) if isinstance(found, Front) else [found]


def check(result, graph, cluster):
    """A result is a valid plan with true figures, and no bound lies above them."""
    plan = result.plan
    assert plan.graph is graph
    assert plan.cluster == cluster
    check_plan(plan)
    cost = evaluate(plan)
    assert result.cost == cost
    assert result.peak_memory == cost.peak_memory
    assert result.running_time == cost.running_time
    excess = sum(max(0, peak - device.memory) for peak, device in zip(cost.peak_memory, cluster.devices, strict=True))
    assert (result.excess_bytes, result.feasible) == (excess, excess == 0)
    value = {
        Objective.PEAK_MEMORY: max(cost.peak_memory),
        Objective.PEAK_UTILISATION: cost.peak_utilisation(cluster),
        Objective.RUNNING_TIME: cost.running_time,
    }[result.problem.objective]
    assert result.objective_value == value
    assert result.lower_bound.value <= value
    assert result.search_seconds > 0
    for baseline in result.baselines:
        check_plan(baseline.plan)
        assert baseline.cost == evaluate(baseline.plan)
    names = [baseline.name for baseline in result.baselines]
    assert len(set(names)) == len(names)


def pairs(count):
    """Two ops a pair: a large tensor is made, and read into a small one; all large ones first."""
    builder = GraphBuilder("pairs")
    tensors = [builder.add_tensor(100) for _ in range(count)]
    for tensor in tensors:
        builder.add_op("make", outputs=[tensor], runtime=1.0)
    for tensor in tensors:
        builder.add_op("read", inputs=[tensor], outputs=[builder.add_tensor(1, is_output=True)], runtime=0.5)
    return builder.build()


def grouped():
    """pairs whose first two makers share a device, and whose readers do."""
    builder = GraphBuilder("grouped")
    tensors = [builder.add_tensor(100) for _ in range(4)]
    for index, tensor in enumerate(tensors):
        builder.add_op("make", outputs=[tensor], runtime=1.0, colocation=7 if index < 2 else None)
    for tensor in tensors:
        builder.add_op("read", inputs=[tensor], runtime=0.5, colocation=9)
    return builder.build()


def one_op():
    builder = GraphBuilder("one")
    builder.add_op("op", inputs=[builder.add_tensor(5)], outputs=[builder.add_tensor(3)], runtime=2.0, workspace=4)
    return builder.build()


SHAPES = {
    "no ops": (GraphBuilder("none").build(), Cluster.uniform(2)),
    "one op": (one_op(), Cluster.uniform(2)),
    "one device": (example_graph("diamond"), Cluster.uniform(1)),
    "four devices": (pairs(3), Cluster.uniform(4)),
    "colocation": (grouped(), Cluster.uniform(3)),
    "unequal devices": (pairs(3), Cluster((Device(150, 1.0), Device(1000, 3.0), Device(7, 0.5)))),
    "no memory": (pairs(2), Cluster((Device(0), Device(0)))),
    "links": (pairs(3), Cluster.uniform(2, bandwidth=10.0, latency=0.25)),
    "one slow link": (pairs(3), Cluster((Device(300), Device(300)), (Link(0, 1, 5.0, 1.0),))),
}


METHODS_AND_OBJECTIVES = [
    (name, objective)
    for name, how in METHODS.items()
    for objective in (SINGLE_OBJECTIVES if how["method"] != "nsga2" else (Objective.PARETO,))
]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("name", "objective"), METHODS_AND_OBJECTIVES)
def test_plan_and_figures_are_true(name, objective, shape):
    graph, cluster = SHAPES[shape]
    for result in solve(name, graph, cluster, objective):
        check(result, graph, cluster)


@pytest.mark.parametrize("name", METHODS_WITH_BUDGET)
def test_random_problems(name):
    for seed in range(12):
        rng = Random(seed)
        graph = random_graph(rng, max_ops=40)
        cluster = random_cluster(rng, graph)
        for result in solve(name, graph, cluster, SINGLE_OBJECTIVES[seed % 3], seed=seed, evaluations=250):
            check(result, graph, cluster)


@pytest.mark.parametrize("evaluations", [1, 2, 3, 5, 12, 13, 99, 100, 101, 180, 5000])
@pytest.mark.parametrize("name", METHODS_WITH_BUDGET)
def test_budget_of_evaluations(name, evaluations):
    graph, cluster = pairs(4), Cluster.uniform(2)
    for result in solve(name, graph, cluster, evaluations=evaluations):
        check(result, graph, cluster)
        assert 1 <= result.evaluations <= evaluations
        assert result.stop_reason == "evaluations" or (name == "heuristics" and result.stop_reason == "done")
        if evaluations >= 100 and name != "heuristics":
            assert result.evaluations > evaluations - 80  # less than a generation is left over


@pytest.mark.parametrize("name", METHODS_WITH_BUDGET)
def test_budget_of_seconds(name):
    graph, cluster = pairs(20), Cluster.uniform(2)
    for result in solve(name, graph, cluster, evaluations=None, seconds=0.3):
        assert result.stop_reason == ("done" if name == "heuristics" else "seconds")
        assert result.search_seconds < 3.0
        assert name == "heuristics" or result.search_seconds >= 0.3


@pytest.mark.parametrize("name", METHODS_WITH_BUDGET)
def test_a_moment_is_enough_for_a_plan(name):
    graph, cluster = pairs(20), Cluster.uniform(2)
    for result in solve(name, graph, cluster, evaluations=None, seconds=1e-9):
        check(result, graph, cluster)
        assert result.stop_reason == "seconds"


@pytest.mark.parametrize("name", METHODS_WITH_BUDGET)
def test_whichever_limit_comes_first(name):
    graph, cluster = pairs(20), Cluster.uniform(2)
    for result in solve(name, graph, cluster, evaluations=2, seconds=60.0):
        assert (result.evaluations, result.stop_reason) == (2, "evaluations")


@pytest.mark.parametrize("name", METHODS)
def test_a_seed_repeats_itself_on_any_number_of_threads(name):
    graph, cluster = pairs(5) if name != "brute-force" else pairs(2), Cluster.uniform(2)
    first, *others = [solve(name, graph, cluster, seed=5, evaluations=700) for _ in range(2)]
    others += [
        [optimize(graph, cluster=cluster, seed=5, evaluations=700, threads=threads, **METHODS[name])]
        for threads in (2, 4)
        if "nsga2" not in name
    ]
    for other in others:
        assert len(other) == len(first)
        for one, two in zip(first, other, strict=True):
            assert one.plan.placement.tolist() == two.plan.placement.tolist()
            assert one.plan.schedule.tolist() == two.plan.schedule.tolist()
            assert one.evaluations == two.evaluations


@pytest.mark.parametrize("name", [name for name in METHODS_WITH_BUDGET if name not in ("heuristics", "annealing")])
def test_another_seed_searches_elsewhere(name):
    graph = random_graph(Random(3), max_ops=60, min_ops=60)
    found = [solve(name, graph, Cluster.uniform(2), seed=seed) for seed in range(3)]
    schedules = {np.concatenate([result.plan.schedule for result in results]).tobytes() for results in found}
    assert len(schedules) == 3


@pytest.mark.parametrize("objective", SINGLE_OBJECTIVES)
@pytest.mark.parametrize("name", ["auto", "brkga", "annealing", "heuristics"])
def test_never_worse_than_a_heuristic_plan(name, objective):
    for seed in range(15):
        rng = Random(seed)
        graph = random_graph(rng, max_ops=60)
        problem = Problem(graph, random_cluster(rng, graph), objective)
        (every,) = solve("heuristics", graph, problem.cluster, objective, evaluations=100)
        (result,) = solve(name, graph, problem.cluster, objective, seed=seed, evaluations=100)
        assert len(result.baselines) == len(every.baselines)
        assert problem.rank(result.cost) == min(
            problem.rank(result.cost), *(problem.rank(baseline.cost) for baseline in every.baselines)
        )


def test_a_front_is_never_worse_than_a_heuristic_plan():
    for seed in range(15):
        rng = Random(seed)
        graph = random_graph(rng, max_ops=60)
        cluster = random_cluster(rng, graph)
        results = solve("nsga2", graph, cluster, seed=seed, evaluations=150)
        for baseline in results[0].baselines:
            cost = baseline.cost
            assert any(
                result.cost.max_peak_memory <= cost.max_peak_memory and result.running_time <= cost.running_time
                for result in results
            )
