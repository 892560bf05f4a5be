"""Image networks: those that Haiku ships, and networks of ours on its modules, labelled so in the data card."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp
from steps import BATCH, INFERENCE, SCHEDULED, STEP, TRAINING, Task, haiku_task, job, spec, tokens

from regal.corpus.harvest import Job

CLASSES = 1000
IMAGE = 128
RESNETS = {"resnet18": 18, "resnet34": 34, "resnet50": 50, "resnet101": 101, "resnet152": 152, "resnet200": 200}


def classifier(make: Callable[[], Callable[..., Any]], size: int = IMAGE, optimizer: str = "momentum") -> Task:
    """``make()`` returns a module that takes images and ``is_training``."""

    def forward(images: Any, is_training: bool) -> Any:
        return make()(images, is_training)

    return haiku_task(forward, spec(BATCH, size, size, 3), optimizer=optimizer, labels=tokens(BATCH))


def _resnet(depth: int, v2: bool, optimizer: str) -> Task:
    return classifier(lambda: getattr(hk.nets, f"ResNet{depth}")(CLASSES, resnet_v2=v2), optimizer=optimizer)


def _mobilenet() -> Task:
    return classifier(lambda: hk.nets.MobileNetV1(num_classes=CLASSES))


def norm(name: str | None = None) -> hk.LayerNorm:
    """Layer norm over the last axis."""
    return hk.LayerNorm(-1, create_scale=True, create_offset=True, name=name)


def convolution(channels: int, size: int = 3, stride: int = 1, groups: int = 1) -> hk.Conv2D:
    """2-D convolution that keeps the size up to its stride."""
    return hk.Conv2D(channels, size, stride=stride, feature_group_count=groups)


def _batch_norm(images: Any, is_training: bool) -> Any:
    return hk.BatchNorm(True, True, 0.9)(images, is_training)


def convnext(depths: Sequence[int], widths: Sequence[int]) -> Task:
    """ConvNeXt (Liu et al., "A ConvNet for the 2020s", CVPR 2022)."""

    def forward(images: Any, is_training: bool) -> Any:
        x = norm()(convolution(widths[0], 4, 4)(images))
        for stage, (depth, width) in enumerate(zip(depths, widths, strict=True)):
            if stage:
                x = convolution(width, 2, 2)(norm()(x))
            for _ in range(depth):
                y = norm()(convolution(width, 7, groups=width)(x))
                y = hk.Linear(width)(jax.nn.gelu(hk.Linear(4 * width)(y)))
                x = x + y * hk.get_parameter(f"scale_{_}_{stage}", [width], init=jnp.ones)
        return hk.Linear(CLASSES)(norm()(x.mean((1, 2))))

    return haiku_task(forward, spec(BATCH, IMAGE, IMAGE, 3), optimizer="adamw", labels=tokens(BATCH))


def densenet(blocks: Sequence[int], growth: int = 32) -> Task:
    """DenseNet (Huang et al., "Densely connected convolutional networks", CVPR 2017)."""

    def forward(images: Any, is_training: bool) -> Any:
        x = hk.max_pool(convolution(2 * growth, 7, 2)(images), (3, 3, 1), (2, 2, 1), "SAME")
        for number, layers in enumerate(blocks):
            for _ in range(layers):
                y = convolution(4 * growth, 1)(jax.nn.relu(_batch_norm(x, is_training)))
                y = convolution(growth)(jax.nn.relu(_batch_norm(y, is_training)))
                x = jnp.concatenate([x, y], -1)
            if number + 1 < len(blocks):
                x = convolution(x.shape[-1] // 2, 1)(jax.nn.relu(_batch_norm(x, is_training)))
                x = hk.avg_pool(x, (2, 2, 1), (2, 2, 1), "SAME")
        return hk.Linear(CLASSES)(jax.nn.relu(_batch_norm(x, is_training)).mean((1, 2)))

    return haiku_task(forward, spec(BATCH, IMAGE, IMAGE, 3), optimizer="momentum", labels=tokens(BATCH))


def unet(widths: Sequence[int], blocks: int, timesteps: bool) -> Task:
    """U-Net (Ronneberger et al., MICCAI 2015); with time steps, the denoiser of a diffusion model (Ho et al., 2020)."""

    def block(x: Any, time: Any, width: int) -> Any:
        y = convolution(width)(jax.nn.swish(hk.GroupNorm(8)(x)))
        if time is not None:
            y = y + hk.Linear(width)(jax.nn.swish(time))[:, None, None]
        y = convolution(width)(jax.nn.swish(hk.GroupNorm(8)(y)))
        return y + (x if x.shape[-1] == width else convolution(width, 1)(x))

    def forward(images: Any, steps: Any, is_training: bool) -> Any:
        time = None
        if timesteps:
            angles = steps[:, None] * jnp.exp(-jnp.arange(64) / 8.0)
            waves = jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], -1)
            time = hk.Linear(256)(jax.nn.swish(hk.Linear(256)(waves)))
        x, kept = convolution(widths[0])(images), []
        for width in widths:
            for _ in range(blocks):
                x = block(x, time, width)
                kept.append(x)
            x = convolution(width, 3, 2)(x)
        x = block(block(x, time, widths[-1]), time, widths[-1])
        for width in reversed(widths):
            batch, height, length, channels = x.shape
            x = jax.image.resize(x, (batch, 2 * height, 2 * length, channels), "nearest")
            for _ in range(blocks):
                x = block(jnp.concatenate([x, kept.pop()], -1), time, width)
        return convolution(3)(jax.nn.swish(hk.GroupNorm(8)(x))) - images

    return haiku_task(forward, spec(BATCH, 64, 64, 3), spec(BATCH))


def gan(blocks: int) -> Task:
    """Generator and critic of a DCGAN (Radford et al., ICLR 2016) trained on one sum of losses."""

    def forward(images: Any, noise: Any, is_training: bool) -> Any:
        x = hk.Linear(4 * 4 * 256)(noise).reshape(-1, 4, 4, 256)
        for depth in range(4):
            x = jax.nn.relu(_batch_norm(hk.Conv2DTranspose(256 >> depth, 4, 2)(x), is_training))
            for _ in range(blocks):
                x = x + jax.nn.relu(_batch_norm(convolution(x.shape[-1])(x), is_training))
        x = jnp.concatenate([jnp.tanh(convolution(3)(x)), images])
        for depth in range(4):
            x = jax.nn.leaky_relu(convolution(32 << depth, 4, 2)(x))
            for _ in range(blocks):
                x = x + jax.nn.leaky_relu(convolution(x.shape[-1])(x))
        return hk.Linear(1)(hk.Flatten()(x))

    return haiku_task(forward, spec(BATCH, 64, 64, 3), spec(BATCH, 64))


def vqvae(layers: int) -> Task:
    """VQ-VAE (van den Oord et al., NeurIPS 2017) on Haiku's quantizer with moving averages."""

    def residual(x: Any, count: int) -> Any:
        for _ in range(count):
            x = x + convolution(128, 1)(jax.nn.relu(convolution(32)(jax.nn.relu(x))))
        return x

    def forward(images: Any, is_training: bool) -> Any:
        x = residual(convolution(128, 4, 2)(jax.nn.relu(convolution(64, 4, 2)(images))), layers)
        quantizer = hk.nets.VectorQuantizerEMA(64, 512, 0.25, 0.99)
        code = quantizer(convolution(64, 1)(x), is_training)
        x = residual(convolution(128)(code["quantize"]), layers)
        x = hk.Conv2DTranspose(3, 4, 2)(jax.nn.relu(hk.Conv2DTranspose(64, 4, 2)(x)))
        return x - images, code["loss"]

    return haiku_task(forward, spec(BATCH, 64, 64, 3))


def jobs() -> list[Job]:
    """Deep ones last."""
    both = (INFERENCE, STEP)
    own = partial(job, "haiku")
    cheap = (INFERENCE, TRAINING, STEP, INFERENCE + SCHEDULED, STEP + SCHEDULED)
    found = [
        own("mobilenet_v1", "mobilenet", _mobilenet, (INFERENCE, STEP, INFERENCE + SCHEDULED)),
        own("vqvae_ema_2", "vqvae", partial(vqvae, 2), cheap),
        own("vqvae_ema_12", "vqvae", partial(vqvae, 12)),
        own("dcgan_1", "dcgan", partial(gan, 1), (TRAINING, STEP, STEP + SCHEDULED)),
        own("dcgan_6", "dcgan", partial(gan, 6)),
        own("unet_4", "unet", lambda: unet((64, 128, 256), 2, False), (INFERENCE, STEP, INFERENCE + SCHEDULED)),
        own("unet_diffusion_2", "unet", lambda: unet((64, 128, 256), 2, True), both),
        own("unet_diffusion_4", "unet", lambda: unet((64, 128, 256, 256), 4, True), (TRAINING, STEP)),
        own("convnext_tiny", "convnext", lambda: convnext((3, 3, 9, 3), (96, 192, 384, 768)), both),
        own("convnext_base", "convnext", lambda: convnext((3, 3, 27, 3), (128, 256, 512, 1024)), (TRAINING, STEP)),
        own("densenet121", "densenet", lambda: densenet((6, 12, 24, 16)), both),
        own("densenet201", "densenet", lambda: densenet((6, 12, 48, 32)), (TRAINING, STEP)),
        own("densenet264", "densenet", lambda: densenet((6, 12, 64, 48))),
    ]
    for name, depth in RESNETS.items():
        scheduled = (INFERENCE + SCHEDULED,) if depth <= 50 else ()
        found.append(own(name, "resnet", partial(_resnet, depth, False, "momentum"), (*both, *scheduled)))
        found.append(own(f"{name}_v2_adam", "resnet", partial(_resnet, depth, True, "adam"), (TRAINING, STEP)))
    return found
