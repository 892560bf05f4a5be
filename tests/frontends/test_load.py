"""``regal.load`` and ``regal.trace``: which importer reads what, and what they say when they cannot."""

import importlib.util
import subprocess
import sys

import pytest

from regal.frontends import load, trace
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
        ("graph.txt", r"graph\.txt: a graph file ends in \.json, \.json\.gz or \.onnx"),
        ("", r": a graph file ends in \.json, \.json\.gz or \.onnx"),
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


def test_options_are_for_onnx():
    with pytest.raises(ValueError, match="example:chain: options default_dimension, dimensions are for ONNX files"):
        load("example:chain", dimensions={"batch": 4}, default_dimension=1)


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
