import pytest

tf = pytest.importorskip("tensorflow")

from tensorflow.core.framework import graph_pb2  # noqa: E402

from regal.files import ParseError  # noqa: E402
from regal.frontends.tensorflow_program import Value, Variable, flatten  # noqa: E402


def graph_def(build):
    graph = tf.Graph()
    with graph.as_default():
        build()
    return graph.as_graph_def()


def placeholder(shape, name="x", dtype=tf.float32):
    return tf.compat.v1.placeholder(dtype, shape, name=name)


def names(program):
    return [node.name for node in program.nodes]


def test_nodes_values_and_results():
    def build():
        x = placeholder([3, 4])
        first, second = tf.split(x, 2, axis=1, name="halves")
        with tf.control_dependencies([tf.cos(first, name="cosine")]):
            tf.sin(second, name="sine")

    program = flatten(graph_def(build), results=["sine"])
    assert names(program) == ["x", "halves/split_dim", "halves", "cosine", "sine"]
    sine = program.nodes[4]
    assert (sine.op, sine.inputs, sine.controls, sine.is_stateful) == ("Sin", [(2, 1)], [3], False)
    assert program.nodes[2].outputs == [Value((3, 2), tf.float32)] * 2
    assert program.results == [(4, 0)]


def test_without_results_every_value_that_nobody_reads_is_one():
    def build():
        x = placeholder([3])
        tf.split(tf.sin(x), [1, 2])
        tf.cos(x)

    program = flatten(graph_def(build), results=None)
    assert [(program.nodes[at].op, output) for at, output in program.results] == [
        ("SplitV", 0),
        ("SplitV", 1),
        ("Cos", 0),
    ]


def test_only_what_results_and_effects_need_is_kept():
    def build():
        x = placeholder([3])
        tf.sin(x, name="sine")
        tf.cos(x, name="cosine")
        tf.exp(x, name="exponential")

    assert names(flatten(graph_def(build), results=["cosine:0"], keep=["sine"])) == ["x", "sine", "cosine"]


def test_open_dimensions_get_the_default_size():
    def build():
        tf.reshape(placeholder([None, 4]), (-1, 2), name="rows")

    program = flatten(graph_def(build), results=["rows"], default_dimension=5)
    assert program.nodes[-1].outputs == [Value((10, 2), tf.float32)]
    with pytest.raises(ParseError, match=r"input 'x' leaves open dimensions of its shape \(None, 4\): give a size"):
        flatten(graph_def(build), results=["rows"])


def test_an_input_of_unknown_rank_is_refused():
    with pytest.raises(ParseError, match="input 'x' leaves open its rank: give"):
        flatten(graph_def(lambda: tf.sin(placeholder(None))), results=None, default_dimension=5)


def test_placeholders_of_handles_become_the_variables():
    def build():
        handle = placeholder([], dtype=tf.resource)
        tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32, name="read")

    program = flatten(graph_def(build), results=["read"], variables={"x": Variable("weight", (2, 3), tf.float32)})
    assert [node.op for node in program.nodes] == ["VarHandleOp", "ReadVariableOp"]
    assert program.nodes[1].outputs == [Value((2, 3), tf.float32)]


def test_shapes_that_the_graph_states_are_used():
    """Shape inference alone does not know how many elements are not zero."""

    def build():
        found = tf.where(placeholder([6], dtype=tf.bool))
        found.set_shape([4, 1])

    graph = tf.Graph()
    with graph.as_default():
        build()
    program = flatten(graph.as_graph_def(add_shapes=True), results=None)
    assert program.nodes[-1].outputs == [Value((4, 1), tf.int64)]


def test_bodies_of_loops_are_kept_and_other_functions_are_not():
    def loop(x):
        return tf.while_loop(lambda y: tf.reduce_sum(y) < 9.0, lambda y: [y + 1.0], [tf.function(tf.sin)(x)])

    concrete = tf.function(loop, autograph=False).get_concrete_function(tf.TensorSpec((2,)))
    graph = concrete.graph.as_graph_def(add_shapes=True)
    program = flatten(graph, results=[concrete.outputs[0].name])
    assert len(graph.library.function) > len(program.functions) == 2
    assert all("while" in name for name in program.functions)


@pytest.mark.parametrize(
    ("build", "results", "message"),
    [
        (lambda: placeholder([3]), ["y"], "the graph returns 'y', which is no node of it"),
        (lambda: placeholder([3]), ["x:1"], "the graph returns 'x:1', which is no value of it"),
    ],
)
def test_results_that_are_none_are_refused(build, results, message):
    with pytest.raises(ParseError, match=message):
        flatten(graph_def(build), results=results)


def test_shapes_that_do_not_fit_are_refused():
    def build():
        tf.raw_ops.MatMul(a=placeholder([3, 4], "a"), b=placeholder([4, 5], "b"), name="product")

    broken = graph_def(build)
    broken.node[1].attr["shape"].shape.dim[0].size = 7
    with pytest.raises(ParseError, match=r"TensorFlow refuses the graph: .*product") as caught:
        flatten(broken, results=None)
    assert "\n" not in str(caught.value)


def test_loops_of_tensorflow_1_are_refused():
    def build():
        tf.compat.v1.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)])

    tf.compat.v1.disable_control_flow_v2()
    try:
        graph = graph_def(build)
    finally:
        tf.compat.v1.enable_control_flow_v2()
    with pytest.raises(
        ParseError, match=r"node 'while/.*': Enter belongs to a loop of TensorFlow 1: use tf.while_loop"
    ):
        flatten(graph, results=None)


def test_an_empty_graph_is_an_empty_program():
    program = flatten(graph_pb2.GraphDef(), results=None)
    assert (program.nodes, program.results) == ([], [])
