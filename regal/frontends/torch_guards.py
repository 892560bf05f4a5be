"""What surrounds a PyTorch tracer: errors of one line, and silence about its internals."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

TRACE_ERRORS = (
    RuntimeError,
    TypeError,
    ValueError,
    AttributeError,
    AssertionError,
    LookupError,
    ArithmeticError,
    NameError,
)
"""What a model, or the tracer on its behalf, raises where it cannot be traced."""
DATA_DEPENDENT = {"DataDependentOutputException", "DynamicOutputShapeException", "GuardOnDataDependentSymNode"}
LOGGERS = ("torch._subclasses.fake_tensor", "torch.fx.experimental.symbolic_shapes")

REFUSE, ASSUME_FALSE = "refuse", "assume-false"
DATA_DEPENDENT_CHOICES = (REFUSE, ASSUME_FALSE)
ASSUMED: dict[Any, Callable[[torch.Tensor], Any]] = {
    torch.Tensor.__bool__: lambda tensor: False,
    torch.Tensor.__int__: lambda tensor: 0,
    torch.Tensor.__index__: lambda tensor: 0,
    torch.Tensor.__float__: lambda tensor: 0.0,
    torch.Tensor.__contains__: lambda tensor: False,
    torch.Tensor.item: lambda tensor: _zero(tensor),
    torch.Tensor.tolist: lambda tensor: _zeros(tensor, tensor.dim()),
    torch.Tensor.equal: lambda tensor: False,
    torch.Tensor.allclose: lambda tensor: False,
    torch.equal: lambda tensor: False,
    torch.allclose: lambda tensor: False,
    torch.is_nonzero: lambda tensor: False,
}
"""What a question to a tensor without values is answered with, where a model is to be traced nevertheless."""


class TraceError(ValueError):
    """A model cannot become a graph; the one-line message says what to do."""


@contextmanager
def quiet() -> Iterator[None]:
    """Hold back what PyTorch prints, logs and warns about its own internals while it traces; errors carry the news."""
    with ExitStack() as stack:
        for name in LOGGERS:
            logger = logging.getLogger(name)
            stack.callback(setattr, logger, "disabled", logger.disabled)
            logger.disabled = True
        stack.enter_context(redirect_stderr(io.StringIO()))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        yield


@contextmanager
def one_line_errors(model: Callable[..., Any], training: bool) -> Iterator[None]:
    """Turn what tracing ``model`` raises into a :class:`TraceError` that says what to do."""
    where = f"cannot trace {getattr(model, '__name__', type(model).__name__)} for {mode_name(training)}"
    try:
        yield
    except TraceError as error:
        raise TraceError(f"{where}: {error}") from None
    except TRACE_ERRORS as error:
        if is_data_dependent(error):
            advice = "a branch or a size depends on a tensor's values: use torch.where and fixed sizes instead"
            if any(type(cause).__name__ == "DataDependentOutputException" for cause in _causes(error)):
                advice += f", or data_dependent={ASSUME_FALSE!r}"
            raise TraceError(f"{where}: {advice}") from error
        line = next((line for line in str(error).splitlines() if line.strip()), "")[:300]
        advice = "check that model(*example_inputs) runs"
        raise TraceError(f"{where}: {type(error).__name__}: {line}; {advice}") from error


def mode_name(training: bool) -> str:
    """``"training"`` or ``"inference"``."""
    return "training" if training else "inference"


def is_data_dependent(error: BaseException) -> bool:
    """Whether ``error``, or what caused it, is that a tensor without data was asked for its values."""
    return bool(DATA_DEPENDENT & {type(cause).__name__ for cause in _causes(error)})


@contextmanager
def assumed_values(data_dependent: str) -> Iterator[None]:
    """With ``"assume-false"`` tensors without data answer False or zero, and models hear that they are compiled.

    Raises
    ------
    TraceError
        When ``data_dependent`` is neither that nor ``"refuse"``.
    """
    if data_dependent not in DATA_DEPENDENT_CHOICES:
        choices = ", ".join(DATA_DEPENDENT_CHOICES)
        raise TraceError(f"data_dependent must be one of {choices}, not {data_dependent!r}")
    if data_dependent == REFUSE:
        yield
        return
    before = torch.compiler._is_compiling_flag
    torch.compiler._is_compiling_flag = True
    try:
        with _AssumedValues():
            yield
    finally:
        torch.compiler._is_compiling_flag = before


class _AssumedValues(TorchFunctionMode):
    """Answers for tensors that have no values; those of constants are known and asked."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func not in ASSUMED:
            return func(*args, **(kwargs or {}))
        try:
            answer = func(*args, **(kwargs or {}))
        except RuntimeError as error:
            if not is_data_dependent(error):
                raise
            return ASSUMED[func](args[0])
        symbolic = (torch.SymInt, torch.SymFloat, torch.SymBool)
        leaf = answer
        while isinstance(leaf, list) and leaf:
            leaf = leaf[0]
        return ASSUMED[func](args[0]) if isinstance(leaf, symbolic) else answer


def _zero(tensor: torch.Tensor) -> bool | int | float | complex:
    if tensor.dtype == torch.bool:
        return False
    if tensor.is_complex():
        return 0j
    return 0.0 if tensor.is_floating_point() else 0


def _zeros(tensor: torch.Tensor, dimensions: int) -> Any:
    """Nested lists of zeros, as ``tolist`` returns them."""
    if dimensions == 0:
        return _zero(tensor)
    return [_zeros(tensor, dimensions - 1) for _ in range(tensor.shape[tensor.dim() - dimensions])]


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
