"""What the zoos lower of a model: its inference, its gradients, and its training step with the optimizer's update."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp
import optax

from regal.corpus.harvest import Job
from regal.frontends.jax import trace
from regal.graph import ComputationGraph

BATCH = 4
INFERENCE, TRAINING, STEP = "inference", "training", "step"
SCHEDULED = "-scheduled"
OPTIMIZERS: dict[str, Callable[[], optax.GradientTransformation]] = {
    "adam": partial(optax.adam, 1e-3),
    "adamw": partial(optax.adamw, 1e-3),
    "lamb": partial(optax.lamb, 1e-3),
    "momentum": partial(optax.sgd, 0.1, momentum=0.9),
    "rmsprop": partial(optax.rmsprop, 1e-3),
    "sgd": partial(optax.sgd, 0.1),
}


@dataclass(frozen=True)
class Task:
    """A model as pure functions.

    Attributes
    ----------
    init : callable
        Takes a key and the inputs; returns the parameters and the state, two pytrees.
    apply : callable
        ``apply(parameters, state, key, inputs, training)`` returns outputs and new state.
    inputs : tuple of jax.ShapeDtypeStruct
    optimizer : str
        Of :data:`OPTIMIZERS`.
    labels : jax.ShapeDtypeStruct, optional
        Integer classes; the loss is then the cross-entropy of the logits, else the mean square of what is returned.
    """

    init: Callable[..., tuple[Any, Any]]
    apply: Callable[..., tuple[Any, Any]]
    inputs: tuple[Any, ...]
    optimizer: str = "adam"
    labels: Any = None

    def loss(self, parameters: Any, state: Any, key: Any, inputs: Any, labels: Any) -> tuple[Any, Any]:
        """Scalar loss in training, and the new state."""
        outputs, state = self.apply(parameters, state, key, inputs, True)
        if labels is not None:
            losses = optax.softmax_cross_entropy_with_integer_labels(outputs, labels)
            return losses.mean(), state
        floats = [leaf for leaf in jax.tree.leaves(outputs) if jnp.issubdtype(leaf.dtype, jnp.floating)]
        return sum(jnp.square(leaf).mean() for leaf in floats), state


def spec(*shape: int, dtype: Any = jnp.float32) -> jax.ShapeDtypeStruct:
    """Shape and dtype of an input."""
    return jax.ShapeDtypeStruct(shape, dtype)


def tokens(*shape: int) -> jax.ShapeDtypeStruct:
    """Input of integers."""
    return jax.ShapeDtypeStruct(shape, jnp.int32)


KEY = jax.ShapeDtypeStruct((2,), jnp.uint32)


def lower(task: Task, modes: Sequence[str], name: str) -> dict[str, ComputationGraph]:
    """Graph of ``task`` in each of ``modes``, those that end in ``-scheduled`` compiled by XLA."""
    parameters, state = jax.eval_shape(task.init, KEY, *task.inputs)
    optimizer = OPTIMIZERS[task.optimizer]()

    def inference(parameters: Any, state: Any, key: Any, inputs: Any) -> Any:
        return task.apply(parameters, state, key, inputs, False)[0]

    def training(parameters: Any, state: Any, key: Any, inputs: Any, labels: Any) -> Any:
        return jax.value_and_grad(task.loss, has_aux=True)(parameters, state, key, inputs, labels)

    def step(parameters: Any, state: Any, memory: Any, key: Any, inputs: Any, labels: Any) -> Any:
        (loss, state), gradients = training(parameters, state, key, inputs, labels)
        updates, memory = optimizer.update(gradients, memory, parameters)
        return optax.apply_updates(parameters, updates), state, memory, loss

    graphs = {}
    for full_mode in modes:
        mode, suffix, _ = full_mode.partition(SCHEDULED)
        options = {"mode": mode, "name": f"{name}.{full_mode}", "optimized": suffix == SCHEDULED}
        if mode == INFERENCE:
            graphs[full_mode] = trace(inference, parameters, state, KEY, task.inputs, **options)
        elif mode == TRAINING:
            graphs[full_mode] = trace(training, parameters, state, KEY, task.inputs, task.labels, **options)
        else:
            memory = jax.eval_shape(optimizer.init, parameters)
            arguments = (parameters, state, memory, KEY, task.inputs, task.labels)
            graphs[full_mode] = trace(step, *arguments, donate=(0, 1, 2), **options)
    return graphs


def haiku_task(forward: Callable[..., Any], *inputs: Any, optimizer: str = "adam", labels: Any = None) -> Task:
    """``forward(*inputs, is_training=...)`` makes Haiku modules and calls them."""
    transformed = hk.transform_with_state(forward)

    def init(key: Any, *inputs: Any) -> tuple[Any, Any]:
        return transformed.init(key, *inputs, is_training=True)

    def apply(parameters: Any, state: Any, key: Any, inputs: Any, training: bool) -> tuple[Any, Any]:
        return transformed.apply(parameters, state, key, *inputs, is_training=training)

    return Task(init, apply, inputs, optimizer, labels)


def job(
    package: str,
    model: str,
    family: str,
    make: Callable[[], Task],
    modes: Sequence[str] = (STEP,),
    batch: int = BATCH,
    cpu_seconds: float = 150.0,
) -> Job:
    """A job that makes the task in its own process."""

    def run() -> Mapping[str, ComputationGraph]:
        return lower(make(), modes, f"{package}.{model}")

    return Job(model, package, family, batch, run, cpu_seconds)
