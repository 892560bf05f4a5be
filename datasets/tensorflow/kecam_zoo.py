"""Models of ``kecam`` (keras_cv_attention_models), random weights: the smallest sizes that differ in structure.

The package runs on Keras 2 (``tf_keras``): ``TF_USE_LEGACY_KERAS=1`` is set before TensorFlow is imported.
"""

from __future__ import annotations

from typing import Any

import keras_cv_attention_models as kecam
import tensorflow as tf
from steps import BATCH, INFERENCE, STEP, Task, input_specs, trace

from regal.corpus.harvest import Job
from regal.graph import ComputationGraph

SIDE, CLASSES, TOKENS = 224, 1000, 128
OWN_SIDE: dict[str, int] = {
    "beit.DINOv2_ViT_Small14": 252,
    "yolor.YOLOR_CSP": 256,
    "yolox.YOLOXNano": 256,
    "yolox.YOLOXS": 256,
    "yolov7.YOLOV7_Tiny": 256,
    "yolov7.YOLOV7_CSP": 256,
    "yolov8.YOLOV8_N": 256,
    "yolov8.YOLOV8_M": 256,
    "yolov8.YOLOV8_N_SEG": 256,
    "yolov8.YOLO_NAS_S": 256,
    "efficientdet.EfficientDetLite0": 256,
    "efficientdet.EfficientDetLite1": 256,
    "halonet.HaloNetH0": 256,
    "halonet.HaloNet26T": 256,
    "halonet.HaloNetSE33T": 256,
    "halonet.HaloNextECA26T": 256,
    "halonet.HaloRegNetZB": 256,
    "halonet.HaloBotNet50T": 256,
    "botnet.BotNet26T": 256,
    "botnet.BotNextECA26T": 256,
    "botnet.BotNetSE33T": 256,
    "swin_transformer_v2.SwinTransformerV2Tiny_window8": 256,
    "mobilevit.MobileViT_XXS": 256,
    "mobilevit.MobileViT_S": 256,
    "mobilevit.MobileViT_V2_050": 256,
}
"""Side of the images where a class does not take 224."""

FIRST: dict[str, tuple[str, ...]] = {
    "vanillanet": ("vanillanet.VanillaNet5", "vanillanet.VanillaNet8"),
    "mlp_mixer": ("mlp_family.MLPMixerS32", "mlp_family.ResMLP12", "mlp_family.GMLPTiny16", "mlp_family.WaveMLP_T"),
    "mobilenet": (
        "mobilenetv3_family.LCNet100",
        "mobilenetv3_family.MobileNetV3Small100",
        "mobilenetv3_family.MobileNetV3Large100",
        "mobilenetv3_family.TinyNetE",
        "mobilenetv3_family.FBNetV3B",
    ),
    "llama": ("llama2.LLaMA2_15M",),
    "gpt": ("gpt2.GPT2_Base",),
    "resnet": (
        "aotnet.AotNet50",
        "resnet_family.ResNet50D",
        "resnet_family.ResNeXt50D",
        "resnet_family.ResNet51Q",
        "cotnet.CotNet50",
        "botnet.BotNet26T",
        "botnet.BotNextECA26T",
        "botnet.BotNetSE33T",
    ),
    "resnest": ("resnest.ResNest50",),
    "regnet": ("resnet_family.RegNetY040", "resnet_family.RegNetZB16", "resnet_family.RegNetZD8"),
    "nfnet": ("nfnets.NFNetF0", "nfnets.NFNetL0", "nfnets.ECA_NFNetL0"),
    "halonet": (
        "halonet.HaloNetH0",
        "halonet.HaloNet26T",
        "halonet.HaloNetSE33T",
        "halonet.HaloNextECA26T",
        "halonet.HaloRegNetZB",
        "halonet.HaloBotNet50T",
    ),
    "vit": ("beit.ViTTinyPatch16", "beit.FlexiViTSmall", "beit.ViT5_Small_Patch16"),
    "beit": ("beit.BeitBasePatch16", "beit.BeitV2BasePatch16"),
    "dino": ("beit.DINOv2_ViT_Small14",),
    "eva": ("beit.EVA02TinyPatch14",),
    "convnext": ("convnext.ConvNeXtTiny", "convnext.ConvNeXtV2Atto", "convnext.ConvNeXtV2Nano"),
    "inceptionnext": ("inceptionnext.InceptionNeXtTiny",),
    "hornet": ("hornet.HorNetTiny", "hornet.HorNetTinyGF"),
    "moganet": ("moganet.MogaNetXtiny",),
    "levit": ("levit.LeViT128S", "levit.LeViT128"),
    "mobilevit": ("mobilevit.MobileViT_XXS", "mobilevit.MobileViT_V2_050"),
    "edgenext": ("edgenext.EdgeNeXt_XX_Small", "edgenext.EdgeNeXt_Small"),
    "efficientformer": ("efficientformer.EfficientFormerL1", "efficientformer.EfficientFormerV2S0"),
    "efficientvit": ("efficientvit.EfficientViT_M0", "efficientvit.EfficientViT_B0", "efficientvit.EfficientViT_L0"),
    "efficientnet": (
        "efficientnet.EfficientNetV1Lite0",
        "efficientnet.EfficientNetV1B0",
        "efficientnet.EfficientNetV2B0",
        "efficientnet.EfficientNetV2T_GC",
        "efficientnet.EfficientNetEdgeTPUSmall",
        "efficientdet.EfficientDetLite0",
    ),
    "ghostnet": ("ghostnet.GhostNet_100", "ghostnet.GhostNetV2_100"),
    "fasternet": ("fasternet.FasterNetT0", "fasternet.FasterNetS"),
    "repvit": ("repvit.RepViT_M09",),
    "fastvit": ("fastvit.FastViT_T8", "fastvit.FastViT_SA12"),
    "fastervit": ("fastervit.FasterViT0",),
    "cspnet": ("cspnext.CSPNeXtTiny", "cspnext.CSPNeXtMedium"),
    "yolo": (
        "yolox.YOLOXNano",
        "yolov8.YOLOV8_N_CLS",
        "yolov8.YOLOV8_N",
        "yolov8.YOLOV8_N_SEG",
        "yolov8.YOLO_NAS_S",
        "yolov7.YOLOV7_Tiny",
        "yolov7.YOLOV7_CSP",
        "yolor.YOLOR_CSP",
    ),
    "coat": ("coat.CoaTLiteTiny", "coat.CoaTTiny"),
    "maxxvit": ("coatnet.CoAtNetT", "coatnet.CoAtNet0", "maxvit.MaxViT_Tiny"),
    "cmt": ("cmt.CMTTiny", "cmt.CMTTiny_torch"),
    "davit": ("davit.DaViT_T",),
    "gcvit": ("gcvit.GCViT_XXTiny",),
    "gpvit": ("gpvit.GPViT_L1",),
    "hiera": ("hiera.HieraTiny",),
    "iformer": ("iformer.IFormerSmall",),
    "metaformer": ("caformer.CAFormerS18", "caformer.ConvFormerS18"),
    "nat": ("nat.NAT_Mini", "nat.DiNAT_Mini"),
    "pvt": ("pvt.PVT_V2B0", "pvt.PVT_V2B2"),
    "swin": ("swin_transformer_v2.SwinTransformerV2Tiny_ns", "swin_transformer_v2.SwinTransformerV2Tiny_window8"),
    "tiny_vit": ("tinyvit.TinyViT_5M",),
    "uniformer": ("uniformer.UniformerSmall32", "uniformer.UniformerSmallPlus32"),
    "volo": ("volo.VOLO_d1",),
}
"""Family -> classes; all of these come before the deeper ones."""

THEN: dict[str, tuple[str, ...]] = {
    "vanillanet": ("vanillanet.VanillaNet11",),
    "mlp_mixer": ("mlp_family.MLPMixerB32", "mlp_family.ResMLP24", "mlp_family.WaveMLP_S"),
    "mobilenet": ("mobilenetv3_family.TinyNetA", "mobilenetv3_family.TinyNetC"),
    "llama": ("llama2.LLaMA2_42M",),
    "resnet": ("resnet_family.ResNet61Q", "cotnet.CotNetSE50D", "resnet_family.ResNet101D"),
    "regnet": ("resnet_family.RegNetZC16",),
    "convnext": ("convnext.ConvNeXtV2Tiny",),
    "efficientnet": (
        "efficientnet.EfficientNetV2B3",
        "efficientdet.EfficientDetLite1",
        "efficientnet.EfficientNetV1B4",
    ),
    "efficientformer": ("efficientformer.EfficientFormerL3", "efficientformer.EfficientFormerV2S1"),
    "efficientvit": ("efficientvit.EfficientViT_M4", "efficientvit.EfficientViT_B1"),
    "repvit": ("repvit.RepViT_M11",),
    "fastvit": ("fastvit.FastViT_T12",),
    "yolo": ("yolov8.YOLOV8_M", "yolox.YOLOXS"),
    "coat": ("coat.CoaTLiteSmall",),
    "pvt": ("pvt.PVT_V2B1",),
    "mobilevit": ("mobilevit.MobileViT_S",),
    "gcvit": ("gcvit.GCViT_XTiny",),
    "moganet": ("moganet.MogaNetTiny",),
}
"""The same for further sizes."""


def jobs() -> list[Job]:
    """One job a class."""
    return [
        Job(path.rpartition(".")[2].lower(), "kecam", family, BATCH, lambda path=path: _trace(path))
        for families in (FIRST, THEN)
        for family, paths in families.items()
        for path in paths
    ]


def _build(path: str) -> Any:
    module, name = path.split(".")
    build = getattr(getattr(kecam, module), name)
    if module == "gpt2":
        return build(pretrained=None, max_block_size=TOKENS)
    if module == "llama2":
        return build(pretrained=None)
    side = OWN_SIDE.get(path, SIDE)
    arguments: dict[str, Any] = {"input_shape": (side, side, 3), "pretrained": None}
    if not module.startswith(("yolo", "efficientdet")) or name.endswith("_CLS"):
        arguments |= {"num_classes": CLASSES, "classifier_activation": None}
    return build(**arguments)


def _trace(path: str) -> dict[str, ComputationGraph]:
    model = _build(path)
    logits = model.output
    optimizer = tf.keras.optimizers.legacy.SGD(0.01, momentum=0.9)
    optimizer._create_all_weights(model.trainable_variables)
    language = path.startswith(("gpt2", "llama2"))
    classes = not isinstance(logits, (list, tuple)) and len(logits.shape) == 2
    labels = tf.TensorSpec([BATCH, TOKENS] if language else [BATCH], tf.int32) if language or classes else None
    task = Task(
        name=f"kecam.{path.rpartition('.')[2].lower()}",
        call=lambda inputs, training: model(inputs, training=training),
        inputs=input_specs(model, TOKENS),
        variables=model.trainable_variables,
        optimizer=optimizer,
        labels=labels,
    )
    return trace(task, (INFERENCE, STEP))
