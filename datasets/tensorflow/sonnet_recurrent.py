"""Sequences, in Sonnet: recurrent cores that it ships, called once a step, and models of ours around them."""
# ruff: noqa: D102 - a module's text says what its call does

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sonnet as snt
import tensorflow as tf
from sonnet_layers import cross_entropy, floats, integers, square_error, unroll
from sonnet_steps import Network, supervised

BATCH, WIDTH, CLASSES = 16, 128, 10

CORES: dict[str, Callable[[int], snt.RNNCore]] = {
    "lstm": snt.LSTM,
    "gru": snt.GRU,
    "vanilla": snt.VanillaRNN,
}


class Classifier(snt.Module):
    """A core over a sequence, its last output classified."""

    def __init__(self, core: snt.RNNCore) -> None:
        super().__init__()
        self.core, self.output = core, snt.Linear(CLASSES)

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        outputs, _ = unroll(self.core, tf.unstack(x, axis=1), self.core.initial_state(x.shape[0]))
        return self.output(outputs[-1])


def recurrent(core: str, depth: int, steps: int) -> Network:
    """Ours on Sonnet modules: a classifier on its LSTM, GRU or vanilla cores, stacked by ``snt.DeepRNN``."""
    return _classified(snt.DeepRNN([CORES[core](WIDTH) for _ in range(depth)]), steps)


def residual(core: str, depth: int, steps: int) -> Network:
    """Ours on Sonnet modules: a classifier on its residual stack, whose input has the width of the cores."""
    stack = snt.deep_rnn_with_residual_connections([CORES[core](WIDTH) for _ in range(depth)])
    return _classified(stack, steps, WIDTH)


def skipping(core: str, depth: int, steps: int) -> Network:
    """Ours on Sonnet modules: a classifier on its stack with skip connections."""
    return _classified(snt.deep_rnn_with_skip_connections([CORES[core](WIDTH) for _ in range(depth)]), steps)


def _classified(core: snt.RNNCore, steps: int, features: int = 64) -> Network:
    return supervised(Classifier(core), [floats(BATCH, steps, features)], [integers(BATCH)], cross_entropy)


class Bidirectional(snt.Module):
    """Per layer a core forwards and one backwards, their outputs joined at each step."""

    def __init__(self, core: Callable[[int], snt.RNNCore], depth: int) -> None:
        super().__init__()
        self.layers = [(core(WIDTH), core(WIDTH)) for _ in range(depth)]
        self.output = snt.Linear(CLASSES)

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        steps = tf.unstack(x, axis=1)
        for layer in self.layers:
            steps = both_ways(layer, steps)
        return tf.stack([self.output(step) for step in steps], 1)


def both_ways(cores: tuple[snt.RNNCore, snt.RNNCore], steps: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Outputs of two cores, one of which reads from the end."""
    batch = steps[0].shape[0]
    forwards, _ = unroll(cores[0], steps, cores[0].initial_state(batch))
    backwards, _ = unroll(cores[1], steps[::-1], cores[1].initial_state(batch))
    return [tf.concat(pair, -1) for pair in zip(forwards, backwards[::-1], strict=True)]


def bidirectional(core: str, depth: int, steps: int) -> Network:
    """Ours on Sonnet modules: a tagger."""
    return supervised(
        Bidirectional(CORES[core], depth), [floats(BATCH, steps, 64)], [integers(BATCH, steps)], cross_entropy
    )


class FramePredictor(snt.Module):
    """Convolutional LSTMs (Shi et al., 2015) over frames; predicts the next of each."""

    def __init__(self, cores: Sequence[snt.RNNCore], output: snt.Module) -> None:
        super().__init__()
        self.core, self.output = snt.DeepRNN(list(cores)), output

    def __call__(self, frames: tf.Tensor) -> tf.Tensor:
        outputs, _ = unroll(self.core, tf.unstack(frames, axis=1), self.core.initial_state(frames.shape[0]))
        return tf.stack([self.output(x) for x in outputs], 1)


def convlstm1d(depth: int, steps: int) -> Network:
    """Ours on Sonnet modules: its convolutional LSTM along a line."""
    net = FramePredictor([snt.Conv1DLSTM([64, 1 if d == 0 else 16], 16, 3) for d in range(depth)], snt.Conv1D(1, 1))
    shape = floats(BATCH, steps, 64, 1)
    return supervised(net, [shape], [shape], square_error)


def convlstm2d(depth: int, steps: int) -> Network:
    """Ours on Sonnet modules: its convolutional LSTM on images."""
    cores = [snt.Conv2DLSTM([32, 32, 1 if d == 0 else 32], 32, 3) for d in range(depth)]
    shape = floats(4, steps, 32, 32, 1)
    return supervised(FramePredictor(cores, snt.Conv2D(1, 1)), [shape], [shape], square_error)


class Seq2Seq(snt.Module):
    """An encoder both ways and a decoder that attends to it (Bahdanau et al., 2015)."""

    def __init__(self, core: Callable[[int], snt.RNNCore], depth: int, vocabulary: int = 2000) -> None:
        super().__init__()
        self.source, self.target = snt.Embed(vocabulary, 64), snt.Embed(vocabulary, 64)
        self.encoder = (core(WIDTH), core(WIDTH))
        self.decoder = snt.DeepRNN([core(WIDTH) for _ in range(depth)])
        self.keys, self.query, self.score = snt.Linear(WIDTH), snt.Linear(WIDTH, False), snt.Linear(1, False)
        self.output = snt.Linear(vocabulary)

    def attend(self, memory: tf.Tensor, keys: tf.Tensor, state: tf.Tensor) -> tf.Tensor:
        """(batch, features): what ``state`` looks for among the encoder's outputs."""
        weights = tf.nn.softmax(self.score(tf.tanh(keys + self.query(state)[:, None])), 1)
        return tf.reduce_sum(weights * memory, 1)

    def __call__(self, source: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
        memory = tf.stack(both_ways(self.encoder, tf.unstack(self.source(source), axis=1)), 1)
        keys = self.keys(memory)
        state, output = self.decoder.initial_state(source.shape[0]), tf.zeros([source.shape[0], WIDTH])
        logits = []
        for x in tf.unstack(self.target(target), axis=1):
            context = self.attend(memory, keys, output)
            output, state = self.decoder(tf.concat([x, context], -1), state)
            logits.append(self.output(tf.concat([output, context], -1)))
        return tf.stack(logits, 1)


def seq2seq(core: str, depth: int, steps: int) -> Network:
    """Ours on Sonnet modules."""
    tokens = integers(BATCH, steps)
    return supervised(Seq2Seq(CORES[core], depth), [tokens, tokens], [tokens], cross_entropy)


class PointerNetwork(snt.Module):
    """Each output is an attention over the inputs, which the decoder reads next (Vinyals et al., 2015)."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = snt.LSTM(WIDTH), snt.LSTM(WIDTH)
        self.keys, self.query, self.score = snt.Linear(WIDTH), snt.Linear(WIDTH, False), snt.Linear(1, False)

    def __call__(self, points: tf.Tensor) -> tf.Tensor:
        batch, steps, _ = points.shape
        outputs, state = unroll(self.encoder, tf.unstack(points, axis=1), self.encoder.initial_state(batch))
        keys = self.keys(tf.stack(outputs, 1))
        x, logits = tf.reduce_mean(points, 1), []
        for _ in range(steps):
            output, state = self.decoder(x, state)
            logits.append(tf.squeeze(self.score(tf.tanh(keys + self.query(output)[:, None])), -1))
            x = tf.reduce_sum(tf.nn.softmax(logits[-1])[..., None] * points, 1)
        return tf.stack(logits, 1)


def pointer(steps: int) -> Network:
    """Ours on Sonnet modules."""
    return supervised(PointerNetwork(), [floats(BATCH, steps, 2)], [integers(BATCH, steps)], cross_entropy)


class TreeLSTM(snt.Module):
    """A balanced binary tree of which every node joins its two children (Tai et al., 2015)."""

    def __init__(self) -> None:
        super().__init__()
        self.leaf, self.gates, self.output = snt.Linear(2 * WIDTH), snt.Linear(5 * WIDTH), snt.Linear(CLASSES)

    def join(
        self, left: tuple[tf.Tensor, tf.Tensor], right: tuple[tf.Tensor, tf.Tensor]
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Hidden and cell state of the parent."""
        gates = self.gates(tf.concat([left[0], right[0]], -1))
        enter, keep_left, keep_right, leave, new = tf.split(gates, 5, -1)
        cell = tf.sigmoid(enter) * tf.tanh(new) + tf.sigmoid(keep_left) * left[1] + tf.sigmoid(keep_right) * right[1]
        return tf.sigmoid(leave) * tf.tanh(cell), cell

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        nodes = [tuple(tf.split(self.leaf(leaf), 2, -1)) for leaf in tf.unstack(x, axis=1)]
        while len(nodes) > 1:
            nodes = [self.join(left, right) for left, right in zip(nodes[::2], nodes[1::2], strict=True)]
        return self.output(nodes[0][0])


def tree_lstm(leaves: int) -> Network:
    """Ours on Sonnet modules; ``leaves`` is a power of two."""
    return supervised(TreeLSTM(), [floats(BATCH, leaves, 64)], [integers(BATCH)], cross_entropy)


class Draw(snt.Module):
    """A recurrent variational autoencoder that adds to a canvas (Gregor et al., 2015), without its attention."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.steps = steps
        self.encoder, self.decoder = snt.LSTM(256), snt.LSTM(256)
        self.latent, self.write = snt.Linear(64), snt.Linear(784)

    def __call__(self, x: tf.Tensor, noise: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        batch = x.shape[0]
        encoded, decoded = self.encoder.initial_state(batch), self.decoder.initial_state(batch)
        canvas, output, divergence = tf.zeros_like(x), tf.zeros([batch, 256]), tf.zeros([])
        for epsilon in tf.unstack(noise, axis=1):
            error = x - tf.sigmoid(canvas)
            code, encoded = self.encoder(tf.concat([x, error, output], -1), encoded)
            mean, log_scale = tf.split(self.latent(code), 2, -1)
            divergence += tf.reduce_mean(mean**2 + tf.exp(2 * log_scale) - 2 * log_scale - 1)
            output, decoded = self.decoder(mean + tf.exp(log_scale) * epsilon, decoded)
            canvas = canvas + self.write(output)
        return canvas, divergence


def draw(steps: int) -> Network:
    """Ours on Sonnet modules; the noise is fed."""
    net = Draw(steps)

    def loss(x: tf.Tensor, noise: tf.Tensor) -> tf.Tensor:
        canvas, divergence = net(x, noise)
        return divergence + tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=canvas))

    return Network(net, [floats(32, 784), floats(32, steps, 32)], lambda x, noise: net(x, noise)[0], loss)


class Highway(snt.Module):
    """Recurrent highway network: ``depth`` gated layers within each step (Zilly et al., 2017)."""

    def __init__(self, depth: int) -> None:
        super().__init__()
        self.inputs = snt.Linear(2 * WIDTH)
        self.layers = [snt.Linear(2 * WIDTH) for _ in range(depth)]
        self.output = snt.Linear(CLASSES)

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        state = tf.zeros([x.shape[0], WIDTH])
        for step in tf.unstack(x, axis=1):
            for depth, layer in enumerate(self.layers):
                gates = layer(state) + self.inputs(step) if depth == 0 else layer(state)
                new, transform = tf.split(gates, 2, -1)
                transform = tf.sigmoid(transform)
                state = tf.tanh(new) * transform + state * (1.0 - transform)
        return self.output(state)


def recurrent_highway(depth: int, steps: int) -> Network:
    """Ours on Sonnet modules."""
    return supervised(Highway(depth), [floats(BATCH, steps, 64)], [integers(BATCH)], cross_entropy)


def dropout_lstm(steps: int) -> Network:
    """Ours on Sonnet modules: a classifier on its LSTM with recurrent dropout, which inference runs without."""
    training_core, core = snt.lstm_with_recurrent_dropout(WIDTH, 0.3, seed=1)
    output = snt.Linear(CLASSES)
    net = snt.Sequential([core, output])  # holds the variables

    def run(core: snt.RNNCore, x: tf.Tensor) -> tf.Tensor:
        outputs, _ = unroll(core, tf.unstack(x, axis=1), core.initial_state(x.shape[0]))
        return output(outputs[-1][0] if isinstance(outputs[-1], tuple) else outputs[-1])

    def loss(x: tf.Tensor, labels: Any) -> tf.Tensor:
        return cross_entropy(run(training_core, x), labels)

    return Network(net, [floats(BATCH, steps, 64)], lambda x: run(core, x), loss, [integers(BATCH)])
