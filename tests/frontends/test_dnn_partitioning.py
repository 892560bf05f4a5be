"""Workloads of dnn-partitioning, written by hand in the shape of the published ones."""

import json
from random import Random

import pytest

from regal.files import ParseError
from regal.frontends.dnn_partitioning import graph_from_workload, load
from tests.fuzz.texts import ANY_TEXT

WORKLOAD = {
    "maxSizePerFPGA": 1000.0,
    "maxFPGAs": 2,
    "maxCPUs": 1,
    "nodes": [
        {
            "name": "grad",
            "id": 9,
            "fpgaLatency": 4.0,
            "cpuLatency": 40.0,
            "size": 0.0,
            "isBackwardNode": 1,
            "colorClass": 7,
        },
        {"name": "x", "id": 1, "fpgaLatency": 0, "cpuLatency": 0, "size": 16, "isBackwardNode": False, "colorClass": 5},
        {
            "name": "a",
            "id": 2,
            "fpgaLatency": 2.0,
            "cpuLatency": 20.0,
            "size": 50.5,
            "isBackwardNode": 0,
            "colorClass": 7,
        },
        {"name": "b", "id": 3, "fpgaLatency": 0.0, "cpuLatency": 10.0, "size": 0, "isBackwardNode": False},
    ],
    "edges": [
        {"sourceId": 1, "destId": 2, "cost": 0.1, "size": 16.0},
        {"sourceId": 2, "destId": 3, "cost": 0.1, "size": 20.0},
        {"sourceId": 2, "destId": 9, "cost": 0.1, "size": 20.0},
        {"sourceId": 3, "destId": 9, "cost": 0.1, "size": 0.125},
    ],
}
"""``x(16) ─ a(w 31) ─(20)─┬─ b ─(1)─┬─ grad``, ``grad`` reads the 20 bytes too; ``a`` and ``grad`` share a colour."""


def workload(**changes):
    return json.loads(json.dumps(WORKLOAD)) | changes


def table(graph):
    """``{op: (bytes read, bytes written)}``; sizes tell tensors apart."""
    size = graph.tensor_bytes
    rows = zip(graph.op_names, graph.inputs, graph.outputs, strict=True)
    return {name: (sorted(size[inputs].tolist()), size[outputs].tolist()) for name, inputs, outputs in rows}


def test_a_training_workload():
    graph = graph_from_workload(WORKLOAD, "net")
    assert list(table(graph).items()) == [("a", ([16, 31], [20])), ("b", ([20], [1])), ("grad", ([1, 20], []))]
    assert graph.op_types == ("forward", "forward", "backward")
    assert graph.runtime.tolist() == [2e-3, 0.0, 4e-3]
    assert graph.colocation.tolist() == [1, -1, 1]
    assert graph.name == "net"
    assert not graph.is_output.any()
    assert graph.meta["source"] == {
        "framework": "dnn-partitioning",
        "mode": "training",
        "latency": "fpgaLatency",
        "latency_seconds": 1e-3,
        "limits": {"maxSizePerFPGA": 1000.0, "maxFPGAs": 2.0, "maxCPUs": 1.0},
    }


def test_latencies_of_the_cpu_in_other_units():
    graph = graph_from_workload(WORKLOAD, latency="cpuLatency", latency_seconds=1.0)
    assert graph.runtime.tolist() == [20.0, 10.0, 40.0]


def test_edges_of_several_sizes_are_several_tensors():
    """The gradients of two inputs; what is left of the node's 100 bytes is its own."""
    nodes = [{"id": i, "fpgaLatency": 1.0, "size": 100 if i == 0 else 0} for i in range(4)]
    edges = [{"sourceId": 0, "destId": i, "size": size} for i, size in ((1, 10), (2, 20), (3, 10))]
    graph = graph_from_workload({"nodes": nodes, "edges": edges})
    assert table(graph) == {
        "node0": ([70], [10, 20]),
        "node1": ([10], []),
        "node2": ([20], []),
        "node3": ([10], []),
    }
    assert graph.meta["source"]["mode"] == "inference"


def test_edges_without_sizes_carry_what_the_node_takes():
    nodes = [{"id": i, "fpgaLatency": 1.0, "size": 100 + i} for i in range(2)]
    graph = graph_from_workload({"nodes": nodes, "edges": [{"sourceId": 0, "destId": 1, "cost": 3}]})
    assert table(graph) == {"node0": ([], [100]), "node1": ([100, 101], [])}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "a workload is an object with a list of nodes"),
        ({"nodes": {}}, "a workload is an object with a list of nodes"),
        ({"nodes": []}, "a workload is an object with a list of edges"),
        ({"nodes": [3], "edges": []}, "node 0: must be an object, not 3"),
        ({"nodes": [], "edges": [None]}, "edge 0: must be an object, not None"),
    ],
)
def test_other_values_are_no_workload(value, message):
    with pytest.raises(ValueError, match=message):
        graph_from_workload(value)


@pytest.mark.parametrize(
    ("where", "key", "value", "message"),
    [
        ("nodes", "id", None, "node 2: id must be an integer, not None"),
        ("nodes", "id", 1, "node 'a': a second node of the id 1"),
        ("nodes", "id", True, "node 2: id must be an integer, not True"),
        ("nodes", "name", 3, "node 2: name must be text, not 3"),
        ("nodes", "size", -1, "node 2: size must be a finite number, not negative, not -1"),
        ("nodes", "size", True, "not True"),
        ("nodes", "size", 1e17, r"node 2: size must be below 2\^53 bytes, not 1e\+17"),
        ("nodes", "size", 10**400, "not an integer of 1329 bits"),
        ("nodes", "fpgaLatency", "1", "node 2: fpgaLatency must be a finite number"),
        ("nodes", "isBackwardNode", "yes", "node 2: isBackwardNode must be true or false, not 'yes'"),
        ("nodes", "isBackwardNode", 2, "not 2"),
        ("nodes", "isBackwardNode", [], "not list of 0"),
        ("nodes", "colorClass", 1.5, "node 2: colorClass must be an integer, not 1.5"),
        ("edges", "sourceId", "x", "edge 2: sourceId must be an integer, not 'x'"),
        ("edges", "destId", 77, "edge 2: no node has the id 77"),
        ("edges", "destId", 2, "the graph has a cycle"),
        ("edges", "size", None, "edge 2: size must be a finite number"),
    ],
)
def test_values_that_make_no_sense_are_refused_by_name(where, key, value, message):
    changed = workload()
    changed[where][2][key] = value
    with pytest.raises(ValueError, match=message) as caught:
        graph_from_workload(changed)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("key", ["id", "size", "fpgaLatency"])
def test_missing_values_are_named(key):
    changed = workload()
    del changed["nodes"][1][key]
    with pytest.raises(ValueError, match=f"node 1: {key} is missing"):
        graph_from_workload(changed)


def test_options_are_checked():
    with pytest.raises(ValueError, match="latency must be one of fpgaLatency, cpuLatency, not 'gpu'"):
        graph_from_workload(WORKLOAD, latency="gpu")
    for seconds in (0, -1.0, float("nan"), "x"):
        with pytest.raises(ValueError, match="options: latency_seconds must be"):
            graph_from_workload(WORKLOAD, latency_seconds=seconds)


def test_limits_must_be_numbers():
    with pytest.raises(ValueError, match="workload: maxFPGAs must be a finite number"):
        graph_from_workload(workload(maxFPGAs="two"))


def test_files(tmp_path):
    (tmp_path / "net_training.json").write_text(json.dumps(WORKLOAD))
    assert load(tmp_path / "net_training.json").name == "net_training"
    (tmp_path / "broken.json").write_text(json.dumps(workload(edges=3)))
    with pytest.raises(ParseError, match=r"broken\.json: a workload is an object with a list of edges"):
        load(tmp_path / "broken.json")


def test_damaged_files_are_read_or_refused_in_one_line(tmp_path):
    rng, path = Random(0), tmp_path / "net.json"
    read = refused = 0
    for _ in range(600):
        data = json.dumps(WORKLOAD).encode()
        for _ in range(rng.choice((1, 1, 2))):
            try:
                data = rng.choice(ANY_TEXT)(data, rng)
            except UnicodeDecodeError:  # the last change left no text
                continue
        path.write_bytes(data)
        try:
            load(path)
            message = ""
        except ParseError as error:
            message = str(error)
        assert "\n" not in message
        read, refused = read + (not message), refused + bool(message)
    assert (read > 50, refused > 200) == (True, True), (read, refused)
