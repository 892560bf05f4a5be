"""Sequences by convolution, and layers with gates, in Sonnet: of ours on its modules."""
# ruff: noqa: D102 - a module's text says what its call does

from __future__ import annotations

import sonnet as snt
import tensorflow as tf
from sonnet_layers import cross_entropy, floats, integers
from sonnet_steps import Network, supervised

BATCH = 4


class WaveNet(snt.Module):
    """Gated dilated causal convolutions with skip connections (van den Oord et al., 2016)."""

    def __init__(self, stacks: int, layers: int, channels: int = 32) -> None:
        super().__init__()
        self.first = snt.Conv1D(channels, 2, padding=snt.pad.causal)
        dilations = [2**layer for _ in range(stacks) for layer in range(layers)]
        self.gated = [snt.Conv1D(2 * channels, 2, rate=rate, padding=snt.pad.causal) for rate in dilations]
        self.back = [snt.Conv1D(channels, 1) for _ in dilations]
        self.skip = [snt.Conv1D(channels, 1) for _ in dilations]
        self.output = snt.Sequential([tf.nn.relu, snt.Conv1D(channels, 1), tf.nn.relu, snt.Conv1D(256, 1)])

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        x, skips = self.first(x), []
        for gated, back, skip in zip(self.gated, self.back, self.skip, strict=True):
            value, gate = tf.split(gated(x), 2, -1)
            z = tf.tanh(value) * tf.sigmoid(gate)
            skips.append(skip(z))
            x = x + back(z)
        return self.output(tf.add_n(skips))


def wavenet(stacks: int, layers: int) -> Network:
    """Ours on Sonnet modules."""
    return supervised(WaveNet(stacks, layers), [floats(BATCH, 512, 1)], [integers(BATCH, 512)], cross_entropy)


class TemporalBlock(snt.Module):
    """Two dilated causal convolutions around which the input goes (Bai et al., 2018)."""

    def __init__(self, channels: int, rate: int) -> None:
        super().__init__()
        self.layers = [snt.Conv1D(channels, 3, rate=rate, padding=snt.pad.causal) for _ in range(2)]
        self.norms = [snt.LayerNorm(-1, True, True) for _ in range(2)]

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        y = x
        for layer, norm in zip(self.layers, self.norms, strict=True):
            y = tf.nn.relu(norm(layer(y)))
        return tf.nn.relu(x + y)


def temporal(depth: int, channels: int = 64) -> Network:
    """Ours on Sonnet modules: temporal convolutional network."""
    blocks = [TemporalBlock(channels, 2**block) for block in range(depth)]
    net = snt.Sequential([snt.Conv1D(channels, 1), *blocks, lambda x: x[:, -1], snt.Linear(10)])
    return supervised(net, [floats(BATCH, 512, 16)], [integers(BATCH)], cross_entropy)


class HighwayLayer(snt.Module):
    """A gate between the layer and what enters it (Srivastava et al., 2015)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.transform, self.gate = snt.Linear(width), snt.Linear(width, b_init=snt.initializers.Constant(-2.0))

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        gate = tf.sigmoid(self.gate(x))
        return gate * tf.nn.relu(self.transform(x)) + (1.0 - gate) * x


def highway(depth: int) -> Network:
    """Ours on Sonnet modules."""
    net = snt.Sequential([snt.Linear(128), *(HighwayLayer(128) for _ in range(depth)), snt.Linear(10)])
    return supervised(net, [floats(64, 784)], [integers(64)], cross_entropy)


class CharacterTower(snt.Module):
    """Convolutions of several widths over characters, joined, then highways (Kim et al., 2016)."""

    def __init__(self, widths: int, highways: int) -> None:
        super().__init__()
        self.embedding = snt.Embed(100, 16)
        self.convolutions = [snt.Conv1D(25 * width, width, padding="VALID") for width in range(1, widths + 1)]
        size = sum(25 * width for width in range(1, widths + 1))
        self.highways = snt.Sequential([HighwayLayer(size) for _ in range(highways)])
        self.output = snt.Linear(10)

    def __call__(self, characters: tf.Tensor) -> tf.Tensor:
        x = self.embedding(characters)
        pooled = [tf.reduce_max(tf.tanh(layer(x)), 1) for layer in self.convolutions]
        return self.output(self.highways(tf.concat(pooled, -1)))


def character_tower(widths: int, highways: int) -> Network:
    """Ours on Sonnet modules."""
    return supervised(CharacterTower(widths, highways), [integers(64, 24)], [integers(64)], cross_entropy)
