"""Transformer-XL in Sonnet (Dai et al., 2019): segments one after another, each attending to the one before it."""
# ruff: noqa: D102 - a module's text says what its call does

from __future__ import annotations

import numpy as np
import sonnet as snt
import tensorflow as tf
from sonnet_layers import cross_entropy, integers, layer_norm
from sonnet_steps import Network, supervised

WIDTH, HEADS, LENGTH, VOCABULARY = 512, 8, 128, 10_000
SIZE = WIDTH // HEADS


def positions(count: int) -> np.ndarray:
    """float32 array, shape (count, WIDTH): sines and cosines of the distances count - 1 .. 0."""
    distance = np.arange(count - 1, -1, -1.0)[:, None]
    angle = distance / 10_000 ** (np.arange(0, WIDTH, 2) / WIDTH)
    return np.concatenate([np.sin(angle), np.cos(angle)], -1).astype(np.float32)


def shifted(x: tf.Tensor) -> tf.Tensor:
    """Row i of the last two axes moved left by as many places as rows follow it (Dai et al., 2019, appendix B)."""
    batch, heads, queries, keys = x.shape
    x = tf.reshape(tf.pad(x, [[0, 0], [0, 0], [0, 0], [1, 0]]), [batch, heads, keys + 1, queries])
    return tf.reshape(x[:, :, 1:], [batch, heads, queries, keys])


class RelativeAttention(snt.Module):
    """Attention to a segment and the memory before it, by content and by relative position."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.pairs = snt.Linear(WIDTH, False), snt.Linear(2 * WIDTH, False)
        self.relative, self.output = snt.Linear(WIDTH, False), snt.Linear(WIDTH, False)

    def __call__(self, x: tf.Tensor, memory: tf.Tensor | None, content: tf.Variable, place: tf.Variable) -> tf.Tensor:
        batch, queries, _ = x.shape
        everything = x if memory is None else tf.concat([memory, x], 1)
        keys = everything.shape[1]
        query = tf.reshape(self.query(x), [batch, queries, HEADS, SIZE])
        key, value = (split(half) for half in tf.split(self.pairs(everything), 2, -1))
        relative = tf.transpose(tf.reshape(self.relative(positions(keys)), [keys, HEADS, SIZE]), [1, 2, 0])
        by_content = tf.matmul(tf.transpose(query + content, [0, 2, 1, 3]), key, transpose_b=True)
        by_place = shifted(tf.matmul(tf.transpose(query + place, [0, 2, 1, 3]), relative))
        later = np.triu(np.ones((queries, keys), np.float32), 1 + keys - queries)
        weights = tf.nn.softmax((by_content + by_place) * SIZE**-0.5 - 1e9 * later)
        mixed = tf.transpose(tf.matmul(weights, value), [0, 2, 1, 3])
        return self.output(tf.reshape(mixed, [batch, queries, WIDTH]))


def split(x: tf.Tensor) -> tf.Tensor:
    """(batch, heads, length, size)."""
    return tf.transpose(tf.reshape(x, [*x.shape[:2], HEADS, SIZE]), [0, 2, 1, 3])


class Layer(snt.Module):
    """Relative attention and a feed-forward layer, each added to its input and normalised."""

    def __init__(self) -> None:
        super().__init__()
        self.attention, self.norms = RelativeAttention(), [layer_norm(), layer_norm()]
        self.mlp = snt.nets.MLP([4 * WIDTH, WIDTH])

    def __call__(self, x: tf.Tensor, memory: tf.Tensor | None, content: tf.Variable, place: tf.Variable) -> tf.Tensor:
        x = self.norms[0](x + self.attention(x, memory, content, place))
        return self.norms[1](x + self.mlp(x))


class TransformerXL(snt.Module):
    """Logits of all segments in turn; a layer's memory is what entered it a segment ago, without its gradient."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.embedding, self.output = snt.Embed(VOCABULARY, WIDTH), snt.Linear(VOCABULARY)
        self.layers = [Layer() for _ in range(layers)]
        self.content = tf.Variable(tf.zeros([HEADS, SIZE]), name="content")
        self.place = tf.Variable(tf.zeros([HEADS, SIZE]), name="place")

    def __call__(self, tokens: tf.Tensor) -> list[tf.Tensor]:
        memories: list[tf.Tensor | None] = [None] * len(self.layers)
        logits = []
        for segment in tf.split(tokens, tokens.shape[1] // LENGTH, 1):
            x = self.embedding(segment)
            for index, layer in enumerate(self.layers):
                entered = x
                x = layer(x, memories[index], self.content, self.place)
                memories[index] = tf.stop_gradient(entered)
            logits.append(self.output(x))
        return logits


def transformer_xl(layers: int, batch: int, segments: int = 2) -> Network:
    """The mean loss of ``segments`` segments of 128 tokens."""
    tokens = [integers(batch, segments * LENGTH)]

    def loss(logits: list[tf.Tensor], labels: tf.Tensor) -> tf.Tensor:
        parts = tf.split(labels, segments, 1)
        return tf.add_n([cross_entropy(x, part) for x, part in zip(logits, parts, strict=True)]) / segments

    return supervised(TransformerXL(layers), tokens, tokens, loss)
