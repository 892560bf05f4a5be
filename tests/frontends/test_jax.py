"""JAX functions: what is lowered, what is compiled, and how both compare with XLA's own figures."""

import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
from jaxlib import _hlo  # noqa: E402

from regal.frontends import jax as frontend  # noqa: E402
from regal.frontends.hlo import instruction_counts  # noqa: E402


def spec(*shape, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dtype)


def loss(weights, x):
    for weight in weights:
        x = jnp.tanh(x @ weight)
    return (x**2).mean()


def step(weights, x):
    value, gradients = jax.value_and_grad(loss)(weights, x)
    return [weight - 0.1 * gradient for weight, gradient in zip(weights, gradients, strict=True)], value


WEIGHTS, X = [spec(16, 16), spec(16, 16)], spec(8, 16)


def test_inference():
    graph = frontend.trace(loss, WEIGHTS, X)
    assert (graph.name, graph.op_types.count("dot"), graph.op_types.count("tanh")) == ("loss", 2, 2)
    source = graph.meta["source"]
    assert (source["framework"], source["version"], source["mode"]) == ("jax", jax.__version__, "inference")
    assert graph.is_output.sum() == 1
    assert sorted(graph.tensor_bytes[graph.producer < 0].tolist()) == [512, 1024, 1024]


def test_a_step_updates_donated_parameters_in_place():
    plain = frontend.trace(step, WEIGHTS, X, mode="step")
    donated = frontend.trace(step, WEIGHTS, X, mode="step", donate=0)
    assert (plain.is_output.sum(), donated.is_output.sum()) == (3, 1)
    assert donated.meta["source"]["updated_in_place"] == 2
    updates = [op for op, outputs in enumerate(donated.outputs) if not len(outputs)]
    assert [donated.op_types[op] for op in updates] == ["subtract", "subtract"]
    for op in updates:
        (parameter,) = (tensor for tensor in donated.inputs[op] if donated.producer[tensor] < 0)
        readers = [int(reader) for reader in donated.consumers[parameter] if reader != op]
        assert set(donated.control_inputs[op]) == set(readers)
        assert {donated.colocation[reader] for reader in readers} == {donated.colocation[op]}


def test_a_compiled_function_is_in_the_order_of_xla():
    graph = frontend.trace(step, WEIGHTS, X, optimized=True, donate=0)
    source = graph.meta["source"]
    assert (source["is_scheduled"], source["platform"]) == (True, jax.default_backend())
    text = jax.jit(step, donate_argnums=0).lower(WEIGHTS, X).compile().as_text()
    entry = text[text.index("ENTRY") :]
    names = [name for name in graph.op_names if "/" not in name]
    places = [entry.index(f"%{name} = ") for name in names]
    assert len(names) > 3
    assert places == sorted(places)


def loop(x):
    def body(carry, row):
        return jnp.tanh(carry * row), carry

    carry, rows = jax.lax.scan(body, x[0], x)
    return jax.lax.cond(carry.sum() > 0, jnp.sin, jnp.cos, carry), rows, jnp.argsort(x[0])


def noise(key):
    return jax.random.normal(key, (8, 8))


FUNCTIONS = {"loss": (loss, (WEIGHTS, X)), "step": (step, (WEIGHTS, X)), "loop": (loop, (X,))}
FUNCTIONS |= {"noise": (noise, (spec(2, dtype=jnp.uint32),))}


@pytest.mark.parametrize("optimized", [False, True])
@pytest.mark.parametrize(("function", "arguments"), FUNCTIONS.values(), ids=FUNCTIONS)
def test_instruction_counts_equal_those_of_xla(function, arguments, optimized):
    lowered = jax.jit(function).lower(*arguments)
    text = lowered.compile().as_text() if optimized else lowered.as_text(dialect="hlo")
    module = _hlo.hlo_module_from_text(text)
    assert instruction_counts(text) == {each.name: len(each.instructions()) for each in module.computations()}
    graph = frontend.trace(function, *arguments, optimized=optimized)
    assert graph.num_ops > 0


def test_loops_and_branches_are_opaque():
    assert frontend.trace(loop, X).meta["source"]["opaque_ops"] == 2


def test_flops_are_those_of_xla():
    def convolution(x, kernel):
        return jax.lax.conv_general_dilated(x, kernel, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def training(x, kernel):
        return jax.grad(lambda x, kernel: (convolution(x, kernel) ** 2).sum(), (0, 1))(x, kernel)

    for function, arguments in ((step, (WEIGHTS, X)), (training, (spec(2, 17, 17, 3), spec(3, 3, 3, 8)))):
        theirs = jax.jit(function).lower(*arguments).cost_analysis()["flops"]
        ours = frontend.trace(function, *arguments).meta["source"]["flops"]
        assert ours == pytest.approx(theirs, rel=0.02)


def test_the_same_function_gives_the_same_graph():
    assert frontend.trace(step, WEIGHTS, X).sha256 == frontend.trace(step, WEIGHTS, X).sha256
