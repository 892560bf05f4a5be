"""What the models of the Sonnet zoo share: inputs without data, losses, and blocks that Sonnet does not ship."""
# ruff: noqa: D102 - a module's text says what its call does

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sonnet as snt
import tensorflow as tf


def floats(*shape: int) -> tf.TensorSpec:
    """A float32 tensor that is fed."""
    return tf.TensorSpec(shape, tf.float32)


def integers(*shape: int) -> tf.TensorSpec:
    """An int32 tensor that is fed: labels, tokens, edges."""
    return tf.TensorSpec(shape, tf.int32)


def cross_entropy(logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """Mean over all labels."""
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def square_error(outputs: tf.Tensor, targets: tf.Tensor) -> tf.Tensor:
    """Mean over all elements."""
    return tf.reduce_mean(tf.math.squared_difference(outputs, targets))


def logistic(logits: tf.Tensor, label: float) -> tf.Tensor:
    """Binary cross entropy against one label for all."""
    labels = tf.fill(logits.shape, label)
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))


def unroll(core: snt.RNNCore, steps: Sequence[Any], state: Any) -> tuple[list[Any], Any]:
    """Call ``core`` once a step, without tensor arrays; what it returned at each, and the last state."""
    outputs = []
    for inputs in steps:
        output, state = core(inputs, state)
        outputs.append(output)
    return outputs, state


class ConvNorm(snt.Module):
    """Convolution, batch norm and, unless told otherwise, ReLU."""

    def __init__(self, channels: int, kernel: int = 3, stride: int = 1, activate: bool = True) -> None:
        super().__init__()
        self.convolution = snt.Conv2D(channels, kernel, stride, with_bias=False)
        self.norm = snt.BatchNorm(create_scale=True, create_offset=True)
        self.activate = activate

    def __call__(self, x: tf.Tensor, is_training: bool) -> tf.Tensor:
        x = self.norm(self.convolution(x), is_training=is_training)
        return tf.nn.relu(x) if self.activate else x


class Residual(snt.Module):
    """Adds to its input what ``body`` makes of it, through ``norm`` first where there is one."""

    def __init__(self, body: Callable[[tf.Tensor], tf.Tensor], norm: snt.Module | None = None) -> None:
        super().__init__()
        self.body, self.norm = body, norm

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        return x + self.body(x if self.norm is None else self.norm(x))


def layer_norm() -> snt.LayerNorm:
    """Over the last axis, with scale and offset."""
    return snt.LayerNorm(-1, create_scale=True, create_offset=True)


class Attention(snt.Module):
    """Multi-head attention (Vaswani et al., 2017) of shape (batch, queries, width)."""

    def __init__(self, heads: int, width: int, causal: bool = False) -> None:
        super().__init__()
        self.heads, self.width, self.causal = heads, width, causal
        self.query, self.key = snt.Linear(width, with_bias=False), snt.Linear(width, with_bias=False)
        self.value, self.output = snt.Linear(width, with_bias=False), snt.Linear(width)

    def _split(self, x: tf.Tensor) -> tf.Tensor:
        batch, length, _ = x.shape
        return tf.transpose(tf.reshape(x, [batch, length, self.heads, self.width // self.heads]), [0, 2, 1, 3])

    def __call__(self, x: tf.Tensor, memory: tf.Tensor | None = None) -> tf.Tensor:
        memory = x if memory is None else memory
        query, key, value = self._split(self.query(x)), self._split(self.key(memory)), self._split(self.value(memory))
        logits = tf.matmul(query, key, transpose_b=True) * (self.width // self.heads) ** -0.5
        if self.causal:
            mask = tf.linalg.band_part(tf.ones(logits.shape[-2:]), -1, 0)
            logits = logits - 1e9 * (1.0 - mask)
        mixed = tf.transpose(tf.matmul(tf.nn.softmax(logits), value), [0, 2, 1, 3])
        return self.output(tf.reshape(mixed, [*x.shape[:-1], self.width]))


class Block(snt.Module):
    """Transformer block: attention to itself, to ``memory`` where there is one, and a feed-forward layer."""

    def __init__(self, heads: int, width: int, causal: bool = False, cross: bool = False) -> None:
        super().__init__()
        self.attention, self.norm = Attention(heads, width, causal), layer_norm()
        self.cross, self.cross_norm = (Attention(heads, width), layer_norm()) if cross else (None, None)
        self.feed_forward = Residual(
            snt.Sequential([snt.Linear(4 * width), tf.nn.gelu, snt.Linear(width)]), layer_norm()
        )

    def __call__(self, x: tf.Tensor, memory: tf.Tensor | None = None) -> tf.Tensor:
        x = x + self.attention(self.norm(x))
        if self.cross is not None:
            x = x + self.cross(self.cross_norm(x), memory)
        return self.feed_forward(x)


class Embedding(snt.Module):
    """Tokens and positions as vectors."""

    def __init__(self, vocabulary: int, length: int, width: int) -> None:
        super().__init__()
        self.tokens, self.positions = snt.Embed(vocabulary, width), snt.Embed(length, width)

    def __call__(self, tokens: tf.Tensor) -> tf.Tensor:
        return self.tokens(tokens) + self.positions(tf.range(tokens.shape[1]))
