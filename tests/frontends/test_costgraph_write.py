"""Graphs written as ``CostGraphDef``: the text, and that it is read again."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regal.frontends.costgraph import parse, to_text
from regal.graph import GraphBuilder, example_graph
from tests.frontends.costgraphs import PUBLISHED, canonical, single_groups
from tests.strategies import random_graph


def test_a_published_text_is_written_as_it_was():
    assert to_text(parse(PUBLISHED.encode())) == PUBLISHED


def test_text_is_written_in_the_order_of_the_format():
    """``w(10) -> a -> (4, 5 final)``, workspace 6, and ``b`` after ``a``."""
    builder = GraphBuilder()
    weight, left, right = builder.add_tensor(10), builder.add_tensor(4), builder.add_tensor(5, is_output=True)
    builder.add_op("x", name="x/a", inputs=[weight], outputs=[left, right], runtime=3.4e-6, workspace=6)
    builder.add_op("b", name='b"\\\n\té\x01', inputs=[right], control_inputs=[0])
    text = to_text(builder.build())
    assert text.split("node ")[1:] == [
        '{\n  name: "_SOURCE"\n  output_info {\n    size: 10\n    alias_input_port: -1\n  }\n}\n',
        '{\n  name: "x/a"\n  id: 1\n  input_info {\n  }\n'
        "  output_info {\n    size: 4\n    alias_input_port: -1\n  }\n"
        "  output_info {\n    size: 5\n    alias_input_port: -1\n  }\n"
        "  temporary_memory_size: 6\n  control_input: 0\n  compute_cost: 3\n}\n",
        '{\n  name: "b\\"\\\\\\n\\t\\303\\251\\001"\n  id: 2\n'
        "  input_info {\n    preceding_node: 1\n    preceding_port: 1\n  }\n"
        "  control_input: 0\n  control_input: 1\n}\n",
        '{\n  name: "x/a/output_1"\n  id: 3\n  input_info {\n    preceding_node: 1\n    preceding_port: 1\n  }\n'
        "  output_info {\n    size: 5\n  }\n  is_final: true\n}\n",
    ]


@given(st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
def test_what_is_written_is_read_again(rng):
    graph = single_groups(random_graph(rng))
    again = parse(to_text(graph, cost_seconds=1.0).encode(), cost_seconds=1.0)
    assert canonical(again) == canonical(graph)
    assert to_text(again, cost_seconds=1.0) == to_text(graph, cost_seconds=1.0)


@pytest.mark.parametrize("name", ["chain", "diamond", "branches"])
def test_examples_round_trip(name):
    graph = example_graph(name)
    assert canonical(parse(to_text(graph).encode()), op_types=False) == canonical(graph, op_types=False)


def test_running_times_are_rounded_to_the_unit():
    builder = GraphBuilder()
    builder.add_op("a", runtime=1.26e-6)
    graph = builder.build()
    assert parse(to_text(graph).encode()).runtime.tolist() == [1e-6]
    assert parse(to_text(graph, cost_seconds=1e-8).encode(), cost_seconds=1e-8).runtime == pytest.approx([1.26e-6])
    with pytest.raises(ValueError, match=r"op 0 'a_0': runtime must be below 2\^63 units of 1e-30 s"):
        to_text(graph, cost_seconds=1e-30)


def test_a_colocation_group_cannot_be_written():
    builder = GraphBuilder()
    for name in "abc":
        builder.add_op("x", name=name, colocation=None if name == "b" else 4)
    with pytest.raises(ValueError, match="op 0 'a' and op 2 'c' share a colocation group"):
        to_text(builder.build())
