"""Configurations of the text and audio backbones of ``keras_hub``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import keras_hub

VOCABULARY, LAYERS, HEADS, WIDTH = 8000, 4, 4, 256
HEAD = WIDTH // HEADS


@dataclass(frozen=True)
class Entry:
    """A backbone to build.

    Attributes
    ----------
    model : str
        Its name in the corpus.
    family : str
        Relatives share it.
    build : callable
        Takes nothing and returns the Keras model.
    length : int
        Tokens of a sequence.
    sizes : mapping
        Input name -> its unknown dimensions, where they are not ``length``.
    """

    model: str
    family: str
    build: Callable[[], Any]
    length: int = 128
    sizes: Mapping[str, Sequence[int]] = field(default_factory=dict)


def _entry(name: str, family: str, arguments: Mapping[str, Any], suffix: str = "", **sizes: Any) -> Entry:
    """``NameBackbone(**arguments)`` as the model ``name + suffix``."""
    return Entry(
        name.lower() + suffix, family, lambda: getattr(keras_hub.models, f"{name}Backbone")(**arguments), **sizes
    )


PLAIN = {"num_layers": LAYERS, "hidden_dim": WIDTH, "intermediate_dim": 4 * WIDTH}
ENCODER = {**PLAIN, "vocabulary_size": VOCABULARY, "num_heads": HEADS}
GROUPED = {**PLAIN, "vocabulary_size": VOCABULARY, "num_query_heads": HEADS, "num_key_value_heads": HEADS // 2}
EXPERTS = {"num_experts": 4, "top_k": 2}
GEMMA = {**GROUPED, "head_dim": HEAD}
GEMMA_2 = {
    "attention_logit_soft_cap": 50.0,
    "final_logit_soft_cap": 30.0,
    "use_post_ffw_norm": True,
    "use_post_attention_norm": True,
    "use_sliding_window_attention": True,
    "sliding_window_size": 64,
}
LINEAR_ATTENTION = {
    "head_dim": HEAD,
    "layer_types": ["linear_attention", "linear_attention", "linear_attention", "full_attention"],
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 32,
    "linear_value_head_dim": 32,
}
T5_GEMMA = {
    f"{side}_{name}": value
    for side in ("encoder", "decoder")
    for name, value in {
        "hidden_dim": WIDTH,
        "intermediate_dim": 4 * WIDTH,
        "num_layers": LAYERS // 2,
        "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS // 2,
        "head_dim": HEAD,
        "layer_types": ["sliding_attention", "full_attention"],
    }.items()
} | {"vocabulary_size": VOCABULARY, "sliding_window": 64, "attn_logit_softcapping": 50.0, "dropout_rate": 0.1}

TEXT: tuple[Entry, ...] = (
    _entry("Bert", "bert", ENCODER),
    _entry("DistilBert", "bert", {**ENCODER, "num_layers": 3}),
    _entry("Roberta", "roberta", ENCODER),
    _entry("XLMRoberta", "roberta", {**ENCODER, "num_layers": 6}),
    _entry("Albert", "albert", {**ENCODER, "embedding_dim": 64, "num_groups": 1}),
    _entry(
        "Albert",
        "albert",
        {**ENCODER, "embedding_dim": 64, "num_groups": 2, "num_inner_repetitions": 2},
        suffix="_groups",
    ),
    _entry("Electra", "electra", {**PLAIN, "num_heads": HEADS, "vocab_size": VOCABULARY, "embedding_dim": 64}),
    _entry("DebertaV3", "deberta", ENCODER),
    _entry("FNet", "fnet", {**PLAIN, "vocabulary_size": VOCABULARY}),
    _entry("ESM", "esm", ENCODER),
    _entry(
        "ESM", "esm", {**ENCODER, "position_embedding_type": "absolute", "use_pre_layer_norm": True}, suffix="_absolute"
    ),
    _entry("RoformerV2", "roformer", {**ENCODER, "head_size": HEAD}),
    _entry("XLNet", "xlnet", ENCODER),
    _entry("GPT2", "gpt", ENCODER),
    _entry("GPTNeoX", "gpt", ENCODER),
    _entry("OPT", "opt", ENCODER),
    _entry("Bloom", "bloom", ENCODER),
    _entry("Falcon", "falcon", {**PLAIN, "vocabulary_size": VOCABULARY, "num_attention_heads": HEADS}),
    _entry("Llama", "llama", GROUPED),
    _entry("Llama", "llama", {**GROUPED, "tie_word_embeddings": True}, suffix="_tied"),
    _entry("Llama3", "llama", {**GROUPED, "num_layers": 6}),
    _entry("Mistral", "mistral", GROUPED),
    _entry("Mixtral", "mixtral", {**GROUPED, **EXPERTS}),
    _entry("Phi3", "phi", {**GROUPED, "num_layers": 3}),
    _entry("GptOss", "gpt", {**GROUPED, **EXPERTS}),
    _entry("Qwen", "qwen", GROUPED),
    _entry("Qwen3", "qwen", {**GROUPED, "head_dim": HEAD}),
    _entry("Qwen3_5", "qwen", {**GROUPED, **LINEAR_ATTENTION}, length=32),
    _entry(
        "Qwen3_5Moe",
        "qwen",
        {
            **{name: value for name, value in GROUPED.items() if name != "intermediate_dim"},
            **LINEAR_ATTENTION,
            **EXPERTS,
            "moe_intermediate_dim": WIDTH,
            "shared_expert_intermediate_size": WIDTH,
        },
        length=32,
    ),
    _entry(
        "QwenMoe",
        "qwen",
        {**GROUPED, **EXPERTS, "moe_intermediate_dim": WIDTH, "shared_expert_intermediate_dim": WIDTH},
    ),
    _entry("Qwen3Moe", "qwen", {**GROUPED, **EXPERTS, "moe_intermediate_dim": WIDTH, "head_dim": HEAD}),
    _entry("Gemma", "gemma", GEMMA),
    _entry("Gemma", "gemma", {**GEMMA, **GEMMA_2}, suffix="2"),
    _entry("Gemma3", "gemma", {**GEMMA, "image_size": 32, "use_query_key_norm": True}),
    _entry("Gemma4", "gemma", {**GEMMA, "image_size": 32, "sliding_window_size": 64}),
    _entry(
        "Gemma3n",
        "gemma",
        {
            "text_vocab_size": VOCABULARY,
            "text_hidden_size": WIDTH,
            "num_hidden_layers": LAYERS,
            "pad_token_id": 0,
            "num_attention_heads": HEADS,
            "num_key_value_heads": HEADS // 2,
            "head_dim": HEAD,
            "intermediate_size": [4 * WIDTH] * LAYERS,
            "hidden_activation": "gelu_approximate",
            "layer_types": ["sliding_attention", "full_attention"] * (LAYERS // 2),
            "sliding_window": 64,
            "rope_theta": 10000.0,
            "max_position_embeddings": 512,
            "vocab_size_per_layer_input": VOCABULARY,
            "hidden_size_per_layer_input": 32,
            "altup_num_inputs": 2,
            "laurel_rank": 16,
        },
    ),
    _entry(
        "SmolLM3",
        "smollm",
        {
            **PLAIN,
            "vocabulary_size": VOCABULARY,
            "num_attention_heads": HEADS,
            "num_key_value_heads": HEADS // 2,
            "attention_bias": False,
            "attention_dropout": 0.0,
            "rope_layer_enabled_list": [True, True, True, False],
            "layer_types": ["attention"] * LAYERS,
            "mlp_bias": False,
            "layer_norm_epsilon": 1e-5,
            "max_position_embeddings": 512,
            "rope_theta": 10000.0,
            "partial_rotary_factor": 1.0,
        },
    ),
    _entry(
        "RWKV7",
        "rwkv",
        {
            "vocabulary_size": VOCABULARY,
            "hidden_size": WIDTH,
            "head_size": HEAD,
            "num_layers": LAYERS,
            "intermediate_dim": 4 * WIDTH,
        },
        length=16,
    ),
    _entry("Bart", "bart", ENCODER),
    _entry("T5", "t5", ENCODER),
    _entry("T5", "t5", {**ENCODER, "use_gated_activation": False}, suffix="_relu"),
    _entry("T5Gemma", "t5gemma", T5_GEMMA),
    _entry("T5Gemma2", "t5gemma", T5_GEMMA),
    _entry(
        "EdRec",
        "edrec",
        {
            "vocab_size": VOCABULARY,
            "num_layers_enc": LAYERS,
            "num_layers_dec": LAYERS,
            "num_heads": HEADS,
            "hidden_dim": WIDTH,
            "intermediate_dim": 4 * WIDTH,
        },
    ),
    _entry("Whisper", "whisper", {**ENCODER, "max_encoder_sequence_length": 256}, sizes={"encoder_features": (256,)}),
    _entry(
        "Moonshine",
        "moonshine",
        {
            "vocabulary_size": VOCABULARY,
            "filter_dim": WIDTH,
            "encoder_num_layers": LAYERS,
            "decoder_num_layers": LAYERS,
            "hidden_dim": WIDTH,
            "intermediate_dim": 4 * WIDTH,
            "encoder_num_heads": HEADS,
            "decoder_num_heads": HEADS,
        },
        sizes={"encoder_input_values": (16000,), "encoder_padding_mask": (16000,)},
    ),
)
