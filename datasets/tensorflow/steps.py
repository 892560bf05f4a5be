"""What the zoos trace of a model: its inference, its gradients, and its training step with the optimizer's update."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from regal.frontends.tensorflow import load
from regal.graph import ComputationGraph

BATCH = 4
INFERENCE, TRAINING, STEP = "inference", "training", "step"


@dataclass(frozen=True)
class Task:
    """A built model with what it is called on.

    Attributes
    ----------
    name : str
        Of its graphs, to which the mode is appended.
    call : callable
        ``call(inputs, training)`` returns tensors, nested in lists or dicts.
    inputs : tf.TensorSpec, nested in lists or dicts
        Of full shape.
    variables : sequence of variables
        Those to train.
    optimizer : Keras optimizer, or None
        Built on ``variables``; None when the step is not traced.
    labels : tf.TensorSpec, optional
        Integer classes; the loss is then the cross-entropy of the logits, else the mean square of what is returned.
    """

    name: str
    call: Callable[[Any, bool], Any]
    inputs: Any
    variables: Sequence[Any]
    optimizer: Any = None
    labels: tf.TensorSpec | None = None

    def loss(self, inputs: Any, labels: tf.Tensor | None) -> tf.Tensor:
        """Scalar float32 loss of the model in training mode."""
        outputs = self.call(inputs, True)
        if labels is not None:
            return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=outputs))
        floats = [output for output in tf.nest.flatten(outputs) if output.dtype.is_floating]
        return tf.add_n([tf.reduce_mean(tf.square(tf.cast(output, tf.float32))) for output in floats])

    def gradients(self, inputs: Any, labels: tf.Tensor | None) -> tuple[tf.Tensor, list[tf.Tensor | None]]:
        """The loss and the gradient of every variable, dense, None where the loss does not depend on it."""
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch([getattr(variable, "_value", variable) for variable in self.variables])
            loss = self.loss(inputs, labels)
        gradients = tape.gradient(loss, list(self.variables))
        return loss, [gradient if gradient is None else tf.convert_to_tensor(gradient) for gradient in gradients]


def trace(task: Task, modes: Sequence[str]) -> dict[str, ComputationGraph]:
    """Graph of ``task`` in each of ``modes``."""

    def inference(inputs: Any, labels: Any) -> Any:
        return task.call(inputs, False)

    def training(inputs: Any, labels: Any) -> Any:
        loss, gradients = task.gradients(inputs, labels)
        return loss, [gradient for gradient in gradients if gradient is not None]

    def step(inputs: Any, labels: Any) -> Any:
        loss, gradients = task.gradients(inputs, labels)
        pairs = zip(gradients, task.variables, strict=True)
        task.optimizer.apply_gradients([pair for pair in pairs if pair[0] is not None])
        return loss

    functions = {INFERENCE: inference, TRAINING: training, STEP: step}
    graphs = {}
    for mode in modes:
        labels = None if mode == INFERENCE else task.labels
        concrete = tf.function(functions[mode], autograph=False).get_concrete_function(task.inputs, labels)
        graphs[mode] = load(concrete, name=f"{task.name}.{mode}", mode=mode)
    return graphs


def input_specs(model: Any, length: int = 0, sizes: Mapping[str, Sequence[int]] | None = None) -> Any:
    """Specs of what a functional Keras model is called on, nested as its ``input``.

    Unknown dimensions beside the batch are, in order, ``sizes[input's name]``, and ``length`` where it names none.
    """

    def spec(tensor: Any) -> tf.TensorSpec:
        unknown = iter((sizes or {}).get(tensor.name, [length] * len(tensor.shape)))
        return tf.TensorSpec(
            [BATCH, *(next(unknown) if size is None else size for size in tensor.shape[1:])], tensor.dtype
        )

    return tf.nest.map_structure(spec, model.input)
