"""Images, in Sonnet: the classifiers that it ships, and networks of ours on its modules."""
# ruff: noqa: D102 - a module's text says what its call does

from __future__ import annotations

from collections.abc import Sequence

import sonnet as snt
import tensorflow as tf
from sonnet_layers import ConvNorm, cross_entropy, floats, integers, square_error
from sonnet_steps import Network, supervised

BATCH = 8


def mlp(depth: int) -> Network:
    """Shipped by Sonnet: ``snt.nets.MLP``."""
    return supervised(snt.nets.MLP([512] * depth + [10]), [floats(64, 784)], [integers(64)], cross_entropy)


def cifar10_convnet(blocks: int) -> Network:
    """Shipped by Sonnet: ``snt.nets.Cifar10ConvNet``; three blocks are its default."""
    channels = [64, 64] + [64 * 2**block for block in range(1, blocks + 1) for _ in range(3)]
    strides = [1, 1] + [2, 1, 1] * blocks
    net = snt.nets.Cifar10ConvNet(output_channels=channels, strides=strides)
    return supervised(
        net,
        [floats(32, 32, 32, 3)],
        [integers(32)],
        lambda outputs, labels: cross_entropy(outputs["logits"], labels),
        is_training=True,
    )


def resnet(blocks: Sequence[int], version: int) -> Network:
    """Shipped by Sonnet: ``snt.nets.ResNet``, of which ``snt.nets.ResNet50`` is the one of 3, 4, 6, 3 blocks."""
    net = snt.nets.ResNet(blocks, 1000, resnet_v2=version == 2)
    return supervised(net, [floats(BATCH, 224, 224, 3)], [integers(BATCH)], cross_entropy, is_training=True)


class UNet(snt.Module):
    """Contracting and expanding paths with crossings (Ronneberger et al., 2015)."""

    def __init__(self, levels: int) -> None:
        super().__init__()
        self.down = [[ConvNorm(32 * 2**level), ConvNorm(32 * 2**level)] for level in range(levels + 1)]
        self.up = [snt.Conv2DTranspose(32 * 2**level, 2, stride=2) for level in range(levels)]
        self.merge = [[ConvNorm(32 * 2**level), ConvNorm(32 * 2**level)] for level in range(levels)]
        self.output = snt.Conv2D(2, 1)

    def __call__(self, x: tf.Tensor, is_training: bool) -> tf.Tensor:
        crossings = []
        for first, second in self.down:
            x = second(first(x, is_training), is_training)
            crossings.append(x)
            x = tf.nn.max_pool2d(x, 2, 2, "SAME")
        x = crossings.pop()
        for level in reversed(range(len(self.up))):
            x = tf.concat([self.up[level](x), crossings[level]], -1)
            for layer in self.merge[level]:
                x = layer(x, is_training)
        return self.output(x)


def unet(levels: int) -> Network:
    """Ours on Sonnet modules."""
    return supervised(UNet(levels), [floats(2, 128, 128, 3)], [integers(2, 128, 128)], cross_entropy, is_training=True)


class MixerBlock(snt.Module):
    """Mixes patches, then channels (Tolstikhin et al., 2021)."""

    def __init__(self, patches: int, width: int) -> None:
        super().__init__()
        self.norms = [snt.LayerNorm(-1, True, True) for _ in range(2)]
        self.patches = snt.nets.MLP([patches // 2, patches], activation=tf.nn.gelu)
        self.channels = snt.nets.MLP([4 * width, width], activation=tf.nn.gelu)

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        mixed = self.patches(tf.transpose(self.norms[0](x), [0, 2, 1]))
        x = x + tf.transpose(mixed, [0, 2, 1])
        return x + self.channels(self.norms[1](x))


def mixer(depth: int, width: int = 256) -> Network:
    """Ours on Sonnet modules: MLP-Mixer."""
    net = snt.Sequential(
        [snt.Conv2D(width, 16, 16, padding="VALID"), snt.Reshape([196, width])]
        + [MixerBlock(196, width) for _ in range(depth)]
        + [snt.LayerNorm(-1, True, True), lambda x: tf.reduce_mean(x, 1), snt.Linear(1000)]
    )
    return supervised(net, [floats(BATCH, 224, 224, 3)], [integers(BATCH)], cross_entropy)


class DenseNet(snt.Module):
    """Every layer of a block reads all before it (Huang et al., 2017)."""

    def __init__(self, blocks: Sequence[int], growth: int = 16) -> None:
        super().__init__()
        self.first = snt.Conv2D(2 * growth, 3)
        self.norms = [[snt.BatchNorm(True, True) for _ in range(layers)] for layers in blocks]
        self.layers = [[snt.Conv2D(growth, 3, with_bias=False) for _ in range(layers)] for layers in blocks]
        self.between = [ConvNorm(8 * growth, 1) for _ in blocks[:-1]]
        self.output = snt.Linear(100)

    def __call__(self, x: tf.Tensor, is_training: bool) -> tf.Tensor:
        features = [self.first(x)]
        for block, (norms, layers) in enumerate(zip(self.norms, self.layers, strict=True)):
            for norm, layer in zip(norms, layers, strict=True):
                joined = tf.concat(features, -1)
                features.append(layer(tf.nn.relu(norm(joined, is_training=is_training))))
            if block < len(self.between):
                x = self.between[block](tf.concat(features, -1), is_training)
                features = [tf.nn.avg_pool2d(x, 2, 2, "SAME")]
        return self.output(tf.reduce_mean(tf.concat(features, -1), [1, 2]))


def densenet(blocks: Sequence[int]) -> Network:
    """Ours on Sonnet modules."""
    return supervised(DenseNet(blocks), [floats(32, 32, 32, 3)], [integers(32)], cross_entropy, is_training=True)


class Fractal(snt.Module):
    """A fractal of ``columns`` columns, joined by their mean (Larsson et al., 2017)."""

    def __init__(self, columns: int, channels: int) -> None:
        super().__init__()
        self.shallow = ConvNorm(channels)
        self.deep = [Fractal(columns - 1, channels) for _ in range(2)] if columns > 1 else []

    def __call__(self, x: tf.Tensor, is_training: bool) -> list[tf.Tensor]:
        """The columns' outputs, not yet joined."""
        columns = [self.shallow(x, is_training)]
        if self.deep:
            columns += self.deep[1](join(self.deep[0](x, is_training)), is_training)
        return columns


def join(columns: list[tf.Tensor]) -> tf.Tensor:
    """Mean over columns."""
    return columns[0] if len(columns) == 1 else tf.add_n(columns) / len(columns)


class FractalNet(snt.Module):
    """Fractals with pooling between."""

    def __init__(self, columns: int, blocks: int) -> None:
        super().__init__()
        self.fractals = [Fractal(columns, 32 * 2**block) for block in range(blocks)]
        self.output = snt.Linear(100)

    def __call__(self, x: tf.Tensor, is_training: bool) -> tf.Tensor:
        for fractal in self.fractals:
            x = tf.nn.max_pool2d(join(fractal(x, is_training)), 2, 2, "SAME")
        return self.output(tf.reduce_mean(x, [1, 2]))


def fractalnet(columns: int, blocks: int) -> Network:
    """Ours on Sonnet modules."""
    net = FractalNet(columns, blocks)
    return supervised(net, [floats(32, 32, 32, 3)], [integers(32)], cross_entropy, is_training=True)


class Hourglass(snt.Module):
    """A branch at full size, and one through half the size, added (Newell et al., 2016)."""

    def __init__(self, depth: int, channels: int) -> None:
        super().__init__()
        self.branch, self.before, self.after = (ConvNorm(channels) for _ in range(3))
        self.inner = Hourglass(depth - 1, channels) if depth > 1 else ConvNorm(channels)

    def __call__(self, x: tf.Tensor, is_training: bool) -> tf.Tensor:
        low = self.before(tf.nn.max_pool2d(x, 2, 2, "SAME"), is_training)
        low = self.after(self.inner(low, is_training), is_training)
        return self.branch(x, is_training) + tf.image.resize(low, x.shape[1:3], "nearest")


class StackedHourglass(snt.Module):
    """Hourglasses in a row, each with a heat map that is supervised."""

    def __init__(self, stacks: int, depth: int, channels: int = 64) -> None:
        super().__init__()
        self.stem = ConvNorm(channels, 7, 2)
        self.hourglasses = [Hourglass(depth, channels) for _ in range(stacks)]
        self.maps = [snt.Conv2D(16, 1) for _ in range(stacks)]
        self.back = [snt.Conv2D(channels, 1) for _ in range(stacks - 1)]

    def __call__(self, x: tf.Tensor, is_training: bool) -> list[tf.Tensor]:
        x = self.stem(x, is_training)
        maps = []
        for stack, hourglass in enumerate(self.hourglasses):
            features = hourglass(x, is_training)
            maps.append(self.maps[stack](features))
            if stack < len(self.back):
                x = x + features + self.back[stack](maps[-1])
        return maps


def hourglass(stacks: int, depth: int) -> Network:
    """Ours on Sonnet modules."""
    return supervised(
        StackedHourglass(stacks, depth),
        [floats(4, 128, 128, 3)],
        [floats(4, 64, 64, 16)],
        lambda maps, truth: tf.add_n([square_error(predicted, truth) for predicted in maps]),
        is_training=True,
    )


class FeaturePyramid(snt.Module):
    """Levels of one backbone merged top down; heads shared by them (Lin et al., 2017)."""

    def __init__(self, levels: int, channels: int = 64) -> None:
        super().__init__()
        self.backbone = [[ConvNorm(32 * 2**level, 3, 2), ConvNorm(32 * 2**level)] for level in range(levels)]
        self.lateral = [snt.Conv2D(channels, 1) for _ in range(levels)]
        self.smooth = [snt.Conv2D(channels, 3) for _ in range(levels)]
        self.heads = [
            snt.Sequential([snt.Conv2D(channels, 3), tf.nn.relu, snt.Conv2D(channels, 3), tf.nn.relu, snt.Conv2D(n, 3)])
            for n in (9 * 20, 9 * 4)
        ]

    def __call__(self, x: tf.Tensor, is_training: bool) -> list[tf.Tensor]:
        levels = []
        for first, second in self.backbone:
            x = second(first(x, is_training), is_training)
            levels.append(x)
        merged = self.lateral[-1](levels[-1])
        outputs = []
        for level in reversed(range(len(levels))):
            if level < len(levels) - 1:
                larger = tf.image.resize(merged, levels[level].shape[1:3], "nearest")
                merged = larger + self.lateral[level](levels[level])
            outputs += [head(self.smooth[level](merged)) for head in self.heads]
        return outputs


def feature_pyramid(levels: int) -> Network:
    """Ours on Sonnet modules."""
    return supervised(
        FeaturePyramid(levels),
        [floats(4, 128, 128, 3)],
        [],
        lambda outputs: tf.add_n([tf.reduce_mean(output**2) for output in outputs]),
        is_training=True,
    )


class Capsules(snt.Module):
    """Primary capsules and digit capsules, with routing by agreement (Sabour et al., 2017)."""

    def __init__(self, iterations: int) -> None:
        super().__init__()
        self.iterations = iterations
        self.first = snt.Conv2D(128, 9, padding="VALID")
        self.primary = snt.Conv2D(16 * 8, 9, 2, padding="VALID")
        self.weights = tf.Variable(tf.zeros([1, 576, 10, 16, 8]), name="weights")
        self.decoder = snt.nets.MLP([256, 512, 784])

    def __call__(self, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        x = self.primary(tf.nn.relu(self.first(x)))
        primary = squash(tf.reshape(x, [x.shape[0], 576, 1, 8, 1]))
        votes = tf.squeeze(tf.matmul(self.weights, tf.tile(primary, [1, 1, 10, 1, 1])), -1)
        logits = tf.zeros([x.shape[0], 576, 10, 1])
        for _ in range(self.iterations):
            digits = squash(tf.reduce_sum(tf.nn.softmax(logits, 2) * votes, 1, keepdims=True))
            logits = logits + tf.reduce_sum(votes * digits, -1, keepdims=True)
        digits = tf.squeeze(digits, 1)
        return tf.norm(digits, axis=-1), self.decoder(tf.reshape(digits, [x.shape[0], -1]))


def squash(x: tf.Tensor) -> tf.Tensor:
    """To a length below one, along the last axis of more than one element."""
    square = tf.reduce_sum(x**2, [-2, -1] if x.shape[-1] == 1 else -1, keepdims=True)
    return x * square / (1.0 + square) * tf.math.rsqrt(square + 1e-9)


def capsules(iterations: int) -> Network:
    """Ours on Sonnet modules."""

    def margin(outputs: tuple[tf.Tensor, tf.Tensor], labels: tf.Tensor, images: tf.Tensor) -> tf.Tensor:
        lengths, reconstruction = outputs
        present = tf.one_hot(labels, 10)
        absent = 0.5 * (1.0 - present) * tf.nn.relu(lengths - 0.1) ** 2
        return tf.reduce_mean(present * tf.nn.relu(0.9 - lengths) ** 2 + absent) + square_error(reconstruction, images)

    return supervised(Capsules(iterations), [floats(16, 28, 28, 1)], [integers(16), floats(16, 784)], margin)


def siamese(towers: int) -> Network:
    """Ours on Sonnet modules: one convolutional tower on ``towers`` images, two (contrastive) or three (triplet)."""
    layers = [layer for size in (32, 64, 128, 256) for layer in (snt.Conv2D(size, 3, 2), tf.nn.relu)]
    tower = snt.Sequential([*layers, snt.Flatten(), snt.Linear(128)])

    def forward(*images: tf.Tensor) -> list[tf.Tensor]:
        codes = [tf.math.l2_normalize(tower(image), -1) for image in images]
        return [tf.reduce_sum((codes[0] - other) ** 2, -1) for other in codes[1:]]

    def loss(*tensors: tf.Tensor) -> tf.Tensor:
        distances = forward(*tensors[:towers])
        if towers == 3:
            return tf.reduce_mean(tf.nn.relu(distances[0] - distances[1] + 0.2))
        same = tf.cast(tensors[-1], tf.float32)
        apart = tf.nn.relu(1.0 - tf.sqrt(distances[0] + 1e-6)) ** 2
        return tf.reduce_mean(same * distances[0] + (1.0 - same) * apart)

    images = [floats(16, 64, 64, 3)] * towers
    return Network(tower, images, forward, loss, [integers(16)] if towers == 2 else [])
