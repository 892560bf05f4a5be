import pytest

tf = pytest.importorskip("tensorflow")

from regal.frontends.tensorflow_trace import default_loss, trace_step  # noqa: E402

SPEC = tf.TensorSpec((3, 4))


class Layer(tf.Module):
    """``training`` adds an op; the weight is made at the first call, as Sonnet's modules do."""

    def __init__(self):
        super().__init__()
        self.weight = None

    def __call__(self, x, training=None):
        if self.weight is None:
            self.weight = tf.Variable(tf.ones((4, 2)))
        y = x @ self.weight
        return tf.nn.relu(y) if training else y


def op_types(concrete):
    return [op.type for op in concrete.graph.get_operations() if op.type not in ("Placeholder", "Const", "Identity")]


def test_inference_is_the_call_alone():
    assert op_types(trace_step(Layer(), [SPEC], mode="inference")) == ["ReadVariableOp", "MatMul", "NoOp"]


def test_training_says_so_to_the_model_and_returns_the_loss_and_gradients():
    concrete = trace_step(Layer(), [SPEC], mode="training")
    assert "Relu" in op_types(concrete)
    assert [tuple(tensor.shape) for tensor in concrete.outputs] == [(), (4, 2)]


@pytest.mark.parametrize(
    ("optimizer", "op_type", "handles"),
    [
        ("sgd", "ResourceApplyGradientDescent", 1),
        ("momentum", "ResourceApplyMomentum", 2),
        ("adam", "ResourceApplyAdam", 3),
    ],
)
def test_each_optimizer_is_one_op_a_variable(optimizer, op_type, handles):
    concrete = trace_step(Layer(), [SPEC], mode="step", optimizer=optimizer)
    updates = [op for op in concrete.graph.get_operations() if op.type == op_type]
    assert [sum(source.dtype == tf.resource for source in op.inputs) for op in updates] == [handles]
    assert [tuple(tensor.shape) for tensor in concrete.outputs] == [()]


def test_adam_does_what_its_paper_says():
    """First step of Kingma and Ba, algorithm 1: the variable moves by the learning rate against the gradient's sign."""
    layer = Layer()
    step = trace_step(layer, [SPEC], mode="step", optimizer="adam", loss=tf.reduce_sum)
    step(tf.ones((3, 4)))
    assert layer.weight.numpy() == pytest.approx(0.999, abs=1e-6)
    step(tf.ones((3, 4)))
    assert layer.weight.numpy() == pytest.approx(0.998, abs=1e-6)


def test_momentum_does_what_it_says():
    """Gradients are 3 everywhere: momentum 3, then 0.9 * 3 + 3; steps of 0.01 times that."""
    layer = Layer()
    step = trace_step(layer, [SPEC], mode="step", optimizer="momentum", loss=tf.reduce_sum)
    step(tf.ones((3, 4)))
    step(tf.ones((3, 4)))
    assert layer.weight.numpy() == pytest.approx(1 - 0.03 - 0.057, abs=1e-6)


def test_keras_and_sonnet_optimizers():
    keras = pytest.importorskip("keras")
    snt = pytest.importorskip("sonnet")
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(2)])
    assert "AssignSubVariableOp" in op_types(trace_step(model, [SPEC], mode="step", optimizer=keras.optimizers.SGD()))
    linear = snt.Linear(2)
    optimizer = snt.optimizers.Momentum(0.1, 0.9)
    concrete = trace_step(linear, [SPEC], mode="step", optimizer=optimizer)
    assert sorted(tuple(variable.shape) for variable in concrete.graph.variables) == [(2,), (2,), (4, 2), (4, 2)]
    assert op_types(concrete).count("AssignSubVariableOp") == 2


def test_is_training_is_found_behind_sonnets_decorator():
    snt = pytest.importorskip("sonnet")

    class Needs(snt.Module):
        def __call__(self, x, is_training):
            return tf.nn.relu(x) if is_training else x

    class CanDoWithout(snt.Module):
        def __call__(self, x, is_training=None):
            assert is_training is None
            return x

    assert "Relu" not in op_types(trace_step(Needs(), [SPEC], mode="inference"))
    needs = Needs()
    needs.weight = tf.Variable(1.0)
    concrete = trace_step(needs, [SPEC], mode="training", loss=lambda y: needs.weight * tf.reduce_sum(y))
    assert "Relu" in op_types(concrete)
    trace_step(CanDoWithout(), [SPEC], mode="inference")


def test_gradients_of_an_embedding_are_dense():
    table = tf.Variable(tf.ones((100, 8)))
    ids = tf.TensorSpec((5,), tf.int32)
    concrete = trace_step(lambda i: tf.gather(table, i), [ids], mode="training", variables=[table])
    assert tuple(concrete.outputs[1].shape) == (100, 8)


def test_variables_given_as_a_function_are_asked_for_after_they_are_made():
    layer = Layer()
    concrete = trace_step(lambda x: layer(x), [SPEC], mode="training", variables=lambda: layer.variables)
    assert [tuple(tensor.shape) for tensor in concrete.outputs] == [(), (4, 2)]


def test_a_variable_given_twice_is_trained_once():
    weight = tf.Variable(tf.ones((4, 2)))
    concrete = trace_step(lambda x: x @ weight, [SPEC], mode="training", variables=[weight, weight])
    assert len(concrete.outputs) == 2


def test_default_loss_sums_the_means_of_floating_results():
    outputs = {"a": tf.constant([1.0, 3.0]), "b": [tf.constant([[10.0]]), tf.constant([7])], "c": "text"}
    assert float(default_loss(outputs)) == 12.0
    with pytest.raises(ValueError, match="no floating-point tensor: give a loss"):
        default_loss(tf.constant([7]))


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="mode must be one of inference, training, step, not 'train'"):
        trace_step(Layer(), [SPEC], mode="train")
    with pytest.raises(ValueError, match="optimizer must be an optimizer or one of sgd, momentum, adam, not 'lion'"):
        trace_step(Layer(), [SPEC], mode="step", optimizer="lion")
    with pytest.raises(ValueError, match="nothing to train: give variables"):
        trace_step(lambda x: x, [SPEC], mode="training")
    with pytest.raises(ValueError, match="depends on no variable that is trained"):
        trace_step(lambda x: x, [SPEC], mode="training", variables=[tf.Variable(1.0)])
