import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from tensorflow.core.framework import graph_pb2  # noqa: E402

from regal.files import ParseError  # noqa: E402
from regal.frontends import tensorflow_inline  # noqa: E402
from regal.frontends.tensorflow import load  # noqa: E402
from regal.frontends.tensorflow_inline import inline, topological_order  # noqa: E402

SPEC = tf.TensorSpec((3, 3))


def inlined(function, *specs):
    """``{node: (op, inputs)}`` of the inlined graph, and the new names of what calls gave."""
    graph_def = tf.function(function, autograph=False).get_concrete_function(*specs).graph.as_graph_def()
    nodes, renamed = inline(graph_def.node, {each.signature.name: each for each in graph_def.library.function})
    return {node.name: (node.op, list(node.input)) for node in nodes}, renamed


def graph_def_of(*nodes, functions=()):
    """A GraphDef of ``(name, op, inputs)`` and functions of ``(name, arguments, {result: node}, nodes)``."""
    graph_def = graph_pb2.GraphDef()
    for name, op, inputs in nodes:
        _add(graph_def.node, name, op, inputs)
    for name, arguments, results, body in functions:
        function = graph_def.library.function.add()
        function.signature.name = name
        for argument in arguments:
            function.signature.input_arg.add(name=argument, type=tf.float32.as_datatype_enum)
        for result, source in results.items():
            function.signature.output_arg.add(name=result, type=tf.float32.as_datatype_enum)
            function.ret[result] = source
        for node in body:
            _add(function.node_def, *node)
    return graph_def


def _add(nodes, name, op, inputs):
    node = nodes.add(name=name, op=op, input=inputs)
    if op == "Placeholder":
        node.attr["dtype"].type = tf.float32.as_datatype_enum
        node.attr["shape"].shape.dim.add(size=250)
    elif op in ("Sin", "Neg", "Add", "Identity"):
        node.attr["T"].type = tf.float32.as_datatype_enum


def test_a_call_becomes_its_body():
    """y = sin(x); f(y) = cos(y): Cos reads Sin, and the result reads what Cos gives through f's Identity."""
    inner = tf.function(lambda y: tf.cos(y), autograph=False)
    nodes, renamed = inlined(lambda x: inner(tf.sin(x)) + 1.0, SPEC)
    assert not any(op.endswith("Call") for op, _ in nodes.values())
    assert nodes["PartitionedCall/Cos"] == ("Cos", ["Sin"])
    assert nodes["PartitionedCall/Identity"] == ("Identity", ["PartitionedCall/Cos"])
    assert nodes["add"] == ("AddV2", ["PartitionedCall/Identity", "add/y"])
    assert renamed["PartitionedCall:0"] == "PartitionedCall/Identity"
    assert renamed["^PartitionedCall"] == "^PartitionedCall/_done"


def test_inlined_and_flat_function_give_one_graph():
    w = tf.Variable(tf.ones((3, 3)))

    def layer(x):
        return tf.nn.relu(x @ w)

    def step(layer):
        def run(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(layer(layer(x)))
            w.assign_sub(tape.gradient(loss, w))
            return loss

        return load(tf.function(run).get_concrete_function(SPEC))

    nested, flat = step(tf.function(layer)), step(layer)
    assert sorted(nested.op_types) == sorted(flat.op_types)
    assert sorted(nested.tensor_bytes.tolist()) == sorted(flat.tensor_bytes.tolist())
    assert nested.colocation.max() == flat.colocation.max() == 0


def test_functions_that_call_functions():
    innermost = tf.function(lambda x: tf.sin(x), autograph=False)
    inner = tf.function(lambda x: innermost(innermost(x)), autograph=False)
    graph = load(tf.function(lambda x: inner(x) + inner(x)).get_concrete_function(SPEC))
    assert graph.op_types == ("Sin", "Sin", "Sin", "Sin", "AddV2")


def test_custom_gradients_are_inlined():
    @tf.custom_gradient
    def twice(x):
        return 2.0 * x, lambda upstream: upstream * tf.cos(x)

    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = twice(x)
        return tape.gradient(y, x)

    assert load(tf.function(step).get_concrete_function(SPEC)).op_types == ("Cos", "Mul")


def test_control_edges_into_and_out_of_a_call():
    """before ─(control)─> f(x) = sin(x) ─(control)─> after; a constant of the body waits for nothing. ::

    before ─> f/_start ─> f/sine ─> f/_done ─> after
    """
    graph_def = graph_def_of(
        ("x", "Placeholder", []),
        ("before", "Neg", ["x"]),
        ("f", "call", ["x", "^before"]),
        ("after", "Neg", ["x", "^f"]),
        functions=[
            (
                "call",
                ["a"],
                {"r": "second:y:0"},
                [
                    ("first", "Sin", ["a"]),
                    ("number", "Const", []),
                    ("second", "Sin", ["first:y:0"]),
                    ("third", "Sin", ["a"]),
                ],
            )
        ],
    )
    graph_def.library.function[0].control_ret["effect"] = "third"
    nodes, _ = inline(graph_def.node, {each.signature.name: each for each in graph_def.library.function})
    rows = {node.name: list(node.input) for node in nodes}
    assert rows["f/_start"] == ["^before"]
    assert rows["f/first"] == ["x", "^f/_start"]
    assert rows["f/second"] == ["f/first"]
    assert rows["f/number"] == []
    assert rows["f/third"] == ["x", "^f/_start"]
    assert rows["f/_done"] == ["^f/second", "^f/third", "^f/_start"]
    assert rows["after"] == ["x", "^f/_done"]


def test_an_effect_in_a_function_that_is_called_happens():
    v = tf.Variable(tf.ones((3, 3)))

    @tf.function(autograph=False)
    def count(x):
        v.assign_add(x)
        return tf.sin(x)

    graph = load(tf.function(lambda x: count(x) + 1.0, autograph=False).get_concrete_function(SPEC))
    assert graph.op_types == ("AssignAddVariableOp", "Sin", "AddV2")
    assert graph.control_inputs.to_lists() == [[], [], [0]]


def test_attributes_of_a_call_stand_in_its_body():
    """As functions of TensorFlow 1 have it: the body's type is that of the call."""
    graph_def = graph_def_of(
        ("x", "Placeholder", []),
        ("f", "call", ["x"]),
        functions=[("call", ["a"], {"r": "s:y:0"}, [("s", "Sin", ["a"])])],
    )
    graph_def.library.function[0].node_def[0].attr["T"].placeholder = "type"
    with pytest.raises(ParseError, match="node 's': the call gives no attribute 'type'"):
        load(graph_def)
    graph_def.node[1].attr["type"].type = tf.float32.as_datatype_enum
    assert load(graph_def).op_types == ("Sin",)


def test_values_of_large_constants_are_not_kept():
    def constant(elements):
        graph = tf.Graph()
        with graph.as_default():
            values = tf.constant(np.arange(elements, dtype=np.float32), name="c")
            tf.raw_ops.AddV2(x=values, y=tf.compat.v1.placeholder(tf.float32, [1]))
        return graph.as_graph_def()

    for elements, kept in ((100, True), (20_000, False)):
        nodes, _ = inline(constant(elements).node, {})
        assert (len(nodes[0].attr["value"].tensor.tensor_content) > 0) == kept
        assert load(constant(elements)).tensor_bytes.tolist() == [4 * elements, 4, 4 * elements]


def test_a_function_may_return_its_argument():
    graph_def = graph_def_of(
        ("x", "Placeholder", []),
        ("f", "call", ["x"]),
        ("y", "Sin", ["f"]),
        functions=[("call", ["a"], {"r": "a"}, [("unused", "Neg", ["a"])])],
    )
    graph = load(graph_def)
    assert graph.op_types == ("Neg", "Sin")
    assert graph.inputs[0].tolist() == graph.inputs[1].tolist()


def test_nodes_in_any_order_are_sorted():
    graph = load(graph_def_of(("c", "Sin", ["b"]), ("b", "Neg", ["a"]), ("a", "Placeholder", [])))
    assert graph.op_names == ("b", "c")


CALL = ("call", ["a"], {"r": "s:y:0"}, [("s", "Sin", ["a"])])


@pytest.mark.parametrize(
    ("nodes", "functions", "message"),
    [
        ([("a", "Sin", ["b"])], [], "node 'a': its input 'b' names no node"),
        ([("x", "Placeholder", []), ("a", "Sin", ["x:1"])], [], "node 'a': its input 'x:1' names no output of 'x'"),
        ([("x", "Placeholder", []), ("a", "Sin", ["x:z"])], [], "node 'a': its input 'x:z' names no output of 'x'"),
        ([("x", "Placeholder", []), ("a", "Sin", ["x", "^b"])], [], "node 'a': its control input 'b' names no node"),
        ([("a", "Sin", ["b"]), ("b", "Sin", ["a"])], [], "node 'a': the graph has a cycle through it or before it"),
        ([("a", "Sin", ["a"])], [], "node 'a': the graph has a cycle"),
        ([("a", "Nonsense", [])], [], "node 'a': TensorFlow has no op 'Nonsense'"),
        ([("x", "Placeholder", []), ("x", "Placeholder", [])], [], "node 'x': two nodes have this name"),
        ([("f", "PartitionedCall", [])], [], "node 'f': it lacks the attribute 'Tout'"),
        ([("f", "call", [])], [CALL], "node 'f': it gives 0 inputs to a function of 1 arguments"),
        (
            [("x", "Placeholder", []), ("f", "call", ["x"]), ("f/s", "Sin", ["x"])],
            [CALL],
            "node 'f/s': two nodes have this name once calls are inlined",
        ),
        (
            [("x", "Placeholder", []), ("f", "call", ["x"])],
            [("call", ["a"], {"r": "g:r:0"}, [("g", "call", ["a"])])],
            "node 'g': calls nest deeper than 64, or without end",
        ),
        (
            [("x", "Placeholder", []), ("f", "call", ["x"])],
            [("call", ["a"], {"r": "s:nothing:0"}, [("s", "Sin", ["a"])])],
            "node 'f': its input 's:nothing:0' names no output of 's'",
        ),
    ],
)
def test_broken_graphs_are_refused_with_their_node(nodes, functions, message):
    with pytest.raises(ParseError, match=message.replace("(", "\\(")):
        load(graph_def_of(*nodes, functions=functions))


def test_a_graph_that_grows_beyond_bounds_is_refused(monkeypatch):
    """Each function calls the next twice: 2^20 nodes out of a few."""
    monkeypatch.setattr(tensorflow_inline, "MAX_NODES", 2**10)
    functions = [("f20", ["a"], {"r": "s:y:0"}, [("s", "Sin", ["a"])])]
    for at in range(20):
        body = [("g", f"f{at + 1}", ["a"]), ("h", f"f{at + 1}", ["g:r:0"])]
        functions.append((f"f{at}", ["a"], {"r": "h:r:0"}, body))
    with pytest.raises(ParseError, match="the graph has more than 1024 nodes"):
        load(graph_def_of(("x", "Placeholder", []), ("f", "f0", ["x"]), functions=functions))


def test_topological_order_moves_as_little_as_needed():
    assert topological_order([set(), {3}, {0}, set()], list("abcd")) == [0, 2, 3, 1]
    with pytest.raises(ParseError, match="node 'b'"):
        topological_order([set(), {2}, {1}], list("abc"))
