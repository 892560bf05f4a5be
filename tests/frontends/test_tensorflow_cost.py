import pytest

tf = pytest.importorskip("tensorflow")

from regal.frontends.tensorflow import load  # noqa: E402
from regal.frontends.tensorflow_cost import moved_bytes, num_bytes  # noqa: E402
from regal.frontends.tensorflow_program import Value  # noqa: E402


def flops_of(function, *shapes, gradient=False):
    """Flops of a function alone, or of it and the gradients of all its arguments."""

    def step(*tensors):
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            result = function(*tensors)
        return [result, *tape.gradient(result, tensors)] if gradient else result

    return load(tf.function(step).get_concrete_function(*map(tf.TensorSpec, shapes))).meta["source"]["flops"]


IMAGE, FILTERS = (2, 10, 12, 3), (3, 5, 3, 8)
CONV = 2 * (2 * 10 * 12 * 8) * (3 * 5 * 3)


@pytest.mark.parametrize(
    ("function", "shapes", "forward", "backward"),
    [
        (tf.matmul, [(3, 4), (4, 5)], 2 * 3 * 4 * 5, 2),
        (lambda a, b: tf.matmul(a, b, transpose_a=True), [(4, 3), (4, 5)], 2 * 3 * 4 * 5, 2),
        (lambda a, b: tf.matmul(a, b, transpose_b=True), [(3, 4), (5, 4)], 2 * 3 * 4 * 5, 2),
        (tf.matmul, [(7, 3, 4), (7, 4, 5)], 7 * 2 * 3 * 4 * 5, 2),
        (lambda a, b: tf.matmul(a, b, adjoint_a=True), [(7, 4, 3), (7, 4, 5)], 7 * 2 * 3 * 4 * 5, 2),
        (lambda a, b: tf.einsum("bsd,de->bse", a, b), [(2, 6, 4), (4, 5)], 2 * 2 * 6 * 4 * 5, 2),
        (lambda a, b: tf.einsum("...d,de->...e", a, b), [(2, 6, 4), (4, 5)], 2 * 2 * 6 * 4 * 5, 2),
        (lambda x, f: tf.nn.conv2d(x, f, 1, "SAME"), [IMAGE, FILTERS], CONV, 2),
        (lambda x, f: tf.nn.conv2d(x, f, 2, "SAME"), [IMAGE, FILTERS], CONV // 4, 2),
        (lambda x, f: tf.nn.conv2d(x, f, 1, "SAME"), [(2, 10, 12, 6), FILTERS], CONV, 2),  # two groups of channels
        (lambda x, f: tf.nn.conv3d(x, f, [1] * 5, "SAME"), [(1, 4, 4, 4, 3), (3, 3, 3, 3, 2)], 2 * 64 * 2 * 81, 2),
        (
            lambda x, f: tf.nn.depthwise_conv2d(x, f, [1] * 4, "SAME"),
            [IMAGE, (3, 5, 3, 2)],
            2 * (2 * 10 * 12 * 6) * 15,
            2,
        ),
        (
            lambda x, f: tf.nn.conv2d_transpose(x, f, (2, 20, 24, 4), 2),
            [IMAGE, (3, 5, 4, 3)],
            2 * (2 * 10 * 12 * 3) * (3 * 5 * 4),
            2,
        ),
        (lambda x, y: tf.nn.relu(x + y), [(3, 4), (3, 4)], 0, 0),
    ],
)
def test_flops(function, shapes, forward, backward):
    """A gradient of a product or convolution is one of as many operations for each of its two arguments."""
    assert flops_of(function, *shapes) == forward
    assert flops_of(function, *shapes, gradient=True) == forward * (1 + backward)


def test_a_transposition_by_einsum_computes_nothing():
    assert flops_of(lambda a: tf.einsum("ij->ji", a), (3, 4)) == 0


def test_an_unknown_dimension_counts_nothing():
    def step(x, w):
        return tf.boolean_mask(x, x[:, 0] > 0) @ w

    assert flops_of(step, (3, 4), (4, 5)) == 0


def test_bytes_of_values():
    assert num_bytes(Value((2, 3), tf.float32)) == 24
    assert num_bytes(Value((), tf.bfloat16)) == 2
    assert num_bytes(Value((0, 7), tf.int64)) == 0
    assert num_bytes(Value((5,), tf.string)) == 120
    assert num_bytes(Value((2,), tf.bool)) == 2
    assert num_bytes(Value((), tf.resource)) == 0
    assert num_bytes(Value((None, 3), tf.float32)) is None
    assert num_bytes(Value(None, tf.float32)) is None
    assert num_bytes(Value((), tf.variant)) is None


@pytest.mark.parametrize(
    ("op", "read", "made", "written", "moved"),
    [
        ("AddV2", [100, 100], 100, 0, 300),
        ("GatherV2", [10_000, 80], 400, 0, 400 + 80 + 400),
        ("StridedSlice", [100], 400, 0, 500),
        ("AssignVariableOp", [100, 100], 0, 100, 200),
        ("AssignAddVariableOp", [100, 100], 0, 100, 300),
        ("ResourceApplyMomentum", [100, 100, 100], 0, 200, 500),
        ("ResourceScatterAdd", [10_000, 8, 40], 0, 10_000, 48 + 2 * 48),
    ],
)
def test_moved_bytes(op, read, made, written, moved):
    assert moved_bytes(op, read, made, written) == moved
