"""What small arrays become, against the expected outputs of onnx's own operator tests."""

import numpy as np
import pytest

pytest.importorskip("onnx")

from onnx import TensorProto, helper, numpy_helper

from regal.frontends.onnx_formulas import FORMULAS, MAX_ELEMENTS, stored_value
from regal.frontends.onnx_values import is_plain, known_values

MODULES = (
    *("add", "sub", "mul", "div", "pow", "mod", "neg", "abs", "sign", "floor", "ceil", "round", "sqrt", "reciprocal"),
    *("exp", "log", "relu", "not_", "and_", "or_", "xor", "equal", "less", "less_or_equal", "greater"),
    *("greater_or_equal", "where", "min", "max", "sum", "reducesum", "reduceprod", "reducemean", "reducemin"),
    *("reducemax", "clip", "cumsum", "constant", "constantofshape", "rangeop", "cast", "castlike", "identity"),
    *("reshape", "squeeze", "unsqueeze", "transpose", "gather", "concat", "slice", "split", "expand", "tile"),
    *("nonzero", "shape", "size"),
)


@pytest.fixture(scope="module")
def cases():
    from onnx.backend.test.case import node

    from tests.onnx_models import operators

    operators(*MODULES)
    return [
        case
        for case in node._NodeTestCases
        if len(case.model.graph.node) == 1 and case.model.graph.node[0].op_type in {*FORMULAS, "Shape", "Size"}
    ]


def array(value):
    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else np.asarray(value)


def evaluated(nodes, stored=(), dims=None):
    graph = helper.make_graph(list(nodes), "g", [], [], [numpy_helper.from_array(np.asarray(v), n) for n, v in stored])
    return known_values(graph, dims or {})


def test_operators_compute_what_onnx_expects(cases):
    followed, tried = set(), 0
    for case in cases:
        inputs, expected = case.data_sets[0]
        inputs = list(map(array, inputs))
        if not all(is_plain(each.dtype) for each in inputs):
            continue
        node, tried = case.model.graph.node[0], tried + 1
        named = list(zip((value.name for value in case.model.graph.input), inputs, strict=True))
        values = known_values(
            helper.make_graph([node], "g", [], [], [numpy_helper.from_array(each, name) for name, each in named]),
            {name: each.shape for name, each in named},
        )
        for name, wanted in zip(filter(None, node.output), map(array, expected), strict=True):
            if name in values:
                np.testing.assert_allclose(values[name], wanted, rtol=1e-3, err_msg=case.name)
                assert (values[name].dtype, values[name].shape) == (wanted.dtype, wanted.shape), case.name
                followed.add(node.op_type)
    assert tried > 250
    assert followed == {*FORMULAS, "Shape", "Size"}


@pytest.mark.parametrize(
    ("node", "stored"),
    [
        (helper.make_node("ConstantOfShape", ["s"], ["y"]), [("s", [MAX_ELEMENTS + 1])]),
        (helper.make_node("ConstantOfShape", ["s"], ["y"]), [("s", [2**40, 2**40])]),
        (helper.make_node("ConstantOfShape", ["s"], ["y"]), [("s", [-1, -5])]),
        (helper.make_node("Range", ["a", "b", "c"], ["y"]), [("a", 0), ("b", 2**62), ("c", 1)]),
        (helper.make_node("Range", ["a", "b", "c"], ["y"]), [("a", 0), ("b", 1), ("c", 0)]),
        (helper.make_node("Range", ["a", "b", "c"], ["y"]), [("a", 0.0), ("b", np.nan), ("c", 1.0)]),
        (helper.make_node("Expand", ["a", "s"], ["y"]), [("a", 1), ("s", [2**31, 2**31])]),
        (helper.make_node("Tile", ["a", "s"], ["y"]), [("a", [1, 2]), ("s", [2**50])]),
        (helper.make_node("Concat", [*["a"] * 5], ["y"], axis=0), [("a", range(300))]),
        (helper.make_node("Add", ["a", "b"], ["y"]), [("a", np.zeros((1, 200))), ("b", np.zeros((200, 1)))]),
        (helper.make_node("Max", [*"abc"], ["y"]), [("a", [[[1]]] * 99), ("b", [[1]] * 99), ("c", [1] * 99)]),
        (helper.make_node("Gather", ["a", "i"], ["y"]), [("a", np.zeros((2, 500))), ("i", [0] * 500)]),
        (helper.make_node("Gather", ["a", "i"], ["y"]), [("a", [1, 2]), ("i", [7])]),
        (helper.make_node("Div", ["a", "b"], ["y"]), [("a", [1, 2]), ("b", [1, 0])]),
        (helper.make_node("Mod", ["a", "b"], ["y"]), [("a", [1, 2]), ("b", [1, 0])]),
        (helper.make_node("Add", ["a", "b"], ["y"]), [("a", [1, 2]), ("b", [1, 2, 3])]),
        (helper.make_node("Add", ["a"], ["y"]), [("a", [1, 2])]),
        (helper.make_node("Add", ["a", "b"], ["y"], domain="my"), [("a", [1]), ("b", [1])]),
        (helper.make_node("Reshape", ["a", "s"], ["y"]), [("a", [1, 2]), ("s", [5, -7])]),
        (helper.make_node("Concat", ["a"], ["y"]), [("a", [1])]),
        (helper.make_node("Cast", ["a"], ["y"], to=12345), [("a", [1])]),
        (helper.make_node("Split", ["a"], ["y"], num_outputs=0), [("a", [1])]),
        (helper.make_node("Transpose", ["a"], ["y"], perm=[4]), [("a", [1])]),
        (helper.make_node("Slice", ["a", "b", "b", "c"], ["y"]), [("a", [1]), ("b", [0, 1]), ("c", [0])]),
        (helper.make_node("CumSum", ["a", "b"], ["y"], reverse=1), [("a", [1]), ("b", 0)]),
        (helper.make_node("Constant", [], ["y"], value_strings=[b"x"]), []),
        (helper.make_node("Add", ["a", "?"], ["y"]), [("a", [1])]),
        (helper.make_node("Shape", ["?"], ["y"]), []),
    ],
)  # fmt: skip
def test_what_is_large_or_makes_no_sense_is_not_followed(node, stored):
    assert "y" not in evaluated([node], stored)


@pytest.mark.parametrize(
    "tensor",
    [
        TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[3]),
        TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[-3], raw_data=bytes(12)),
        TensorProto(
            name="w", data_type=TensorProto.FLOAT, dims=[MAX_ELEMENTS + 1], raw_data=bytes(4 * MAX_ELEMENTS + 4)
        ),
        TensorProto(name="w", data_type=99, dims=[3], raw_data=bytes(12)),
        TensorProto(name="w", data_type=TensorProto.INT64, dims=[3], raw_data=bytes(23)),
        TensorProto(
            name="w",
            data_type=TensorProto.INT64,
            dims=[1],
            data_location=TensorProto.EXTERNAL,
            external_data=[{"key": "location", "value": "/etc/passwd"}],
        ),
    ],
)
def test_what_a_tensor_does_not_hold_is_not_known(tensor):
    assert stored_value(tensor) is None
    assert known_values(helper.make_graph([], "g", [], [], [tensor]), {}) == {}


def test_a_value_of_another_kind_is_not_kept():
    words = helper.make_tensor("w", TensorProto.STRING, [1], [b"x"])
    assert known_values(helper.make_graph([], "g", [], [], [words]), {}) == {}
