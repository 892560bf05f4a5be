"""Models of ``transformers`` from their configurations: without weights, with inputs that fit, nothing downloaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import constants

from regal.files import ParseError, parse_json, read_bytes
from regal.frontends import zoo
from regal.frontends.huggingface_config import configure
from regal.frontends.huggingface_inputs import candidates
from regal.frontends.torch_capture import dry_run
from regal.frontends.torch_guards import ASSUME_FALSE, TraceError, assumed_values, quiet

HEADS = (
    "speech-seq-2-seq",
    "seq-to-seq-causal-lm",
    "masked-lm",
    "causal-lm",
    "image-classification",
    "semantic-segmentation",
    "video-classification",
    "ctc",
    "audio-classification",
    "base",
)
"""What a model predicts, in the order in which it is looked for; ``base`` predicts nothing."""
CONFIG_BYTES = 2**24


def build(
    source: str | Path | Any,
    *,
    head: str | None = None,
    batch: int = 4,
    sequence: int = 64,
    layers: int | None = None,
    **values: Any,
) -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    """A model and inputs that it accepts, all of it on the meta device.

    Parameters
    ----------
    source : str, path or configuration
        A model type such as ``"bert"``, whose default configuration is taken; the path of a ``config.json``; or a
        ``transformers`` configuration.
    head : str, optional
        One of :data:`HEADS`, or what ``transformers`` calls another table of models: ``"question-answering"``. By
        default the configuration's ``architectures``, else the first head that there is and that accepts an input.
    batch, sequence : int
        Examples, and tokens of each; fewer where the model knows fewer positions.
    layers : int, optional
        At most so many layers in every part of the model.
    values
        Fields of the configuration, such as ``hidden_size=128``; of a part of it as ``text_config.hidden_size``.

    Returns
    -------
    (torch.nn.Module, dict of str to tensor)
        To be traced with ``data_dependent="assume-false"``.

    Raises
    ------
    ValueError
        When there is no such model type, head or field, the model cannot be built, or accepts none of the inputs.

    Examples
    --------
    >>> from regal.frontends.torch import trace
    >>> model, inputs = build("bert", layers=1, batch=2, sequence=16)
    >>> {name: tuple(tensor.shape) for name, tensor in inputs.items()}
    {'input_ids': (2, 16)}
    >>> trace(model, inputs, data_dependent="assume-false", name="bert").num_ops
    30
    """
    zoo.check_positive(batch=batch, sequence=sequence, layers=layers)
    zoo_ready()
    with _offline(), quiet():
        config = configure(_config(source), layers, values)
        message = "transformers has no model of this type"
        for name in _heads(config) if head is None else (head,):
            try:
                model = _model(config, name)
            except TraceError as error:
                message = str(error)
                continue
            for position, inputs in enumerate(candidates(model, batch, sequence)):
                try:
                    dry_run(model, inputs, data_dependent=ASSUME_FALSE)
                    return model, inputs
                except TraceError as error:
                    message = message if position else str(error)
    raise TraceError(f"hf:{config.model_type}: {message}")


def zoo_ready() -> None:
    """Make ``torchvision``, which many models import, importable where it is installed."""
    try:
        zoo.import_torchvision()
    except ModuleNotFoundError:
        return


def model_types() -> list[str]:
    """Every model type with a base model, in alphabetical order."""
    from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

    return sorted(MODEL_MAPPING_NAMES)


def _config(source: str | Path | Any) -> Any:
    from transformers import CONFIG_MAPPING, PretrainedConfig

    if isinstance(source, PretrainedConfig):
        return source
    values: dict[str, Any] = {}
    name = str(source)
    if name.endswith(".json"):
        values = parse_json(read_bytes(source, CONFIG_BYTES), name)
        if not isinstance(values, dict) or not isinstance(values.get("model_type"), str):
            raise ParseError(f"{name}: a configuration is an object with a model_type")
        name = values["model_type"]
    if name not in CONFIG_MAPPING:
        raise TraceError(f"hf:{source}: transformers has no model type {name!r}")
    kind = CONFIG_MAPPING[name]
    return kind.from_dict(values) if values else kind()


def _heads(config: Any) -> Iterator[str]:
    """Heads to try: the architecture that the configuration names, then those that there are for its type."""
    if getattr(config, "architectures", None):
        yield str(config.architectures[0])
        return
    yield from (head for head in HEADS if type(config) in _table(head))


def _table(head: str) -> Mapping[type, Any]:
    """Configuration class -> model classes."""
    from transformers.models.auto import modeling_auto

    name = "MODEL_MAPPING" if head == "base" else f"MODEL_FOR_{head.upper().replace('-', '_')}_MAPPING"
    table = getattr(modeling_auto, name, None)
    if table is None:
        raise TraceError(f"head {head!r}: must be one of {', '.join(HEADS)}, or another of transformers' tables")
    return table


def _model(config: Any, head: str) -> torch.nn.Module:
    import transformers

    kind = getattr(transformers, head, None) if head.isidentifier() and head[0].isupper() else None
    if kind is None:
        table = _table(head)
        if type(config) not in table:
            raise TraceError(f"there is no {head} model of type {config.model_type}")
        found = table[type(config)]
        kind = found[0] if isinstance(found, (tuple, list)) else found
    with assumed_values(ASSUME_FALSE):
        return zoo.weightless(kind.__name__, lambda: kind(config))


@contextmanager
def _offline() -> Iterator[None]:
    """Meanwhile the hub is not asked for anything."""
    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before
