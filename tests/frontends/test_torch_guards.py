import logging
import sys
import warnings

import pytest

torch = pytest.importorskip("torch")

from regal.frontends.torch_guards import LOGGERS, TraceError, mode_name, one_line_errors, quiet  # noqa: E402


def failing(model, error, training=False):
    with pytest.raises(TraceError) as caught, one_line_errors(model, training):
        raise error
    return caught.value


class GuardOnDataDependentSymNode(RuntimeError):
    """Named like the one of the tracer."""


def test_long_messages_become_one_line_that_names_the_model_and_the_mode():
    original = RuntimeError("\n\nfirst line\nsecond line")
    error = failing(len, original, training=True)
    assert str(error) == (
        "cannot trace len for training: RuntimeError: first line; check that model(*example_inputs) runs"
    )
    assert error.__cause__ is original


def test_a_data_dependent_cause_is_found_below_other_errors():
    original = RuntimeError("outer")
    original.__cause__ = ValueError("middle")
    original.__cause__.__context__ = GuardOnDataDependentSymNode("inner")
    assert "use torch.where and fixed sizes instead" in str(failing(len, original))
    assert "torch.where" not in str(failing(len, RuntimeError("outer")))


def test_only_a_question_for_values_can_be_answered_otherwise():
    class DataDependentOutputException(RuntimeError):
        """Named like the one of the tracer."""

    assert "data_dependent='assume-false'" in str(failing(len, DataDependentOutputException("item")))
    assert "data_dependent" not in str(failing(len, GuardOnDataDependentSymNode("size")))


def test_a_trace_error_keeps_its_own_advice():
    error = failing(len, TraceError("give a loss"))
    assert str(error) == "cannot trace len for inference: give a loss"


def test_errors_that_are_no_fault_of_the_model_pass():
    with pytest.raises(KeyboardInterrupt), one_line_errors(len, False):
        raise KeyboardInterrupt


def test_silence_ends_with_the_block(capsys):
    loggers = [logging.getLogger(name) for name in LOGGERS]
    before = [logger.disabled for logger in loggers]
    with quiet():
        print("hidden", file=sys.stderr)
        warnings.warn("hidden", UserWarning, stacklevel=1)
        assert all(logger.disabled for logger in loggers)
    assert [logger.disabled for logger in loggers] == before
    print("shown", file=sys.stderr)
    assert capsys.readouterr().err == "shown\n"
    with pytest.warns(UserWarning, match="shown"):
        warnings.warn("shown", UserWarning, stacklevel=1)


def test_silence_ends_with_an_error():
    before = sys.stderr
    with pytest.raises(KeyError), quiet():
        raise KeyError
    assert sys.stderr is before


def test_modes_have_names():
    assert (mode_name(True), mode_name(False)) == ("training", "inference")
