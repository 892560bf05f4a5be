"""Transformers and other networks on sequences of tokens, images or features: ours, on Haiku's modules."""

from __future__ import annotations

from functools import partial
from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp
from haiku_vision_zoo import CLASSES, IMAGE, convolution, norm
from steps import BATCH, INFERENCE, SCHEDULED, STEP, TRAINING, Task, haiku_task, job, spec, tokens

from regal.corpus.harvest import Job

VOCABULARY = 8000
LENGTH = 64
TRUNCATED = hk.initializers.TruncatedNormal(0.02)


def attention(x: Any, source: Any, heads: int, mask: Any = None, groups: int | None = None) -> Any:
    """Multi-head attention (Vaswani et al., 2017); ``groups`` key and value heads, all by default."""
    width = x.shape[-1]
    size, groups = width // heads, heads if groups is None else groups

    def split(value: Any, count: int) -> Any:
        return value.reshape(*value.shape[:-1], count, size)

    query = split(hk.Linear(width)(x), heads)
    key, value = (split(hk.Linear(groups * size)(source), groups) for _ in range(2))
    if groups < heads:
        key, value = (jnp.repeat(each, heads // groups, -2) for each in (key, value))
    scores = jnp.einsum("...qhd,...khd->...hqk", query, key) * size**-0.5
    if mask is not None:
        scores = jnp.where(mask, scores, -1e9)
    mixed = jnp.einsum("...hqk,...khd->...qhd", jax.nn.softmax(scores), value)
    return hk.Linear(width)(mixed.reshape(x.shape))


def mlp(x: Any, activation: Any = jax.nn.gelu) -> Any:
    """Two layers, four times as wide inside."""
    return hk.Linear(x.shape[-1])(activation(hk.Linear(4 * x.shape[-1])(x)))


def gated(x: Any) -> Any:
    """SwiGLU (Shazeer, 2020)."""
    wide = 8 * x.shape[-1] // 3
    return hk.Linear(x.shape[-1], False)(jax.nn.silu(hk.Linear(wide, False)(x)) * hk.Linear(wide, False)(x))


def dropout(x: Any, is_training: bool, rate: float) -> Any:
    """Dropout in training."""
    return hk.dropout(hk.next_rng_key(), rate, x) if is_training and rate else x


def embed(ids: Any, width: int, vocabulary: int = VOCABULARY) -> Any:
    """Embedding plus learned positions."""
    positions = hk.get_parameter("positions", [ids.shape[1], width], init=TRUNCATED)
    return hk.Embed(vocabulary, width)(ids) + positions


def causal(length: int) -> Any:
    """Nobody looks ahead."""
    return jnp.tril(jnp.ones((length, length), bool))


def bert(layers: int, width: int, rate: float) -> Task:
    """Post-norm encoder with dropout (Devlin et al., "BERT", NAACL 2019) that predicts every token."""

    def forward(ids: Any, is_training: bool) -> Any:
        x = norm()(embed(ids, width))
        for _ in range(layers):
            x = norm()(x + dropout(attention(x, x, width // 64), is_training, rate))
            x = norm()(x + dropout(mlp(x), is_training, rate))
        return hk.Linear(VOCABULARY)(norm()(jax.nn.gelu(hk.Linear(width)(x))))

    return haiku_task(forward, tokens(BATCH, LENGTH), optimizer="adamw", labels=tokens(BATCH, LENGTH))


def gpt(layers: int, width: int) -> Task:
    """Pre-norm decoder (Radford et al., 2019)."""

    def forward(ids: Any, is_training: bool) -> Any:
        x, mask = embed(ids, width), causal(LENGTH)
        for _ in range(layers):
            y = norm()(x)
            x = x + attention(y, y, width // 64, mask)
            x = x + mlp(norm()(x))
        return hk.Linear(VOCABULARY)(norm()(x))

    return haiku_task(forward, tokens(BATCH, LENGTH), labels=tokens(BATCH, LENGTH))


def llama(layers: int, width: int) -> Task:
    """Decoder with rotary positions, grouped keys, RMS norm and SwiGLU (Touvron et al., 2023)."""

    def rotated(x: Any) -> Any:
        half = x.shape[-1] // 2
        angles = jnp.arange(x.shape[1])[:, None] * 10_000.0 ** (-jnp.arange(half) / half)
        left, right = x[..., :half], x[..., half:]
        cosine, sine = jnp.cos(angles), jnp.sin(angles)
        return jnp.concatenate([left * cosine - right * sine, left * sine + right * cosine], -1)

    def forward(ids: Any, is_training: bool) -> Any:
        x, mask = hk.Embed(VOCABULARY, width)(ids), causal(LENGTH)
        for _ in range(layers):
            y = rotated(hk.RMSNorm(-1)(x))
            x = x + attention(y, y, width // 64, mask, width // 256)
            x = x + gated(hk.RMSNorm(-1)(x))
        return hk.Linear(VOCABULARY, False)(hk.RMSNorm(-1)(x))

    return haiku_task(forward, tokens(BATCH, LENGTH), optimizer="adamw", labels=tokens(BATCH, LENGTH))


def translator(layers: int, width: int) -> Task:
    """Encoder and decoder (Vaswani et al., "Attention is all you need", NeurIPS 2017)."""

    def forward(source: Any, target: Any, is_training: bool) -> Any:
        x, y, mask = hk.Embed(VOCABULARY, width)(source), hk.Embed(VOCABULARY, width)(target), causal(LENGTH)
        for _ in range(layers):
            x = norm()(x + attention(x, x, width // 64))
            x = norm()(x + mlp(x, jax.nn.relu))
        for _ in range(layers):
            y = norm()(y + attention(y, y, width // 64, mask))
            y = norm()(y + attention(y, x, width // 64))
            y = norm()(y + mlp(y, jax.nn.relu))
        return hk.Linear(VOCABULARY)(y)

    ids = tokens(BATCH, LENGTH)
    return haiku_task(forward, ids, ids, labels=ids)


def mixture(layers: int, width: int, experts: int) -> Task:
    """Decoder whose tokens go through the best two of several experts, all computed (Shazeer et al., ICLR 2017)."""

    def experts_of(x: Any) -> Any:
        weights, chosen = jax.lax.top_k(jax.nn.softmax(hk.Linear(experts)(x)), 2)
        gates = (jax.nn.one_hot(chosen, experts) * weights[..., None]).sum(-2)
        return sum(gates[..., expert, None] * mlp(x) for expert in range(experts))

    def forward(ids: Any, is_training: bool) -> Any:
        x, mask = embed(ids, width), causal(LENGTH)
        for _ in range(layers):
            y = norm()(x)
            x = x + attention(y, y, width // 64, mask)
            x = x + experts_of(norm()(x))
        return hk.Linear(VOCABULARY)(norm()(x))

    return haiku_task(forward, tokens(BATCH, LENGTH), labels=tokens(BATCH, LENGTH))


def patches(images: Any, width: int, size: int = 16) -> Any:
    """Embedded patches with learned positions."""
    x = hk.Conv2D(width, size, size)(images)
    x = x.reshape(x.shape[0], -1, width)
    return x + hk.get_parameter("positions", [x.shape[1], width], init=TRUNCATED)


def vit(layers: int, width: int) -> Task:
    """Vision transformer (Dosovitskiy et al., ICLR 2021)."""

    def forward(images: Any, is_training: bool) -> Any:
        x = patches(images, width)
        for _ in range(layers):
            y = norm()(x)
            x = x + attention(y, y, width // 64)
            x = x + mlp(norm()(x))
        return hk.Linear(CLASSES)(norm()(x).mean(1))

    return haiku_task(forward, spec(BATCH, IMAGE, IMAGE, 3), labels=tokens(BATCH))


def mixer(layers: int, width: int) -> Task:
    """MLP-Mixer (Tolstikhin et al., NeurIPS 2021)."""

    def forward(images: Any, is_training: bool) -> Any:
        x = patches(images, width)
        for _ in range(layers):
            x = x + mlp(norm()(x).swapaxes(1, 2)).swapaxes(1, 2)
            x = x + mlp(norm()(x))
        return hk.Linear(CLASSES)(norm()(x).mean(1))

    return haiku_task(forward, spec(BATCH, IMAGE, IMAGE, 3), labels=tokens(BATCH))


def swin(depths: tuple[int, ...], width: int, window: int = 4) -> Task:
    """Attention in shifted windows (Liu et al., "Swin transformer", ICCV 2021)."""

    def windows(x: Any) -> Any:
        batch, height, length, channels = x.shape
        x = x.reshape(batch, height // window, window, length // window, window, channels)
        return x.swapaxes(2, 3).reshape(batch, -1, window * window, channels)

    def whole(x: Any, shape: tuple[int, ...]) -> Any:
        batch, height, length, channels = shape
        x = x.reshape(batch, height // window, length // window, window, window, channels)
        return x.swapaxes(2, 3).reshape(shape)

    def forward(images: Any, is_training: bool) -> Any:
        x = norm()(hk.Conv2D(width, 4, 4)(images))
        for stage, depth in enumerate(depths):
            if stage:
                x = hk.Linear(2 * x.shape[-1])(norm()(hk.max_pool(x, (2, 2, 1), (2, 2, 1), "SAME")))
            for number in range(depth):
                shift = window // 2 * (number % 2)
                y = windows(jnp.roll(norm()(x), (-shift, -shift), (1, 2)))
                y = whole(attention(y, y, x.shape[-1] // 32), x.shape)
                x = x + jnp.roll(y, (shift, shift), (1, 2))
                x = x + mlp(norm()(x))
        return hk.Linear(CLASSES)(norm()(x.mean((1, 2))))

    return haiku_task(forward, spec(BATCH, 128, 128, 3), optimizer="adamw", labels=tokens(BATCH))


def perceiver(layers: int, width: int) -> Task:
    """A few latents that look at many inputs again and again (Jaegle et al., "Perceiver", ICML 2021)."""

    def forward(features: Any, is_training: bool) -> Any:
        latents = hk.get_parameter("latents", [32, width], init=TRUNCATED)
        x, source = jnp.broadcast_to(latents, (BATCH, 32, width)), hk.Linear(width)(features)
        for _ in range(layers):
            x = x + attention(norm()(x), norm()(source), 4)
            x = x + mlp(norm()(x))
            for _ in range(3):
                y = norm()(x)
                x = x + attention(y, y, 4)
                x = x + mlp(norm()(x))
        return hk.Linear(CLASSES)(x.mean(1))

    return haiku_task(forward, spec(BATCH, 512, 64), optimizer="lamb", labels=tokens(BATCH))


def conformer(layers: int, width: int) -> Task:
    """Convolution and attention over audio frames (Gulati et al., "Conformer", Interspeech 2020)."""

    def half(x: Any) -> Any:
        return x + 0.5 * mlp(norm()(x), jax.nn.swish)

    def forward(frames: Any, is_training: bool) -> Any:
        x = hk.Linear(width)(frames)
        for _ in range(layers):
            x = half(x)
            y = norm()(x)
            x = x + attention(y, y, width // 64)
            y = hk.Linear(2 * width)(norm()(x))
            y = y[..., :width] * jax.nn.sigmoid(y[..., width:])
            y = hk.Conv1D(width, 15, feature_group_count=width)(y)
            y = jax.nn.swish(hk.BatchNorm(True, True, 0.9)(y, is_training))
            x = norm()(half(x + hk.Linear(width)(y)))
        return hk.Linear(256)(x)

    return haiku_task(forward, spec(BATCH, 128, 80), labels=tokens(BATCH, 128))


def clip(layers: int, width: int) -> Task:
    """Images and texts compared with each other (Radford et al., "CLIP", ICML 2021)."""

    def tower(x: Any, mask: Any) -> Any:
        for _ in range(layers):
            y = norm()(x)
            x = x + attention(y, y, width // 64, mask)
            x = x + mlp(norm()(x))
        x = hk.Linear(256, False)(norm()(x).mean(1))
        return x / jnp.linalg.norm(x, axis=-1, keepdims=True)

    def forward(images: Any, ids: Any, is_training: bool) -> Any:
        return 100 * tower(patches(images, width), None) @ tower(embed(ids, width), causal(LENGTH)).T

    return haiku_task(forward, spec(BATCH, IMAGE, IMAGE, 3), tokens(BATCH, LENGTH), labels=tokens(BATCH))


def detr(layers: int, width: int) -> Task:
    """Boxes of objects from a convolutional backbone (Carion et al., "DETR", ECCV 2020)."""

    def forward(images: Any, is_training: bool) -> Any:
        x = images
        for depth in range(4):
            for _ in range(3):
                x = jax.nn.relu(hk.GroupNorm(8)(convolution(32 << depth)(x)))
            x = convolution(32 << depth, 3, 2)(x)
        x = hk.Linear(width)(x.reshape(BATCH, -1, x.shape[-1]))
        y = jnp.broadcast_to(hk.get_parameter("queries", [100, width], init=TRUNCATED), (BATCH, 100, width))
        for _ in range(layers):
            x = norm()(x + attention(x, x, 8))
            x = norm()(x + mlp(x, jax.nn.relu))
        for _ in range(layers):
            y = norm()(y + attention(y, y, 8))
            y = norm()(y + attention(y, x, 8))
            y = norm()(y + mlp(y, jax.nn.relu))
        return hk.Linear(92)(y), jax.nn.sigmoid(hk.nets.MLP([width, width, 4])(y))

    return haiku_task(forward, spec(BATCH, IMAGE, IMAGE, 3), optimizer="adamw")


def evoformer(blocks: int, width: int) -> Task:
    """Rows and columns of an alignment, and triangles of residue pairs (Jumper et al., "AlphaFold", Nature 2021)."""

    def triangle(pairs: Any, equation: str) -> Any:
        x = norm()(pairs)
        left, right = (jax.nn.sigmoid(hk.Linear(width)(x)) * hk.Linear(width)(x) for _ in range(2))
        return jax.nn.sigmoid(hk.Linear(width)(x)) * hk.Linear(width)(norm()(jnp.einsum(equation, left, right)))

    def over(x: Any) -> Any:
        y = norm()(x)
        return attention(y, y, 4)

    def forward(rows: Any, pairs: Any, is_training: bool) -> Any:
        rows, pairs = hk.Linear(width)(rows), hk.Linear(width)(pairs)
        for _ in range(blocks):
            rows = rows + over(rows)
            rows = rows + over(rows.swapaxes(0, 1)).swapaxes(0, 1)
            rows = rows + mlp(norm()(rows), jax.nn.relu)
            mean = jnp.einsum("sic,sjd->ijcd", hk.Linear(8)(norm()(rows)), hk.Linear(8)(norm()(rows)))
            pairs = pairs + hk.Linear(width)(mean.reshape(*mean.shape[:2], -1))
            pairs = pairs + triangle(pairs, "ikc,jkc->ijc")
            pairs = pairs + triangle(pairs, "kic,kjc->ijc")
            pairs = pairs + over(pairs)
            pairs = pairs + over(pairs.swapaxes(0, 1)).swapaxes(0, 1)
            pairs = pairs + mlp(norm()(pairs), jax.nn.relu)
        return rows, hk.Linear(64)(norm()(pairs))

    return haiku_task(forward, spec(16, 32, 49), spec(32, 32, 65))


def jobs() -> list[Job]:
    """Deep ones last."""
    own = partial(job, "haiku")
    most, both = (INFERENCE, TRAINING, STEP), (INFERENCE, STEP)
    compiled = (INFERENCE, STEP, INFERENCE + SCHEDULED)
    return [
        own("gpt_4", "gpt", lambda: gpt(4, 256), (STEP, INFERENCE + SCHEDULED, STEP + SCHEDULED)),
        own("bert_12", "bert", lambda: bert(12, 768, 0.1), both),
        own("gpt_12", "gpt", lambda: gpt(12, 768), (*most, INFERENCE + SCHEDULED)),
        own("vit_12", "vit", lambda: vit(12, 768), (*most, INFERENCE + SCHEDULED)),
        own("mixer_12", "mixer", lambda: mixer(12, 512), compiled),
        own("swin_tiny", "swin", lambda: swin((2, 2, 6, 2), 96), both),
        own("llama_8", "llama", lambda: llama(8, 1024), compiled),
        own("transformer_6", "transformer", lambda: translator(6, 512), compiled),
        own("perceiver_6", "perceiver", lambda: perceiver(6, 256), both),
        own("conformer_8", "conformer", lambda: conformer(8, 256), both),
        own("clip_12", "clip", lambda: clip(12, 512), (TRAINING, STEP)),
        own("detr_6", "detr", lambda: detr(6, 256), compiled),
        own("moe_6", "moe", lambda: mixture(6, 256, 8), both),
        own("evoformer_4", "evoformer", lambda: evoformer(4, 64), compiled),
        own("bert_24", "bert", lambda: bert(24, 1024, 0.1), (TRAINING, STEP)),
        own("vit_32", "vit", lambda: vit(32, 1280), both),
        own("mixer_32", "mixer", lambda: mixer(32, 768)),
        own("gpt_24", "gpt", lambda: gpt(24, 1024), (TRAINING, STEP)),
        own("gpt_48", "gpt", lambda: gpt(48, 1600)),
        own("llama_32", "llama", lambda: llama(32, 1024), (TRAINING, STEP)),
        own("transformer_12", "transformer", lambda: translator(12, 1024), (TRAINING, STEP)),
        own("moe_24", "moe", lambda: mixture(24, 256, 8)),
        own("swin_base", "swin", lambda: swin((2, 2, 18, 2), 128), (TRAINING, STEP)),
        own("perceiver_16", "perceiver", lambda: perceiver(16, 256)),
        own("conformer_24", "conformer", lambda: conformer(24, 256)),
        own("evoformer_24", "evoformer", lambda: evoformer(24, 64)),
    ]
