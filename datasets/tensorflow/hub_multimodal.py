"""Configurations of those backbones of ``keras_hub`` that are made of several, and of its generative models."""

from __future__ import annotations

from typing import Any

import keras_hub
from hub_text import GROUPED, HEAD, HEADS, LAYERS, VOCABULARY, WIDTH, Entry
from hub_vision import ATTENTION, IMAGE, PATCH, SIDE, dino, hgnet, mit, resnet, vit_det
from keras_hub.src.models.blip2.blip2_custom_opt import BLIP2CustomOPT
from keras_hub.src.models.blip2.blip2_qformer import BLIP2QFormer
from keras_hub.src.models.blip2.blip2_vision_encoder import BLIP2VisionEncoder
from keras_hub.src.models.clip.clip_text_encoder import CLIPTextEncoder
from keras_hub.src.models.clip.clip_vision_encoder import CLIPVisionEncoder
from keras_hub.src.models.gemma3.gemma3_vision_encoder import Gemma3VisionEncoder
from keras_hub.src.models.gemma4.gemma4_vision_encoder import Gemma4VisionEncoder
from keras_hub.src.models.metaclip_2.metaclip_2_text_encoder import MetaCLIP2TextEncoder
from keras_hub.src.models.metaclip_2.metaclip_2_vision_encoder import MetaCLIP2VisionEncoder
from keras_hub.src.models.rqvae.rqvae_backbone import RQVAEBackbone
from keras_hub.src.models.sam.sam_mask_decoder import SAMMaskDecoder
from keras_hub.src.models.sam.sam_prompt_encoder import SAMPromptEncoder
from keras_hub.src.models.siglip.siglip_text_encoder import SigLIPTextEncoder
from keras_hub.src.models.siglip.siglip_vision_encoder import SigLIPVisionEncoder
from keras_hub.src.models.vae.vae_backbone import VAEBackbone

MODELS = keras_hub.models
VISION_ENCODER = {"patch_size": PATCH, "image_shape": IMAGE, **ATTENTION}
TEXT_ENCODER = {"vocabulary_size": VOCABULARY, "embedding_dim": WIDTH, **ATTENTION}
PATCHES = (SIDE // PATCH) ** 2
VISION_TOKENS = PATCHES // 4
CAPTION = 32
"""Tokens that an image comes with."""


def _clip() -> Any:
    vision, text = CLIPVisionEncoder(**VISION_ENCODER), CLIPTextEncoder(**TEXT_ENCODER, max_sequence_length=CAPTION)
    return MODELS.CLIPBackbone(vision, text, projection_dim=WIDTH)


def _metaclip() -> Any:
    vision = MetaCLIP2VisionEncoder(**VISION_ENCODER)
    text = MetaCLIP2TextEncoder(**TEXT_ENCODER, max_sequence_length=CAPTION)
    return MODELS.MetaCLIP2Backbone(vision, text, projection_dim=WIDTH)


def _siglip() -> Any:
    vision = SigLIPVisionEncoder(**VISION_ENCODER)
    text = SigLIPTextEncoder(**TEXT_ENCODER, max_sequence_length=CAPTION)
    return MODELS.SigLIPBackbone(vision, text)


def _blip() -> Any:
    rates = {"layer_norm_epsilon": 1e-6}
    vision = BLIP2VisionEncoder(
        image_size=SIDE,
        patch_size=PATCH,
        **ATTENTION,
        use_patch_bias=True,
        use_class_token=True,
        use_mha_bias=True,
        use_mlp_bias=True,
        dropout_rate=0.0,
        initializer_range=0.02,
        **rates,
    )
    queries = {"num_query_tokens": 16}
    qformer = BLIP2QFormer(**ATTENTION, **queries, vision_dim=WIDTH, cross_attention_frequency=2, dropout=0.1, **rates)
    language = BLIP2CustomOPT(
        **ATTENTION,
        **queries,
        vocabulary_size=VOCABULARY,
        dropout=0.1,
        max_sequence_length=2 * CAPTION,
        qformer_hidden_dim=WIDTH,
    )
    return MODELS.BLIP2Backbone(vision, qformer, language)


def _pali_gemma() -> Any:
    return MODELS.PaliGemmaBackbone(
        **GROUPED,
        head_dim=HEAD,
        image_size=SIDE,
        vit_patch_size=PATCH,
        vit_num_heads=HEADS,
        vit_hidden_dim=WIDTH,
        vit_num_layers=LAYERS,
        vit_intermediate_dim=4 * WIDTH,
    )


def _gemma3() -> Any:
    encoder = Gemma3VisionEncoder(image_size=SIDE, patch_size=PATCH, output_dim=WIDTH, pool_size=2, **ATTENTION)
    return MODELS.Gemma3Backbone(**GROUPED, head_dim=HEAD, image_size=SIDE, vision_encoder=encoder)


def _gemma4() -> Any:
    encoder = Gemma4VisionEncoder(
        image_size=SIDE, patch_size=PATCH, output_dim=WIDTH, pool_size=2, head_dim=HEAD, **ATTENTION
    )
    return MODELS.Gemma4Backbone(
        **GROUPED, head_dim=HEAD, image_size=SIDE, sliding_window_size=16, vision_encoder=encoder
    )


def _parseq() -> Any:
    encoder = MODELS.ViTBackbone(
        image_shape=(32, 128, 3),
        patch_size=(4, 8),
        num_layers=LAYERS,
        num_heads=HEADS,
        hidden_dim=WIDTH,
        mlp_dim=4 * WIDTH,
        use_class_token=False,
    )
    return MODELS.PARSeqBackbone(
        image_encoder=encoder,
        vocabulary_size=97,
        max_label_length=CAPTION,
        decoder_hidden_dim=WIDTH,
        num_decoder_layers=2,
        num_decoder_heads=HEADS,
        decoder_mlp_dim=4 * WIDTH,
    )


def _sam() -> Any:
    patches = SIDE // PATCH
    prompt = SAMPromptEncoder(hidden_size=WIDTH, image_embedding_size=(patches, patches), input_image_size=(SIDE, SIDE))
    decoder = SAMMaskDecoder(hidden_size=WIDTH, num_layers=2, intermediate_dim=4 * WIDTH, num_heads=HEADS)
    return MODELS.SAMBackbone(image_encoder=vit_det(), prompt_encoder=prompt, mask_decoder=decoder)


def _d_fine() -> Any:
    stages = ["stage2", "stage3"]
    return MODELS.DFineBackbone(
        backbone=hgnet(light=True, outputs=stages),
        decoder_in_channels=[64, 64],
        encoder_hidden_dim=64,
        num_labels=80,
        num_denoising=0,
        learn_initial_query=False,
        num_queries=50,
        anchor_image_size=(SIDE, SIDE),
        feat_strides=[8, 16],
        num_feature_levels=2,
        hidden_dim=64,
        encoder_in_channels=[128, 256],
        encode_proj_layers=[1],
        num_attention_heads=HEADS,
        encoder_ffn_dim=256,
        num_encoder_layers=1,
        hidden_expansion=0.5,
        depth_multiplier=0.5,
        eval_idx=-1,
        num_decoder_layers=3,
        decoder_attention_heads=HEADS,
        decoder_ffn_dim=256,
        decoder_n_points=[4, 4],
        lqe_hidden_dim=64,
        num_lqe_layers=2,
        out_features=stages,
        image_shape=IMAGE,
        seed=0,
    )


def _depth_anything() -> Any:
    encoder = dino(2, apply_layernorm=True)
    return MODELS.DepthAnythingBackbone(
        image_encoder=encoder,
        reassemble_factors=[4, 2, 1, 0.5],
        neck_hidden_dims=[32, 64, 128, 256],
        fusion_hidden_dim=64,
        head_hidden_dim=32,
        head_in_index=-1,
        feature_keys=[f"stage{stage}" for stage in range(1, LAYERS + 1)],
    )


def _retinanet() -> Any:
    return MODELS.RetinaNetBackbone(
        image_encoder=resnet(kind="bottleneck_block"), min_level=3, max_level=7, use_p5=True, image_shape=IMAGE
    )


def _deeplab() -> Any:
    return MODELS.DeepLabV3Backbone(
        image_encoder=resnet(),
        low_level_feature_key="P2",
        spatial_pyramid_pooling_key="P4",
        dilation_rates=[6, 12, 18],
        upsampling_size=4,
        image_shape=IMAGE,
    )


def _video_prism(**options: Any) -> Any:
    return MODELS.VideoPrismBackbone(
        num_frames=4,
        patch_size=PATCH,
        hidden_dim=WIDTH,
        intermediate_dim=4 * WIDTH,
        num_heads=HEADS,
        num_spatial_layers=2,
        num_temporal_layers=2,
        image_shape=IMAGE,
        **{"num_auxiliary_layers": 0, **options},
    )


def _vae() -> VAEBackbone:
    return VAEBackbone([32, 64, 128, 128], [1, 1, 1, 1], [128, 128, 64, 32], [1, 1, 1, 1])


def _stable_diffusion() -> Any:
    text = {"vocabulary_size": VOCABULARY, "num_layers": 2, "num_heads": 2, "max_sequence_length": CAPTION}
    clips = {
        f"clip_{name}": CLIPTextEncoder(
            **text,
            embedding_dim=width,
            hidden_dim=width,
            intermediate_dim=4 * width,
            intermediate_output_index=-2,
            name=f"clip_{name}",
        )
        for name, width in (("l", 64), ("g", 128))
    }
    return MODELS.StableDiffusion3Backbone(
        mmdit_patch_size=2,
        mmdit_hidden_dim=WIDTH,
        mmdit_num_layers=LAYERS,
        mmdit_num_heads=HEADS,
        mmdit_position_size=192,
        mmdit_qk_norm=None,
        mmdit_dual_attention_indices=None,
        vae=_vae(),
        **clips,
        image_shape=IMAGE,
    )


def _flux() -> Any:
    return MODELS.FluxBackbone(
        input_channels=64,
        hidden_size=WIDTH,
        mlp_ratio=4.0,
        num_heads=HEADS,
        depth=2,
        depth_single_blocks=4,
        axes_dim=[16, 24, 24],
        theta=10_000,
        use_bias=True,
        guidance_embed=True,
        image_shape=(64, 64),
        text_shape=(CAPTION, 64),
        image_ids_shape=(64, 3),
        text_ids_shape=(CAPTION, 3),
        y_shape=(64,),
    )


def _rqvae() -> Any:
    return RQVAEBackbone(
        input_dim=768,
        encoder_layer_dims=[512, 256, 128],
        output_dim=64,
        decoder_layer_dims=[128, 256, 512],
        num_embeddings=256,
        num_quantizers=4,
    )


MULTIMODAL: tuple[Entry, ...] = (
    Entry("rqvae", "vq_vae", _rqvae),
    Entry("vae", "vae", _vae, SIDE),
    Entry("segformer", "segformer", lambda: MODELS.SegFormerBackbone(image_encoder=mit(), projection_filters=128)),
    Entry("deeplabv3", "resnet", _deeplab),
    Entry("retinanet", "resnet", _retinanet),
    Entry("basnet", "resnet", lambda: MODELS.BASNetBackbone(resnet(image=(None, None, 3)), 1, image_shape=IMAGE)),
    Entry("depth_anything", "dino", _depth_anything),
    Entry("clip", "clip", _clip, CAPTION),
    Entry("metaclip2", "clip", _metaclip, CAPTION),
    Entry("siglip", "siglip", _siglip, CAPTION),
    Entry("parseq", "vit", _parseq, CAPTION),
    Entry("blip2", "blip", _blip, CAPTION),
    Entry("paligemma", "gemma", _pali_gemma, CAPTION),
    Entry("gemma3_vision", "gemma", _gemma3, 64, {"images": (1,), "vision_indices": (VISION_TOKENS,)}),
    Entry(
        "gemma4_vision",
        "gemma",
        _gemma4,
        64,
        {
            "pixel_values": (1, PATCHES, 3 * PATCH**2),
            "pixel_position_ids": (1, PATCHES),
            "vision_indices": (VISION_TOKENS,),
        },
    ),
    Entry("sam", "sam", _sam, 1, {"masks": (0, SIDE, SIDE)}),
    Entry("dfine", "d_fine", _d_fine),
    Entry("videoprism", "videoprism", _video_prism),
    Entry(
        "videoprism_text",
        "videoprism",
        lambda: _video_prism(num_auxiliary_layers=1, vocabulary_size=VOCABULARY, num_text_layers=2),
        CAPTION,
    ),
    Entry("flux", "flux", _flux),
    Entry("stablediffusion3", "stable_diffusion", _stable_diffusion, CAPTION),
)
