"""Every model of ``keras.applications``, with random weights: no download."""

from __future__ import annotations

import keras
import tensorflow as tf
from steps import BATCH, INFERENCE, STEP, TRAINING, Task, input_specs, trace

from regal.corpus.harvest import Job
from regal.graph import ComputationGraph

CLASSES = 1000
MOMENTUM = 0.9
ALL = (INFERENCE, TRAINING, STEP)
NO_GRADIENT_OUTPUTS = (INFERENCE, STEP)  # for the deepest, whose two training graphs differ little

FAMILIES: dict[str, dict[str, tuple[str, ...]]] = {
    "vgg": {"VGG16": ALL, "VGG19": ALL},
    "mobilenet": {"MobileNet": ALL, "MobileNetV2": ALL, "MobileNetV3Small": ALL, "MobileNetV3Large": ALL},
    "resnet": {
        "ResNet50": ALL,
        "ResNet50V2": ALL,
        "ResNet101": NO_GRADIENT_OUTPUTS,
        "ResNet101V2": NO_GRADIENT_OUTPUTS,
        "ResNet152": NO_GRADIENT_OUTPUTS,
        "ResNet152V2": NO_GRADIENT_OUTPUTS,
    },
    "inception": {"InceptionV3": ALL, "InceptionResNetV2": NO_GRADIENT_OUTPUTS},
    "xception": {"Xception": ALL},
    "densenet": {
        "DenseNet121": ALL,
        "DenseNet169": NO_GRADIENT_OUTPUTS,
        "DenseNet201": NO_GRADIENT_OUTPUTS,
    },
    "convnext": {
        "ConvNeXtTiny": ALL,
        "ConvNeXtSmall": NO_GRADIENT_OUTPUTS,
        "ConvNeXtBase": NO_GRADIENT_OUTPUTS,
        "ConvNeXtLarge": NO_GRADIENT_OUTPUTS,
        "ConvNeXtXLarge": NO_GRADIENT_OUTPUTS,
    },
    "nasnet": {"NASNetMobile": ALL, "NASNetLarge": NO_GRADIENT_OUTPUTS},
    "efficientnet": {
        "EfficientNetB0": ALL,
        "EfficientNetV2B0": ALL,
        "EfficientNetV2B1": NO_GRADIENT_OUTPUTS,
        "EfficientNetV2B2": NO_GRADIENT_OUTPUTS,
        "EfficientNetV2B3": NO_GRADIENT_OUTPUTS,
        "EfficientNetV2S": NO_GRADIENT_OUTPUTS,
        "EfficientNetV2M": NO_GRADIENT_OUTPUTS,
        "EfficientNetV2L": NO_GRADIENT_OUTPUTS,
        "EfficientNetB1": NO_GRADIENT_OUTPUTS,
        "EfficientNetB2": NO_GRADIENT_OUTPUTS,
        "EfficientNetB3": NO_GRADIENT_OUTPUTS,
        "EfficientNetB4": NO_GRADIENT_OUTPUTS,
        "EfficientNetB5": NO_GRADIENT_OUTPUTS,
        "EfficientNetB6": NO_GRADIENT_OUTPUTS,
        "EfficientNetB7": NO_GRADIENT_OUTPUTS,
    },
}
"""Family -> class of ``keras.applications`` -> modes."""

SIZES = {"MobileNetV3Small": 224, "MobileNetV3Large": 224}
"""Image sizes where the class has no default of its own."""


def jobs() -> list[Job]:
    """One job a class, those with fewer modes, which are the deepest, last."""
    listed = [
        Job(name.lower(), "keras", family, BATCH, lambda name=name, modes=modes: _trace(name, modes), 180.0)
        for family, classes in FAMILIES.items()
        for name, modes in classes.items()
    ]
    deep = {name.lower() for classes in FAMILIES.values() for name, modes in classes.items() if modes != ALL}
    return sorted(listed, key=lambda job: job.model in deep)


def _trace(name: str, modes: tuple[str, ...]) -> dict[str, ComputationGraph]:
    sized = {"input_shape": (SIZES[name], SIZES[name], 3)} if name in SIZES else {}
    model = getattr(keras.applications, name)(weights=None, classes=CLASSES, classifier_activation=None, **sized)
    optimizer = keras.optimizers.SGD(0.01, momentum=MOMENTUM)
    optimizer.build(model.trainable_variables)
    task = Task(
        name=f"keras.{name.lower()}",
        call=lambda inputs, training: model(inputs, training=training),
        inputs=input_specs(model),
        variables=model.trainable_variables,
        optimizer=optimizer,
        labels=tf.TensorSpec([BATCH], tf.int32),
    )
    return trace(task, modes)
