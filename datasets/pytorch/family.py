"""Families of models: the name of a module or model type without version, size and part."""

from __future__ import annotations

import re

KNOWN = {
    "audio-spectrogram-transformer": "ast",
    "dab-detr": "detr",
    "grounding-dino": "grounding_dino",
    "mm-grounding-dino": "grounding_dino",
    "openai-gpt": "gpt",
    "switch_transformers": "t5",
    "time_series_transformer": "time_series_transformer",
    "table-transformer": "detr",
    "tiny_vit": "tiny_vit",
    "vision_transformer": "vit",
    "vision_transformer_hybrid": "vit",
    "vision_transformer_relpos": "vit",
    "vision_transformer_sam": "vit",
    "wav2vec2-bert": "wav2vec2",
}
"""Names that no rule below serves."""
SHARED = {"bert", "clip", "detr", "gemma", "llama", "llava", "olmo", "roberta"}
"""Families that a name belongs to wherever one of its words says so."""
STEMS = (
    "big_bird", "data2vec", "decision_transformer", "depth_pro", "fast_vlm", "fastspeech2", "fun_asr", "got_ocr",
    "layoutlm", "m2m", "mgp_str", "mlp_mixer", "moss_transcribe", "mt5", "omdet_turbo", "pocket_tts", "pp_doclayout",
    "pp_ocr", "pe_audio", "pe_video", "perception_lm", "privacy_filter", "res2net", "seed_oss", "speech_to_text",
    "swin2sr", "t5gemma", "t5", "umt5", "wav2vec2",
)  # fmt: skip
"""Families whose names have digits or several words."""


def family_of(name: str) -> str:
    """Family of a timm module, torchvision builder or transformers model type, in lower case.

    Examples
    --------
    >>> [family_of(name) for name in ("qwen2_5_vl_text", "deberta-v2", "swin_transformer_v2", "t5", "gemma3n")]
    ['qwen', 'deberta', 'swin', 't5', 'gemma']
    """
    if name in KNOWN:
        return KNOWN[name]
    name = name.replace("-", "_")
    words = [re.sub(r"(?<=[a-z])v?\d+[a-z]?$", "", word) for word in name.split("_")]
    stem = next((stem for stem in STEMS if name.startswith(stem)), None)
    return stem or next((word for word in words if word in SHARED), words[0])
