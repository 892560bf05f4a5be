"""Recurrent and dilated networks, every step of time in the graph: ours, on Haiku's modules."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp
from haiku_text_zoo import VOCABULARY, norm
from steps import BATCH, INFERENCE, SCHEDULED, STEP, TRAINING, Task, haiku_task, job, spec, tokens

from regal.corpus.harvest import Job

CELLS: dict[str, Callable[[int], hk.RNNCore]] = {"lstm": hk.LSTM, "gru": hk.GRU, "rnn": hk.VanillaRNN}


def language_model(cell: str, layers: int, width: int, length: int, optimizer: str = "adam") -> Task:
    """Tokens through a stack of cells, unrolled over time."""

    def forward(ids: Any, is_training: bool) -> Any:
        stack = hk.DeepRNN([CELLS[cell](width) for _ in range(layers)])
        inputs = hk.Embed(VOCABULARY, width)(ids).swapaxes(0, 1)
        outputs, _ = hk.static_unroll(stack, inputs, stack.initial_state(BATCH))
        return hk.Linear(VOCABULARY)(outputs.swapaxes(0, 1))

    ids = tokens(BATCH, length)
    return haiku_task(forward, ids, optimizer=optimizer, labels=ids)


def bidirectional(layers: int, width: int, length: int) -> Task:
    """Tags of tokens from LSTMs in both directions."""

    def forward(ids: Any, is_training: bool) -> Any:
        x = hk.Embed(VOCABULARY, width)(ids).swapaxes(0, 1)
        for _ in range(layers):
            there, back = hk.LSTM(width), hk.LSTM(width)
            left, _ = hk.static_unroll(there, x, there.initial_state(BATCH))
            right, _ = hk.static_unroll(back, x[::-1], back.initial_state(BATCH))
            x = jnp.concatenate([left, right[::-1]], -1)
        return hk.Linear(32)(x.swapaxes(0, 1))

    ids = tokens(BATCH, length)
    return haiku_task(forward, ids, labels=ids)


def translator(layers: int, width: int, length: int) -> Task:
    """Encoder and decoder of LSTMs with attention at every step (Bahdanau et al., ICLR 2015; GNMT, Wu et al., 2016)."""

    def forward(source: Any, target: Any, is_training: bool) -> Any:
        encoder = hk.DeepRNN([hk.LSTM(width) for _ in range(layers)])
        memory, state = hk.static_unroll(
            encoder, hk.Embed(VOCABULARY, width)(source).swapaxes(0, 1), encoder.initial_state(BATCH)
        )
        memory = memory.swapaxes(0, 1)
        keys, query, score = hk.Linear(width)(memory), hk.Linear(width), hk.Linear(1)
        decoder = hk.DeepRNN([hk.LSTM(width) for _ in range(layers)])
        context, outputs = jnp.zeros((BATCH, width)), []
        for ids in hk.Embed(VOCABULARY, width)(target).swapaxes(0, 1):
            output, state = decoder(jnp.concatenate([ids, context], -1), state)
            weights = jax.nn.softmax(score(jnp.tanh(keys + query(output)[:, None])), 1)
            context = (weights * memory).sum(1)
            outputs.append(jnp.concatenate([output, context], -1))
        return hk.Linear(VOCABULARY)(jnp.stack(outputs, 1))

    ids = tokens(BATCH, length)
    return haiku_task(forward, ids, ids, labels=ids)


def frames(layers: int, length: int) -> Task:
    """Next frames of a video by convolutional LSTMs (Shi et al., NeurIPS 2015)."""

    def forward(video: Any, is_training: bool) -> Any:
        stack = hk.DeepRNN([hk.Conv2DLSTM((32, 32), 32, 3) for _ in range(layers)])
        outputs, _ = hk.static_unroll(stack, video, stack.initial_state(BATCH))
        return hk.BatchApply(hk.Conv2D(3, 1))(outputs)[:-1] - video[1:]

    return haiku_task(forward, spec(length, BATCH, 32, 32, 3))


def wavenet(stacks: int, layers: int, width: int) -> Task:
    """Gated dilated convolutions over samples (van den Oord et al., "WaveNet", 2016)."""

    def forward(samples: Any, is_training: bool) -> Any:
        x = hk.Embed(256, width)(samples)
        total = 0.0
        for number in range(stacks * layers):
            dilation = 2 ** (number % layers % 10)
            y = hk.Conv1D(2 * width, 2, rate=dilation, padding=((dilation, 0),))(x)
            y = jnp.tanh(y[..., :width]) * jax.nn.sigmoid(y[..., width:])
            total = total + hk.Linear(2 * width)(y)
            x = x + hk.Linear(width)(y)
        return hk.Linear(256)(jax.nn.relu(hk.Linear(256)(jax.nn.relu(total))))

    ids = tokens(BATCH, 1024)
    return haiku_task(forward, ids, labels=ids)


def transformer_xl(layers: int, width: int, segments: int) -> Task:
    """Segments that attend to the states of the one before (Dai et al., "Transformer-XL", ACL 2019)."""

    def forward(ids: Any, is_training: bool) -> Any:
        blocks = [
            (
                [hk.Linear(width, name=f"{kind}_{layer}") for kind in ("query", "key", "value", "result")],
                hk.nets.MLP([4 * width, width], name=f"mlp_{layer}"),
                norm(f"first_{layer}"),
                norm(f"second_{layer}"),
            )
            for layer in range(layers)
        ]
        table, head = hk.Embed(VOCABULARY, width), hk.Linear(VOCABULARY)
        memory, outputs = [jnp.zeros((BATCH, 32, width))] * layers, []
        for segment in jnp.split(table(ids), segments, 1):
            x = segment
            for layer, ((query, key, value, result), dense, first, second) in enumerate(blocks):
                seen = jnp.concatenate([jax.lax.stop_gradient(memory[layer]), x], 1)
                memory[layer] = x
                heads = (each.reshape(BATCH, -1, 8, width // 8) for each in (query(x), key(seen), value(seen)))
                q, k, v = heads
                weights = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) / 8)
                x = first(x + result(jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(x.shape)))
                x = second(x + dense(x))
            outputs.append(x)
        return head(jnp.concatenate(outputs, 1))

    ids = tokens(BATCH, 32 * segments)
    return haiku_task(forward, ids, labels=ids)


def turing_machine(length: int) -> Task:
    """Reads and writes of a memory by content (Graves et al., "Neural Turing machines", 2014)."""

    def forward(inputs: Any, is_training: bool) -> Any:
        core, interface, head = hk.LSTM(128), hk.Linear(4 * 32 + 4), hk.Linear(16)
        state, memory, read, outputs = core.initial_state(BATCH), jnp.zeros((BATCH, 64, 32)), jnp.zeros((BATCH, 32)), []

        def look(memory: Any, key: Any, strength: Any) -> Any:
            scale = jnp.linalg.norm(memory, axis=-1) * jnp.linalg.norm(key, axis=-1, keepdims=True) + 1e-6
            return jax.nn.softmax(jax.nn.softplus(strength) * jnp.einsum("bnd,bd->bn", memory, key) / scale)

        for step in inputs:
            output, state = core(jnp.concatenate([step, read], -1), state)
            parts = interface(output)
            read_key, write_key, erase, add = jnp.split(parts[:, :128], 4, -1)
            where = look(memory, jnp.tanh(write_key), parts[:, 128:129])[..., None]
            memory = memory * (1 - where * jax.nn.sigmoid(erase)[:, None]) + where * jnp.tanh(add)[:, None]
            read = jnp.einsum("bn,bnd->bd", look(memory, jnp.tanh(read_key), parts[:, 129:130]), memory)
            outputs.append(head(jnp.concatenate([output, read], -1)))
        return jnp.stack(outputs)

    return haiku_task(forward, spec(length, BATCH, 16), optimizer="rmsprop")


def highway(layers: int, width: int) -> Task:
    """Recurrent highway over depth: one cell of many gated layers (Zilly et al., ICML 2017), unrolled."""

    def forward(inputs: Any, is_training: bool) -> Any:
        into = hk.Linear(2 * width)
        deep = [hk.Linear(2 * width) for _ in range(layers)]
        state, outputs = jnp.zeros((BATCH, width)), []
        for step in inputs:
            for number, layer in enumerate(deep):
                both = layer(state) + (into(step) if number == 0 else 0.0)
                gate = jax.nn.sigmoid(both[:, width:])
                state = jnp.tanh(both[:, :width]) * gate + state * (1 - gate)
            outputs.append(state)
        return hk.Linear(64)(jnp.stack(outputs))

    return haiku_task(forward, spec(24, BATCH, 64))


def agent(length: int) -> Task:
    """Frames through a residual network and an LSTM to policy and value (Espeholt et al., "IMPALA", ICML 2018)."""

    def forward(video: Any, is_training: bool) -> Any:
        def torso(x: Any) -> Any:
            for channels in (16, 32, 32):
                x = hk.max_pool(hk.Conv2D(channels, 3)(x), (3, 3, 1), (2, 2, 1), "SAME")
                for _ in range(2):
                    x = x + hk.Conv2D(channels, 3)(jax.nn.relu(hk.Conv2D(channels, 3)(jax.nn.relu(x))))
            return jax.nn.relu(hk.Linear(256)(hk.Flatten()(jax.nn.relu(x))))

        core = hk.LSTM(256)
        x, _ = hk.static_unroll(core, hk.BatchApply(torso)(video), core.initial_state(BATCH))
        return hk.Linear(15)(x), hk.Linear(1)(x)

    return haiku_task(forward, spec(length, BATCH, 72, 96, 3), optimizer="rmsprop")


def jobs() -> list[Job]:
    """Long ones last."""
    own = partial(job, "haiku")
    both, most = (INFERENCE, STEP), (TRAINING, STEP)
    compiled = (INFERENCE, STEP, INFERENCE + SCHEDULED)
    return [
        own("lstm_2_16", "lstm", lambda: language_model("lstm", 2, 256, 16), compiled),
        own("gru_2_16", "gru", lambda: language_model("gru", 2, 256, 16), compiled),
        own("lstm_2_64", "lstm", lambda: language_model("lstm", 2, 512, 64), most),
        own("gru_2_64", "gru", lambda: language_model("gru", 2, 512, 64), most),
        own("rnn_2_100", "rnn", lambda: language_model("rnn", 2, 512, 100, "sgd"), most),
        own("wavenet_2_10", "wavenet", lambda: wavenet(2, 10, 64), compiled),
        own("transformer_xl_4", "transformer_xl", lambda: transformer_xl(4, 256, 4), compiled),
        own("seq2seq_2_24", "seq2seq", lambda: translator(2, 512, 24), both),
        own("convlstm_2_10", "convlstm", lambda: frames(2, 10), compiled),
        own("ntm_16", "ntm", lambda: turing_machine(16), both),
        own("impala_20", "impala", lambda: agent(20), both),
        own("highway_8", "highway", lambda: highway(8, 256), most),
        own("bilstm_3_30", "lstm", lambda: bidirectional(3, 256, 30), most),
        own("wavenet_4_9", "wavenet", lambda: wavenet(4, 9, 128), most),
        own("convlstm_3_20", "convlstm", lambda: frames(3, 20)),
        own("transformer_xl_12", "transformer_xl", lambda: transformer_xl(12, 512, 4), most),
        own("seq2seq_4_40", "seq2seq", lambda: translator(4, 512, 40)),
        own("ntm_48", "ntm", lambda: turing_machine(48)),
        own("lstm_8_40", "lstm", lambda: language_model("lstm", 8, 512, 40)),
        own("gru_4_80", "gru", lambda: language_model("gru", 4, 512, 80)),
    ]
