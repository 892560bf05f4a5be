"""Configurations of ``transformers`` models for graphs of fixed shape, cut to a depth where that is wanted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from regal.frontends.torch_guards import TRACE_ERRORS, TraceError

DEPTHS = (
    "num_hidden_layers", "num_layers", "n_layer", "n_layers", "num_encoder_layers", "num_decoder_layers",
    "encoder_layers", "decoder_layers", "depth", "num_block_layers", "num_hidden_groups", "decoder_num_layers",
    "decoder_num_hidden_layers", "encoder_num_hidden_layers", "num_transformer_layers", "text_layers",
)  # fmt: skip
"""Fields that count layers."""
STAGES = ("depths", "num_blocks", "layer_depths", "num_block_repeats", "blocks_per_stage", "stage_depths")
"""Fields that list the layers of every stage."""
FIXED: Mapping[str, Any] = {
    "use_cache": False,
    "layerdrop": 0.0,
    "encoder_layerdrop": 0.0,
    "decoder_layerdrop": 0.0,
    "apply_spec_augment": False,
    "mask_time_prob": 0.0,
    "mask_feature_prob": 0.0,
    "drop_path_rate": 0.0,
    "output_router_logits": False,
    "use_pretrained_backbone": False,
}
"""Settings that a graph of fixed shape needs, applied where a configuration has them."""
LABELS = "id2label"
"""A field that counts from zero as layers do, and is about something else."""
MISSING: Mapping[str, Any] = {"vocab_size": 1024, "prediction_length": 24}
"""For fields that a default configuration leaves open."""


def configure(config: Any, layers: int | None, values: Mapping[str, Any]) -> Any:
    """The configuration with ``values`` set, at most ``layers`` layers in each part, and what tracing needs.

    Attention is written out (``eager``), experts are batched, caches and random layer drops are off.

    Raises
    ------
    ValueError
        For a field that the configuration does not have, or values that do not go together.
    """
    if layers is not None or values:
        where = f"hf:{config.model_type}"
        fields = changed(config.to_dict(), layers, values, where)
        try:
            config = type(config).from_dict(fields)
        except TRACE_ERRORS as error:
            reason = [line for line in str(error).splitlines() if line.strip()][-1:]
            raise TraceError(f"{where}: its configuration cannot be changed so: {''.join(reason).strip()}") from error
    for part in parts(config):
        for name, value in FIXED.items():
            if getattr(part, name, None):
                setattr(part, name, type(getattr(part, name))(value))
        for name, value in MISSING.items():
            if name in vars(part) and vars(part)[name] is None:
                setattr(part, name, value)
        _complete(part)
        part._attn_implementation = "eager"
        part._experts_implementation = "batched_mm"
    return config


def parts(config: Any) -> Iterator[Any]:
    """The configuration and those it consists of."""
    yield config
    for name in getattr(config, "sub_configs", {}):
        part = getattr(config, name, None)
        if part is not None:
            yield from parts(part)


def changed(config: Mapping[str, Any], layers: int | None, values: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Fields of a configuration with ``values`` set and at most ``layers`` layers; lists of layers are cut to fit."""
    own = {name: value for name, value in values.items() if "." not in name}
    for name in {name.partition(".")[0] for name in values}:
        if name not in config:
            raise TraceError(f"{where}: the configuration has no field {name!r}")
    staged = any(isinstance(config.get(name), (list, tuple)) for name in STAGES)
    cuts = dict(_cuts(config, None if staged else layers, own))
    result: dict[str, Any] = {}
    for name, value in config.items():
        if name in own:
            result[name] = own[name]
        elif isinstance(value, dict) and not _is_by_layer(value):
            inner = {key.partition(".")[2]: new for key, new in values.items() if key.startswith(f"{name}.")}
            result[name] = changed(value, layers, inner, where)
        elif name in DEPTHS and not staged and isinstance(value, int) and layers is not None:
            result[name] = min(value, layers)
        elif layers is not None and name in STAGES and _are_numbers(value):
            result[name] = [min(item, max(1, layers // 2)) for item in value]
        else:
            result[name] = value if name == LABELS else _cut(value, cuts)
    return result


def _cuts(config: Mapping[str, Any], layers: int | None, own: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    """Old and new number of layers, for each count that shrinks."""
    for name in DEPTHS:
        old = config.get(name)
        new = own.get(name, layers)
        if isinstance(old, int) and isinstance(new, int) and 0 <= new < old:
            yield old, new


def _cut(value: Any, cuts: Mapping[int, int]) -> Any:
    """``value`` with as many entries as there are layers now, where it had one for every layer."""
    if isinstance(value, (list, tuple)) and len(value) in cuts:
        return list(value[: cuts[len(value)]])
    if isinstance(value, dict) and _is_by_layer(value) and cuts:
        return {layer: entry for layer, entry in value.items() if int(layer) < min(cuts.values())}
    return value


def _is_by_layer(value: Mapping[Any, Any]) -> bool:
    return bool(value) and all(isinstance(key, int) or (isinstance(key, str) and key.isdecimal()) for key in value)


def _are_numbers(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(item, int) for item in value)


def _complete(part: Any) -> None:
    """Fill in what follows from other fields where a model reads it without asking."""
    heads, width = getattr(part, "num_attention_heads", None), getattr(part, "hidden_size", None)
    if "head_dim" in vars(part) and part.head_dim is None and isinstance(heads, int) and isinstance(width, int):
        part.head_dim = width // heads
    if not hasattr(part, "pad_token_id"):
        part.pad_token_id = None
