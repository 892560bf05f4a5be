"""Images that are made, in Sonnet: autoencoders, adversaries and autoregression, of ours on its modules."""
# ruff: noqa: D102 - a module's text says what its call does

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import sonnet as snt
import tensorflow as tf
from sonnet_layers import cross_entropy, floats, integers, logistic, square_error
from sonnet_steps import Network, supervised

BATCH = 8


class ResidualStack(snt.Module):
    """Residual 3x3 and 1x1 convolutions (van den Oord et al., 2017)."""

    def __init__(self, channels: int, blocks: int) -> None:
        super().__init__()
        self.blocks = [
            snt.Sequential([tf.nn.relu, snt.Conv2D(channels // 4, 3), tf.nn.relu, snt.Conv2D(channels, 1)])
            for _ in range(blocks)
        ]

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        for block in self.blocks:
            x = x + block(x)
        return tf.nn.relu(x)


def encoder(channels: int, blocks: int) -> snt.Sequential:
    """To a quarter of the height and width."""
    halving = [snt.Conv2D(channels // 2, 4, 2), tf.nn.relu, snt.Conv2D(channels, 4, 2), tf.nn.relu]
    return snt.Sequential([*halving, snt.Conv2D(channels, 3), ResidualStack(channels, blocks)])


def decoder(channels: int, blocks: int, outputs: int = 3) -> snt.Sequential:
    """To four times the height and width."""
    doubling = [snt.Conv2DTranspose(channels // 2, 4, stride=2), tf.nn.relu, snt.Conv2DTranspose(outputs, 4, stride=2)]
    return snt.Sequential([snt.Conv2D(channels, 3), ResidualStack(channels, blocks), *doubling])


class VQVAE(snt.Module):
    """Vector-quantised autoencoder (van den Oord et al., 2017) around a quantizer that Sonnet ships."""

    def __init__(self, blocks: int, ema: bool) -> None:
        super().__init__()
        self.encoder, self.decoder = encoder(128, blocks), decoder(128, blocks)
        self.before = snt.Conv2D(64, 1)
        self.quantizer = quantizer(ema)

    def __call__(self, x: tf.Tensor, is_training: bool) -> tuple[tf.Tensor, tf.Tensor]:
        code = self.quantizer(self.before(self.encoder(x)), is_training)
        return self.decoder(code["quantize"]), code["loss"]


def quantizer(ema: bool) -> snt.Module:
    """With moving averages in place of a codebook loss, or without."""
    if ema:
        return snt.nets.VectorQuantizerEMA(64, 512, 0.25, 0.99)
    return snt.nets.VectorQuantizer(64, 512, 0.25)


def vqvae(blocks: int, ema: bool) -> Network:
    """Ours on Sonnet modules."""
    return _reconstructing(VQVAE(blocks, ema))


class VQVAE2(snt.Module):
    """Two levels of codes (Razavi et al., 2019)."""

    def __init__(self, blocks: int, ema: bool) -> None:
        super().__init__()
        self.bottom, self.top = encoder(128, blocks), encoder(128, blocks)
        self.before = [snt.Conv2D(64, 1), snt.Conv2D(64, 1)]
        self.quantizers = [quantizer(ema), quantizer(ema)]
        self.top_decoder, self.upsample = decoder(128, blocks, 64), snt.Conv2DTranspose(64, 4, stride=4)
        self.decoder = decoder(128, blocks)

    def __call__(self, x: tf.Tensor, is_training: bool) -> tuple[tf.Tensor, tf.Tensor]:
        bottom = self.bottom(x)
        top = self.quantizers[0](self.before[0](self.top(bottom)), is_training)
        both = tf.concat([self.top_decoder(top["quantize"]), bottom], -1)
        code = self.quantizers[1](self.before[1](both), is_training)
        joined = tf.concat([self.upsample(top["quantize"]), code["quantize"]], -1)
        return self.decoder(joined), top["loss"] + code["loss"]


def vqvae2(blocks: int, ema: bool) -> Network:
    """Ours on Sonnet modules."""
    return _reconstructing(VQVAE2(blocks, ema))


def _reconstructing(net: Callable[..., tuple[tf.Tensor, tf.Tensor]], size: int = 32) -> Network:
    """``net(x, is_training)`` returns a reconstruction and a loss beside its square error."""

    def loss(x: tf.Tensor) -> tf.Tensor:
        reconstruction, extra = net(x, True)
        return square_error(reconstruction, x) + extra

    return Network(net, [floats(BATCH, size, size, 3)], lambda x: net(x, False)[0], loss)


class Autoencoder(snt.Module):
    """Convolutional, without residuals: ``levels`` halvings and doublings."""

    def __init__(self, levels: int) -> None:
        super().__init__()
        self.down = [snt.Conv2D(32 * 2**level, 3, 2) for level in range(levels)]
        self.up = [snt.Conv2DTranspose(32 * 2**level, 3, stride=2) for level in reversed(range(levels - 1))]
        self.up.append(snt.Conv2DTranspose(3, 3, stride=2))

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        for layer in self.down:
            x = tf.nn.elu(layer(x))
        for layer in self.up[:-1]:
            x = tf.nn.elu(layer(x))
        return self.up[-1](x)


def autoencoder(levels: int) -> Network:
    """Ours on Sonnet modules."""
    net = Autoencoder(levels)
    return Network(net, [floats(BATCH, 64, 64, 3)], net, lambda x: square_error(net(x), x))


class LadderVAE(snt.Module):
    """Ladder variational autoencoder (Sonderby et al., 2016); its noise is fed, a tensor per level."""

    def __init__(self, levels: int, width: int) -> None:
        super().__init__()
        self.up = [snt.nets.MLP([width, width], activate_final=True) for _ in range(levels)]
        self.posteriors = [snt.Linear(2 * width // 4) for _ in range(levels)]
        self.priors = [snt.nets.MLP([width, 2 * width // 4]) for _ in range(levels - 1)]
        self.output = snt.nets.MLP([width, width, 784])

    def __call__(self, x: tf.Tensor, *noise: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        bottom_up = []
        for layer, head in zip(self.up, self.posteriors, strict=True):
            x = layer(x)
            bottom_up.append(tf.split(head(x), 2, -1))
        mean, scale = bottom_up[-1][0], tf.nn.softplus(bottom_up[-1][1])
        z = mean + scale * noise[-1]
        divergence = tf.reduce_mean(mean**2 + scale**2 - 2 * tf.math.log(scale) - 1)
        for level in reversed(range(len(self.priors))):
            prior_mean, prior_scale = tf.split(self.priors[level](z), 2, -1)
            prior, likelihood = tf.nn.softplus(prior_scale) ** -2, tf.nn.softplus(bottom_up[level][1]) ** -2
            mean = (bottom_up[level][0] * likelihood + prior_mean * prior) / (likelihood + prior)
            scale = tf.math.rsqrt(likelihood + prior)
            z = mean + scale * noise[level]
            divergence += tf.reduce_mean(((mean - prior_mean) ** 2 + scale**2) * prior - tf.math.log(prior * scale**2))
        return self.output(z), divergence


def vae(levels: int, width: int = 256) -> Network:
    """Ours on Sonnet modules; one level is the plain variational autoencoder."""
    net = LadderVAE(levels, width)

    def loss(x: tf.Tensor, *noise: tf.Tensor) -> tf.Tensor:
        logits, divergence = net(x, *noise)
        return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=logits)) + divergence

    inputs = [floats(64, 784)] + [floats(64, width // 4)] * levels
    return Network(net, inputs, lambda *tensors: net(*tensors)[0], loss)


class Generator(snt.Module):
    """From noise to an image of 4 * 2**levels pixels (Radford et al., 2016)."""

    def __init__(self, levels: int) -> None:
        super().__init__()
        sizes = [32 * 2**level for level in reversed(range(levels))]
        self.project = snt.Linear(4 * 4 * sizes[0])
        self.layers = [snt.Conv2DTranspose(size, 5, stride=2, with_bias=False) for size in sizes[1:]]
        self.norms = [snt.BatchNorm(True, True) for _ in sizes]
        self.output = snt.Conv2DTranspose(3, 5, stride=2)

    def __call__(self, noise: tf.Tensor, is_training: bool) -> tf.Tensor:
        x = tf.reshape(self.project(noise), [noise.shape[0], 4, 4, -1])
        x = tf.nn.relu(self.norms[0](x, is_training=is_training))
        for layer, norm in zip(self.layers, self.norms[1:], strict=True):
            x = tf.nn.relu(norm(layer(x), is_training=is_training))
        return tf.tanh(self.output(x))


class GAN(snt.Module):
    """A generator and a discriminator."""

    def __init__(self, levels: int) -> None:
        super().__init__()
        self.generator = Generator(levels)
        self.discriminator = snt.Sequential(
            [layer for level in range(levels) for layer in (snt.Conv2D(32 * 2**level, 5, 2), tf.nn.leaky_relu)]
            + [snt.Flatten(), snt.Linear(1)]
        )


def dcgan(levels: int) -> Network:
    """Ours on Sonnet modules; both networks are updated in one step."""
    net, size = GAN(levels), 4 * 2**levels

    def generated(images: tf.Tensor, noise: tf.Tensor) -> tf.Tensor:
        return logistic(net.discriminator(net.generator(noise, True)), 1.0)

    def discriminated(images: tf.Tensor, noise: tf.Tensor) -> tf.Tensor:
        fakes = tf.stop_gradient(net.generator(noise, True))
        return logistic(net.discriminator(images), 1.0) + logistic(net.discriminator(fakes), 0.0)

    losses = {"generator": generated, "discriminator": discriminated}
    inputs = [floats(32, size, size, 3), floats(32, 100)]
    return Network(net, inputs, lambda images, noise: net.generator(noise, False), losses)


class MaskedConv(snt.Module):
    """Sees only pixels above and to the left, itself too in ``later`` layers (van den Oord et al., 2016)."""

    def __init__(self, channels: int, kernel: int, later: bool) -> None:
        super().__init__()
        self.channels, self.kernel, self.bias = channels, kernel, snt.Bias(bias_dims=[-1])
        half = kernel // 2
        mask = np.zeros((kernel, kernel, 1, 1), np.float32)
        mask[:half] = 1.0
        mask[half, : half + later] = 1.0
        self.mask = mask

    @snt.once
    def _make(self, channels: int) -> None:
        shape = [self.kernel, self.kernel, channels, self.channels]
        self.weights = tf.Variable(snt.initializers.TruncatedNormal(stddev=0.05)(shape, tf.float32))

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        self._make(x.shape[-1])
        return self.bias(tf.nn.conv2d(x, self.weights * self.mask, 1, "SAME"))


class PixelCNN(snt.Module):
    """Gated residual masked convolutions."""

    def __init__(self, layers: int, channels: int = 64) -> None:
        super().__init__()
        self.first = MaskedConv(channels, 7, False)
        self.gated = [MaskedConv(2 * channels, 3, True) for _ in range(layers)]
        self.skips = [snt.Conv2D(channels, 1) for _ in range(layers)]
        self.output = snt.Sequential([tf.nn.relu, snt.Conv2D(256, 1)])

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        x = self.first(x)
        for gated, skip in zip(self.gated, self.skips, strict=True):
            value, gate = tf.split(gated(x), 2, -1)
            x = x + skip(tf.tanh(value) * tf.sigmoid(gate))
        return self.output(x)


def pixelcnn(layers: int) -> Network:
    """Ours on Sonnet modules."""
    return supervised(PixelCNN(layers), [floats(8, 28, 28, 1)], [integers(8, 28, 28)], cross_entropy)


class StyleNet(snt.Module):
    """Image to image with instance norm (Johnson et al., 2016; Ulyanov et al., 2016)."""

    def __init__(self, blocks: int) -> None:
        super().__init__()
        norm = lambda: snt.InstanceNorm(True, True)  # noqa: E731
        down = [[snt.Conv2D(size, 3, 2), norm(), tf.nn.relu] for size in (64, 128)]
        self.down = snt.Sequential([layer for layers in down for layer in layers])
        self.blocks = [
            snt.Sequential([snt.Conv2D(128, 3), norm(), tf.nn.relu, snt.Conv2D(128, 3), norm()]) for _ in range(blocks)
        ]
        up = [[snt.Conv2DTranspose(size, 3, stride=2), norm(), tf.nn.relu] for size in (64, 32)]
        self.up = snt.Sequential([layer for layers in up for layer in layers] + [snt.Conv2D(3, 9), tf.tanh])

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        x = self.down(x)
        for block in self.blocks:
            x = x + block(x)
        return self.up(x)


class CycleGAN(snt.Module):
    """Two image translators and two patch discriminators (Zhu et al., 2017)."""

    def __init__(self, blocks: int) -> None:
        super().__init__()
        self.generators = Pair(StyleNet(blocks), StyleNet(blocks))
        self.discriminators = Pair(patches(), patches())


class Pair(snt.Module):
    """Two modules that learn together."""

    def __init__(self, first: snt.Module, second: snt.Module) -> None:
        super().__init__()
        self.first, self.second = first, second


def patches() -> snt.Sequential:
    """A discriminator of image patches."""
    layers = [layer for size in (64, 128, 256) for layer in (snt.Conv2D(size, 4, 2), tf.nn.leaky_relu)]
    return snt.Sequential([*layers, snt.Conv2D(1, 4)])


def style(blocks: int) -> Network:
    """Ours on Sonnet modules."""
    return supervised(StyleNet(blocks), [floats(2, 128, 128, 3)], [floats(2, 128, 128, 3)], square_error)


def cyclegan(blocks: int) -> Network:
    """Ours on Sonnet modules; four networks are updated in one step."""
    net = CycleGAN(blocks)
    forth, back = net.generators.first, net.generators.second
    judges = net.discriminators

    def generated(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        fake_y, fake_x = forth(x), back(y)
        cycle = tf.reduce_mean(tf.abs(back(fake_y) - x)) + tf.reduce_mean(tf.abs(forth(fake_x) - y))
        fooled = tf.reduce_mean((judges.first(fake_x) - 1.0) ** 2) + tf.reduce_mean((judges.second(fake_y) - 1.0) ** 2)
        return 10.0 * cycle + fooled

    def discriminated(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        total = tf.zeros([])
        for judge, real, fake in ((judges.first, x, back(y)), (judges.second, y, forth(x))):
            total += tf.reduce_mean((judge(real) - 1.0) ** 2) + tf.reduce_mean(judge(tf.stop_gradient(fake)) ** 2)
        return total

    inputs = [floats(1, 128, 128, 3), floats(1, 128, 128, 3)]
    losses = {"generators": generated, "discriminators": discriminated}
    return Network(net, inputs, lambda x, y: (forth(x), back(y)), losses)
