from random import Random

import numpy as np
import pytest

from regal.graph import GraphBuilder
from tests.strategies import random_graph


def test_entries_are_numbered_in_order_and_repeats_are_dropped():
    builder = GraphBuilder("g", meta={"source": "here"})
    first, second = builder.add_tensor(3), builder.add_tensor(4, is_output=True)
    a = builder.add_op("make", outputs=[first, first])
    b = builder.add_op("use", inputs=[first, first], outputs=[second], control_inputs=[a, a], runtime=2, workspace=7)
    graph = builder.build()
    assert (first, second, a, b) == (0, 1, 0, 1)
    assert graph.op_names == ("make_0", "use_1")
    assert graph.inputs.to_lists() == [[], [0]]
    assert graph.outputs.to_lists() == [[0], [1]]
    assert graph.control_inputs.to_lists() == [[], [0]]
    assert (graph.runtime.tolist(), graph.workspace.tolist()) == ([0.0, 2.0], [0, 7])
    assert graph.is_output.tolist() == [False, True]
    assert graph.meta == {"source": "here"}


def test_a_tensor_can_become_an_output_later():
    builder = GraphBuilder()
    tensor = builder.add_tensor(3)
    builder.add_op("make", outputs=[tensor])
    builder.mark_output(tensor)
    assert builder.build().is_output.tolist() == [True]


def test_sorting_moves_as_few_ops_as_needed():
    # first ──x──> last, first ─ ─> free; written last, free, first
    builder = GraphBuilder()
    x = builder.add_tensor(1)
    builder.add_op("use", name="last", inputs=[x])
    builder.add_op("any", name="free", control_inputs=[2])
    builder.add_op("make", name="first", outputs=[x], colocation=4)
    builder.sort()
    graph = builder.build()
    assert graph.op_names == ("first", "last", "free")
    assert graph.control_inputs.to_lists() == [[], [], [0]]
    assert graph.inputs.to_lists() == [[], [x], []]
    assert graph.colocation.tolist() == [4, -1, -1]


@pytest.mark.parametrize("seed", range(20))
def test_sorting_a_program_order_moves_nothing_and_sorting_any_order_makes_one(seed):
    rng = Random(seed)
    graph = random_graph(rng, max_ops=12)
    for shuffled in (False, True):
        order = list(range(graph.num_ops))
        if shuffled:
            rng.shuffle(order)
        place = {op: at for at, op in enumerate(order)}
        builder = GraphBuilder()
        for size, is_output in zip(graph.tensor_bytes.tolist(), graph.is_output.tolist(), strict=True):
            builder.add_tensor(size, is_output)
        for op in order:
            controls = [place[other] for other in graph.control_inputs[op].tolist()]
            lists = graph.inputs[op].tolist(), graph.outputs[op].tolist()
            builder.add_op("op", name=str(op), inputs=lists[0], outputs=lists[1], control_inputs=controls)
        builder.sort()
        result = builder.build()  # refuses what is no program order
        assert sorted(result.op_names) == sorted(str(op) for op in order)
        if not shuffled:
            assert list(result.op_names) == [str(op) for op in order]
        for at, name in enumerate(result.op_names):
            assert result.inputs[at].tolist() == graph.inputs[int(name)].tolist()
            names = [int(result.op_names[other]) for other in result.control_inputs[at].tolist()]
            assert names == graph.control_inputs[int(name)].tolist()


def test_a_cycle_cannot_be_sorted():
    #  a ──x──> b ──y──> a
    builder = GraphBuilder()
    x, y = builder.add_tensor(1), builder.add_tensor(1)
    builder.add_op("op", name="a", inputs=[y], outputs=[x])
    builder.add_op("op", name="b", inputs=[x], outputs=[y])
    with pytest.raises(ValueError, match=r"op 0 'a': the graph has a cycle"):
        builder.sort()


@pytest.mark.parametrize("value", [1.5, 8.0, True, "8", None, 2**63])
def test_sizes_are_integers(value):
    with pytest.raises(ValueError, match=r"tensor 0: bytes must be an integer within"):
        GraphBuilder().add_tensor(value)
    with pytest.raises(ValueError, match=r"op 0 'a': workspace must be an integer within"):
        GraphBuilder().add_op("op", name="a", workspace=value)


@pytest.mark.parametrize("value", [0.0, True, "0", 2**31])
def test_indices_are_integers(value):
    for key, what in (("inputs", "an input"), ("outputs", "an output"), ("control_inputs", "a control input")):
        with pytest.raises(ValueError, match=f"op 0 'a': {what} must be an integer within"):
            GraphBuilder().add_op("op", name="a", **{key: [value]})


def test_numpy_integers_are_integers():
    builder = GraphBuilder()
    tensor = builder.add_tensor(np.int32(7))
    builder.add_op("op", inputs=[np.int64(tensor)], workspace=np.uint8(3), colocation=np.int16(1))
    graph = builder.build()
    assert (graph.tensor_bytes.tolist(), graph.workspace.tolist(), graph.inputs.to_lists()) == ([7], [3], [[0]])
