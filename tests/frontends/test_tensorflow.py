import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from regal.cluster import Cluster  # noqa: E402
from regal.cost.reference import evaluate  # noqa: E402
from regal.frontends.roofline import Rates  # noqa: E402
from regal.frontends.tensorflow import load, trace, trace_model  # noqa: E402
from regal.graph import read_graph, write_graph  # noqa: E402
from regal.plan import RUN, Plan, check_plan  # noqa: E402

X = tf.TensorSpec((3, 4))


def matrix(rows, columns):
    return tf.Variable(tf.ones((rows, columns)))


def table(graph):
    """``{op: (type, bytes read, bytes written, control inputs)}``; small graphs where sizes tell tensors apart."""
    size, names = graph.tensor_bytes, graph.op_names
    rows = zip(names, graph.op_types, graph.inputs, graph.outputs, graph.control_inputs, strict=True)
    return {
        name: (type_, size[inputs].tolist(), size[outputs].tolist(), [names[op] for op in controls])
        for name, type_, inputs, outputs, controls in rows
    }


def output_bytes(graph):
    return sorted(graph.tensor_bytes[graph.is_output].tolist())


def persistent_bytes(graph):
    return sorted(graph.tensor_bytes[graph.producer < 0].tolist())


def groups(graph):
    """Sets of op names that must share a device."""
    names = np.array(graph.op_names)
    return [set(names[graph.colocation == group]) for group in range(graph.colocation.max(initial=-1) + 1)]


def count(graph, what):
    return graph.meta["source"][what]


def peak(graph):
    schedule = np.stack([np.arange(graph.num_ops), np.full(graph.num_ops, RUN)], axis=1)
    plan = Plan(graph, Cluster.uniform(1), np.zeros(graph.num_ops, np.int32), schedule)
    check_plan(plan)
    return evaluate(plan).max_peak_memory


# By hand


def test_layer_by_hand():
    """x (48), w (128) -> MatMul (96), b (32) -> BiasAdd (96) -> Relu (96), the result."""
    w, b = matrix(4, 8), tf.Variable(tf.ones(8))
    graph = trace(lambda x: tf.nn.relu(tf.nn.bias_add(x @ w, b)), X, name="layer")
    assert table(graph) == {
        "matmul": ("MatMul", [48, 128], [96], []),
        "BiasAdd": ("BiasAdd", [96, 32], [96], []),
        "Relu": ("Relu", [96], [96], []),
    }
    assert persistent_bytes(graph) == [32, 48, 128]
    assert output_bytes(graph) == [96]
    assert graph.name == "layer"
    assert graph.colocation.tolist() == [-1, -1, -1]


def test_training_by_hand():
    """The gradient of the sum of relu(x @ w) is x' @ (ones where relu is not zero). ::

    x (48) ────────────────────────────────────> MatMul (128), a result
    w (128) ─> MatMul (96) ─> Relu (96) ─> Sum (4), a result      │
                                └──────> ReluGrad (96) ───────────┘
    """
    w = matrix(4, 8)
    graph = trace_model(
        lambda x: tf.nn.relu(x @ w), X, mode="training", loss=lambda y: tf.reduce_sum(y), variables=[w], name="g"
    )
    rows = table(graph)
    assert {name: row[0] for name, row in rows.items()} == {
        "matmul": "MatMul",
        "Relu": "Relu",
        "Sum": "Sum",
        "gradient_tape/Tile": "Tile",
        "gradient_tape/ReluGrad": "ReluGrad",
        "gradient_tape/matmul/MatMul": "MatMul",
    }
    assert rows["gradient_tape/Tile"][1:] == ([], [96], [])  # of a constant that is a parameter
    assert rows["gradient_tape/ReluGrad"][1:] == ([96, 96], [96], [])
    assert rows["gradient_tape/matmul/MatMul"][1:] == ([48, 96], [128], [])
    assert output_bytes(graph) == [4, 128]
    assert count(graph, "mode") == "training"


def test_momentum_step_by_hand():
    """The update comes after both readers of w and shares a device with them; m is read by the update alone. ::

    x ─> matmul ─> Sin ─> matmul_1 ─> Mean      gradient of Sin's result: matmul with w transposed
    w ─────┴────────────────┴─────────────────────────────────────────────┘
    m ─> update <─ w, gradient of w
    """
    w = matrix(4, 4)

    def model(x):
        return tf.sin(x @ w) @ w

    graph = trace_model(model, X, mode="step", optimizer="momentum", variables=[w])
    names = dict(zip(graph.op_names, range(graph.num_ops), strict=True))
    update = names["ResourceApplyMomentum"]
    readers = {name for name, row in table(graph).items() if row[0] == "MatMul" and 64 in row[1]}
    w_readers = {name for name in readers if graph.inputs[names[name]].tolist().count(graph.inputs[update][0])}
    assert w_readers == {"matmul", "matmul_1", "gradient_tape/matmul_1/MatMul"}
    assert graph.outputs[update].tolist() == []
    assert graph.tensor_bytes[graph.inputs[update]].tolist() == [64, 64, 64]  # w, m, gradient
    assert w_readers <= {graph.op_names[op] for op in graph.predecessors[update]}
    assert groups(graph) == [w_readers | {"ResourceApplyMomentum"}]
    assert persistent_bytes(graph) == [48, 64, 64]  # x, w, m: the rate and the decay are parameters
    assert output_bytes(graph) == [4]  # the loss alone


def test_runtime_is_the_roofline_of_every_op():
    w = matrix(4, 8)
    rates = Rates(flops=1e3, bandwidth=1e4, overhead=0.5)
    graph = trace(lambda x: tf.nn.relu(x @ w), X, rates=rates)
    assert graph.runtime.tolist() == [rates.runtime(2 * 3 * 4 * 8, 48 + 128 + 96), rates.runtime(0, 96 + 96)]
    assert graph.meta["source"] == {
        "framework": "tensorflow",
        "version": tf.__version__,
        "mode": "inference",
        "flops": 192,
        "rates": {"flops": 1e3, "bandwidth": 1e4, "overhead": 0.5},
        "nodes": 7,
        "opaque_ops": 0,
        "unknown_shapes": 0,
        "folded_ops": 0,
        "contracted_views": 2,
        "copied_reads": 0,
        "parameter_bytes": 0,
    }


def test_tracing_again_gives_the_same_graph(tmp_path):
    def traced():
        w = matrix(4, 8)
        return trace_model(lambda x: x @ w, X, mode="step", variables=[w])

    first, second = traced(), traced()
    assert first.sha256 == second.sha256
    write_graph(first, tmp_path / "graph.json.gz")
    assert read_graph(tmp_path / "graph.json.gz").sha256 == first.sha256


# Sources


def test_every_source_of_one_layer_gives_one_graph(tmp_path):
    w = matrix(4, 8)
    function = tf.function(lambda x: tf.nn.relu(x @ w), input_signature=[X])
    graph = load(function.get_concrete_function())
    assert load(function).sha256 == graph.sha256
    assert load(function.get_concrete_function().graph).sha256 == graph.sha256
    assert trace(lambda x: tf.nn.relu(x @ w), X).sha256 == graph.sha256


def test_keras_and_sonnet_models():
    keras, snt = pytest.importorskip("keras"), pytest.importorskip("sonnet")
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(8), keras.layers.Dropout(0.5)])
    assert trace_model(model, X).op_types == ("MatMul", "BiasAdd")
    training = trace_model(model, X, mode="step", optimizer=keras.optimizers.Adam())
    assert "StatelessRandomUniformV2" in training.op_types
    assert count(training, "opaque_ops") == 0
    linear = trace_model(snt.Linear(8), X, mode="step", name="linear")
    assert linear.op_types.count("ResourceApplyGradientDescent") == 2
    assert linear.name == "linear"
    assert trace_model(snt.Linear(8, name="mine"), X).name == "mine"


@pytest.mark.slow
def test_a_forked_child_can_trace():
    """As the harvest does: the parent imports, the child runs the first op."""
    code = """
import multiprocessing
import tensorflow as tf
from regal.frontends.tensorflow import trace_model
def child():
    w = tf.Variable(tf.ones((4, 8)))
    raise SystemExit(trace_model(lambda x: x @ w, tf.TensorSpec((3, 4)), mode="step", variables=[w]).num_ops)
process = multiprocessing.get_context("fork").Process(target=child)
process.start()
process.join(120)
print(process.exitcode)
"""
    root = Path(__file__).parents[2]
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True)
    w = matrix(4, 8)
    assert int(run.stdout) == trace_model(lambda x: x @ w, X, mode="step", variables=[w]).num_ops


# Simplification


def test_simplified_and_raw_graph_have_one_peak():
    """Every number is larger than a parameter, so that nothing but names vanishes."""
    w = tf.Variable(tf.ones((32, 32)))

    def step(x):
        with tf.GradientTape() as tape:
            y = tf.reshape(tf.identity(tf.nn.relu(x @ w)), (-1,))
            loss = tf.tensordot(y, y, 1)
        w.assign_sub(tape.gradient(loss, w))
        return loss

    concrete = tf.function(step).get_concrete_function(tf.TensorSpec((32, 32)))
    simplified, raw = load(concrete), load(concrete, simplify=False)
    assert raw.num_ops == count(raw, "nodes") > 2 * simplified.num_ops
    assert set(simplified.op_names) < set(raw.op_names)
    assert 0 <= peak(raw) - peak(simplified) <= count(raw, "nodes") * 64


def test_the_name_of_a_function_is_that_of_the_graph():
    w = matrix(4, 8)

    @tf.function(input_signature=[X])
    def my_layer(x):
        return x @ w

    assert load(my_layer).name == "my_layer"
