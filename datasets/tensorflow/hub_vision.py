"""Configurations of the vision backbones of ``keras_hub``."""

from __future__ import annotations

from typing import Any

import keras_hub
from hub_text import HEADS, LAYERS, WIDTH, Entry

MODELS = keras_hub.models
SIDE = 128
IMAGE = (SIDE, SIDE, 3)
PATCH = 16
ATTENTION = {"num_layers": LAYERS, "num_heads": HEADS, "hidden_dim": WIDTH, "intermediate_dim": 4 * WIDTH}


def resnet(
    blocks: tuple[int, ...] = (2, 2, 2, 2), kind: str = "basic_block", image: Any = IMAGE, **options: Any
) -> Any:
    """ResNet of ``blocks`` in its stages, up to four."""
    filters = (64, 128, 256, 512)[: len(blocks)]
    return MODELS.ResNetBackbone(
        input_conv_filters=[64],
        input_conv_kernel_sizes=[7],
        stackwise_num_filters=list(filters),
        stackwise_num_blocks=list(blocks),
        stackwise_num_strides=[1, 2, 2, 2][: len(blocks)],
        block_type=kind,
        image_shape=image,
        **options,
    )


def _resnet_d() -> Any:
    return MODELS.ResNetBackbone(
        input_conv_filters=[32, 32, 64],
        input_conv_kernel_sizes=[3, 3, 3],
        stackwise_num_filters=[64, 128, 256, 512],
        stackwise_num_blocks=[2, 2, 2, 2],
        stackwise_num_strides=[1, 2, 2, 2],
        block_type="bottleneck_block_vd",
        image_shape=IMAGE,
    )


def _cspnet(stage: str, block: str) -> Any:
    """``stage`` is "csp" or "cs3"; ``block`` is "dark_block", "bottleneck_block" or "edge_block"."""
    return MODELS.CSPNetBackbone(
        stem_filters=32,
        stem_kernel_size=3,
        stem_strides=1,
        stackwise_depth=[1, 2, 4],
        stackwise_strides=2,
        stackwise_num_filters=[64, 128, 256],
        block_type=block,
        stage_type=stage,
        bottle_ratio=(0.5, 1.0),
        block_ratio=(1.0, 0.5),
        expand_ratio=(2.0, 1.0),
        down_growth=True,
        stem_padding="same",
        image_shape=IMAGE,
    )


def _mobilenet() -> Any:
    """The stages of MobileNetV3 with squeeze and excitation."""
    blocks = (2, 3, 2, 3)
    return MODELS.MobileNetBackbone(
        stackwise_expansion=[[e * f] * n for e, f, n in zip((3, 3, 3, 6), (16, 24, 40, 48), blocks, strict=True)],
        stackwise_num_blocks=list(blocks),
        stackwise_num_filters=[[f] * n for f, n in zip((16, 24, 40, 48), blocks, strict=True)],
        stackwise_kernel_size=[[k] * n for k, n in zip((3, 5, 5, 5), blocks, strict=True)],
        stackwise_num_strides=[[s] + [1] * (n - 1) for s, n in zip((2, 2, 1, 2), blocks, strict=True)],
        stackwise_se_ratio=[[r] * n for r, n in zip((None, 0.25, 0.25, 0.25), blocks, strict=True)],
        stackwise_activation=[
            [a] * n for a, n in zip(("relu", "hard_swish", "hard_swish", "hard_swish"), blocks, strict=True)
        ],
        stackwise_padding=[[k // 2] * n for k, n in zip((3, 5, 5, 5), blocks, strict=True)],
        output_num_filters=1024,
        depthwise_filters=8,
        depthwise_stride=2,
        depthwise_residual=False,
        last_layer_filter=288,
        squeeze_and_excite=0.5,
        image_shape=IMAGE,
    )


def _mobilenet_v5() -> Any:
    """Fused inverted bottlenecks, universal ones, and multi-query attention."""
    shape = (1, 2, 4)

    def rows(*values: Any) -> list[list[Any]]:
        return [[value] * count for value, count in zip(values, shape, strict=True)]

    return MODELS.MobileNetV5Backbone(
        stackwise_block_types=[["er"], ["uir"] * 2, ["mqa", "uir"] * 2],
        stackwise_num_blocks=list(shape),
        stackwise_num_filters=rows(32, 64, 128),
        stackwise_strides=[[2], [2, 1], [1, 2, 1, 1]],
        stackwise_act_layers=rows("relu", "relu", "relu"),
        stackwise_exp_ratios=rows(4.0, 6.0, 4.0),
        stackwise_se_ratios=rows(0.0, 0.0, 0.0),
        stackwise_dw_kernel_sizes=[[0], [5, 5], [3, 5, 3, 5]],
        stackwise_dw_start_kernel_sizes=rows(0, 0, 0),
        stackwise_dw_end_kernel_sizes=rows(0, 0, 0),
        stackwise_exp_kernel_sizes=rows(3, 0, 0),
        stackwise_pw_kernel_sizes=rows(1, 0, 0),
        stackwise_num_heads=rows(0, 0, 4),
        stackwise_key_dims=rows(0, 0, 32),
        stackwise_value_dims=rows(0, 0, 32),
        stackwise_kv_strides=rows(0, 0, 1),
        stackwise_use_cpe=rows(False, False, False),
        use_msfa=False,
        image_shape=IMAGE,
    )


def _efficientnet() -> Any:
    stages = {
        "kernel_sizes": [3, 3, 3, 3],
        "num_repeats": [1, 2, 3, 3],
        "input_filters": [24, 24, 48, 64],
        "output_filters": [24, 48, 64, 128],
        "expansion_ratios": [1, 4, 4, 4],
        "squeeze_and_excite_ratios": [0.0, 0.0, 0.25, 0.25],
        "strides": [1, 2, 2, 2],
        "block_types": ["fused", "fused", "unfused", "unfused"],
        "force_input_filters": [0] * 4,
        "nores_option": [False] * 4,
        "width_coefficients": [1.0] * 4,
        "depth_coefficients": [1.0] * 4,
    }
    return MODELS.EfficientNetBackbone(
        **{f"stackwise_{name}": values for name, values in stages.items()}, input_shape=IMAGE
    )


def hgnet(light: bool = False, outputs: Any = None) -> Any:
    """HGNetV2 of three stages, ``light`` with its depthwise blocks."""
    return MODELS.HGNetV2Backbone(
        depths=[1, 2, 1],
        embedding_size=32,
        hidden_sizes=[64, 128, 256],
        stem_channels=[3, 16, 32],
        hidden_act="relu",
        use_learnable_affine_block=light,
        stackwise_stage_filters=[[32, 16, 64, 1, 3, 3], [64, 32, 128, 2, 3, 3], [128, 64, 256, 1, 3, 5]],
        apply_downsample=[False, True, True],
        use_lightweight_conv_block=[False, light, light],
        image_shape=IMAGE,
        out_features=outputs,
    )


def mit() -> Any:
    """The encoder of SegFormer."""
    return MODELS.MiTBackbone(
        layerwise_depths=[2, 2, 2],
        num_layers=3,
        layerwise_num_heads=[1, 2, 4],
        layerwise_sr_ratios=[8, 4, 2],
        max_drop_path_rate=0.1,
        layerwise_patch_sizes=[7, 3, 3],
        layerwise_strides=[4, 2, 2],
        hidden_dims=[32, 64, 128],
        image_shape=IMAGE,
    )


def vit_det() -> Any:
    """The encoder of SAM: windows, and global attention in two of four layers."""
    return MODELS.ViTDetBackbone(
        hidden_size=WIDTH,
        num_layers=LAYERS,
        intermediate_dim=4 * WIDTH,
        num_heads=HEADS,
        global_attention_layer_indices=[1, 3],
        window_size=4,
        image_shape=IMAGE,
    )


def dino(version: int, **options: Any) -> Any:
    """DINOv2 or DINOv3."""
    build = MODELS.DINOV2Backbone if version == 2 else MODELS.DINOV3Backbone
    shared = {"patch_size": PATCH, "image_shape": IMAGE, **ATTENTION, **options}
    return build(**shared, **({"position_embedding_shape": IMAGE} if version == 2 else {}))


def _vit(name: str, **options: Any) -> Any:
    return getattr(MODELS, f"{name}Backbone")(image_shape=IMAGE, patch_size=PATCH, **options)


def _swin() -> Any:
    return MODELS.SwinTransformerBackbone(
        image_shape=IMAGE, embed_dim=64, depths=(2, 2, 2), num_heads=(2, 4, 8), window_size=4
    )


def _densenet(blocks: tuple[int, ...]) -> Any:
    return MODELS.DenseNetBackbone(stackwise_num_repeats=list(blocks), growth_rate=32, image_shape=IMAGE)


def _vgg(blocks: tuple[int, ...]) -> Any:
    filters = [64, 128, 256, 512, 512][: len(blocks)]
    return MODELS.VGGBackbone(stackwise_num_repeats=list(blocks), stackwise_num_filters=filters, image_shape=IMAGE)


def _xception() -> Any:
    return MODELS.XceptionBackbone(
        stackwise_conv_filters=[[32, 64], [128, 128], [256, 256], [728, 728]],
        stackwise_pooling=[False, True, True, False],
        image_shape=IMAGE,
    )


PLAIN_VIT = {"num_layers": LAYERS, "num_heads": HEADS, "hidden_dim": WIDTH}

VISION: tuple[Entry, ...] = (
    Entry("vgg11", "vgg", lambda: _vgg((1, 1, 2, 2, 2))),
    Entry("vgg13", "vgg", lambda: _vgg((2, 2, 2, 2, 2))),
    Entry("resnet18", "resnet", resnet),
    Entry("resnet18v2", "resnet", lambda: resnet(use_pre_activation=True)),
    Entry("resnet26_bottleneck", "resnet", lambda: resnet(kind="bottleneck_block")),
    Entry("resnet26_vd", "resnet", _resnet_d),
    Entry("resnet34", "resnet", lambda: resnet((3, 4, 6, 3))),
    Entry("xception", "xception", _xception),
    Entry("densenet", "densenet", lambda: _densenet((2, 4, 6, 4))),
    Entry("mobilenet", "mobilenet", _mobilenet),
    Entry("mobilenetv5", "mobilenet", _mobilenet_v5),
    Entry("efficientnet", "efficientnet", _efficientnet),
    Entry("cspdarknet", "cspnet", lambda: _cspnet("csp", "dark_block")),
    Entry("cspresnet", "cspnet", lambda: _cspnet("csp", "bottleneck_block")),
    Entry("cspedge", "cspnet", lambda: _cspnet("csp", "edge_block")),
    Entry("cs3darknet", "cspnet", lambda: _cspnet("cs3", "dark_block")),
    Entry("hgnetv2", "hgnet", hgnet),
    Entry("hgnetv2_light", "hgnet", lambda: hgnet(light=True)),
    Entry("vit", "vit", lambda: _vit("ViT", mlp_dim=4 * WIDTH, **PLAIN_VIT)),
    Entry("deit", "deit", lambda: _vit("DeiT", intermediate_dim=4 * WIDTH, **PLAIN_VIT)),
    Entry("dinov2", "dino", lambda: dino(2)),
    Entry("dinov2_swiglu", "dino", lambda: dino(2, num_register_tokens=4, use_swiglu_ffn=True)),
    Entry("dinov3", "dino", lambda: dino(3)),
    Entry("dinov3_gated", "dino", lambda: dino(3, use_gated_mlp=True)),
    Entry("vitdet", "sam", vit_det),
    Entry("mit", "segformer", mit),
    Entry("swin", "swin", _swin),
)
