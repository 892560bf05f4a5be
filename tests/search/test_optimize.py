import math
import os
import sys
from random import Random

import numpy as np
import pytest

from regal.bounds import Bound
from regal.cluster import Cluster, Device
from regal.decode import Layout
from regal.graph import GraphBuilder, example_graph
from regal.plan import check_plan
from regal.problem import Objective, Problem
from regal.search import lower_bound, optimize
from tests.optimality import compare
from tests.strategies import random_graph

DIAMOND = example_graph("diamond")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"devices": 0}, "from 1 to 1024 devices, not 0"),
        ({"devices": -1}, "from 1 to 1024 devices, not -1"),
        ({"devices": 10**9}, "from 1 to 1024 devices, not 1000000000"),
        ({"devices": 2.0}, "from 1 to 1024 devices, not 2.0"),
        ({"evaluations": 0}, "evaluations must be a positive integer, not 0"),
        ({"evaluations": None}, "a budget needs evaluations, seconds, or both"),
        ({"seconds": math.nan}, "seconds must be positive and finite, not nan"),
        ({"seed": -1}, "seed must be an integer from 0 to 2^64 - 1, not -1"),
        ({"seed": 2**64}, "seed must be an integer from 0 to 2^64 - 1, not 18446744073709551616"),
        ({"seed": 1.5}, "seed must be an integer from 0 to 2^64 - 1, not 1.5"),
        ({"seed": True}, "seed must be an integer from 0 to 2^64 - 1, not True"),
        ({"threads": 0}, "threads must be from 1 to 1024, not 0"),
        ({"threads": 1025}, "threads must be from 1 to 1024, not 1025"),
        ({"bound_seconds": -1.0}, "bound_seconds must be seconds from 0 on, not -1.0"),
        ({"bound_seconds": math.nan}, "bound_seconds must be seconds from 0 on, not nan"),
        ({"objective": "speed"}, "objective must be one of peak-memory, peak-utilisation, running-time, pareto, not"),
        (
            {"method": "magic"},
            "must be one of auto, brkga, annealing, heuristics, brute-force for peak-memory, not 'magic'",
        ),
        ({"method": "nsga2"}, "for peak-memory, not 'nsga2'"),
        ({"method": "brkga", "objective": "pareto"}, "method must be one of auto, nsga2 for pareto, not 'brkga'"),
        ({"method": "heuristics", "checkpoint": "a.npz"}, "checkpoint: only the method brkga takes this"),
        ({"objective": "pareto", "checkpoint": "a.npz"}, "checkpoint: only the method brkga takes this"),
        ({"method": "brute-force", "parameters": None}, "parameters: only the method brkga takes this"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011  (the message is compared)
        optimize(DIAMOND, **arguments)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unknown_options_are_refused():
    with pytest.raises(TypeError, match="colour"):
        optimize(DIAMOND, colour="red")


def test_a_cluster_takes_the_place_of_devices():
    cluster = Cluster((Device(10), Device(20), Device(30)))
    assert optimize(DIAMOND, 1, cluster, evaluations=20).problem.cluster == cluster
    assert optimize(DIAMOND, 3, evaluations=20).problem.cluster == Cluster.uniform(3)


def test_the_method_is_named_as_it_was_asked_for():
    for method in ("auto", "brkga", "heuristics", "brute-force"):
        assert optimize(DIAMOND, method=method, evaluations=20).method == method
    assert optimize(DIAMOND, objective="pareto", evaluations=20).results[0].method == "nsga2"


def test_brute_force_is_optimal_for_each_objective():
    for objective, value in (("peak-memory", 88), ("running-time", 7.0), ("peak-utilisation", 88 / 2**34)):
        result = optimize(DIAMOND, 1, objective=objective, method="brute-force")
        assert (result.objective_value, result.stop_reason) == (value, "optimal")


def test_more_threads_than_cores_are_fine():
    result = optimize(DIAMOND, evaluations=500, threads=4 * (os.cpu_count() or 1))
    assert result.plan.schedule.tolist() == optimize(DIAMOND, evaluations=500, threads=1).plan.schedule.tolist()


@pytest.mark.parametrize("seed", range(1000, 1040))
def test_tiny_graphs_are_solved_to_the_optimum(seed):
    # `python -m tests.optimality` compares more; of these seeds none falls short.
    case = compare(seed, evaluations=5000)
    assert case.found == case.optimum


def test_more_events_than_16_bits_tell_apart():
    # A chain of 40,000 ops: with the copies to the other device 79,999 events can occur.
    builder = GraphBuilder("chain")
    previous = []
    for op in range(40_000):
        tensor = builder.add_tensor(1 + op % 7, is_output=op % 50 == 0)
        builder.add_op("op", inputs=previous, outputs=[tensor], runtime=1.0)
        previous = [tensor]
    graph = builder.build()
    assert Layout.of(graph, 2).key_dtype == np.uint32
    result = optimize(graph, evaluations=112)
    check_plan(result.plan)
    assert 100 < result.evaluations <= 112
    assert result.objective_value <= min(baseline.cost.max_peak_memory for baseline in result.baselines)
    assert result.lower_bound.value <= result.objective_value


@pytest.mark.parametrize("objective", ["peak-memory", "peak-utilisation", "running-time", "pareto"])
@pytest.mark.parametrize("warm_start", [True, False])
def test_bounds_take_a_fifth_of_the_search(objective, warm_start):
    graph = random_graph(Random(1), max_ops=3000, min_ops=3000)
    found = optimize(graph, objective=objective, warm_start=warm_start, evaluations=500, threads=1)
    result = found if objective != "pareto" else found.results[0]
    assert result.lower_bound.seconds <= max(0.25 * result.search_seconds, 0.3)


def test_bound_seconds_are_passed_on():
    graph = random_graph(Random(1), max_ops=60, min_ops=60)
    with_time = optimize(graph, 1, evaluations=100, bound_seconds=60.0).lower_bound
    without = optimize(graph, 1, evaluations=100, bound_seconds=0.0).lower_bound
    assert (with_time.complete, without.complete) == (True, False)
    assert with_time.value > without.value


def test_an_interrupted_bound_does_not_lose_the_plan(monkeypatch):
    asked = []

    def interrupted(problem, seconds=None, progress=None):
        asked.append(seconds)
        if seconds:
            raise KeyboardInterrupt
        return Bound(1, "test", None, False, 0.0)

    monkeypatch.setattr(sys.modules["regal.search.optimize"], "lower_bound", interrupted)
    result = optimize(DIAMOND, evaluations=200)
    assert len(asked) == 2
    assert asked[0] == pytest.approx(result.search_seconds / 5)
    assert result.lower_bound.certificate == "test"


def test_an_interrupted_search_is_not_followed_by_a_long_bound(monkeypatch):
    asked = []

    def spy(problem, seconds=None, progress=None):
        asked.append(seconds)
        return lower_bound(problem, seconds)

    def interrupt(progress):
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["regal.search.optimize"], "lower_bound", spy)
    assert optimize(DIAMOND, progress=interrupt).stop_reason == "interrupted"
    assert optimize(DIAMOND, objective="pareto", progress=interrupt).results[0].stop_reason == "interrupted"
    assert asked == [0.0, 0.0]


@pytest.mark.parametrize(
    ("objective", "value"),
    [("peak-memory", 88), ("peak-utilisation", 88 / 100), ("running-time", 7.0), ("pareto", 88)],
)
def test_lower_bound_is_in_the_objectives_unit(objective, value):
    problem = Problem(DIAMOND, Cluster.uniform(1, memory=100), Objective.of(objective))
    assert lower_bound(problem).value == pytest.approx(value, rel=1e-9)
