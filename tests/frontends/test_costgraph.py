"""``CostGraphDef`` files: what becomes of nodes, views, the start and sizes."""

import gzip

import pytest

from regal.files import ParseError
from regal.frontends.costgraph import iter_folder, load, parse, write
from regal.graph import example_graph
from tests.frontends.costgraphs import PUBLISHED, canonical, graph_of, makes, node, reads, table

# Reading


def test_a_published_graph():
    """
    node_0 ┄┄┄┄┄┄┐
    node_1 ─(61)─┤
    node_2 ─(39)─┴─ node_3 ─(47)
    """
    graph = parse(PUBLISHED.encode(), name="tiny")
    assert graph.name == "tiny"
    assert table(graph) == {
        "node_0": ([], [], []),
        "node_1": ([], [61], []),
        "node_2": ([], [39], []),
        "node_3": ([61, 39], [47], ["node_0"]),
    }
    assert set(graph.op_types) == {"node"}
    assert graph.runtime.tolist() == [0.0, 44e-6, 52e-6, 58e-6]
    assert not graph.is_output.any()
    source = {"framework": "costgraph", "cost_seconds": 1e-6, "contracted_views": 0, "unknown": 0}
    assert graph.meta == {"source": source}


def test_the_unit_of_costs_is_an_option():
    assert parse(PUBLISHED.encode(), cost_seconds=0.5).runtime.tolist() == [0, 22, 26, 29]
    for unit in (0, -1.0, float("inf"), float("nan"), True, "1"):
        with pytest.raises(ValueError, match="cost_seconds must be positive"):
            parse(PUBLISHED.encode(), cost_seconds=unit)


def test_nodes_in_any_order_with_any_ids_become_a_program_order():
    graph = graph_of(
        node("last", 7, reads(-5), reads(2**31 - 1)),
        node("first", -5, makes(1)),
        node("second", 2**31 - 1, makes(2), "control_input: -5"),
    )
    assert list(table(graph).items()) == [
        ("first", ([], [1], [])),
        ("second", ([], [2], ["first"])),
        ("last", ([1, 2], [], [])),
    ]


def test_outputs_of_the_start_are_persistent_and_control_inputs_from_it_say_nothing():
    graph = graph_of(
        node("a", 1, reads(0, 1), "control_input: 0", makes(5)),
        node("_SOURCE", 0, makes(10), makes(20)),
        node("_SINK", 2, "control_input: 1"),
    )
    assert table(graph) == {"a": ([20], [5], []), "_SINK": ([], [], ["a"])}
    assert graph.tensor_bytes.tolist() == [10, 20, 5]
    assert graph.producer.tolist() == [-1, -1, 0]


@pytest.mark.parametrize("what", ["compute_cost: 1", "control_input: 1", reads(1)])
def test_an_op_of_the_name_of_the_start_is_an_op(what):
    graph = graph_of(node("a", 1, makes(1)), node("_SOURCE", 0, what))
    assert graph.op_names == ("a", "_SOURCE")


def test_several_outputs_and_ports():
    graph = graph_of(node("split", 1, makes(1), makes(2), makes(3)), node("b", 2, reads(1, 2), reads(1, 0)))
    assert table(graph)["b"] == ([3, 1], [], [])


def test_what_is_read_twice_counts_once():
    graph = graph_of(node("a", 1, makes(4)), node("square", 2, reads(1), reads(1), "control_input: [1, 1]"))
    assert table(graph)["square"] == ([4], [], ["a"])


def test_workspace_persistent_memory_and_final_nodes():
    graph = graph_of(
        node("a", 1, makes(4), "temporary_memory_size: 7 persistent_memory_size: 9"),
        node("b", 2, reads(1), makes(5), makes(6), "is_final: true"),
    )
    assert graph.workspace.tolist() == [7, 0]
    assert table(graph) == {"a": ([9], [4], []), "b": ([4], [5, 6], [])}
    assert sorted(graph.tensor_bytes[graph.is_output].tolist()) == [5, 6]


def test_unknown_sizes_and_costs_are_none_and_counted():
    fields = "compute_cost: -1 temporary_memory_size: -1 persistent_memory_size: -1"
    graph = graph_of(node("a", 1, makes(-1), makes(3), fields))
    assert table(graph) == {"a": ([], [0, 3], [])}
    assert (graph.runtime.tolist(), graph.workspace.tolist()) == ([0.0], [0])
    assert graph.meta["source"]["unknown"] == 4


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("dense/MatMul_1", "MatMul"),
        ("node_17", "node"),
        ("while/cell/Conv2D", "Conv2D"),
        ("relu6", "relu"),
        ("12", "op"),
        ("a/_3", "op"),
        ("a/", "op"),
        ("x_", "x_"),
    ],
)
def test_the_type_is_the_end_of_the_name_without_its_number(name, type_):
    assert graph_of(node(name, 1)).op_types == (type_,)


def test_a_node_without_a_name_is_named_after_its_id():
    assert parse(b"node { id: 3 } node {}").op_names == ("node_3", "node_0")


# Aliases


def test_a_view_vanishes_and_its_readers_read_the_storage():
    """``a -(8)- view - view2 - b``, and ``c`` waits for ``view2``."""
    graph = graph_of(
        node("a", 1, makes(8)),
        node("view2", 3, reads(2), makes(99, 0)),
        node("view", 2, reads(1), makes(99, 0)),
        node("b", 4, reads(3)),
        node("c", 5, "control_input: 3"),
    )
    assert table(graph) == {"a": ([], [8], []), "b": ([8], [], []), "c": ([], [], ["a"])}
    assert graph.meta["source"]["contracted_views"] == 2


def test_an_alias_that_is_left_out_is_zero_as_the_format_says():
    graph = graph_of(
        node("a", 1, makes(8)), node("view", 2, reads(1), "output_info { size: 8 }"), node("b", 3, reads(2))
    )
    assert table(graph) == {"a": ([], [8], []), "b": ([8], [], [])}


def test_a_final_view_makes_the_storage_an_output():
    graph = graph_of(node("a", 1, makes(8), makes(9)), node("view", 2, reads(1, 1), makes(9, 0), "is_final: t"))
    assert graph.tensor_bytes[graph.is_output].tolist() == [9]


def test_a_view_of_the_start_is_persistent_and_no_output():
    graph = graph_of(
        node("_SOURCE", 0, makes(8)),
        node("view", 1, reads(0), makes(8, 0), "is_final: true control_input: 0"),
        node("b", 2, reads(1), "control_input: 1"),
    )
    assert table(graph) == {"b": ([8], [], [])}
    assert not graph.is_output.any()


@pytest.mark.parametrize("more", ["compute_cost: 3", "temporary_memory_size: 1", "control_input: 3", reads(3)])
def test_an_alias_of_an_op_that_does_something_is_read_after_it(more):
    """An update in place: ``a -(8)- update`` hands on the 8 bytes of ``a`` to ``b``; ``c`` reads them from ``a``."""
    graph = graph_of(
        node("a", 1, makes(8)),
        node("other", 3, makes(1)),
        node("update", 2, reads(1), makes(8, 0), more),
        node("view", 6, reads(2), makes(8, 0)),
        node("b", 4, reads(6)),
        node("c", 5, reads(1)),
        node("d", 7, "control_input: 6"),
    )
    found = table(graph)
    assert found["b"] == ([8], [], ["update"])
    assert found["c"] == ([8], [], [])
    assert found["d"] == ([], [], ["update"])
    assert found["update"][:2] == ([8, 1] if more == reads(3) else [8], [])


def test_an_op_may_make_one_output_and_hand_on_another():
    graph = graph_of(
        node("a", 1, makes(8)), node("b", 2, reads(1), makes(8, 0), makes(5)), node("c", 3, reads(2, 0), reads(2, 1))
    )
    assert table(graph) == {"a": ([], [8], []), "b": ([8], [5], []), "c": ([8, 5], [], ["b"])}


def test_long_chains_of_views_take_no_recursion():
    views = [node(f"view_{i}", i, reads(i - 1), makes(1, 0)) for i in range(2, 5000)]
    graph = graph_of(node("a", 1, makes(8)), *reversed(views), node("b", 5000, reads(4999)))
    assert table(graph) == {"a": ([], [8], []), "b": ([8], [], [])}


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([node("a", 1), node("b", 1)], "line 2: node 'b': the id 1 is that of node 'a'"),
        ([node("a", 1, reads(2))], "line 1: node 'a': no node has the id 2"),
        ([node("a", 1, "control_input: 2")], "line 1: node 'a': no node has the id 2"),
        (
            [node("a", 1, makes(1)), node("b", 2, reads(1, 1))],
            "line 2: node 'b': node 'a' has 1 outputs, but not output 1",
        ),
        ([node("a", 1, makes(1)), node("b", 2, reads(1, -1))], "but not output -1"),
        (
            [node("a", 1, "output_info { size: 3 }")],
            "has the alias_input_port 0, but there are 0 inputs; one that is no",
        ),
        ([node("a", 1, makes(1)), node("b", 2, reads(1), makes(1, 1))], "has the alias_input_port 1, but there are 1 "),
        ([node("a", 1, makes(-2))], "line 1: node 'a': a size must be from 0 to 2\\^53 - 1 bytes, not -2"),
        ([node("a", 1, makes(2**53))], "not 9007199254740992"),
        ([node("a", 1, "temporary_memory_size: -3")], "a size must be"),
        ([node("a", 1, "compute_cost: -2")], "compute_cost must not be negative, not -2"),
        ([node("a", 1, reads(2), makes(1)), node("b", 2, reads(1), makes(1))], "the graph has a cycle"),
        ([node("a", 1, "control_input: 1")], "the graph has a cycle"),
        (
            [node("a", 1, reads(2), makes(1, 0)), node("b", 2, reads(1), makes(1, 0))],
            "its output is an alias of itself",
        ),
        ([node("a", i, makes(2**53 - 1)) for i in range(1025)], "all bytes times the number of devices"),
    ],
)
def test_graphs_that_make_no_sense_are_refused_by_node(nodes, message):
    with pytest.raises(ParseError, match="^text: .*" + message) as caught:
        graph_of(*nodes)
    assert "\n" not in str(caught.value)


# Files


def test_files_plain_and_compressed(tmp_path):
    graph = example_graph("diamond")
    for name in ("graph_1.pbtxt", "graph_1.pbtxt.gz"):
        write(graph, tmp_path / name)
        again = load(tmp_path / name)
        assert again.name == "graph_1"
        assert canonical(again, op_types=False) == canonical(graph, op_types=False)
    assert gzip.decompress((tmp_path / "graph_1.pbtxt.gz").read_bytes()) == (tmp_path / "graph_1.pbtxt").read_bytes()


def test_errors_name_the_file(tmp_path):
    with pytest.raises(ParseError, match=r"missing\.pbtxt: No such file"):
        load(tmp_path / "missing.pbtxt")
    (tmp_path / "junk.pbtxt").write_text("node {\n  nam: 3 }")
    with pytest.raises(ParseError, match=r"junk\.pbtxt: line 2: Node has no field 'nam'"):
        load(tmp_path / "junk.pbtxt")
    (tmp_path / "cut.pbtxt.gz").write_bytes(gzip.compress(PUBLISHED.encode())[:-20])
    with pytest.raises(ParseError, match=r"cut\.pbtxt\.gz: the gzip data end too early"):
        load(tmp_path / "cut.pbtxt.gz")


def test_a_folder_is_read_one_by_one(tmp_path):
    for place, name in (("train", "diamond"), ("train", "chain"), ("test", "branches")):
        (tmp_path / place).mkdir(exist_ok=True)
        write(example_graph(name), tmp_path / place / f"graph_{name}.pbtxt")
    (tmp_path / "notes.txt").write_text("no graph")
    (tmp_path / "train" / "broken.pbtxt").write_text("x")
    graphs = iter_folder(tmp_path)
    assert [next(graphs).meta["source"]["file"]] == ["test/graph_branches.pbtxt"]
    with pytest.raises(ParseError, match=r"broken\.pbtxt: line 1"):
        next(graphs)
    (tmp_path / "train" / "broken.pbtxt").unlink()
    assert [(graph.name, graph.num_ops) for graph in iter_folder(str(tmp_path))] == [
        ("graph_branches", 13),
        ("graph_chain", 3),
        ("graph_diamond", 4),
    ]


def test_a_folder_without_files_is_refused(tmp_path):
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(ValueError, match=r"no folder with files that end in \.pbtxt"):
            iter_folder(folder)
