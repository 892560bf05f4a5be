"""Models of ``keras.applications`` on JAX, with random weights: no download."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import keras
from steps import BATCH, INFERENCE, SCHEDULED, STEP, TRAINING, Task, job, spec, tokens

from regal.corpus.harvest import Job

CLASSES = 1000
BOTH, MOST = (INFERENCE, STEP), (TRAINING, STEP)
MODELS: dict[str, tuple[str, Sequence[str]]] = {
    "MobileNetV2": ("mobilenet", (*BOTH, INFERENCE + SCHEDULED)),
    "MobileNetV3Large": ("mobilenet", BOTH),
    "VGG16": ("vgg", BOTH),
    "InceptionV3": ("inception", (*BOTH, INFERENCE + SCHEDULED)),
    "Xception": ("xception", BOTH),
    "NASNetMobile": ("nasnet", (*BOTH, INFERENCE + SCHEDULED)),
    "EfficientNetV2S": ("efficientnet", BOTH),
    "ResNet152V2": ("resnet", MOST),
    "InceptionResNetV2": ("inception", MOST),
    "DenseNet201": ("densenet", MOST),
    "EfficientNetB4": ("efficientnet", MOST),
    "NASNetLarge": ("nasnet", MOST),
    "EfficientNetB7": ("efficientnet", MOST),
    "ConvNeXtSmall": ("convnext", MOST),
}
"""Class of ``keras.applications`` -> family and modes."""
SIZES = {"NASNetLarge": 331, "InceptionV3": 299, "Xception": 299, "InceptionResNetV2": 299}
IMAGE = 224


def task(name: str) -> Task:
    """The model behind a class, built with its weights."""
    size = SIZES.get(name, IMAGE)
    model: Any = getattr(keras.applications, name)(
        weights=None, classes=CLASSES, classifier_activation=None, input_shape=(size, size, 3)
    )

    def init(key: Any, *inputs: Any) -> tuple[Any, Any]:
        trained, other = (
            [jnp.zeros(variable.shape, variable.dtype) for variable in variables]
            for variables in (model.trainable_variables, model.non_trainable_variables)
        )
        return trained, other

    def apply(parameters: Any, state: Any, key: Any, inputs: Any, training: bool) -> tuple[Any, Any]:
        return model.stateless_call(parameters, state, *inputs, training=training)

    return Task(init, apply, (spec(BATCH, size, size, 3),), "momentum", tokens(BATCH))


def jobs() -> list[Job]:
    """Deep ones last."""
    return [
        job("keras", name.lower(), family, lambda name=name: task(name), modes, cpu_seconds=240.0)
        for name, (family, modes) in MODELS.items()
    ]
