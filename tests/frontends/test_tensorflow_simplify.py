import pytest

tf = pytest.importorskip("tensorflow")

from regal.frontends.tensorflow_simplify import Kind, kinds_of, shared_inputs  # noqa: E402
from regal.frontends.tensorflow_source import read_source  # noqa: E402

SPEC = tf.TensorSpec((250,))


def program_of(function, *specs):
    return read_source(tf.function(function, autograph=False).get_concrete_function(*specs), None, None, None)[0]


def kinds(function, *specs):
    program = program_of(function, *specs)
    return {node.name: kind for node, kind in zip(program.nodes, kinds_of(program), strict=True)}


def test_kinds_of_nodes():
    v = tf.Variable(tf.ones(250))

    def step(x):
        with tf.control_dependencies([tf.print("x")]):
            twice = tf.multiply(tf.constant(2.0, name="two"), 3.0, name="six") * x
        return tf.reshape(twice, tf.raw_ops.Shape(input=x, name="shape"), name="view") + v

    found = kinds(step, SPEC)
    wanted = {
        "x": Kind.INPUT,
        "two": Kind.CONSTANT,
        "six": Kind.FOLDED,
        "mul": Kind.OP,
        "shape": Kind.FOLDED,
        "view": Kind.ALIAS,
        "add/ReadVariableOp": Kind.ALIAS,
        "add": Kind.OP,
        "PrintV2": Kind.OP,
        "NoOp": Kind.ORDER,
    }
    assert {name: found[name] for name in wanted} == wanted
    assert Kind.HANDLE in found.values()


def test_a_sum_of_one_is_a_view():
    def step(x):
        return tf.raw_ops.AddN(inputs=[x], name="one"), tf.raw_ops.AddN(inputs=[x, x], name="two")

    found = kinds(step, SPEC)
    assert (found["one"], found["two"]) == (Kind.ALIAS, Kind.OP)


def test_results_of_constants_are_constants_unless_they_are_larger():
    def step(x):
        row = tf.constant([1.0, 2.0], name="row")
        tiled = tf.tile(row, [8], name="small")  # 64 bytes
        wide = tf.tile(row, [9], name="wide")
        cut = tf.slice(tf.constant([1.0] * 100, name="long"), [0], [50], name="cut")  # less than it is made of
        view = tf.negative(tf.reshape(row, [2, 1]), name="of_view")
        return [x[0] + each for each in (tiled, wide, cut, view)]

    found = kinds(step, SPEC)
    assert {name: found[name] for name in ("small", "wide", "cut", "of_view")} == {
        "small": Kind.FOLDED,
        "wide": Kind.OP,
        "cut": Kind.FOLDED,
        "of_view": Kind.FOLDED,
    }


def test_inputs_in_whose_storage_an_output_is():
    def step(x, y):
        pair = tf.raw_ops.IdentityN(input=[x, y], name="pair")
        return tf.reshape(pair[1], tf.cast(y[:2], tf.int32), name="view")

    nodes = {node.name: node for node in program_of(step, SPEC, SPEC).nodes}
    assert [shared_inputs(nodes["pair"], output) for output in (0, 1)] == [[(0, 0)], [(1, 0)]]
    assert shared_inputs(nodes["view"], 0) == nodes["view"].inputs[:1]
    assert len(nodes["view"].inputs) == 2
