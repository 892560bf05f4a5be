import json

import pytest

from regal.bounds import peak_memory_bound
from regal.cli.inspect import inspect
from regal.cli.main import main
from regal.cluster import Cluster
from regal.graph import GraphBuilder, example_graph, write_graph


def test_facts_of_a_small_graph():
    # split ─(8)─┬─> narrow ─(4)──┐
    #            └─> widen ─(64)──┴─> join ─(2)      one parameter of 100 bytes that narrow reads, one that nobody reads
    builder = GraphBuilder("diamond")
    start, small, large, end = (builder.add_tensor(size) for size in (8, 4, 64, 2))
    weight, _ = builder.add_tensor(100), builder.add_tensor(7)
    builder.add_op("split", outputs=[start], runtime=1.0, colocation=3)
    builder.add_op("narrow", inputs=[start, weight], outputs=[small], runtime=2.0)
    builder.add_op("widen", inputs=[start], outputs=[large], runtime=3.0, workspace=16, colocation=3)
    builder.add_op("join", inputs=[small, large], outputs=[end], control_inputs=[0], runtime=1.0)
    graph = builder.build()
    facts = inspect(graph, Cluster.uniform(2), 60.0)
    expected = {
        "ops": 4,
        "op_types": 4,
        "tensors": 6,
        "activations": 4,
        "reads": 5,
        "control_inputs": 1,
        "colocation_groups": 1,
        "graph_outputs": 0,
        "depth": 3,
        "widest_level": 2,
        "persistent_bytes": 100,
        "activation_bytes": 78,
        "largest_tensor_bytes": 100,
        "program_order_peak_bytes": 100 + 4 + 8 + 64 + 16,
        "one_device_bound_complete": True,
        "devices": 2,
        "total_work_seconds": 7.0,
        "running_time_bound_seconds": 5.0,
    }
    assert {key: facts[key] for key in expected} == expected
    bound = peak_memory_bound(graph, Cluster.uniform(1)).value
    assert facts["one_device_bound_bytes"] == bound
    assert facts["one_device_headroom"] == pytest.approx(1 - bound / 192)
    assert bound <= facts["min_cut_order_peak_bytes"] <= 192
    assert facts["peak_memory_bound_bytes"] == peak_memory_bound(graph, Cluster.uniform(2)).value
    assert facts["sha256"] == graph.sha256
    assert facts["warnings"] == [
        "1 persistent tensors have no reader and cost nothing",
        "no activation is an output of the graph: every result is released as soon as it is made",
    ]


def test_warnings_of_a_graph_without_times_and_parameters():
    builder = GraphBuilder("bare")
    builder.add_op("op", outputs=[builder.add_tensor(5, is_output=True)])
    assert inspect(builder.build(), Cluster.uniform(1), 1.0)["warnings"] == [
        "all running times are zero: the running-time objective means nothing",
        "no persistent tensor is read: parameters and inputs seem to be missing",
    ]


def test_json_and_table_say_the_same(capsys):
    assert main(["inspect", "example:branches", "--json", "--devices", "3"]) == 0
    out, err = capsys.readouterr()
    assert (err, out.count("\n")) == ("", 1)
    facts = json.loads(out)
    assert facts == inspect(example_graph("branches"), Cluster.uniform(3), 60.0)
    assert main(["inspect", "example:branches", "--devices", "3"]) == 0
    table = capsys.readouterr().out
    assert f"({facts['program_order_peak_bytes']})" in table
    assert "warning: no persistent tensor is read" in table


def test_no_ops(capsys, tmp_path):
    path = tmp_path / "none.json"
    write_graph(GraphBuilder("none").build(), path)
    assert main(["inspect", str(path), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["ops"], facts["depth"], facts["widest_level"], facts["program_order_peak_bytes"]) == (0, 0, 0, 0)
    assert main(["inspect", str(path)]) == 0


def test_a_cluster_file(capsys, tmp_path):
    path = tmp_path / "cluster.toml"
    path.write_text("[[devices]]\ncount = 5\nspeed = 2.0\n")
    assert main(["inspect", "example:chain", "--cluster", str(path), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["devices"], facts["running_time_bound_seconds"]) == (5, 1.5)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--devices", "0"], "from 1 to 1024 devices, not 0"),
        (["--bound-seconds", "-1"], "--bound-seconds must be seconds from 0 on, not -1.0"),
        (["--bound-seconds", "nan"], "--bound-seconds must be seconds from 0 on, not nan"),
        (["--cluster", "missing.toml"], "missing.toml: No such file"),
    ],
)
def test_bad_options(capsys, option, message):
    assert main(["inspect", "example:chain", *option]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert message in err
