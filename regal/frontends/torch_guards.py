"""What surrounds a PyTorch tracer: errors of one line, and silence about its internals."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr
from typing import Any

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
        if DATA_DEPENDENT & {type(cause).__name__ for cause in _causes(error)}:
            advice = "a branch or a size depends on a tensor's values: use torch.where and fixed sizes instead"
            raise TraceError(f"{where}: {advice}") from error
        line = next((line for line in str(error).splitlines() if line.strip()), "")[:300]
        advice = "check that model(*example_inputs) runs"
        raise TraceError(f"{where}: {type(error).__name__}: {line}; {advice}") from error


def mode_name(training: bool) -> str:
    """``"training"`` or ``"inference"``."""
    return "training" if training else "inference"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
