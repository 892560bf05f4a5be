"""ONNX files in a process of their own: the same graph, and whatever happens there is one line here."""

import sys

import pytest

pytest.importorskip("onnx")

import onnx
from onnx import TensorProto, helper

import regal
from regal.frontends import Rates, onnx_process
from regal.frontends.onnx import load
from regal.frontends.onnx_process import load_file


@pytest.fixture
def path(tmp_path):
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 3]) for name in ("x", "y")]
    weight = helper.make_tensor("w", TensorProto.FLOAT, [3, 3], bytes(36), raw=True)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Flatten", ["h"], ["y"])]
    model = helper.make_model(helper.make_graph(nodes, "g", ends[:1], ends[1:], [weight]))
    onnx.save(model, tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


@pytest.mark.parametrize(
    "options",
    [
        {"dimensions": {"batch": 4}},
        {
            "default_dimension": 2,
            "contract_views": False,
            "fold_constants": False,
            "rates": Rates(float("inf"), 1e9, 0),
        },
    ],
)
def test_the_graph_is_the_same(path, options):
    graph, here = load_file(path, **options), load(path, **options)
    assert (graph.name, graph.sha256, graph.meta) == ("m", here.sha256, here.meta)
    assert regal.load(str(path), **options).sha256 == here.sha256


def test_what_is_wrong_with_a_model_is_said_here(path):
    with pytest.raises(ValueError, match=r"^\S+/m\.onnx: input 'x': dimension 0 'batch' is dynamic"):
        load_file(path)
    with pytest.raises(ValueError, match=r"^\S+/m\.onnx: dimension 'batch' must be an integer from 0 to 2\^53 - 1"):
        load_file(path, dimensions={"batch": object()})
    with pytest.raises(ValueError, match=r"^\S+/none\.onnx: No such file or directory$"):
        load_file(path.with_name("none.onnx"))


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ("import os; os.abort()", r"the ONNX library crashed on it, or takes too much memory \(SIGABRT\)"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", r"\(SIGSEGV\)"),
        ("import time; time.sleep(60)", "reading it takes more than 0.5 seconds"),
        ("raise KeyError('no\\nsuch')", r"failed with exit code 1: KeyError: 'no\\nsuch'"),
    ],
)
def test_a_process_that_dies_is_one_line(path, monkeypatch, start, message):
    monkeypatch.setattr(onnx_process, "START", start)
    monkeypatch.setattr(onnx_process, "MAX_SECONDS", 0.5)
    with pytest.raises(ValueError, match=message) as caught:
        load_file(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux")
def test_a_small_file_that_takes_much_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_process, "BASE_MEMORY", 50 * 2**20)
    nodes = 2**20  # empty ones, two bytes each
    (tmp_path / "m.onnx").write_bytes(b"\x3a\x80\x80\x80\x01" + b"\x0a\x00" * nodes)
    with pytest.raises(ValueError, match=r"^\S+/m\.onnx: ") as caught:
        load_file(tmp_path / "m.onnx")
    assert "1048576 nodes" not in str(caught.value)


def test_a_module_of_the_current_folder_is_not_imported(path, tmp_path, monkeypatch):
    (tmp_path / "onnx.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    assert load_file("m.onnx", default_dimension=1).num_ops == 1
