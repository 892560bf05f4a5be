"""Keras and Sonnet models through TensorFlow's compiler: the HLO that XLA receives of a ``tf.function``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import keras
import sonnet as snt
import tensorflow as tf

from regal.corpus.harvest import Job
from regal.frontends.hlo import load
from regal.graph import ComputationGraph

BATCH = 4
IMAGE = 128
CLASSES = 1000
INFERENCE, STEP = "inference", "step"
KERAS = {"MobileNet": "mobilenet", "ResNet50": "resnet", "DenseNet121": "densenet", "EfficientNetB0": "efficientnet"}
Call = Callable[[Any, bool], Any]


def _lower(call: Call, spec: tf.TensorSpec, variables: Any, optimizer: Any, name: str) -> dict[str, ComputationGraph]:
    """Inference, and a training step on the mean square of what the model returns."""

    def inference(inputs: Any) -> Any:
        return call(inputs, False)

    def step(inputs: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(call(inputs, True)))
        trained = variables()
        gradients = [tf.convert_to_tensor(gradient) for gradient in tape.gradient(loss, trained)]
        optimizer.apply(gradients, trained)
        return loss

    graphs = {}
    for mode, function in ((INFERENCE, inference), (STEP, step)):
        compiled = tf.function(function, jit_compile=True, autograph=False)
        text = compiled.experimental_get_compiler_ir(spec)(stage="hlo")
        graphs[mode] = load(text, name=f"tensorflow.{name}.{mode}", mode=mode)
        graphs[mode].meta["source"] |= {"framework": "tensorflow", "version": tf.__version__}
    return graphs


def _keras(name: str) -> dict[str, ComputationGraph]:
    model = getattr(keras.applications, name)(
        weights=None, classes=CLASSES, classifier_activation=None, input_shape=(IMAGE, IMAGE, 3)
    )
    variables = [variable.value for variable in model.trainable_variables]
    return _lower(
        lambda images, training: model(images, training=training),
        tf.TensorSpec((BATCH, IMAGE, IMAGE, 3)),
        lambda: variables,
        Momentum(0.01, 0.9, variables),
        name.lower(),
    )


class Momentum:
    """Velocities in variables that exist before anything is traced."""

    def __init__(self, rate: float, decay: float, variables: Sequence[tf.Variable]) -> None:
        self.rate, self.decay = rate, decay
        self.velocities = [tf.Variable(tf.zeros_like(variable)) for variable in variables]

    def apply(self, gradients: Sequence[Any], variables: Sequence[tf.Variable]) -> None:
        """Move every variable."""
        for gradient, variable, velocity in zip(gradients, variables, self.velocities, strict=True):
            velocity.assign(self.decay * velocity - self.rate * gradient)
            variable.assign_add(velocity)


def _sonnet(make: Callable[[], tuple[snt.Module, Call]], spec: tf.TensorSpec, name: str) -> dict[str, ComputationGraph]:
    module, call = make()
    call(tf.zeros(spec.shape, spec.dtype), True)
    optimizer = snt.optimizers.Adam(1e-3)
    optimizer.apply([tf.zeros_like(variable) for variable in module.trainable_variables], module.trainable_variables)
    return _lower(call, spec, lambda: module.trainable_variables, optimizer, name)


def _resnet(blocks: Sequence[int]) -> tuple[snt.Module, Call]:
    module = snt.nets.ResNet(blocks, CLASSES)
    return module, lambda images, training: module(images, is_training=training)


class Recurrent(snt.Module):
    """Tokens through cells, unrolled over time."""

    def __init__(self, cell: type[snt.RNNCore], layers: int, width: int) -> None:
        super().__init__()
        self.table, self.head = snt.Embed(4000, width), snt.Linear(4000)
        self.core = snt.DeepRNN([cell(width) for _ in range(layers)])

    def __call__(self, ids: Any, training: bool) -> Any:
        """What the loss is made of."""
        inputs = tf.transpose(self.table(ids), [1, 0, 2])
        outputs, _ = snt.static_unroll(self.core, inputs, self.core.initial_state(BATCH))
        return self.head(outputs)


class Encoder(snt.Module):
    """Pre-norm attention and dense layers."""

    def __init__(self, layers: int, width: int) -> None:
        super().__init__()
        self.blocks = [
            ([snt.Linear(width) for _ in range(4)], snt.nets.MLP([4 * width, width]), _norm(), _norm())
            for _ in range(layers)
        ]

    def __call__(self, x: Any, training: bool) -> Any:
        """What the loss is made of."""
        for (query, key, value, result), dense, first, second in self.blocks:
            y = first(x)
            q, k, v = (tf.reshape(layer(y), [BATCH, -1, 8, y.shape[-1] // 8]) for layer in (query, key, value))
            weights = tf.nn.softmax(tf.einsum("bqhd,bkhd->bhqk", q, k) / 8.0)
            x = x + result(tf.reshape(tf.einsum("bhqk,bkhd->bqhd", weights, v), x.shape))
            x = x + dense(second(x))
        return x


def _norm() -> snt.LayerNorm:
    return snt.LayerNorm(-1, create_scale=True, create_offset=True)


class Quantized(snt.Module):
    """Residual encoder and decoder around Sonnet's quantizer (van den Oord et al., NeurIPS 2017)."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.down = [snt.Conv2D(64, 4, 2), snt.Conv2D(128, 4, 2)]
        self.residual = [(snt.Conv2D(32, 3), snt.Conv2D(128, 1)) for _ in range(2 * layers)]
        self.before, self.after = snt.Conv2D(64, 1), snt.Conv2D(128, 3)
        self.quantizer = snt.nets.VectorQuantizerEMA(64, 512, 0.25, 0.99)
        self.up = [snt.Conv2DTranspose(64, 4, stride=2), snt.Conv2DTranspose(3, 4, stride=2)]

    def __call__(self, images: Any, training: bool) -> Any:
        """What the loss is made of."""

        def refine(x: Any, layers: Sequence[tuple[snt.Conv2D, snt.Conv2D]]) -> Any:
            for one, two in layers:
                x = x + two(tf.nn.relu(one(tf.nn.relu(x))))
            return x

        half = len(self.residual) // 2
        x = refine(self.down[1](tf.nn.relu(self.down[0](images))), self.residual[:half])
        code = self.quantizer(self.before(x), training)["quantize"]
        x = refine(self.after(code), self.residual[half:])
        return self.up[1](tf.nn.relu(self.up[0](x))) - images


def _module(make: Callable[[], Any]) -> tuple[snt.Module, Call]:
    module = make()
    return module, module


def jobs() -> list[Job]:
    """Sonnet first, the deep ones last."""
    ids, images = tf.TensorSpec((BATCH, 24), tf.int32), tf.TensorSpec((BATCH, 64, 64, 3))
    features = tf.TensorSpec((BATCH, 64, 512))
    sonnet: list[tuple[str, str, Callable[[], Any], tf.TensorSpec]] = [
        ("vqvae_4", "vqvae", partial(_module, lambda: Quantized(4)), images),
        ("lstm_2_24", "lstm", partial(_module, lambda: Recurrent(snt.LSTM, 2, 256)), ids),
        ("gru_4_24", "gru", partial(_module, lambda: Recurrent(snt.GRU, 4, 256)), ids),
        ("transformer_8", "transformer", partial(_module, lambda: Encoder(8, 512)), features),
        ("resnet_50", "resnet", partial(_resnet, [3, 4, 6, 3]), images),
        ("transformer_24", "transformer", partial(_module, lambda: Encoder(24, 512)), features),
        ("resnet_101", "resnet", partial(_resnet, [3, 4, 23, 3]), images),
    ]
    found = [
        Job(name, "sonnet", family, BATCH, partial(_sonnet, make, spec, name), 300.0)
        for name, family, make, spec in sonnet
    ]
    return found + [
        Job(name.lower(), "keras", family, BATCH, partial(_keras, name), 300.0) for name, family in KERAS.items()
    ]
