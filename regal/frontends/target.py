"""Name a model on the command line: ``module:function``, or ``hf:``, ``timm:`` or ``torchvision:`` and a model."""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

KEYS = ("model", "example_inputs", "loss", "name", "training", "optimizer", "data_dependent")
ZOOS = ("hf", "timm", "torchvision")


@dataclass(frozen=True)
class Target:
    """What :func:`regal.frontends.torch.trace` is to be called with.

    Attributes
    ----------
    model : torch.nn.Module or callable
    example_inputs : tensor, tuple, list or dict
    loss : callable, optional
    name : str, optional
    training : bool
    optimizer : str, optional
    data_dependent : str
    """

    model: Any
    example_inputs: Any
    loss: Callable[..., Any] | None = None
    name: str | None = None
    training: bool = False
    optimizer: str | None = None
    data_dependent: str = "refuse"


def load_target(target: str) -> Target:
    """Import or build what ``target`` names.

    ``module:function``
        The module is imported with the working directory on the path, and its function called without arguments. It
        returns ``(model, example_inputs)``, or a dict with these two keys and, where wanted, ``loss``, ``name``,
        ``training``, ``optimizer`` and ``data_dependent``. What the function itself raises is passed on.
    ``hf:MODEL_TYPE`` or ``hf:PATH.json``
        A ``transformers`` model from its default configuration, or from a file; see
        :func:`regal.frontends.huggingface.build`.
    ``timm:NAME``, ``torchvision:NAME``
        See :mod:`regal.frontends.zoo`.

    Models of the last three kinds take options: ``hf:bert?num_hidden_layers=6&batch=8&sequence=128``. They have no
    weights, and nothing is downloaded.

    Raises
    ------
    ValueError
        For text that is none of these, a module that cannot be imported, a name that is no function of it, a function
        that returns something else, or a model that cannot be built; the message is one line.
    """
    zoo, colon, rest = target.partition(":")
    return _from_zoo(target, zoo, rest) if colon and zoo in ZOOS else _from_function(target)


def _from_zoo(target: str, zoo: str, rest: str) -> Target:
    name, _, query = rest.partition("?")
    options = _options(target, query)
    try:
        from regal.frontends.zoo import loss_for, timm, torchvision

        if zoo == "hf":
            from regal.frontends.huggingface import build

            model, inputs = build(name, **options)
            name = str(getattr(model.config, "model_type", name))
        else:
            model, inputs = {"timm": timm, "torchvision": torchvision}[zoo](name, **options)
    except ModuleNotFoundError as error:
        raise ValueError(f"target {target!r}: {error.name} is not installed: pip install {error.name}") from error
    except TypeError as error:  # an option that is none, or of another kind
        raise ValueError(f"target {target!r}: {_first_line(error)}") from error
    return Target(model, inputs, loss_for(model, inputs), name, data_dependent="assume-false")


def _options(target: str, query: str) -> dict[str, Any]:
    """``a=1&b=text`` as a dict; values that are JSON are read as such."""
    options: dict[str, Any] = {}
    for item in query.split("&") if query else ():
        key, equals, text = item.partition("=")
        if not key or not equals or key in options:
            raise ValueError(f"target {target!r}: an option reads name=value, each name once, not {item!r}")
        try:
            options[key] = json.loads(text)
        except ValueError:
            options[key] = text
    return options


def _from_function(target: str) -> Target:
    module_name, colon, function_name = target.partition(":")
    if not colon or not all(part.isidentifier() for part in (*module_name.split("."), function_name)):
        raise ValueError(f"target {target!r}: must read module:function, such as models.resnet:build, or hf:bert")
    with _working_directory_on_path():
        try:
            module = importlib.import_module(module_name)
        except (ImportError, SyntaxError) as error:
            raise ValueError(f"target {target!r}: cannot import {module_name}: {_first_line(error)}") from error
        function = getattr(module, function_name, None)
        if not callable(function):
            what = "no" if function is None else "not a function, but a value:"
            raise ValueError(f"target {target!r}: {module_name} has {what} {function_name}")
        return _checked(target, function())


def _checked(target: str, value: Any) -> Target:
    if isinstance(value, tuple) and len(value) == 2:
        value = dict(zip(KEYS, value, strict=False))
    if not isinstance(value, dict):
        found = f"a tuple of {len(value)}" if isinstance(value, tuple) else type(value).__name__
        raise ValueError(f"target {target!r}: must return (model, example_inputs) or a dict, not {found}")
    for key in KEYS[:2]:
        if key not in value:
            raise ValueError(f"target {target!r}: the returned dict lacks {key!r}")
    for key in value:
        if key not in KEYS:
            raise ValueError(f"target {target!r}: the returned dict has the unknown key {key!r}")
    result = Target(**value)
    if not callable(result.model):
        raise ValueError(f"target {target!r}: model must be callable, not {type(result.model).__name__}")
    if result.loss is not None and not callable(result.loss):
        raise ValueError(f"target {target!r}: loss must be callable, not {type(result.loss).__name__}")
    if result.name is not None and not isinstance(result.name, str):
        raise ValueError(f"target {target!r}: name must be text, not {type(result.name).__name__}")
    if not isinstance(result.training, bool):
        raise ValueError(f"target {target!r}: training must be true or false, not {result.training!r}")
    for key in ("optimizer", "data_dependent"):
        value = getattr(result, key)
        if not isinstance(value, str) and not (key == "optimizer" and value is None):
            raise ValueError(f"target {target!r}: {key} must be text, not {type(value).__name__}")
    return result


@contextmanager
def _working_directory_on_path() -> Iterator[None]:
    """As ``python -m`` does; the path is as before afterwards."""
    before = list(sys.path)
    sys.path.insert(0, os.getcwd())
    try:
        yield
    finally:
        sys.path[:] = before


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
