"""Inputs that a ``transformers`` model may accept: tokens, images, videos, sounds, series, and combinations."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from itertools import product
from typing import Any

import torch

from regal.frontends.huggingface_config import parts

Inputs = dict[str, torch.Tensor]

PIXELS = ("pixel_values", "pixel_values_videos")
WAVES = ("input_values", "input_features", "audio_values")
MELS = (
    "num_mel_bins", "feature_size", "n_mels", "num_mel_features", "input_feat_per_channel", "input_dim", "mel_bins",
)  # fmt: skip


def candidates(model: torch.nn.Module, batch: int, sequence: int) -> Iterator[Inputs]:
    """Inputs to try, the likeliest first, each once; tensors are on the meta device.

    What a model calls its main input decides which kind comes first; a multi-modal model is given text together with
    the other kind before it is given either alone.
    """
    config: Any = model.config
    accepted = set(inspect.signature(model.forward).parameters)
    main = getattr(model, "main_input_name", "input_ids")
    length = min(size for size in [sequence, *numbers(config, "max_position_embeddings", "n_positions")] if size > 0)
    tokens, decoder = {"input_ids": ids(batch, length)}, {"decoder_input_ids": ids(batch, length)}
    texts = [
        tokens,
        {**tokens, **decoder},
        {**tokens, "attention_mask": ids(batch, length)},
        {**tokens, "bbox": ids(batch, length, 4)},
    ]
    others = [{name: value} for name in sorted(accepted) for value in _values(name, config, batch)]
    if main == "input_ids":
        found = [*({**tokens, **other} for other in others), *texts, *others]
    else:
        others.sort(key=lambda other: main not in other)
        found = [*others, *({**other, **decoder} for other in others), *({**tokens, **other} for other in others)]
        found += [{main: value} for value in (*images(config, batch), *sounds(config, batch))]
        found += [{main: empty(batch, length, size)} for size in numbers(config, "hidden_size", "d_model", "input_dim")]
        found += texts
    seen = set()
    for inputs in found:
        key = tuple((name, tuple(value.shape)) for name, value in inputs.items())
        if key not in seen and accepted.issuperset(inputs):
            seen.add(key)
            yield inputs


def _values(name: str, config: Any, batch: int) -> list[torch.Tensor]:
    """What the argument ``name`` may be, unless it is text."""
    if name in PIXELS:
        return images(config, batch)
    if name in WAVES:
        spectra_first = name == "input_features"
        return sounds(config, batch)[:: 1 if spectra_first else -1]
    if name == "past_values":
        times = [*numbers(config, "context_length"), 32][0]
        channels = [*numbers(config, "num_input_channels"), 1][0]
        return [empty(batch, times, channels), empty(batch, times)]
    return []


def images(config: Any, batch: int) -> list[torch.Tensor]:
    """One image an example, then several frames, of every size that the configuration names."""
    channels = [*numbers(config, "num_channels", "in_channels", "in_chans"), 3][0]
    frames = [*numbers(config, "num_frames", "frames_per_clip"), 8][0]
    sizes = dict.fromkeys([*filter(None, map(_image_size, parts(config))), (224, 224)])
    return [empty(batch, *more, channels, *size) for more, size in product([(), (frames,)], sizes)]


def _image_size(config: Any) -> tuple[int, int] | None:
    size = getattr(config, "image_size", None)
    if isinstance(size, int):
        return size, size
    if isinstance(size, (list, tuple)) and len(size) == 2:
        return int(size[0]), int(size[1])
    return None


def sounds(config: Any, batch: int) -> list[torch.Tensor]:
    """Spectra with frequencies first, then with times first, then waves of a second."""
    mels = [*numbers(config, *MELS), 80][0]
    times = [2 * size for size in numbers(config, "max_source_positions") if size <= 3000]
    shapes = [(batch, mels, length) for length in (*times, 256)]
    shapes += [(batch, length, mels) for length in (1024, 256)]
    return [empty(*shape) for shape in (*shapes, (batch, 1, 16000), (batch, 16000))]


def numbers(config: Any, *names: str) -> list[int]:
    """Whole numbers that a part of the configuration calls by one of these names, each once."""
    values = [getattr(part, name, None) for part in parts(config) for name in names]
    return list(dict.fromkeys(value for value in values if isinstance(value, int) and not isinstance(value, bool)))


def ids(*shape: int) -> torch.Tensor:
    """Whole numbers without values."""
    return torch.empty(shape, dtype=torch.int64, device="meta")


def empty(*shape: int) -> torch.Tensor:
    """Floats without values."""
    return torch.empty(shape, device="meta")
