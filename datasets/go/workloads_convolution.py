"""WaveNet and AmoebaNet-D in Sonnet, and Keras' Inception-v3."""
# ruff: noqa: D102 - a module's text says what its call does

from __future__ import annotations

from collections.abc import Callable

import keras
import sonnet as snt
import tensorflow as tf
from sonnet_layers import cross_entropy, floats, integers
from sonnet_steps import Network, supervised

from regal.frontends.tensorflow import trace_model
from regal.graph import ComputationGraph

CLASSES = 1000


class WaveNet(snt.Module):
    """Gated dilated causal convolutions in stacks (van den Oord et al., 2016)."""

    def __init__(self, stacks: int, layers: int, channels: int = 64, skipped: int = 256) -> None:
        super().__init__()
        self.embedding = snt.Embed(256, channels)
        dilations = [2 ** (layer % 9) for _ in range(stacks) for layer in range(layers)]
        self.gated = [snt.Conv1D(2 * channels, 2, rate=rate, padding=snt.pad.causal) for rate in dilations]
        self.back = [snt.Conv1D(channels, 1) for _ in dilations]
        self.skip = [snt.Conv1D(skipped, 1) for _ in dilations]
        self.output = snt.Sequential([tf.nn.relu, snt.Conv1D(skipped, 1), tf.nn.relu, snt.Conv1D(256, 1)])

    def __call__(self, samples: tf.Tensor) -> tf.Tensor:
        x, total = self.embedding(samples), None
        for gated, back, skip in zip(self.gated, self.back, self.skip, strict=True):
            value, gate = tf.split(gated(x), 2, -1)
            z = tf.tanh(value) * tf.sigmoid(gate)
            total = skip(z) if total is None else total + skip(z)
            x = x + back(z)
        return self.output(total)


def wavenet(stacks: int, layers: int, batch: int, length: int = 4096) -> Network:
    """``layers`` a stack, with dilations 1, 2, ... 256 and again from 1."""
    samples = [integers(batch, length)]
    return supervised(WaveNet(stacks, layers), samples, samples, cross_entropy)


class Convolutions(snt.Module):
    """ReLU, convolution and batch norm, per kernel; the inner ones have a quarter of the channels."""

    def __init__(self, channels: int, *kernels: tuple[int, int], stride: int = 1) -> None:
        super().__init__()
        last = len(kernels) - 1
        sizes = [channels if index == last else channels // 4 for index in range(len(kernels))]
        widest = max(range(len(kernels)), key=lambda index: kernels[index][0] * kernels[index][1])
        strides = [stride if index == widest else 1 for index in range(len(kernels))]
        self.layers = [snt.Conv2D(*shape, with_bias=False) for shape in zip(sizes, kernels, strides, strict=True)]
        self.norms = [snt.BatchNorm(True, True) for _ in kernels]

    def __call__(self, x: tf.Tensor, is_training: bool) -> tf.Tensor:
        for layer, norm in zip(self.layers, self.norms, strict=True):
            x = norm(layer(tf.nn.relu(x)), is_training=is_training)
        return x


class Halving(snt.Module):
    """Half the height and width without losing pixels between: two convolutions, one shifted by a pixel, joined."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.layers = [snt.Conv2D(channels // 2, 1, 2, with_bias=False, padding="VALID") for _ in range(2)]
        self.norm = snt.BatchNorm(True, True)

    def __call__(self, x: tf.Tensor, is_training: bool) -> tf.Tensor:
        x = tf.nn.relu(x)
        moved = tf.pad(x, [[0, 0], [0, 1], [0, 1], [0, 0]])[:, 1:, 1:]
        return self.norm(tf.concat([self.layers[0](x), self.layers[1](moved)], -1), is_training=is_training)


class Pool(snt.Module):
    """Largest or mean value of a square."""

    def __init__(self, kind: str, size: int, stride: int) -> None:
        super().__init__()
        self.pool = tf.nn.max_pool2d if kind == "max" else tf.nn.avg_pool2d
        self.size, self.stride = size, stride

    def __call__(self, x: tf.Tensor, is_training: bool) -> tf.Tensor:
        return self.pool(x, self.size, self.stride, "SAME")


def _same(x: tf.Tensor, is_training: bool) -> tf.Tensor:
    return x


OPERATIONS: dict[str, Callable[[int, int], Callable[[tf.Tensor, bool], tf.Tensor]]] = {
    "none": lambda channels, stride: _same if stride == 1 else Halving(channels),
    "max_2": lambda channels, stride: Pool("max", 2, stride),
    "max_3": lambda channels, stride: Pool("max", 3, stride),
    "avg_3": lambda channels, stride: Pool("avg", 3, stride),
    "conv_1": lambda channels, stride: Convolutions(channels, (1, 1), stride=stride),
    "conv_3": lambda channels, stride: Convolutions(channels, (1, 1), (3, 3), (1, 1), stride=stride),
    "conv_7": lambda channels, stride: Convolutions(channels, (1, 1), (1, 7), (7, 1), (1, 1), stride=stride),
}
"""What an edge of a cell may do, from its channels and stride."""

Edges = tuple[tuple[int, str], ...]
NORMAL_EDGES: Edges = (
    *((1, "conv_1"), (1, "max_3")),
    *((1, "none"), (0, "conv_7")),
    *((0, "conv_1"), (0, "conv_7")),
    *((2, "max_3"), (2, "none")),
    *((1, "avg_3"), (5, "conv_1")),
)
REDUCTION_EDGES: Edges = (
    *((0, "max_2"), (0, "max_3")),
    *((2, "none"), (1, "conv_3")),
    *((2, "conv_7"), (2, "max_3")),
    *((3, "none"), (1, "max_2")),
    *((2, "avg_3"), (3, "conv_1")),
)
NORMAL: tuple[Edges, tuple[int, ...]] = (NORMAL_EDGES, (0, 3, 4, 6))
REDUCTION: tuple[Edges, tuple[int, ...]] = (REDUCTION_EDGES, (4, 5, 6))
"""A cell: pairs of edges, each with the state that it reads; the sum of a pair is a new state. And the states joined.

State 0 is the output of the cell before, 1 of the one before that.
"""


class Cell(snt.Module):
    """A cell of AmoebaNet-D; one that ``reduces`` halves the height and width."""

    def __init__(self, channels: int, reduces: bool, before_reduced: bool) -> None:
        super().__init__()
        self.edges, self.joined = REDUCTION if reduces else NORMAL
        self.inputs = Convolutions(channels, (1, 1))
        self.before = Halving(channels) if before_reduced else Convolutions(channels, (1, 1))
        self.operations = [OPERATIONS[kind](channels, 2 if reduces and state < 2 else 1) for state, kind in self.edges]

    def __call__(self, x: tf.Tensor, before: tf.Tensor, is_training: bool) -> tf.Tensor:
        states = [self.inputs(x, is_training), self.before(before, is_training)]
        for first in range(0, len(self.edges), 2):
            pair = [self.operations[edge](states[self.edges[edge][0]], is_training) for edge in (first, first + 1)]
            states.append(pair[0] + pair[1])
        return tf.concat([states[index] for index in self.joined], -1)


class AmoebaNet(snt.Module):
    """AmoebaNet-D (Real et al., 2019): a stem of two reductions, then normal cells thrice, reductions between."""

    def __init__(self, cells: int, channels: int) -> None:
        super().__init__()
        self.stem, self.norm = snt.Conv2D(channels // 4, 3, 2, with_bias=False), snt.BatchNorm(True, True)
        self.cells = []
        before_reduced = False
        sizes = [(channels // 4, True), (channels // 2, True)]
        for group in range(3):
            sizes += [(channels * 2**group, True)] if group else []
            sizes += [(channels * 2**group, False)] * cells
        for size, reduces in sizes:
            self.cells.append(Cell(size, reduces, before_reduced))
            before_reduced = reduces
        self.output = snt.Linear(CLASSES)

    def __call__(self, images: tf.Tensor, is_training: bool) -> tf.Tensor:
        before = x = self.norm(self.stem(images), is_training=is_training)
        for cell in self.cells:
            x, before = cell(x, before, is_training), x
        return self.output(tf.reduce_mean(tf.nn.relu(x), [1, 2]))


def amoebanet(cells: int, channels: int, batch: int) -> Network:
    """``cells`` normal cells in each of three groups."""
    net = AmoebaNet(cells, channels)
    return supervised(net, [floats(batch, 224, 224, 3)], [integers(batch)], cross_entropy, is_training=True)


def inception(batch: int) -> ComputationGraph:
    """Training step of ``keras.applications.InceptionV3`` with Keras' momentum."""
    net = keras.applications.InceptionV3(weights=None, classifier_activation=None)

    def loss(images: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        return cross_entropy(net(images, training=True), labels)

    return trace_model(
        loss,
        floats(batch, 299, 299, 3),
        integers(batch),
        mode="step",
        loss=lambda value: value,
        optimizer=keras.optimizers.SGD(0.1, momentum=0.9),
        variables=net.trainable_variables,
    )
