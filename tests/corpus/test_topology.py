from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from regal.corpus import topology_hash
from regal.graph import GraphBuilder, example_graph
from tests.strategies import graphs


def test_names_sizes_and_running_times_do_not_count():
    graph = example_graph("diamond")
    other = replace(
        graph,
        name="other",
        op_names=tuple("abcd"),
        runtime=graph.runtime * 2.0 + 1.0,
        workspace=graph.workspace + 3,
        tensor_bytes=graph.tensor_bytes * 7,
    )
    assert topology_hash(other) == topology_hash(graph)


def pair(first: str, second: str, swapped: bool = False) -> GraphBuilder:
    """Two ops without a connection."""
    builder = GraphBuilder()
    for kind in (second, first) if swapped else (first, second):
        builder.add_op(kind, outputs=[builder.add_tensor(1)])
    return builder


def test_numbering_does_not_count():
    assert topology_hash(pair("a", "b").build()) == topology_hash(pair("a", "b", swapped=True).build())


def changed(what: str) -> str:
    # parameter ─> make ─(first, second)─> read
    builder = GraphBuilder()
    parameter, first, second = (builder.add_tensor(8) for _ in range(3))
    if what == "output":
        builder.mark_output(second)
    if what == "activation":
        builder.add_op("other", outputs=[parameter])
    elif what != "less":
        builder.add_op("other")
    builder.add_op("make", inputs=[parameter], outputs=[second, first] if what == "swap" else [first, second])
    control = [0] if what == "control" else []
    builder.add_op("write" if what == "type" else "read", inputs=[first], control_inputs=control)
    return topology_hash(builder.build())


@pytest.mark.parametrize("what", ["output", "activation", "swap", "control", "type", "less"])
def test_what_counts(what):
    assert changed(what) != changed("nothing")


def test_neighbourhoods_are_told_apart_as_far_as_the_rounds_reach():
    # chains of six and of two ops, or two of four: alike op by op, unlike once an op sees how long its chain is
    def chains(*lengths):
        builder = GraphBuilder()
        for length in lengths:
            tensor = builder.add_tensor(1)
            for _ in range(length):
                result = builder.add_tensor(1)
                builder.add_op("step", inputs=[tensor], outputs=[result])
                tensor = result
        return builder.build()

    assert topology_hash(chains(6, 2)) != topology_hash(chains(4, 4))
    assert topology_hash(chains(6, 2), rounds=0) == topology_hash(chains(4, 4), rounds=0)


@given(graphs())
def test_any_graph_has_a_hash(graph):
    assert len(topology_hash(graph)) == 32
    scaled = replace(graph, runtime=graph.runtime + 0.0, tensor_bytes=np.zeros_like(graph.tensor_bytes))
    assert topology_hash(scaled) == topology_hash(graph)
