import json
from random import Random

import pytest

from regal.cluster import Cluster
from regal.cost.reference import evaluate
from regal.graph import example_graph
from regal.plan.json_io import front_to_json, plan_to_json
from regal.search import optimize
from regal.verification import VerificationError, verify
from tests.oracle import is_valid
from tests.strategies import random_cluster, random_graph, random_plan

GRAPH = example_graph("branches")


@pytest.fixture
def value(tmp_path):
    """The JSON of a good plan on two devices with a link."""
    cluster = Cluster.uniform(2, memory=150, latency=0.1, bandwidth=100.0)
    optimize(GRAPH, cluster=cluster, evaluations=150).save(tmp_path / "plan.json")
    return json.loads((tmp_path / "plan.json").read_text())


def verified(path, value, graph=GRAPH):
    path.write_text(json.dumps(value))
    return verify(graph, path)


def wrong(path, value, message, graph=GRAPH):
    with pytest.raises(VerificationError) as caught:
        verified(path, value, graph)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_figure_is_recomputed(tmp_path, value):
    path = tmp_path / "other.json"
    assert verified(path, value)[0].plan.num_copies > 0
    for device in (0, 1):
        peaks = list(value["peak_memory"])
        peaks[device] += 1
        wrong(path, value | {"peak_memory": peaks}, f"peak_memory of device {device} is")
    wrong(path, value | {"peak_memory": value["peak_memory"] * 2}, "number of peak_memory entries is 2")
    seconds = value["running_time"]
    wrong(path, value | {"running_time": seconds * (1 + 2**-52)}, f"running_time is {seconds}")
    wrong(path, value | {"feasible": not value["feasible"]}, "feasible is")
    wrong(path, value | {"lower_bound": max(value["peak_memory"]) + 0.5}, "lies above the plan's peak-memory")
    verified(path, value | {"lower_bound": max(value["peak_memory"])})
    verified(path, value | {"lower_bound": None, "search": {"anything": [1]}, "graph": "another name"})


def test_the_bound_is_compared_in_the_objectives_unit(tmp_path, value):
    path = tmp_path / "other.json"
    seconds, share = value["running_time"], max(value["peak_memory"]) / 150
    verified(path, value | {"objective": "running-time", "lower_bound": seconds})
    wrong(path, value | {"objective": "running-time", "lower_bound": seconds * 1.001}, "above the plan's running-time")
    verified(path, value | {"objective": "peak-utilisation", "lower_bound": share})
    wrong(path, value | {"objective": "peak-utilisation", "lower_bound": share * 1.001}, "above the plan's peak-util")


def test_the_plans_own_cluster_counts(tmp_path, value):
    path = tmp_path / "other.json"
    slower, smaller = json.loads(json.dumps(value)), json.loads(json.dumps(value))
    slower["cluster"]["links"][0]["bandwidth"] = 50.0
    slower["cluster"]["links"][1]["bandwidth"] = 50.0
    wrong(path, slower, "running_time is")
    smaller["cluster"]["devices"][0]["memory"] = 1
    wrong(path, smaller, "feasible is False, but the file says True")


def test_another_graph(tmp_path, value):
    wrong(tmp_path / "other.json", value, "the plan is of another graph", example_graph("chain"))
    wrong(tmp_path / "other.json", value | {"graph_sha256": "0" * 64}, "the plan is of another graph")


def test_in_a_front_the_wrong_plan_is_named(tmp_path, value):
    path = tmp_path / "front.json"
    bad = value | {"running_time": 1.0}
    assert len(verified(path, front_to_json(GRAPH, [value, value], {}))) == 2
    wrong(path, front_to_json(GRAPH, [value, bad], {}), "plan 1: running_time is")


def test_what_breaks_the_format_is_no_verification_error(tmp_path, value):
    for broken in (value | {"format": "plan"}, value | {"peak_memory": "all"}, [], {}):
        with pytest.raises(ValueError, match="must be") as caught:
            verified(tmp_path / "other.json", broken)
        assert not isinstance(caught.value, VerificationError)
    with pytest.raises(ValueError, match="No such file"):
        verify(GRAPH, tmp_path / "missing.json")


def mutated(rng, plan):
    """The plan with one place of its placement or schedule changed, swapped, doubled or left out."""
    placement, schedule = plan.placement.tolist(), plan.schedule.tolist()
    kind = rng.choice(("move", "swap", "double", "drop", "retarget"))
    here, there = rng.randrange(len(schedule)), rng.randrange(len(schedule))
    if kind == "move":
        placement[rng.randrange(len(placement))] = rng.randrange(plan.cluster.num_devices)
    elif kind == "swap":
        schedule[here], schedule[there] = schedule[there], schedule[here]
    elif kind == "double":
        schedule.insert(here, schedule[there])
    elif kind == "drop":
        del schedule[here]
    else:
        schedule[here][0] = rng.randrange(plan.graph.num_ops)
    return type(plan)(plan.graph, plan.cluster, placement, schedule)


def test_random_mutations_are_caught_or_harmless(tmp_path):
    caught = harmless = 0
    for seed in range(400):
        rng = Random(seed)
        graph = random_graph(rng, max_ops=8, min_ops=2)
        plan = random_plan(rng, graph, random_cluster(rng, graph, max_devices=3))
        cost = evaluate(plan)
        figures = {
            "objective": "peak-memory",
            "peak_memory": list(cost.peak_memory),
            "running_time": cost.running_time,
            "feasible": cost.feasible(plan.cluster),
            "lower_bound": None,
            "search": {},
        }
        assert verified(tmp_path / "plan.json", plan_to_json(plan, figures), graph)
        other = mutated(rng, plan)
        same = is_valid(other) and evaluate(other) == cost
        try:
            verified(tmp_path / "plan.json", plan_to_json(other, figures), graph)
        except VerificationError:
            assert not same
            caught += 1
        else:
            assert same
            harmless += 1
    assert caught > 150
    assert harmless > 30
