"""A network of Sonnet modules as graphs: inference, gradients, and the training step with the optimizer's update."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import sonnet as snt
import tensorflow as tf

from regal.frontends.tensorflow import load
from regal.graph import ComputationGraph

INFERENCE, TRAINING, STEP = "inference", "training", "step"
OPTIMIZERS: dict[str, Callable[[], snt.Optimizer]] = {
    "sgd": lambda: snt.optimizers.SGD(0.1),
    "momentum": lambda: snt.optimizers.Momentum(0.1, 0.9),
    "adam": lambda: snt.optimizers.Adam(1e-3),
}
"""The second half of a mode such as ``step-adam``; ``step`` alone is ``step-sgd``."""

Loss = Callable[..., tf.Tensor]


@dataclass(frozen=True)
class Network:
    """A model with what it reads and how it learns.

    Attributes
    ----------
    module : snt.Module
        Holds the variables; the trainable ones are learned.
    inputs : sequence of tf.TensorSpec
        Of full shape.
    forward : callable
        Takes the inputs and returns tensors, as at inference.
    loss : callable, or several in a dict
        Takes the inputs, then the targets, and returns a scalar, as in training. Of several, each is learned by the
        submodule of ``module`` that it is named after, and all are updated in the same step.
    targets : sequence of tf.TensorSpec
        What the loss reads beside the inputs.
    has_variables : bool
        Whether they are made already; otherwise the loss is traced once more than wanted, to make them.
    """

    module: Any
    inputs: Sequence[tf.TensorSpec]
    forward: Callable[..., Any]
    loss: Loss | dict[str, Loss]
    targets: Sequence[tf.TensorSpec] = ()
    has_variables: bool = False

    @property
    def objectives(self) -> list[tuple[Any, Loss]]:
        """Every loss behind the module that learns it."""
        if isinstance(self.loss, dict):
            return [(getattr(self.module, name), loss) for name, loss in self.loss.items()]
        return [(self.module, self.loss)]


def supervised(
    module: Any, inputs: Sequence[tf.TensorSpec], targets: Sequence[tf.TensorSpec], criterion: Loss, **training: Any
) -> Network:
    """``module`` called on its inputs; ``criterion`` takes what it returns, then the targets.

    ``training`` names a keyword of the call that is true in the loss and false at inference, as ``is_training=True``.
    """
    inference = dict.fromkeys(training, False)

    def loss(*tensors: tf.Tensor) -> tf.Tensor:
        return criterion(module(*tensors[: len(inputs)], **training), *tensors[len(inputs) :])

    return Network(module, inputs, lambda *tensors: module(*tensors, **inference), loss, targets)


def graphs(network: Network, modes: Sequence[str]) -> dict[str, ComputationGraph]:
    """One graph per mode: ``inference``, ``training``, ``step`` or ``step-OPTIMIZER``.

    Raises
    ------
    KeyError
        For a mode whose optimizer is not in :data:`OPTIMIZERS`.
    """
    return {mode: load(function, name=mode, mode=kind) for mode, kind, function in functions(network, modes)}


def functions(network: Network, modes: Sequence[str]) -> Iterator[tuple[str, str, Any]]:
    """Per mode its name, the kind of it, and the traced function; no op of the network is run."""
    everything = [*network.inputs, *network.targets]
    if not network.has_variables:
        make_variables([loss for _, loss in network.objectives], everything)
    for mode in modes:
        kind, _, optimizer = mode.partition("-")
        if kind == INFERENCE:
            yield mode, kind, _traced(network.forward, network.inputs)
        elif kind == TRAINING:
            yield mode, kind, _traced(_training(network), everything)
        else:
            yield mode, kind, _traced(_step(network, OPTIMIZERS[optimizer or "sgd"]), everything)


def _traced(function: Callable[..., Any], specs: Sequence[tf.TensorSpec]) -> Any:
    return tf.function(function, autograph=False).get_concrete_function(*specs)


def make_variables(users: Sequence[Callable[..., Any]], specs: Sequence[tf.TensorSpec]) -> None:
    """Make and initialise the variables that ``users`` make on their first call; no other op of theirs is run."""
    waiting = list(users)

    def call(*tensors: tf.Tensor) -> None:
        while waiting:  # TensorFlow calls again what has made variables: in vain here
            waiting.pop(0)(*tensors)

    _traced(call, specs)


def _gradients(network: Network, tensors: Sequence[tf.Tensor]) -> list[tuple[tf.Tensor, list[tf.Tensor | None]]]:
    """Per objective its loss and the gradient of every variable that it learns: dense, None for an idle one."""
    with tf.GradientTape(persistent=len(network.objectives) > 1) as tape:
        losses = [loss(*tensors) for _, loss in network.objectives]
    found = []
    for (module, _), loss in zip(network.objectives, losses, strict=True):
        gradients = tape.gradient(loss, module.trainable_variables)
        found.append((loss, [g if g is None else tf.convert_to_tensor(g) for g in gradients]))
    return found


def _training(network: Network) -> Callable[..., Any]:
    def training(*tensors: tf.Tensor) -> list[Any]:
        return [(loss, [g for g in gradients if g is not None]) for loss, gradients in _gradients(network, tensors)]

    return training


def _step(network: Network, optimizer: Callable[[], snt.Optimizer]) -> Callable[..., Any]:
    """All gradients are taken before the first update, so that every loss sees the same variables."""
    pairs = [(optimizer(), module.trainable_variables) for module, _ in network.objectives]
    for updater, variables in pairs:
        specs = [tf.TensorSpec(variable.shape, variable.dtype) for variable in variables]
        make_variables([partial(_apply, updater, variables)], specs)

    def step(*tensors: tf.Tensor) -> list[tf.Tensor]:
        found = _gradients(network, tensors)
        for (updater, variables), (_, gradients) in zip(pairs, found, strict=True):
            updater.apply(gradients, variables)
        return [loss for loss, _ in found]

    return step


def _apply(updater: snt.Optimizer, variables: Sequence[tf.Variable], *updates: tf.Tensor) -> None:
    updater.apply(updates, variables)
