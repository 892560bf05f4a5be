import pytest

tf = pytest.importorskip("tensorflow")

from tensorflow.core.framework import node_def_pb2  # noqa: E402
from tensorflow.python.framework import op_def_registry  # noqa: E402

from regal.files import ParseError  # noqa: E402
from regal.frontends.tensorflow_scope import Scope, count_outputs, node_of  # noqa: E402


def body():
    """A call ``f`` of a function of ``a`` (given ``x:1``) and ``b`` (two values), whose body has a node and a call."""
    scope = Scope("f/", {"a": ["x:1"], "b": ["y", "z"], "none": []}, {}, "")
    scope.values |= {"split": ["f/split", "f/split:1", "f/split:2"], "g": ["f/g/result"]}
    scope.starts |= {"split": {"first": 0, "rest": 1}, "g": {"r": 0}}
    scope.done["g"] = "f/g/_done"
    return scope


@pytest.mark.parametrize(
    ("name", "outer"),
    [
        ("a", "x:1"),
        ("a:0", "x:1"),
        ("b:1", "z"),
        ("split", "f/split"),
        ("split:1", "f/split:1"),
        ("split:first", "f/split"),
        ("split:rest:0", "f/split:1"),
        ("split:rest:1", "f/split:2"),
        ("g:r:0", "f/g/result"),
        ("^split", "^f/split"),
        ("^g", "^f/g/_done"),
        ("^a", "^x"),
    ],
)
def test_names_outside(name, outer):
    assert body().value(name, "reader") == outer


@pytest.mark.parametrize("name", ["c", "", "split:3", "split:none:0", "split:rest:9999999999999999999", "^c", "^none"])
def test_names_that_mean_nothing_are_refused(name):
    with pytest.raises(ParseError, match=r"node 'reader': its (control )?input .* names no"):
        body().value(name, "reader")


def test_node_of_an_input():
    assert [node_of(name) for name in ("a", "a:1", "a:output:1", "^a", "s/a:0")] == ["a", "a", "a", "a", "s/a"]


def outputs(op, **attributes):
    node = node_def_pb2.NodeDef(name="n", op=op)
    for name, value in attributes.items():
        if isinstance(value, list):
            node.attr[name].list.type.extend(value)
        else:
            node.attr[name].i = value
    return [count_outputs(node, arg) for arg in op_def_registry.get(op).output_arg]


def test_number_of_outputs():
    assert outputs("Sin") == [1]
    assert outputs("Split", num_split=3) == [3]
    assert outputs("IdentityN", T=[1, 1]) == [2]
    assert outputs("FusedBatchNormV3") == [1] * 6
    with pytest.raises(ParseError, match="node 'n': it lacks the attribute 'num_split'"):
        outputs("Split")
    for wrong in (-1, 2**40):
        with pytest.raises(ParseError, match=r"node 'n': it has -?[0-9]+ outputs 'output'"):
            outputs("Split", num_split=wrong)
