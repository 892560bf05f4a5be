"""Attention, in Sonnet: transformers and their relatives, of ours on its modules."""
# ruff: noqa: D102 - a module's text says what its call does

from __future__ import annotations

import sonnet as snt
import tensorflow as tf
from sonnet_layers import Attention, Block, Embedding, cross_entropy, floats, integers, layer_norm
from sonnet_steps import Network, supervised

BATCH, LENGTH, WIDTH, HEADS, VOCABULARY = 4, 64, 256, 4, 4000


class Encoder(snt.Module):
    """Transformer encoder of which the mean is classified."""

    def __init__(self, depth: int) -> None:
        super().__init__()
        self.embedding = Embedding(VOCABULARY, LENGTH, WIDTH)
        self.blocks = [Block(HEADS, WIDTH) for _ in range(depth)]
        self.norm, self.output = layer_norm(), snt.Linear(10)

    def __call__(self, tokens: tf.Tensor) -> tf.Tensor:
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return self.output(tf.reduce_mean(self.norm(x), 1))


def transformer_encoder(depth: int) -> Network:
    """Ours on Sonnet modules."""
    return supervised(Encoder(depth), [integers(BATCH, LENGTH)], [integers(BATCH)], cross_entropy)


class LanguageModel(snt.Module):
    """Causal transformer whose output layer is its embedding (Radford et al., 2019)."""

    def __init__(self, depth: int, shared: bool) -> None:
        super().__init__()
        self.embedding = Embedding(VOCABULARY, LENGTH, WIDTH)
        blocks = [Block(HEADS, WIDTH, causal=True) for _ in range(1 if shared else depth)]
        self.blocks = blocks * depth if shared else blocks
        self.norm = layer_norm()

    def __call__(self, tokens: tf.Tensor) -> tf.Tensor:
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return tf.matmul(tf.reshape(self.norm(x), [-1, WIDTH]), self.embedding.tokens.embeddings, transpose_b=True)


def language_model(depth: int, shared: bool = False) -> Network:
    """Ours on Sonnet modules; ``shared`` repeats one block (Dehghani et al., 2019)."""
    tokens = [integers(BATCH, LENGTH)]
    return supervised(
        LanguageModel(depth, shared), tokens, tokens, lambda x, labels: cross_entropy(x, tf.reshape(labels, [-1]))
    )


class Translator(snt.Module):
    """Transformer encoder and decoder (Vaswani et al., 2017)."""

    def __init__(self, depth: int) -> None:
        super().__init__()
        self.source, self.target = (Embedding(VOCABULARY, LENGTH, WIDTH) for _ in range(2))
        self.encoder = [Block(HEADS, WIDTH) for _ in range(depth)]
        self.decoder = [Block(HEADS, WIDTH, causal=True, cross=True) for _ in range(depth)]
        self.norms, self.output = [layer_norm(), layer_norm()], snt.Linear(VOCABULARY)

    def __call__(self, source: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
        memory = self.source(source)
        for block in self.encoder:
            memory = block(memory)
        memory, x = self.norms[0](memory), self.target(target)
        for block in self.decoder:
            x = block(x, memory)
        return self.output(self.norms[1](x))


def translator(depth: int) -> Network:
    """Ours on Sonnet modules."""
    tokens = integers(BATCH, LENGTH)
    return supervised(Translator(depth), [tokens, tokens], [tokens], cross_entropy)


class Attending(snt.Module):
    """Queries attend to a set, with a feed-forward layer after it (Lee et al., 2019)."""

    def __init__(self) -> None:
        super().__init__()
        self.attention, self.norms = Attention(HEADS, WIDTH), [layer_norm(), layer_norm()]
        self.mlp = snt.nets.MLP([WIDTH, WIDTH])

    def __call__(self, x: tf.Tensor, memory: tf.Tensor) -> tf.Tensor:
        x = self.norms[0](x + self.attention(x, memory))
        return self.norms[1](x + self.mlp(x))


class SetTransformer(snt.Module):
    """Blocks of attention through few inducing points, and pooling by attention (Lee et al., 2019)."""

    def __init__(self, depth: int, points: int = 16) -> None:
        super().__init__()
        self.inputs, self.output = snt.Linear(WIDTH), snt.Linear(40)
        self.blocks = [(Attending(), Attending()) for _ in range(depth)]
        self.points = [tf.Variable(tf.zeros([1, points, WIDTH]), name=f"points_{d}") for d in range(depth)]
        self.pool, self.seed = Attending(), tf.Variable(tf.zeros([1, 1, WIDTH]), name="seed")

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        batch, x = x.shape[0], self.inputs(x)
        for (gather, spread), points in zip(self.blocks, self.points, strict=True):
            x = spread(x, gather(tf.tile(points, [batch, 1, 1]), x))
        return self.output(tf.squeeze(self.pool(tf.tile(self.seed, [batch, 1, 1]), x), 1))


def set_transformer(depth: int) -> Network:
    """Ours on Sonnet modules."""
    return supervised(SetTransformer(depth), [floats(16, 256, 3)], [integers(16)], cross_entropy)


class Perceiver(snt.Module):
    """Latents that read a large input again and again, with shared weights (Jaegle et al., 2021)."""

    def __init__(self, readings: int, blocks: int) -> None:
        super().__init__()
        self.readings = readings
        self.latents = tf.Variable(tf.zeros([1, 32, WIDTH]), name="latents")
        self.inputs, self.read = snt.Linear(WIDTH), Attending()
        self.blocks = [Block(HEADS, WIDTH) for _ in range(blocks)]
        self.output = snt.Linear(10)

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        x, latents = self.inputs(x), tf.tile(self.latents, [x.shape[0], 1, 1])
        for _ in range(self.readings):
            latents = self.read(latents, x)
            for block in self.blocks:
                latents = block(latents)
        return self.output(tf.reduce_mean(latents, 1))


def perceiver(readings: int, blocks: int) -> Network:
    """Ours on Sonnet modules."""
    return supervised(Perceiver(readings, blocks), [floats(BATCH, 1024, 16)], [integers(BATCH)], cross_entropy)


class Experts(snt.Module):
    """A mixture of feed-forward experts, all of which run, weighted by a gate (Jacobs et al., 1991)."""

    def __init__(self, experts: int, width: int) -> None:
        super().__init__()
        self.gate = snt.Linear(experts, with_bias=False)
        self.experts = [snt.nets.MLP([2 * width, width]) for _ in range(experts)]

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        weights = tf.unstack(tf.nn.softmax(self.gate(x)), axis=-1)
        return tf.add_n([weight[..., None] * expert(x) for weight, expert in zip(weights, self.experts, strict=True)])


def mixture_of_experts(layers: int, experts: int) -> Network:
    """Ours on Sonnet modules: layers of experts on flat inputs."""
    stack = [layer for _ in range(layers) for layer in (Experts(experts, 256), tf.nn.relu)]
    net = snt.Sequential([*stack, snt.Linear(10)])
    return supervised(net, [floats(64, 784)], [integers(64)], cross_entropy)


class ExpertEncoder(snt.Module):
    """Encoder in which experts take the place of the feed-forward layer."""

    def __init__(self, depth: int, experts: int) -> None:
        super().__init__()
        self.embedding = Embedding(VOCABULARY, LENGTH, WIDTH)
        self.attention = [Attention(HEADS, WIDTH) for _ in range(depth)]
        self.experts = [Experts(experts, WIDTH) for _ in range(depth)]
        self.norms = [(layer_norm(), layer_norm()) for _ in range(depth)]
        self.output = snt.Linear(10)

    def __call__(self, tokens: tf.Tensor) -> tf.Tensor:
        x = self.embedding(tokens)
        for attention, experts, norms in zip(self.attention, self.experts, self.norms, strict=True):
            x = x + attention(norms[0](x))
            x = x + experts(norms[1](x))
        return self.output(tf.reduce_mean(x, 1))


def expert_encoder(depth: int, experts: int) -> Network:
    """Ours on Sonnet modules."""
    return supervised(ExpertEncoder(depth, experts), [integers(BATCH, LENGTH)], [integers(BATCH)], cross_entropy)
