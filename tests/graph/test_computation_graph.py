import hashlib
import json

import numpy as np
import pytest
from hypothesis import given

from regal.graph import ComputationGraph, GraphBuilder, example_graph
from tests.strategies import graphs


@pytest.fixture
def graph() -> ComputationGraph:
    """w is persistent and feeds a and c; b waits for a by a control edge; nobody reads u, and e is persistent unread.

    w ──> a ──h──> c ──> out
          ├──u
          └ ─ ─> b
    """
    builder = GraphBuilder("small", meta={"note": 1})
    w, h, u, out, _ = (builder.add_tensor(size) for size in (100, 10, 3, 7, 50))
    builder.mark_output(out)
    builder.add_op("make", name="a", inputs=[w], outputs=[h, u], runtime=0.5, colocation=2)
    builder.add_op("wait", name="b", control_inputs=[0], workspace=4)
    builder.add_op("join", name="ç", inputs=[h, w], outputs=[out], control_inputs=[0], runtime=1)
    return builder.build()


def test_who_makes_and_who_reads(graph):
    assert graph.producer.tolist() == [-1, 0, 0, 2, -1]
    assert graph.consumers.to_lists() == [[0, 2], [2], [], [], []]
    assert graph.activations.tolist() == [1, 2, 3]
    assert (graph.num_ops, graph.num_tensors, graph.num_activations) == (3, 5, 3)


def test_who_waits_for_whom(graph):
    assert graph.control_successors.to_lists() == [[1, 2], [], []]
    assert graph.predecessors.to_lists() == [[], [0], [0]]
    assert graph.successors.to_lists() == [[1, 2], [], []]


@given(graphs())
def test_predecessors_are_producers_and_control_inputs(graph):
    producer = graph.producer.tolist()
    for op in range(graph.num_ops):
        makers = {producer[tensor] for tensor in graph.inputs[op].tolist()} - {-1}
        expected = sorted(makers | set(graph.control_inputs[op].tolist()))
        assert graph.predecessors[op].tolist() == expected
        assert all(op in graph.successors[other].tolist() for other in expected)
    assert graph.successors.counts.sum() == graph.predecessors.counts.sum()


def test_arrays_cannot_be_written(graph):
    for array in (graph.runtime, graph.tensor_bytes, graph.inputs.values, graph.outputs.offsets, graph.is_output):
        with pytest.raises(ValueError, match="read-only"):
            array[:1] = 0


def test_the_digest_is_that_of_the_documented_form(graph):
    ops = [
        ["a", "make", 0.5, 0, [0], [1, 2], [], 2],
        ["b", "wait", 0.0, 4, [], [], [0], None],
        ["ç", "join", 1.0, 0, [1, 0], [3], [0], None],
    ]
    tensors = [[100, False], [10, False], [3, False], [7, True], [50, False]]
    text = json.dumps([ops, tensors], separators=(",", ":"))
    assert text == (
        '[[["a","make",0.5,0,[0],[1,2],[],2],["b","wait",0.0,4,[],[],[0],null],'
        '["\\u00e7","join",1.0,0,[1,0],[3],[0],null]],[[100,false],[10,false],[3,false],[7,true],[50,false]]]'
    )
    assert graph.sha256 == hashlib.sha256(text.encode("utf-8")).hexdigest()


def test_the_digest_knows_content_and_not_name_or_meta():
    def make(name: str = "x", size: int = 8, runtime: float = 1.0, op_name: str = "a", meta: dict | None = None) -> str:
        builder = GraphBuilder(name, meta)
        builder.add_op("op", name=op_name, outputs=[builder.add_tensor(size)], runtime=runtime)
        return builder.build().sha256

    assert make() == make(name="y", meta={"k": 1})
    assert len({make(), make(size=9), make(runtime=np.nextafter(1.0, 2.0)), make(op_name="b")}) == 4
    empty = GraphBuilder().build()
    assert empty.sha256 == hashlib.sha256(b"[[],[]]").hexdigest()


def test_no_ops_are_a_graph():
    empty = GraphBuilder("empty").build()
    assert (empty.num_ops, empty.num_tensors, empty.activations.tolist()) == (0, 0, [])
    assert empty.predecessors.to_lists() == empty.successors.to_lists() == []
    assert repr(empty) == "ComputationGraph('empty', ops=0, tensors=0, bytes=0)"


def test_how_ops_and_graphs_are_shown():
    graph = example_graph("diamond")
    assert graph.describe_op(2) == "op 2 'c'"
    assert repr(graph) == "ComputationGraph('diamond', ops=4, tensors=4, bytes=78)"
