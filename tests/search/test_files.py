import json
from dataclasses import replace

import pytest

from regal.cluster import Cluster, Device
from regal.graph import example_graph
from regal.plan.json_io import FRONT_KEYS, PLAN_KEYS, read_plans
from regal.search import optimize
from regal.verification import verify

GRAPH = example_graph("branches")


@pytest.mark.parametrize("objective", ["peak-memory", "peak-utilisation", "running-time"])
def test_a_result_comes_back(tmp_path, objective):
    path = tmp_path / "plan.json.gz"
    result = optimize(GRAPH, 3, objective=objective, evaluations=200, seed=9)
    result.save(path)
    (claim,) = verify(GRAPH, path)
    assert claim.plan.placement.tolist() == result.plan.placement.tolist()
    assert claim.plan.schedule.tolist() == result.plan.schedule.tolist()
    assert claim.plan.cluster == Cluster.uniform(3)
    assert (claim.peak_memory, claim.running_time, claim.objective) == (
        result.peak_memory,
        result.running_time,
        objective,
    )
    assert (claim.feasible, claim.lower_bound) == (True, result.lower_bound.value)
    assert claim.search == {
        "method": "auto",
        "seed": 9,
        "evaluations": result.evaluations,
        "search_seconds": result.search_seconds,
        "stop_reason": "evaluations",
    }


def test_every_key_of_the_format_is_written(tmp_path):
    optimize(GRAPH, evaluations=50).save(tmp_path / "plan.json")
    assert set(json.loads((tmp_path / "plan.json").read_text())) == set(PLAN_KEYS)
    optimize(GRAPH, objective="pareto", evaluations=50).save(str(tmp_path / "front.json"))
    front = json.loads((tmp_path / "front.json").read_text())
    assert set(front) == set(FRONT_KEYS)
    assert all(set(plan) == set(PLAN_KEYS) for plan in front["plans"])
    assert set(front["search"]) == {
        "method",
        "seed",
        "evaluations",
        "search_seconds",
        "stop_reason",
        "hypervolume",
        "reference_point",
        "time_lower_bound",
    }


def test_a_front_comes_back(tmp_path):
    cluster = Cluster.uniform(2, bandwidth=2.0)
    front = optimize(GRAPH, cluster=cluster, objective="pareto", evaluations=600)
    assert len(front.results) > 1
    front.save(tmp_path / "front.json")
    plans = verify(GRAPH, tmp_path / "front.json")
    assert [(max(plan.peak_memory), plan.running_time) for plan in plans] == front.points()


def test_what_is_not_finite_or_not_known_is_null(tmp_path):
    nowhere = optimize(GRAPH, cluster=Cluster((Device(0),)), objective="peak-utilisation", evaluations=50)
    nowhere.save(tmp_path / "plan.json")
    (claim,) = verify(GRAPH, tmp_path / "plan.json")
    assert (claim.lower_bound, claim.feasible) == (None, False)
    replace(nowhere, lower_bound=None).save(tmp_path / "plan.json")
    assert read_plans(tmp_path / "plan.json", GRAPH)[0].lower_bound is None
