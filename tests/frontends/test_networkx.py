"""NetworkX graphs: what attributes of nodes and edges become, and that what is written is read again."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

nx = pytest.importorskip("networkx")

from regal.frontends.networkx import from_networkx, to_networkx  # noqa: E402
from regal.graph import example_graph  # noqa: E402
from tests.strategies import random_graph  # noqa: E402


def table(graph):
    """``{op: (bytes read, bytes written, control inputs by name)}``; small graphs where sizes tell tensors apart."""
    size, names = graph.tensor_bytes, graph.op_names
    rows = zip(names, graph.inputs, graph.outputs, graph.control_inputs, strict=True)
    return {
        name: (sorted(size[inputs].tolist()), size[outputs].tolist(), [names[op] for op in control])
        for name, inputs, outputs, control in rows
    }


def canonical(graph):
    """Everything but the name, ``meta``, the numbers of the tensors and the order of inputs."""
    place = {}
    for op, tensors in enumerate(graph.outputs.to_lists()):
        place |= {tensor: (op, port) for port, tensor in enumerate(tensors)}
    persistent = [tensor for tensor in range(graph.num_tensors) if tensor not in place]
    place |= {tensor: (-1, port) for port, tensor in enumerate(persistent)}
    tensors = enumerate(zip(graph.tensor_bytes.tolist(), graph.is_output.tolist(), strict=True))
    return (
        graph.op_names,
        graph.op_types,
        graph.runtime.tolist(),
        graph.workspace.tolist(),
        graph.colocation.tolist(),
        [sorted(place[tensor] for tensor in row) for row in graph.inputs.to_lists()],
        [sorted(row) for row in graph.control_inputs.to_lists()],
        sorted((place[tensor], size, output and place[tensor][0] >= 0) for tensor, (size, output) in tensors),
    )


def digraph(nodes, edges, kind=nx.DiGraph):
    graph = kind()
    graph.add_nodes_from(nodes.items())
    graph.add_edges_from(edges)
    return graph


def test_nodes_and_edges():
    """``w(64) -> a -(16)- b -(4)``, ``a -(16)- c``, and ``c`` comes after ``b``."""
    graph = from_networkx(
        digraph(
            {
                "c": {"workspace": 9, "colocation": 5, "runtime": 2},
                "b": {"bytes": 4, "is_output": True, "colour": "red", "colocation": 5},
                "a": {"bytes": 16, "type": "matmul", "runtime": 0.5},
                "w": {"persistent": True, "bytes": 64},
            },
            [("w", "a"), ("a", "b"), ("a", "c"), ("b", "c", {"control": True})],
        )
    )
    assert list(table(graph).items()) == [("a", ([64], [16], [])), ("b", ([16], [4], [])), ("c", ([16], [], ["b"]))]
    assert graph.op_types == ("matmul", "op", "op")
    assert graph.runtime.tolist() == [0.5, 0.0, 2.0]
    assert graph.workspace.tolist() == [0, 0, 9]
    assert graph.colocation.tolist() == [-1, 5, 5]
    assert graph.tensor_bytes[graph.is_output].tolist() == [4]
    assert graph.name == "networkx"
    assert graph.meta == {"source": {"framework": "networkx", "version": nx.__version__}}


def test_names():
    graph = digraph({(1, 2): {}, "b": {"name": "own"}}, [])
    assert from_networkx(graph).op_names == ("(1, 2)", "own")
    graph.graph["name"] = "net"
    assert (from_networkx(graph).name, from_networkx(graph, name="other").name) == ("net", "other")


def test_a_producer_without_bytes_only_comes_first():
    graph = from_networkx(digraph({1: {}, 2: {"bytes": 3}, 3: {}}, [(1, 3), (2, 3)]))
    assert table(graph)["3"] == ([3], [], ["1"])


def test_several_outputs_of_a_node():
    nodes = {"a": {"bytes": [1, 2, 3], "is_output": (False, True, False)}, "b": {}, "c": {}}
    graph = from_networkx(digraph(nodes, [("a", "b", {"tensor": 2}), ("a", "c")]))
    assert table(graph) == {"a": ([], [1, 2, 3], []), "b": ([3], [], []), "c": ([1], [], [])}
    assert graph.tensor_bytes[graph.is_output].tolist() == [2]


def test_edges_may_carry_outputs_of_their_own():
    """``a`` makes 1 byte by itself; 10 for ``b``, 20 for ``b`` and ``c``, 30 for ``c``."""
    graph = from_networkx(
        digraph(
            {"a": {"bytes": 1}, "b": {}, "c": {}},
            [
                ("a", "b", {"bytes": 10}),
                ("a", "b", {"bytes": 20, "tensor": "shared"}),
                ("a", "c", {"bytes": 20, "tensor": "shared"}),
                ("a", "c", {"bytes": 30}),
            ],
            nx.MultiDiGraph,
        )
    )
    assert sorted(graph.tensor_bytes.tolist()) == [1, 10, 20, 30]
    assert table(graph)["b"] == ([10, 20], [], [])
    assert table(graph)["c"] == ([20, 30], [], [])
    assert len(table(graph)["a"][1]) == 4


def test_numbers_of_numpy_and_whole_floats_are_taken():
    nodes = {1: {"bytes": np.int32(3), "runtime": np.float32(0.5), "workspace": 7.0}, 2: {"bytes": [np.float64(4)]}}
    graph = from_networkx(digraph(nodes, []))
    assert (graph.tensor_bytes.tolist(), graph.runtime.tolist(), graph.workspace.tolist()) == ([3, 4], [0.5, 0], [7, 0])


@pytest.mark.parametrize(
    ("nodes", "edges", "message"),
    [
        ({1: {}, 2: {}}, [(1, 2), (2, 1)], "the graph has a cycle"),
        ({1: {"bytes": 1}}, [(1, 1)], "the graph has a cycle"),
        ({"a": {"bytes": -1}}, [], "node 'a': bytes must be an integer from 0 to 2\\^53 - 1, not -1"),
        ({"a": {"bytes": 1.5}}, [], "not 1.5"),
        ({"a": {"bytes": float("nan")}}, [], "not nan"),
        ({"a": {"bytes": float("inf")}}, [], "not inf"),
        ({"a": {"bytes": True}}, [], "not True"),
        ({"a": {"bytes": "12"}}, [], "not '12'"),
        ({"a": {"bytes": {}}}, [], "not dict of 0"),
        ({"a": {"bytes": np.ones(2)}}, [], "bytes must be"),
        ({"a": {"bytes": [1, None]}}, [], "not None"),
        ({"a": {"bytes": 2**53}}, [], "not 9007199254740992"),
        ({"a": {"bytes": [1, 2], "is_output": [True]}}, [], "node 'a': is_output has 1 entries for 2 outputs"),
        ({"a": {"runtime": -1.0}}, [], "node 'a': runtime must be finite seconds, not negative, not -1.0"),
        ({"a": {"runtime": "fast"}}, [], "not 'fast'"),
        ({"a": {"runtime": None}}, [], "not None"),
        ({"a": {"runtime": 10**400}}, [], "not an integer of 1329 bits"),
        ({"a": {"workspace": -2}}, [], "node 'a': workspace must be"),
        ({"a": {"colocation": "x"}}, [], "node 'a': colocation must be"),
        ({"w": {"persistent": True}}, [], "node 'w': a persistent tensor has one number of bytes and no edge to it"),
        ({"w": {"persistent": True, "bytes": [1, 2]}}, [], "a persistent tensor has one number"),
        ({"a": {}, "w": {"persistent": True, "bytes": 1}}, [("a", "w")], "a persistent tensor has one number"),
        (
            {"a": {"bytes": 1}, "b": {}},
            [("a", "b", {"tensor": 1})],
            "from 'a' to 'b': the producer has 1 outputs, but not 1",
        ),
        ({"a": {"bytes": 1}, "b": {}}, [("a", "b", {"tensor": -1})], "but not -1"),
        ({"a": {"bytes": 1}, "b": {}}, [("a", "b", {"tensor": "x"})], "but not 'x'"),
        ({"a": {"bytes": 1}, "b": {}}, [("a", "b", {"tensor": [1]})], "tensor must be a number or text, not list of 1"),
        ({"a": {}, "b": {}}, [("a", "b", {"tensor": 0})], "the producer has 0 outputs, but not 0"),
        ({"a": {}, "b": {}}, [("a", "b", {"bytes": -1})], "edge from 'a' to 'b': bytes must be"),
        (
            {"w": {"persistent": True, "bytes": 1}, "b": {}},
            [("w", "b", {"bytes": 1})],
            "edge from 'w' to 'b': bytes must not be on an edge from a persistent tensor",
        ),
        (
            {"a": {}, "b": {}, "c": {}},
            [("a", "b", {"bytes": 1, "tensor": "t"}), ("a", "c", {"bytes": 2, "tensor": "t"})],
            "edge from 'a' to 'c': bytes of the tensor 't' are 1 and 2 on two edges",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(nodes, edges, message):
    with pytest.raises(ValueError, match=message) as caught:
        from_networkx(digraph(nodes, edges))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("graph", [nx.Graph(), nx.MultiGraph(), {1: [2]}, None])
def test_other_graphs_are_refused(graph):
    with pytest.raises(ValueError, match=r"a networkx\.DiGraph must be given, not "):
        from_networkx(graph)


@given(st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
def test_what_is_written_is_read_again(rng):
    graph = random_graph(rng)
    again = from_networkx(to_networkx(graph))
    assert canonical(again) == canonical(graph)
    assert canonical(from_networkx(to_networkx(again))) == canonical(graph)


def test_an_op_that_reads_two_tensors_of_another_has_two_edges():
    graph = from_networkx(
        digraph({"a": {"bytes": [1, 2]}, "b": {}}, [("a", "b"), ("a", "b", {"tensor": 1})], nx.MultiDiGraph)
    )
    written = to_networkx(graph)
    assert sorted(written.edges(data="tensor", default=0)) == [(0, 1, 0), (0, 1, 1)]
    assert isinstance(written, nx.DiGraph)


def test_written_attributes():
    written = to_networkx(example_graph("chain"))
    assert written.name == "chain"
    assert dict(written.nodes(data=True)) == {
        0: {"name": "a", "type": "matmul", "runtime": 1.0, "bytes": 10},
        1: {"name": "b", "type": "matmul", "runtime": 1.0, "bytes": 20},
        2: {"name": "c", "type": "matmul", "runtime": 1.0, "bytes": 5, "is_output": True},
        "tensor 0": {"persistent": True, "bytes": 100},
    }
    assert sorted(written.edges(), key=str) == [("tensor 0", op) for op in range(3)] + [(0, 1), (1, 2)]


def test_random_attributes_are_taken_or_refused():
    """Values that do not belong there raise ``ValueError`` and nothing else."""
    rng = Random(0)
    values = (None, -1, 0, 3, 2.5, 1e300, float("nan"), True, "x", b"x", [], [1], [1, 2], {}, (3,), 10**400, object())
    keys = ("runtime", "bytes", "is_output", "workspace", "type", "colocation", "name", "persistent")
    taken = refused = 0
    for _ in range(1500):
        nodes = {n: {rng.choice(keys): rng.choice(values) for _ in range(rng.randint(0, 2))} for n in range(3)}
        edge_keys = ("tensor", "bytes", "control")
        edges = [
            (a, b, {rng.choice(edge_keys): rng.choice(values) for _ in range(rng.randint(0, 2))})
            for a, b in ((0, 1), (0, 2), (1, 2))
            if rng.random() < 0.5
        ]
        try:
            from_networkx(digraph(nodes, edges))
            taken += 1
        except ValueError:
            refused += 1
    assert (taken > 100, refused > 500) == (True, True), (taken, refused)
