"""RNNLM and GNMT in Sonnet: LSTM layers called once a step, so that no loop is left in the graph."""
# ruff: noqa: D102 - a module's text says what its call does

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import sonnet as snt
import tensorflow as tf
from sonnet_layers import cross_entropy, integers, unroll
from sonnet_steps import Network, make_variables, supervised

WIDTH = 1024


class RNNLM(snt.Module):
    """Word-level language model of stacked LSTM layers (Jozefowicz et al., 2016)."""

    def __init__(self, layers: int, vocabulary: int) -> None:
        super().__init__()
        self.embedding = snt.Embed(vocabulary, WIDTH)
        self.core = snt.DeepRNN([snt.LSTM(WIDTH) for _ in range(layers)])
        self.output = snt.Linear(vocabulary)

    def __call__(self, tokens: tf.Tensor) -> tf.Tensor:
        state = self.core.initial_state(tokens.shape[0])
        outputs, _ = unroll(self.core, tf.unstack(self.embedding(tokens), axis=1), state)
        return tf.stack([self.output(output) for output in outputs], 1)


def rnnlm(layers: int, batch: int, length: int = 30, vocabulary: int = 10_000) -> Network:
    """A softmax over the vocabulary at each of ``length`` steps."""
    tokens = integers(batch, length)
    return _unrolled(RNNLM(layers, vocabulary), [tokens], tokens, integers(batch, 1))


class GNMT(snt.Module):
    """Neural translation (Wu et al., 2016): the encoder's first layer reads both ways; the decoder attends to it.

    Layers from the third on are residual. The first layer of the decoder makes the attention's query; the context that
    it finds is read by every other layer and by the next step.
    """

    def __init__(self, layers: int, vocabulary: int) -> None:
        super().__init__()
        self.source, self.target = snt.Embed(vocabulary, WIDTH), snt.Embed(vocabulary, WIDTH)
        self.forward, self.backward = snt.LSTM(WIDTH), snt.LSTM(WIDTH)
        self.encoder = [snt.LSTM(WIDTH) for _ in range(layers - 1)]
        self.decoder = [snt.LSTM(WIDTH) for _ in range(layers)]
        self.keys, self.query, self.score = snt.Linear(WIDTH, False), snt.Linear(WIDTH), snt.Linear(1, False)
        self.output = snt.Linear(vocabulary)

    def encode(self, source: tf.Tensor) -> tf.Tensor:
        """(batch, steps, width): outputs of the last layer."""
        steps = tf.unstack(self.source(source), axis=1)
        batch = source.shape[0]
        forward, _ = unroll(self.forward, steps, self.forward.initial_state(batch))
        backward, _ = unroll(self.backward, steps[::-1], self.backward.initial_state(batch))
        steps = [tf.concat(pair, -1) for pair in zip(forward, backward[::-1], strict=True)]
        for index, core in enumerate(self.encoder):
            outputs, _ = unroll(core, steps, core.initial_state(batch))
            steps = [output + x for output, x in zip(outputs, steps, strict=True)] if index > 0 else outputs
        return tf.stack(steps, 1)

    def attend(self, memory: tf.Tensor, keys: tf.Tensor, query: tf.Tensor) -> tf.Tensor:
        """(batch, width): additive attention."""
        weights = tf.nn.softmax(self.score(tf.tanh(keys + self.query(query)[:, None])), 1)
        return tf.reduce_sum(weights * memory, 1)

    def step(
        self, x: tf.Tensor, context: tf.Tensor, states: Sequence[snt.LSTMState], memory: tf.Tensor, keys: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, list[snt.LSTMState]]:
        """One step of the decoder: its output, the context, and the state of every layer."""
        x, first = self.decoder[0](tf.concat([x, context], -1), states[0])
        context, following = self.attend(memory, keys, x), [first]
        for index, (core, state) in enumerate(zip(self.decoder[1:], states[1:], strict=True)):
            output, state = core(tf.concat([x, context], -1), state)
            x = output + x if index > 0 else output
            following.append(state)
        return x, context, following

    def __call__(self, source: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
        memory = self.encode(source)
        keys, batch = self.keys(memory), source.shape[0]
        states = [core.initial_state(batch) for core in self.decoder]
        context, logits = tf.zeros([batch, WIDTH]), []
        for x in tf.unstack(self.target(target), axis=1):
            x, context, states = self.step(x, context, states, memory, keys)
            logits.append(self.output(tf.concat([x, context], -1)))
        return tf.stack(logits, 1)


def gnmt(layers: int, batch: int, length: int = 30, vocabulary: int = 32_000) -> Network:
    """Sentences of ``length`` tokens on both sides."""
    tokens = integers(batch, length)
    return _unrolled(GNMT(layers, vocabulary), [tokens, tokens], tokens, integers(batch, 1))


def _unrolled(module: snt.Module, inputs: list[tf.TensorSpec], labels: tf.TensorSpec, first: tf.TensorSpec) -> Network:
    """Its variables are made on inputs of one step, which is quicker than on all."""
    make_variables([module], [first] * len(inputs))
    return replace(supervised(module, inputs, [labels], cross_entropy), has_variables=True)
