"""The file formats ``regal-plan/1`` and ``regal-front/1``."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from regal.cluster import Cluster
from regal.files import ParseError
from regal.graph import ComputationGraph, example_graph
from regal.plan import RUN, Plan
from regal.plan.json_io import front_to_json, plan_to_json, read_plans
from tests.strategies import plans

FIGURES = {
    "objective": "peak-memory",
    "peak_memory": [70, 88],
    "running_time": 16.0,
    "feasible": True,
    "lower_bound": None,
    "search": {"method": "by hand"},
}


@pytest.fixture
def graph() -> ComputationGraph:
    return example_graph("diamond")


@pytest.fixture
def value(graph) -> dict[str, Any]:
    """The diamond, with c on device 1.

    a (8) ──> b (4) ──> d (2)
      └────> c (64) ──┘
    """
    schedule = [[0, RUN], [0, 1], [1, RUN], [2, RUN], [2, 0], [3, RUN]]
    plan = Plan(graph, Cluster.uniform(2, latency=1.0, bandwidth=8.0), [0, 0, 1, 0], schedule)
    return plan_to_json(plan, copy.deepcopy(FIGURES))


def refused(path: Path, value: Any, graph: ComputationGraph) -> str:
    path.write_text(json.dumps(value))
    with pytest.raises(ParseError) as caught:
        read_plans(path, graph)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_plan_file_says_what_it_says(tmp_path, graph, value):
    assert value["placement"] == [0, 0, 1, 0]
    assert value["schedule"] == [["run", 0], ["copy", 0, 1], ["run", 1], ["run", 2], ["copy", 2, 0], ["run", 3]]
    assert (value["format"], value["graph"], value["graph_sha256"]) == ("regal-plan/1", "diamond", graph.sha256)
    (tmp_path / "plan.json").write_text(json.dumps(value))
    (claim,) = read_plans(tmp_path / "plan.json", graph)
    assert claim.plan.placement.tolist() == [0, 0, 1, 0]
    assert claim.plan.schedule.tolist() == [[0, RUN], [0, 1], [1, RUN], [2, RUN], [2, 0], [3, RUN]]
    assert claim.plan.cluster == Cluster.uniform(2, latency=1.0, bandwidth=8.0)
    assert (claim.peak_memory, claim.running_time, claim.feasible) == ((70, 88), 16.0, True)
    assert (claim.lower_bound, claim.objective, claim.search) == (None, "peak-memory", {"method": "by hand"})


@given(plans())
def test_plans_come_back(tmp_path_factory, plan):
    path = tmp_path_factory.getbasetemp() / "plan.json"
    path.write_text(json.dumps(plan_to_json(plan, FIGURES)))
    (claim,) = read_plans(path, plan.graph)
    assert claim.plan.placement.tolist() == plan.placement.tolist()
    assert claim.plan.schedule.tolist() == plan.schedule.tolist()
    assert claim.plan.cluster == plan.cluster
    assert claim.graph_sha256 == plan.graph.sha256


def test_a_front_holds_plans(tmp_path, graph, value):
    front = front_to_json(graph, [value, {**value, "running_time": 17}], {"seed": 3})
    (tmp_path / "front.json").write_text(json.dumps(front))
    assert [claim.running_time for claim in read_plans(tmp_path / "front.json", graph)] == [16.0, 17]
    front["plans"][1]["feasible"] = 1
    assert "plan 1: feasible must be true or false, not 1" in refused(tmp_path / "f.json", front, graph)
    del front["search"]
    assert "search is missing" in refused(tmp_path / "f.json", front, graph)


def put(key: str, entry: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda value: value.__setitem__(key, entry)


BROKEN: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "other format": (put("format", "regal-plan/2"), "format must be 'regal-plan/1', not 'regal-plan/2'"),
    "no schedule": (lambda v: v.pop("schedule"), "schedule is missing"),
    "unknown key": (put("note", 1), "unknown key 'note'"),
    "placement no list": (put("placement", "0"), "placement must be a list, not '0'"),
    "placement true": (
        put("placement", [True, 0, 0, 0]),
        "placement of op 0 must be an integer from 0 to 2147483647, not True",
    ),
    "placement negative": (
        put("placement", [-1, 0, 0, 0]),
        "placement of op 0 must be an integer from 0 to 2147483647, not -1",
    ),
    "placement huge": (put("placement", [2**31, 0, 0, 0]), "placement of op 0 must be an integer from 0 to 2147483647"),
    "event of no kind": (put("schedule", [["run", 0], ["move", 0, 1]]), 'schedule, event 1: must be ["run", op] or'),
    "run without an op": (put("schedule", [["run"]]), 'schedule, event 0: must be ["run", op] or'),
    "copy without a device": (put("schedule", [["copy", 0]]), 'schedule, event 0: must be ["run", op] or'),
    "event no list": (
        put("schedule", [0]),
        'schedule, event 0: must be ["run", op] or ["copy", tensor, device], not 0',
    ),
    "run of -1": (put("schedule", [["run", -1]]), "schedule, event 0: op must be an integer from 0 to 2147483647"),
    "copy to -1": (put("schedule", [["copy", 0, -1]]), "schedule, event 0: device must be an integer from 0 to"),
    "copy of true": (put("schedule", [["copy", True, 0]]), "schedule, event 0: tensor must be an integer from 0 to"),
    "devices differ": (put("devices", 3), "devices is 3, but the cluster has 2"),
    "devices true": (put("devices", True), "devices is True, but the cluster has 2"),
    "cluster broken": (put("cluster", {"devices": []}), "a cluster has from 1 to 1024 devices, not 0"),
    "peak negative": (put("peak_memory", [-1, 0]), "peak_memory of device 0 must be an integer from 0 to"),
    "peak a fraction": (put("peak_memory", [1.5, 0]), "peak_memory of device 0 must be an integer from 0 to"),
    "running time negative": (put("running_time", -1.0), "running_time must be finite and not negative, not -1.0"),
    "running time huge": (put("running_time", 10**400), "running_time must be finite and not negative"),
    "running time as text": (put("running_time", "1"), "running_time must be a number, not '1'"),
    "feasible as text": (put("feasible", "yes"), "feasible must be true or false, not 'yes'"),
    "lower bound true": (put("lower_bound", True), "lower_bound must be a number, not True"),
    "objective no text": (put("objective", 1), "objective must be text, not 1"),
    "hash no text": (put("graph_sha256", None), "graph_sha256 must be text, not None"),
    "search no object": (put("search", []), "search must be an object, not list of 0"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_refuses(tmp_path, graph, value, name):
    change, message = BROKEN[name]
    change(value)
    assert message in refused(tmp_path / "plan.json", value, graph)


@pytest.mark.parametrize("value", [[], 3, None, {}])
def test_refuses_what_is_no_plan(tmp_path, graph, value):
    assert "format must be 'regal-plan/1', not" in refused(tmp_path / "plan.json", value, graph)


def test_refuses_a_front_that_contradicts_itself(tmp_path, graph, value):
    front = front_to_json(graph, [value], {})
    path = tmp_path / "front.json"
    assert "plans must hold at least one plan" in refused(path, {**front, "plans": []}, graph)
    assert "plans must be a list, not 'all'" in refused(path, {**front, "plans": "all"}, graph)
    assert "plan 0: graph_sha256 is not the front's" in refused(path, {**front, "graph_sha256": "0"}, graph)
    assert "graph must be text, not 3" in refused(path, {**front, "graph": 3}, graph)
    assert "search must be an object, not list of 0" in refused(path, {**front, "search": []}, graph)
