"""A slice of ``python -m tests.onnx_models``: every file and text, and the operators that are most unlike the rest."""

import os
import signal
import time

import pytest

pytest.importorskip("onnx")

from tests import onnx_models
from tests.onnx_models import Model, Outcome, files, operators, outcomes, read, texts

MODULES = (
    *("adam", "cast", "constant", "dropout", "dynamicquantizelinear", "if_", "loop", "qlinearmatmul", "scan", "unique"),
    *("identity", "optionalgetelement", "optionalhaselement", "quantizelinear", "reshape", "resize", "splittosequence"),
    *(
        "sequenceinsert",
        "sequence_map",
        "string_split",
        "stringnormalizer",
        "shape",
        "spacetodepth",
        "linear_attention",
    ),
)


@pytest.fixture(scope="module")
def unusual():
    return operators(*MODULES)


def test_every_file_is_read():
    models = files()
    assert len(models) == 149
    found = [read(model) for model in models]
    assert {outcome.kind for outcome in found} == {"loaded"}


def test_unusual_operators_are_read_and_their_sizes_are_right(unusual):
    assert len(unusual) > 250
    found = [read(model) for model in unusual]
    assert [outcome.reason for outcome in found if outcome.kind != "loaded"] == []
    assert [outcome.wrong for outcome in found if outcome.wrong] == []
    assert sum(outcome.right for outcome in found) > 500


def test_texts_are_read():
    assert {model.name: read(model)[:4] for model in texts()} == {
        "text/linear": ("loaded", "", 0, 0),
        "text/function": ("loaded", "", 0, 0),
        "text/branch": ("loaded", "", 0, 1),
        "text/sequence": ("loaded", "", 0, 0),
        "text/packed": ("loaded", "", 0, 0),
    }


def test_a_wrong_size_would_be_seen(unusual, monkeypatch):
    monkeypatch.setitem(onnx_models.Sizes.add.__globals__["BITS"], "FLOAT", 16)
    model = next(model for model in unusual if model.name == "node/test_linear_attention_linear")
    assert len(read(model).wrong) == 2


def test_what_breaks_is_told_from_what_is_refused(monkeypatch):
    first, second, third, fourth = texts()[:4]
    monkeypatch.setattr(onnx_models, "MAX_SECONDS", 2.0)

    def trap(model):
        if model is second:
            os.kill(os.getpid(), signal.SIGKILL)
        if model is third:
            time.sleep(60)
        return read(model)

    monkeypatch.setattr(onnx_models, "read", trap)
    found = list(outcomes([Model("missing", "no file", None), first, second, third, fourth]))
    assert [(model.name, outcome.kind) for model, outcome in found] == [
        ("missing", "refused"),
        ("text/linear", "loaded"),
        ("text/function", "broken"),
        ("text/branch", "broken"),
        ("text/sequence", "loaded"),
    ]
    assert found[0][1] == Outcome("refused", "no file: No such file or directory")
    assert found[2][1].reason == f"the process that read it died with code {-signal.SIGKILL}"
    assert found[3][1].reason == "takes more than 2 seconds"
