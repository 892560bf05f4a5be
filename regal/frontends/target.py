"""Name a model on the command line: ``module:function`` returns the model and its example inputs."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

KEYS = ("model", "example_inputs", "loss", "name", "training")


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
    """

    model: Any
    example_inputs: Any
    loss: Callable[..., Any] | None = None
    name: str | None = None
    training: bool = False


def load_target(target: str) -> Target:
    """Import ``module`` with the working directory on the path, and call ``function`` without arguments.

    The function returns ``(model, example_inputs)``, or a dict with these two keys and, where wanted, ``loss``,
    ``name`` and ``training``. What the function itself raises is passed on.

    Raises
    ------
    ValueError
        For text that is not ``module:function``, a module that cannot be imported, a name that is no function of it,
        or a function that returns something else; the message is one line.
    """
    module_name, colon, function_name = target.partition(":")
    if not colon or not all(part.isidentifier() for part in (*module_name.split("."), function_name)):
        raise ValueError(f"target {target!r}: must read module:function, such as models.resnet:build")
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
