"""``regal.load`` and ``regal.trace``: which importer reads what, and what they say when they cannot."""

import importlib
import importlib.util
import re
import subprocess
import sys

import pytest

from regal.frontends import load, trace
from regal.frontends.loading import FORMATS, format_of
from regal.graph import example_graph, write_graph


@pytest.mark.parametrize("name", ["graph.json", "graph.json.gz"])
def test_graph_files(tmp_path, name):
    graph = example_graph("diamond")
    write_graph(graph, tmp_path / name)
    assert load(tmp_path / name).sha256 == graph.sha256
    assert load(str(tmp_path / name)).sha256 == graph.sha256


def test_compressed_or_not_is_seen_in_the_content(tmp_path):
    write_graph(example_graph("chain"), tmp_path / "graph.json.gz")
    (tmp_path / "graph.json.gz").rename(tmp_path / "graph.json")
    assert load(tmp_path / "graph.json").num_ops == 3


@pytest.mark.parametrize("name", ["chain", "diamond", "branches"])
def test_examples(name):
    assert load(f"example:{name}").name == name


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("example:nobody", "no example graph 'nobody'; there are branches, chain, diamond"),
        ("model.txt", r"model\.txt: a graph file ends in \.json, \.onnx, \.hlo, .* or saved_model\.pb"),
        ("", r": a graph file ends in \.json, "),
        (".", "a graph file ends in"),
        ("missing.json", "missing.json: No such file or directory"),
        ("folder.json", "folder.json: Is a directory"),
        ("nul\0.json", "null"),
    ],
)
def test_what_cannot_be_read(tmp_path, monkeypatch, source, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(ValueError, match=message) as caught:
        load(source)
    assert "\n" not in str(caught.value)


def test_unknown_options_are_named(tmp_path):
    with pytest.raises(ValueError, match="example:chain: an example takes no option default_dimension, dimensions"):
        load("example:chain", dimensions={"batch": 4}, default_dimension=1)
    write_graph(example_graph("chain"), tmp_path / "chain.json")
    with pytest.raises(ValueError, match=r"chain\.json: regal-graph/1 takes no option dimensions"):
        load(tmp_path / "chain.json", dimensions={"batch": 4})


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("x.json.gz", "regal-graph/1"),
        ("x.workload.json", "dnn-partitioning"),
        ("x.onnx", "ONNX"),
        ("x.hlo.txt", "HLO"),
        ("x.pbtxt", "CostGraphDef"),
        ("x.pb", "TensorFlow"),
        ("a/graph.txt", "PipeDream"),
    ],
)
def test_the_name_tells_the_format(name, what):
    assert format_of(name).what == what


def test_the_folder_of_a_saved_model_is_known(tmp_path):
    (tmp_path / "saved_model.pb").write_bytes(b"")
    assert format_of(tmp_path).what == "TensorFlow"


def test_every_importer_is_there():
    for known in FORMATS:
        if not known.extra or importlib.util.find_spec(known.extra):
            assert callable(getattr(importlib.import_module(known.module), known.function))


@pytest.mark.parametrize("name", ["x.hlo", "x.pbtxt", "graph.txt", "x.workload.json"])
def test_text_formats_go_to_their_importer(tmp_path, name):
    (tmp_path / name).write_text("nonsense")
    with pytest.raises(ValueError, match=re.escape(name)) as caught:
        load(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_onnx_files_go_to_their_importer(tmp_path):
    pytest.importorskip("onnx")
    with pytest.raises(ValueError, match=r"missing\.onnx"):
        load(tmp_path / "missing.onnx")
    (tmp_path / "junk.onnx").write_bytes(b"\x00junk")
    with pytest.raises(ValueError, match=r"junk\.onnx"):
        load(tmp_path / "junk.onnx", dimensions={"batch": 4})


def test_traces_a_module():
    torch = pytest.importorskip("torch")
    graph = trace(torch.nn.Linear(3, 2), (torch.zeros(4, 3),))
    assert graph.num_ops >= 1


@pytest.mark.parametrize(
    ("framework", "call"),
    [("onnx", "regal.load('model.onnx')"), ("torch", "regal.trace(print, ())")],
)
def test_without_the_framework_the_extra_is_named(framework, call):
    assert importlib.util.find_spec("regal") is not None
    code = f"""
import sys
sys.modules[{framework!r}] = None
import regal
try:
    {call}
except ValueError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == f"{framework} is not installed: pip install 'regal-optimizer[{framework}]'\n"
