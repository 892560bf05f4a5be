"""One step of a TensorFlow model as a function: inference, gradients, or gradients and the optimizer's update."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

MODES = ("inference", "training", "step")


def trace_step(
    model: Any, specs: Sequence[Any], *, mode: str, loss: Any = None, optimizer: Any = None, variables: Any = None
) -> Any:
    """The ConcreteFunction of one step; see :func:`regal.frontends.tensorflow.trace_model` for the arguments."""
    if mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)}, not {mode!r}")
    if isinstance(optimizer, str) and optimizer not in UPDATES:
        raise ValueError(f"optimizer must be an optimizer or one of {', '.join(UPDATES)}, not {optimizer!r}")
    forward = _forward(model, mode != "inference")
    if mode == "inference":
        return tf.function(forward, autograph=False).get_concrete_function(*specs)
    if not getattr(model, "built", False):  # Sonnet's modules make their variables when they are first called
        tf.function(forward, autograph=False).get_concrete_function(*specs)
    trained = _trained(model, variables)
    update = _update(optimizer or "sgd", trained) if mode == "step" else None
    tensors = [_variable(each) for each in trained]

    def step(*inputs: Any) -> Any:
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(tensors)
            outputs = forward(*inputs)
            value = (loss or default_loss)(outputs)
        gradients = tape.gradient(value, tensors)
        found = [(tf.convert_to_tensor(g), each) for g, each in zip(gradients, trained, strict=True) if g is not None]
        if not found:
            raise ValueError("the loss depends on no variable that is trained")
        if update is None:
            return [value, *(gradient for gradient, _ in found)]
        update(found)
        return value

    return tf.function(step, autograph=False).get_concrete_function(*specs)


def default_loss(outputs: Any) -> tf.Tensor:
    """The sum of the means of all floating-point tensors."""
    means = [tf.reduce_mean(each) for each in tf.nest.flatten(outputs) if tf.is_tensor(each) and each.dtype.is_floating]
    if not means:
        raise ValueError("the model returns no floating-point tensor: give a loss")
    return means[0] if len(means) == 1 else tf.add_n([tf.cast(mean, means[0].dtype) for mean in means])


def _forward(model: Any, training: bool) -> Callable[..., Any]:
    """The model as a function of its inputs alone; an argument that Sonnet's modules can do without is not given."""
    parameters = _parameters(model)
    given = {}
    if "training" in parameters:
        given["training"] = training
    if parameters.get("is_training", None) is inspect.Parameter.empty:
        given["is_training"] = training
    return lambda *inputs: model(*inputs, **given)


def _parameters(model: Any) -> dict[str, Any]:
    """Parameters of a model's call and their defaults; Sonnet's decorator hides them in its closure."""
    function = model if inspect.isfunction(model) or inspect.ismethod(model) else type(model).__call__
    if hasattr(model, "build") and hasattr(model, "call"):  # Keras
        function = model.call
    functions = [function]
    if inspect.isfunction(function) and isinstance(model, tf.Module):
        functions += [each for each in inspect.getclosurevars(function).nonlocals.values() if inspect.isfunction(each)]
    signatures = [inspect.signature(each).parameters for each in functions]
    return {name: parameter.default for each in signatures for name, parameter in each.items()}


def _trained(model: Any, variables: Any) -> list[Any]:
    found = variables() if callable(variables) else variables
    if found is None:
        found = getattr(model, "trainable_variables", ())
    if not found:
        raise ValueError("there is nothing to train: give variables")
    return list({id(_variable(each)): each for each in found}.values())


def _variable(each: Any) -> tf.Variable:
    """The TensorFlow variable of a Keras one."""
    return each if isinstance(each, tf.Variable) else each.value


def _update(optimizer: Any, trained: list[Any]) -> Callable[[list[tuple[tf.Tensor, Any]]], None]:
    """What applies pairs of a gradient and its variable; the optimizer's own variables are made here."""
    if isinstance(optimizer, str):
        return UPDATES[optimizer]([_variable(each) for each in trained])
    if hasattr(optimizer, "apply_gradients"):
        if hasattr(optimizer, "build"):
            optimizer.build(trained)
        return optimizer.apply_gradients
    return lambda pairs: optimizer.apply([gradient for gradient, _ in pairs], [_variable(each) for _, each in pairs])


Update = Callable[[list[tuple[tf.Tensor, Any]]], None]


def _slots(trained: list[tf.Variable]) -> dict[int, tf.Variable]:
    return {id(each): tf.Variable(tf.zeros_like(each), trainable=False) for each in trained}


def _sgd(trained: list[tf.Variable]) -> Update:
    def update(pairs: list[tuple[tf.Tensor, Any]]) -> None:
        for gradient, each in pairs:
            rate = tf.constant(0.01, gradient.dtype)
            tf.raw_ops.ResourceApplyGradientDescent(var=_variable(each).handle, alpha=rate, delta=gradient)

    return update


def _momentum(trained: list[tf.Variable]) -> Update:
    momenta = _slots(trained)

    def update(pairs: list[tuple[tf.Tensor, Any]]) -> None:
        for gradient, each in pairs:
            variable = _variable(each)
            tf.raw_ops.ResourceApplyMomentum(
                var=variable.handle,
                accum=momenta[id(variable)].handle,
                lr=tf.constant(0.01, gradient.dtype),
                grad=gradient,
                momentum=tf.constant(0.9, gradient.dtype),
            )

    return update


def _adam(trained: list[tf.Variable]) -> Update:
    first, second = _slots(trained), _slots(trained)
    steps = tf.Variable(0, dtype=tf.int64, trainable=False)

    def update(pairs: list[tuple[tf.Tensor, Any]]) -> None:
        count = tf.cast(steps + 1, tf.float32)
        powers = [tf.pow(beta, count) for beta in (0.9, 0.999)]
        for gradient, each in pairs:
            variable, dtype = _variable(each), gradient.dtype
            tf.raw_ops.ResourceApplyAdam(
                var=variable.handle,
                m=first[id(variable)].handle,
                v=second[id(variable)].handle,
                beta1_power=tf.cast(powers[0], dtype),
                beta2_power=tf.cast(powers[1], dtype),
                lr=tf.constant(0.001, dtype),
                beta1=tf.constant(0.9, dtype),
                beta2=tf.constant(0.999, dtype),
                epsilon=tf.constant(1e-8, dtype),
                grad=gradient,
            )
        steps.assign_add(1)

    return update


UPDATES = {"sgd": _sgd, "momentum": _momentum, "adam": _adam}
"""Optimizers of one fused op a variable (Kingma and Ba, 2015, for ``"adam"``)."""
