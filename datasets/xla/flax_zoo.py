"""Networks of ours on the modules of Flax, which ships none itself."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from haiku_text_zoo import LENGTH, VOCABULARY
from haiku_vision_zoo import CLASSES, IMAGE
from steps import BATCH, INFERENCE, SCHEDULED, STEP, TRAINING, Task, job, spec, tokens

from regal.corpus.harvest import Job


def flax_task(module: nn.Module, *inputs: Any, optimizer: str = "adam", labels: Any = None) -> Task:
    """``module(*inputs, training)`` with running statistics as its state."""

    def init(key: Any, *inputs: Any) -> tuple[Any, Any]:
        variables = dict(module.init({"params": key, "dropout": key}, *inputs, False))
        return variables.pop("params"), variables

    def apply(parameters: Any, state: Any, key: Any, inputs: Any, training: bool) -> tuple[Any, Any]:
        variables = {"params": parameters, **state}
        return module.apply(variables, *inputs, training, rngs={"dropout": key}, mutable=list(state))

    return Task(init, apply, inputs, optimizer, labels)


class WideResNet(nn.Module):
    """Few stages of wide blocks (Zagoruyko and Komodakis, BMVC 2016)."""

    blocks: int
    factor: int

    @nn.compact
    def __call__(self, images: Any, training: bool) -> Any:
        """Logits."""

        def active(x: Any) -> Any:
            return nn.relu(nn.BatchNorm(not training)(x))

        x = nn.Conv(16, (3, 3))(images)
        for stage in range(3):
            width = 16 * self.factor * 2**stage
            for block in range(self.blocks):
                stride = (2, 2) if stage and not block else (1, 1)
                y = active(x)
                x = x if x.shape[-1] == width else nn.Conv(width, (1, 1), stride)(y)
                y = nn.Conv(width, (3, 3), stride)(y)
                x = x + nn.Conv(width, (3, 3))(nn.Dropout(0.3, deterministic=not training)(active(y)))
        return nn.Dense(100)(active(x).mean((1, 2)))


class EfficientNet(nn.Module):
    """Inverted residuals with squeeze and excitation (Tan and Le, "EfficientNet", ICML 2019)."""

    width: float
    depth: float

    @nn.compact
    def __call__(self, images: Any, training: bool) -> Any:
        """Logits."""

        def normed(x: Any) -> Any:
            return nn.BatchNorm(not training)(x)

        x = nn.swish(normed(nn.Conv(int(32 * self.width), (3, 3), (2, 2))(images)))
        stages = ((1, 16, 1, 3, 1), (6, 24, 2, 3, 2), (6, 40, 2, 5, 2), (6, 80, 3, 3, 2))
        stages += ((6, 112, 3, 5, 1), (6, 192, 4, 5, 2), (6, 320, 1, 3, 1))
        for factor, channels, layers, size, stride in stages:
            for layer in range(-int(-layers * self.depth // 1)):
                wide, out = factor * x.shape[-1], int(channels * self.width) // 8 * 8
                y = nn.swish(normed(nn.Conv(wide, (1, 1))(x))) if factor > 1 else x
                strides = (stride, stride) if layer == 0 else (1, 1)
                y = nn.swish(normed(nn.Conv(wide, (size, size), strides, feature_group_count=wide)(y)))
                gate = nn.Conv(max(1, x.shape[-1] // 4), (1, 1))(y.mean((1, 2), keepdims=True))
                y = normed(nn.Conv(out, (1, 1))(y * nn.sigmoid(nn.Conv(wide, (1, 1))(nn.swish(gate)))))
                x = x + y if y.shape == x.shape else y
        x = nn.swish(normed(nn.Conv(4 * x.shape[-1], (1, 1))(x)))
        return nn.Dense(CLASSES)(x.mean((1, 2)))


class RegNet(nn.Module):
    """Stages of grouped bottlenecks (Radosavovic et al., "Designing network design spaces", CVPR 2020)."""

    depths: Sequence[int]
    widths: Sequence[int]

    @nn.compact
    def __call__(self, images: Any, training: bool) -> Any:
        """Logits."""

        def normed(x: Any) -> Any:
            return nn.BatchNorm(not training)(x)

        x = nn.relu(normed(nn.Conv(32, (3, 3), (2, 2))(images)))
        for depth, width in zip(self.depths, self.widths, strict=True):
            for layer in range(depth):
                stride = (2, 2) if layer == 0 else (1, 1)
                y = nn.relu(normed(nn.Conv(width, (1, 1))(x)))
                y = nn.relu(normed(nn.Conv(width, (3, 3), stride, feature_group_count=width // 16)(y)))
                y = normed(nn.Conv(width, (1, 1))(y))
                x = nn.relu(y + (x if x.shape == y.shape else normed(nn.Conv(width, (1, 1), stride)(x))))
        return nn.Dense(CLASSES)(x.mean((1, 2)))


class RelativeEncoderDecoder(nn.Module):
    """Encoder and decoder with biases by distance (Raffel et al., "T5", JMLR 2020)."""

    layers: int
    width: int
    heads: int = 8

    @nn.compact
    def __call__(self, source: Any, target: Any, training: bool) -> Any:
        """Logits of every token."""
        table = nn.Embed(VOCABULARY, self.width)

        def bias(name: str, ahead: bool) -> Any:
            distance = jnp.arange(LENGTH)[None] - jnp.arange(LENGTH)[:, None]
            values = nn.Embed(32, self.heads, name=name)(jnp.clip(distance + 16, 0, 31)).transpose(2, 0, 1)
            return values if ahead else jnp.where(distance <= 0, values, -1e9)

        def attend(x: Any, memory: Any, added: Any) -> Any:
            size = self.width // self.heads
            query, key, value = (nn.DenseGeneral((self.heads, size), use_bias=False)(y) for y in (x, memory, memory))
            weights = nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", query, key) + added)
            mixed = jnp.einsum("bhqk,bkhd->bqhd", weights, value)
            return nn.DenseGeneral(self.width, (-2, -1), use_bias=False)(mixed)

        def dense(x: Any) -> Any:
            y = nn.relu(nn.Dense(4 * self.width, use_bias=False)(x))
            return nn.Dense(self.width, use_bias=False)(nn.Dropout(0.1, deterministic=not training)(y))

        x, y = table(source), table(target)
        there, back = bias("encoder", True), bias("decoder", False)
        for _ in range(self.layers):
            z = nn.RMSNorm()(x)
            x = x + attend(z, z, there)
            x = x + dense(nn.RMSNorm()(x))
        x = nn.RMSNorm()(x)
        for _ in range(self.layers):
            z = nn.RMSNorm()(y)
            y = y + attend(z, z, back)
            y = y + attend(nn.RMSNorm()(y), x, 0.0)
            y = y + dense(nn.RMSNorm()(y))
        return table.attend(nn.RMSNorm()(y))


class FourierNet(nn.Module):
    """Fourier transforms in place of attention (Lee-Thorp et al., "FNet", NAACL 2022)."""

    layers: int
    width: int

    @nn.compact
    def __call__(self, ids: Any, training: bool) -> Any:
        """Logits of every token."""
        x = nn.Embed(VOCABULARY, self.width)(ids)
        for _ in range(self.layers):
            x = nn.LayerNorm()(x + jnp.fft.fft2(x).real)
            x = nn.LayerNorm()(x + nn.Dense(self.width)(nn.gelu(nn.Dense(4 * self.width)(x))))
        return nn.Dense(VOCABULARY)(x)


class Decoder(nn.Module):
    """Flax's own attention layers, with its dropout."""

    layers: int
    width: int

    @nn.compact
    def __call__(self, ids: Any, training: bool) -> Any:
        """Logits of every token."""
        x, mask = nn.Embed(VOCABULARY, self.width)(ids), nn.make_causal_mask(ids)
        for _ in range(self.layers):
            y = nn.LayerNorm()(x)
            attention = nn.MultiHeadDotProductAttention(8, dropout_rate=0.1, deterministic=not training)
            x = x + attention(y, y, mask=mask)
            x = x + nn.Dense(self.width)(nn.gelu(nn.Dense(4 * self.width)(nn.LayerNorm()(x))))
        return nn.Dense(VOCABULARY)(nn.LayerNorm()(x))


class StateSpace(nn.Module):
    """Diagonal linear recurrences by an associative scan, gated (Gu and Dao, "Mamba", 2023, simplified)."""

    layers: int
    width: int

    @nn.compact
    def __call__(self, ids: Any, training: bool) -> Any:
        """Logits of every token."""

        def join(one: Any, two: Any) -> Any:
            return one[0] * two[0], one[1] * two[0] + two[1]

        x = nn.Embed(VOCABULARY, self.width)(ids)
        for _ in range(self.layers):
            y = nn.RMSNorm()(x)
            inner = nn.silu(nn.Conv(2 * self.width, (4,), feature_group_count=1, padding="CAUSAL")(y))
            decay = nn.sigmoid(nn.Dense(2 * self.width)(inner))
            _, states = jax.lax.associative_scan(join, (decay, (1 - decay) * inner), axis=1)
            x = x + nn.Dense(self.width)(states * nn.silu(nn.Dense(2 * self.width)(y)))
        return nn.Dense(VOCABULARY)(nn.RMSNorm()(x))


class Unrolled(nn.Module):
    """Flax's LSTM cells, step by step."""

    layers: int
    width: int

    @nn.compact
    def __call__(self, ids: Any, training: bool) -> Any:
        """Logits of every token."""
        steps = list(nn.Embed(VOCABULARY, self.width)(ids).swapaxes(0, 1))
        for _ in range(self.layers):
            cell = nn.OptimizedLSTMCell(self.width)
            state = cell.initialize_carry(jax.random.key(0), steps[0].shape)
            for number, step in enumerate(steps):
                state, steps[number] = cell(state, step)
        return nn.Dense(VOCABULARY)(jnp.stack(steps, 1))


def jobs() -> list[Job]:
    """Deep ones last."""
    own = partial(job, "flax")
    images = {"inputs": spec(BATCH, IMAGE, IMAGE, 3), "labels": tokens(BATCH)}
    ids = tokens(BATCH, LENGTH)

    def image(module: nn.Module, optimizer: str = "momentum") -> Task:
        return flax_task(module, images["inputs"], optimizer=optimizer, labels=images["labels"])

    def text(module: nn.Module, count: int = 1, optimizer: str = "adamw") -> Task:
        return flax_task(module, *[ids] * count, optimizer=optimizer, labels=ids)

    both, most = (INFERENCE, STEP), (TRAINING, STEP)
    compiled = (INFERENCE, STEP, INFERENCE + SCHEDULED)
    return [
        own("wide_resnet_16_4", "resnet", lambda: image(WideResNet(2, 4)), compiled),
        own("efficientnet_b0", "efficientnet", lambda: image(EfficientNet(1.0, 1.0), "rmsprop"), compiled),
        own("fnet_12", "fnet", lambda: text(FourierNet(12, 512)), compiled),
        own("mamba_8", "mamba", lambda: text(StateSpace(8, 256)), both),
        own("gpt_dropout_6", "gpt", lambda: text(Decoder(6, 512)), most),
        own("t5_6", "t5", lambda: text(RelativeEncoderDecoder(6, 512), 2), most),
        own("lstm_2_32", "lstm", lambda: text(Unrolled(2, 256)), most),
        own("regnet_16", "regnet", lambda: image(RegNet((1, 2, 7, 12), (64, 128, 288, 672))), both),
        own("wide_resnet_40_2", "resnet", lambda: image(WideResNet(6, 2)), most),
        own("efficientnet_b4", "efficientnet", lambda: image(EfficientNet(1.4, 1.8), "rmsprop"), most),
        own("t5_12", "t5", lambda: text(RelativeEncoderDecoder(12, 768), 2)),
        own("mamba_24", "mamba", lambda: text(StateSpace(24, 512)), most),
        own("gpt_dropout_24", "gpt", lambda: text(Decoder(24, 512))),
    ]
