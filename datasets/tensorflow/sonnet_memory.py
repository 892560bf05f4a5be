"""Networks with an external memory, in Sonnet: cores of ours on its modules, called once a step."""
# ruff: noqa: D102 - a module's text says what its call does

from __future__ import annotations

from typing import NamedTuple

import sonnet as snt
import tensorflow as tf
from sonnet_layers import Attention, cross_entropy, floats, integers, unroll
from sonnet_steps import Network, supervised

BATCH, SLOTS, WORD = 16, 32, 20


def similarity(memory: tf.Tensor, keys: tf.Tensor, strengths: tf.Tensor) -> tf.Tensor:
    """(batch, heads, slots): softmax of the cosine between ``keys`` (batch, heads, word) and every slot."""
    cosine = tf.matmul(tf.math.l2_normalize(keys, -1), tf.math.l2_normalize(memory, -1), transpose_b=True)
    return tf.nn.softmax(cosine * strengths[..., None])


class TuringState(NamedTuple):
    """Memory (batch, slots, word), weights (batch, heads, slots), last read (batch, word), the controller's state."""

    memory: tf.Tensor
    weights: tf.Tensor
    read: tf.Tensor
    controller: snt.LSTMState


class TuringMachine(snt.RNNCore):
    """Neural Turing machine (Graves et al., 2014) with a read head and a write head."""

    def __init__(self, hidden: int = 100) -> None:
        super().__init__()
        self.controller = snt.LSTM(hidden)
        self.heads = snt.Linear(2 * (WORD + 6))
        self.edits, self.output = snt.Linear(2 * WORD), snt.Linear(8)

    def initial_state(self, batch_size: int) -> TuringState:
        memory, weights = tf.fill([batch_size, SLOTS, WORD], 1e-6), tf.fill([batch_size, 2, SLOTS], 1.0 / SLOTS)
        return TuringState(memory, weights, tf.zeros([batch_size, WORD]), self.controller.initial_state(batch_size))

    def address(self, heads: tf.Tensor, state: TuringState) -> tf.Tensor:
        """By content, then blended with the last weights, shifted and sharpened."""
        key, strength, gate, shift, power = tf.split(heads, [WORD, 1, 1, 3, 1], -1)
        content = similarity(state.memory, tf.tanh(key), tf.nn.softplus(strength)[..., 0])
        gate, shift = tf.sigmoid(gate), tf.nn.softmax(shift)
        blended = gate * content + (1.0 - gate) * state.weights
        shifted = tf.add_n([shift[..., d : d + 1] * tf.roll(blended, d - 1, -1) for d in range(3)])
        sharp = (shifted + 1e-9) ** (1.0 + tf.nn.softplus(power))
        return sharp / tf.reduce_sum(sharp, -1, keepdims=True)

    def __call__(self, inputs: tf.Tensor, prev_state: TuringState) -> tuple[tf.Tensor, TuringState]:
        hidden, controller = self.controller(tf.concat([inputs, prev_state.read], -1), prev_state.controller)
        heads = tf.reshape(self.heads(hidden), [inputs.shape[0], 2, WORD + 6])
        weights = self.address(heads, prev_state)
        erase, add = tf.split(self.edits(hidden), 2, -1)
        write = weights[:, 1, :, None]
        memory = prev_state.memory * (1.0 - write * tf.sigmoid(erase)[:, None]) + write * tf.tanh(add)[:, None]
        read = tf.squeeze(tf.matmul(weights[:, :1], memory), 1)
        return self.output(tf.concat([hidden, read], -1)), TuringState(memory, weights, read, controller)


class DNCState(NamedTuple):
    """Memory, usage (batch, slots), links (batch, slots, slots), precedence, write and read weights, reads, state."""

    memory: tf.Tensor
    usage: tf.Tensor
    links: tf.Tensor
    precedence: tf.Tensor
    write: tf.Tensor
    reads: tf.Tensor
    words: tf.Tensor
    controller: snt.LSTMState


class DNC(snt.RNNCore):
    """Differentiable neural computer (Graves et al., 2016) with ``heads`` read heads and one write head."""

    def __init__(self, heads: int, hidden: int = 100) -> None:
        super().__init__()
        self.count = heads
        self.controller, self.output = snt.LSTM(hidden), snt.Linear(8)
        self.sizes = [WORD, 1, WORD, WORD, heads, 1, 1, WORD * heads, heads, 3 * heads]
        self.interface = snt.Linear(sum(self.sizes))

    def initial_state(self, batch_size: int) -> DNCState:
        slots, heads = tf.zeros([batch_size, SLOTS]), [batch_size, self.count]
        return DNCState(
            memory=tf.zeros([batch_size, SLOTS, WORD]),
            usage=slots,
            links=tf.zeros([batch_size, SLOTS, SLOTS]),
            precedence=slots,
            write=slots,
            reads=tf.zeros([*heads, SLOTS]),
            words=tf.zeros([*heads, WORD]),
            controller=self.controller.initial_state(batch_size),
        )

    def allocation(self, usage: tf.Tensor) -> tf.Tensor:
        """(batch, slots): by how free a slot is, times the use of all that are freer."""
        free, order = tf.math.top_k(1.0 - usage, SLOTS)
        sorted_weights = free * tf.math.cumprod(1.0 - free, -1, exclusive=True)
        return tf.squeeze(tf.matmul(sorted_weights[:, None], tf.one_hot(order, SLOTS)), 1)

    def __call__(self, inputs: tf.Tensor, prev_state: DNCState) -> tuple[tf.Tensor, DNCState]:
        batch, last = inputs.shape[0], prev_state
        words = tf.reshape(last.words, [batch, self.count * WORD])
        hidden, controller = self.controller(tf.concat([inputs, words], -1), last.controller)
        key, strength, erase, add, free, allocate, gate, keys, strengths, modes = tf.split(
            self.interface(hidden), self.sizes, -1
        )
        kept = tf.reduce_prod(1.0 - tf.sigmoid(free)[..., None] * last.reads, 1)
        usage = (last.usage + last.write - last.usage * last.write) * kept
        content = tf.squeeze(similarity(last.memory, key[:, None], 1.0 + tf.nn.softplus(strength)), 1)
        allocate, gate = tf.sigmoid(allocate), tf.sigmoid(gate)
        write = gate * (allocate * self.allocation(usage) + (1.0 - allocate) * content)
        memory = last.memory * (1.0 - write[..., None] * tf.sigmoid(erase)[:, None]) + write[..., None] * add[:, None]
        links = (1.0 - write[..., None] - write[:, None]) * last.links + write[..., None] * last.precedence[:, None]
        links = links * (1.0 - tf.eye(SLOTS))
        precedence = (1.0 - tf.reduce_sum(write, -1, keepdims=True)) * last.precedence + write
        found = similarity(memory, tf.reshape(keys, [batch, self.count, WORD]), 1.0 + tf.nn.softplus(strengths))
        forward, backward = tf.matmul(last.reads, links, transpose_b=True), tf.matmul(last.reads, links)
        modes = tf.nn.softmax(tf.reshape(modes, [batch, self.count, 3]))
        reads = modes[..., :1] * backward + modes[..., 1:2] * found + modes[..., 2:] * forward
        words = tf.matmul(reads, memory)
        output = self.output(tf.concat([hidden, tf.reshape(words, [batch, self.count * WORD])], -1))
        return output, DNCState(memory, usage, links, precedence, write, reads, words, controller)


class RelationalCore(snt.RNNCore):
    """A memory whose slots attend to one another and to the input (Santoro et al., 2018)."""

    def __init__(self, slots: int = 4, width: int = 64) -> None:
        super().__init__()
        self.slots, self.width = slots, width
        self.inputs, self.attention, self.norm = snt.Linear(width), Attention(4, width), snt.LayerNorm(-1, True, True)
        self.mlp, self.output = snt.nets.MLP([width, width], activate_final=True), snt.Linear(8)
        self.gates = [snt.Linear(2 * width), snt.Linear(2 * width)]

    def initial_state(self, batch_size: int) -> tf.Tensor:
        return tf.tile(tf.eye(self.slots, self.width)[None], [batch_size, 1, 1])

    def __call__(self, inputs: tf.Tensor, prev_state: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        x = self.inputs(inputs)[:, None]
        memory = prev_state + self.attention(prev_state, tf.concat([prev_state, x], 1))
        memory = self.norm(memory + self.mlp(memory))
        enter, keep = tf.split(self.gates[0](x) + self.gates[1](tf.tanh(prev_state)), 2, -1)
        state = tf.sigmoid(enter) * tf.tanh(memory) + tf.sigmoid(keep) * prev_state
        return self.output(tf.reshape(state, [inputs.shape[0], self.slots * self.width])), state


class Unrolled(snt.Module):
    """A core over a sequence, its outputs stacked."""

    def __init__(self, core: snt.RNNCore) -> None:
        super().__init__()
        self.core = core

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        outputs, _ = unroll(self.core, tf.unstack(x, axis=1), self.core.initial_state(x.shape[0]))
        return tf.stack(outputs, 1)


def _copying(core: snt.RNNCore, steps: int) -> Network:
    shape = floats(BATCH, steps, 8)

    def loss(logits: tf.Tensor, bits: tf.Tensor) -> tf.Tensor:
        return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=bits, logits=logits))

    return supervised(Unrolled(core), [shape], [shape], loss)


def turing_machine(steps: int) -> Network:
    """Ours on Sonnet modules."""
    return _copying(TuringMachine(), steps)


def dnc(heads: int, steps: int) -> Network:
    """Ours on Sonnet modules: Sonnet 2 holds parts of one, but no such network."""
    return _copying(DNC(heads), steps)


def relational(steps: int) -> Network:
    """Ours on Sonnet modules."""
    return _copying(RelationalCore(), steps)


class MemoryNetwork(snt.Module):
    """End-to-end memory network (Sukhbaatar et al., 2015): ``hops`` readings of the story's sentences."""

    def __init__(self, hops: int, vocabulary: int = 200, width: int = 64) -> None:
        super().__init__()
        self.tables = [snt.Embed(vocabulary, width) for _ in range(hops + 1)]
        self.output = snt.Linear(vocabulary, with_bias=False)

    def __call__(self, story: tf.Tensor, question: tf.Tensor) -> tf.Tensor:
        state = tf.reduce_sum(self.tables[0](question), 1)
        for keys, values in zip(self.tables[:-1], self.tables[1:], strict=True):
            weights = tf.nn.softmax(tf.squeeze(tf.matmul(tf.reduce_sum(keys(story), 2), state[..., None]), -1))
            state = state + tf.reduce_sum(weights[..., None] * tf.reduce_sum(values(story), 2), 1)
        return self.output(state)


def memory_network(hops: int) -> Network:
    """Ours on Sonnet modules."""
    inputs = [integers(32, 50, 12), integers(32, 12)]
    return supervised(MemoryNetwork(hops), inputs, [integers(32)], cross_entropy)
