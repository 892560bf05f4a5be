"""Graphs, sets, tables and densities, in Sonnet: of ours on its modules."""
# ruff: noqa: D102 - a module's text says what its call does

from __future__ import annotations

from collections.abc import Sequence

import sonnet as snt
import tensorflow as tf
from sonnet_layers import cross_entropy, floats, integers, layer_norm, square_error
from sonnet_steps import Network, supervised

NODES, EDGES, WIDTH = 128, 512, 64


class GraphBlock(snt.Module):
    """Updates edges, nodes and the whole in turn (Battaglia et al., 2018)."""

    def __init__(self) -> None:
        super().__init__()
        self.edges, self.nodes, self.whole = (
            snt.Sequential([snt.nets.MLP([WIDTH, WIDTH], activate_final=True), layer_norm()]) for _ in range(3)
        )

    def __call__(self, state: Sequence[tf.Tensor], senders: tf.Tensor, receivers: tf.Tensor) -> list[tf.Tensor]:
        edges, nodes, whole = state
        ends = [tf.gather(nodes, senders), tf.gather(nodes, receivers), tf.tile(whole, [EDGES, 1])]
        edges = self.edges(tf.concat([edges, *ends], -1))
        received = tf.math.unsorted_segment_sum(edges, receivers, NODES)
        nodes = self.nodes(tf.concat([nodes, received, tf.tile(whole, [NODES, 1])], -1))
        sums = [tf.reduce_mean(edges, 0, keepdims=True), tf.reduce_mean(nodes, 0, keepdims=True)]
        return [edges, nodes, self.whole(tf.concat([whole, *sums], -1))]


class GraphNetwork(snt.Module):
    """Encodes a graph, passes messages with one shared block or one a step, decodes its nodes."""

    def __init__(self, steps: int, shared: bool) -> None:
        super().__init__()
        self.encoders = [snt.nets.MLP([WIDTH, WIDTH]) for _ in range(3)]
        blocks = [GraphBlock() for _ in range(1 if shared else steps)]
        self.blocks = blocks * steps if shared else blocks
        self.output = snt.nets.MLP([WIDTH, 3])

    def __call__(self, *tensors: tf.Tensor) -> tf.Tensor:
        *features, senders, receivers = tensors
        state = [encoder(x) for encoder, x in zip(self.encoders, features, strict=True)]
        for block in self.blocks:
            state = [new + old for new, old in zip(block(state, senders, receivers), state, strict=True)]
        return self.output(state[1])


def graph_network(steps: int, shared: bool = False) -> Network:
    """Ours on Sonnet modules."""
    inputs = [floats(EDGES, 4), floats(NODES, 8), floats(1, 4), integers(EDGES), integers(EDGES)]
    return supervised(GraphNetwork(steps, shared), inputs, [floats(NODES, 3)], square_error)


class GraphAttention(snt.Module):
    """Heads of attention to neighbours on a dense adjacency (Velickovic et al., 2018)."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.values = [snt.Linear(16, with_bias=False) for _ in range(heads)]
        self.ends = [(snt.Linear(1), snt.Linear(1)) for _ in range(heads)]

    def __call__(self, x: tf.Tensor, adjacency: tf.Tensor) -> tf.Tensor:
        heads = []
        for value, (sender, receiver) in zip(self.values, self.ends, strict=True):
            h = value(x)
            logits = tf.nn.leaky_relu(receiver(h) + tf.transpose(sender(h)))
            heads.append(tf.matmul(tf.nn.softmax(logits - 1e9 * (1.0 - adjacency)), h))
        return tf.nn.elu(tf.concat(heads, -1))


class GraphClassifier(snt.Module):
    """Attention over neighbours, or their mean (Kipf and Welling, 2017)."""

    def __init__(self, layers: int, heads: int) -> None:
        super().__init__()
        self.layers = [GraphAttention(heads) if heads else snt.Linear(WIDTH) for _ in range(layers)]
        self.output, self.heads = snt.Linear(7), heads

    def __call__(self, x: tf.Tensor, adjacency: tf.Tensor) -> tf.Tensor:
        for layer in self.layers:
            x = layer(x, adjacency) if self.heads else tf.nn.relu(tf.matmul(adjacency, layer(x)))
        return self.output(x)


def graph_classifier(layers: int, heads: int = 0) -> Network:
    """Ours on Sonnet modules."""
    inputs = [floats(512, 128), floats(512, 512)]
    return supervised(GraphClassifier(layers, heads), inputs, [integers(512)], cross_entropy)


class DeepSets(snt.Module):
    """Layers that no order of the elements changes (Zaheer et al., 2017)."""

    def __init__(self, depth: int) -> None:
        super().__init__()
        self.layers = [(snt.Linear(WIDTH), snt.Linear(WIDTH, with_bias=False)) for _ in range(depth)]
        self.output = snt.nets.MLP([WIDTH, 10])

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        for own, whole in self.layers:
            x = tf.nn.elu(own(x) - whole(tf.reduce_max(x, 1, keepdims=True)))
        return self.output(tf.reduce_sum(x, 1))


def deep_sets(depth: int) -> Network:
    """Ours on Sonnet modules."""
    return supervised(DeepSets(depth), [floats(32, 100, 3)], [integers(32)], cross_entropy)


class Recommender(snt.Module):
    """Embedded categories and dense features, their products pairwise (Naumov et al., 2019)."""

    def __init__(self, categories: int) -> None:
        super().__init__()
        self.tables = [snt.Embed(1000, 16) for _ in range(categories)]
        self.bottom, self.top = snt.nets.MLP([64, 16], activate_final=True), snt.nets.MLP([128, 64, 1])

    def __call__(self, dense: tf.Tensor, categories: tf.Tensor) -> tf.Tensor:
        vectors = [self.bottom(dense)]
        vectors += [table(column) for table, column in zip(self.tables, tf.unstack(categories, axis=1), strict=True)]
        products = [tf.reduce_sum(a * b, -1, keepdims=True) for i, a in enumerate(vectors) for b in vectors[:i]]
        return self.top(tf.concat([vectors[0], *products], -1))


def recommender(categories: int) -> Network:
    """Ours on Sonnet modules."""

    def loss(logits: tf.Tensor, clicks: tf.Tensor) -> tf.Tensor:
        return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=clicks, logits=logits))

    return supervised(Recommender(categories), [floats(128, 13), integers(128, categories)], [floats(128, 1)], loss)


class RealNVP(snt.Module):
    """Affine couplings of alternate halves (Dinh et al., 2017)."""

    def __init__(self, couplings: int, size: int) -> None:
        super().__init__()
        self.networks = [snt.nets.MLP([256, 256, size]) for _ in range(couplings)]

    def __call__(self, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        fixed, moved = tf.split(x, 2, -1)
        log_determinant = tf.zeros([x.shape[0]])
        for network in self.networks:
            shift, log_scale = tf.split(network(fixed), 2, -1)
            log_scale = tf.tanh(log_scale)
            fixed, moved = moved * tf.exp(log_scale) + shift, fixed
            log_determinant += tf.reduce_sum(log_scale, -1)
        return tf.concat([fixed, moved], -1), log_determinant


def real_nvp(couplings: int, size: int = 64) -> Network:
    """Ours on Sonnet modules."""

    def loss(outputs: tuple[tf.Tensor, tf.Tensor]) -> tf.Tensor:
        z, log_determinant = outputs
        return tf.reduce_mean(0.5 * tf.reduce_sum(z**2, -1) - log_determinant)

    return supervised(RealNVP(couplings, size), [floats(128, size)], [], loss)


class OrdinaryDifferential(snt.Module):
    """The field is integrated by the classical Runge-Kutta method (Chen et al., 2018, without the adjoint)."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.steps, self.field = steps, snt.nets.MLP([128, 64], activation=tf.tanh)
        self.inputs, self.output = snt.Linear(64), snt.Linear(10)

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        x, h = self.inputs(x), 1.0 / self.steps
        for _ in range(self.steps):
            first = self.field(x)
            second = self.field(x + 0.5 * h * first)
            third = self.field(x + 0.5 * h * second)
            fourth = self.field(x + h * third)
            x = x + h / 6.0 * (first + 2.0 * second + 2.0 * third + fourth)
        return self.output(x)


def neural_ode(steps: int) -> Network:
    """Ours on Sonnet modules."""
    return supervised(OrdinaryDifferential(steps), [floats(64, 784)], [integers(64)], cross_entropy)
