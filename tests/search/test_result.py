import json
import math
from dataclasses import replace

import pytest

from regal.bounds import Bound
from regal.cluster import Cluster, Device
from regal.graph import example_graph
from regal.search import optimize

KEYS = {
    "graph",
    "devices",
    "objective",
    "objective_value",
    "peak_memory",
    "peak_utilisation",
    "running_time",
    "feasible",
    "excess_bytes",
    "lower_bound",
    "lower_bound_certificate",
    "lower_bound_complete",
    "gap",
    "evaluations",
    "search_seconds",
    "bound_seconds",
    "method",
    "seed",
    "stop_reason",
    "copies",
    "copied_bytes",
    "baselines",
}
GRAPH = example_graph("diamond")


def bound(value):
    return Bound(value, "test", None, True, 0.5)


def test_figures_as_json():
    result = optimize(GRAPH, cluster=Cluster((Device(50), Device(1000))), objective="running-time", evaluations=300)
    figures = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert set(figures) == KEYS
    assert (figures["graph"], figures["devices"], figures["objective"]) == ("diamond", 2, "running-time")
    assert figures["objective_value"] == figures["running_time"] == result.running_time
    assert figures["peak_memory"] == list(result.peak_memory)
    assert figures["copies"] == result.plan.num_copies
    assert set(figures["baselines"]["program-order, one device"]) == {"peak_memory", "running_time"}


def test_a_front_as_json():
    front = optimize(GRAPH, objective="pareto", evaluations=300)
    figures = json.loads(json.dumps(front.to_json(), allow_nan=False))
    extra = {"time_lower_bound", "hypervolume", "reference_point", "front"}
    assert set(figures) == KEYS | extra
    assert figures["objective"] == "pareto"
    assert [(max(plan["peak_memory"]), plan["running_time"]) for plan in figures["front"]] == front.points()


def test_infinite_figures_are_null_in_json():
    cluster = Cluster((Device(0), Device(0)))
    result = optimize(GRAPH, cluster=cluster, objective="peak-utilisation", evaluations=50)
    assert result.objective_value == math.inf
    figures = json.loads(json.dumps(result.to_json(), allow_nan=False))
    for key in ("objective_value", "peak_utilisation", "lower_bound", "gap"):
        assert figures[key] is None
    json.dumps(optimize(GRAPH, cluster=cluster, objective="pareto", evaluations=50).to_json(), allow_nan=False)


@pytest.mark.parametrize(("value", "gap"), [(88, 0.0), (44, 1.0), (0, None), (math.inf, None)])
def test_gap(value, gap):
    result = optimize(GRAPH, 1, evaluations=20)
    assert result.objective_value == 88
    assert replace(result, lower_bound=bound(value)).gap == gap
    assert replace(result, lower_bound=None).gap is None


def test_without_a_bound_the_figures_are_null():
    figures = replace(optimize(GRAPH, 1, evaluations=20), lower_bound=None).to_json()
    assert {key for key in figures if figures[key] is None} == {
        "lower_bound",
        "lower_bound_certificate",
        "lower_bound_complete",
        "gap",
        "bound_seconds",
    }


def test_pictures():
    result = optimize(GRAPH, evaluations=50)
    assert result.plot().data
    assert "diamond" in result._repr_html_()
    assert optimize(GRAPH, objective="pareto", evaluations=50).plot().data
