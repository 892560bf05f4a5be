import json

import pytest

from regal.cli.main import main
from regal.corpus import load_corpus
from regal.graph import example_graph, read_graph, write_graph


@pytest.mark.parametrize("name", ["graph.json", "graph.json.gz"])
def test_a_graph_is_written(capsys, tmp_path, name):
    path = tmp_path / name
    assert main(["convert", "example:diamond", str(path)]) == 0
    out, err = capsys.readouterr()
    assert (out, err) == (f"{path}: {example_graph('diamond')!r}\n", "")
    assert read_graph(path).sha256 == example_graph("diamond").sha256
    again = tmp_path / f"again.{name}"
    assert main(["convert", str(path), str(again)]) == 0
    assert again.read_bytes() == path.read_bytes()
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ("missing.json", "out.json", "missing.json: No such file"),
        ("example:none", "out.json", "no example graph 'none'"),
        ("example:chain", "out.txt", "OUT out.txt: the name must end in .json or .json.gz"),
        ("example:chain", "no/out.json", "OUT no/out.json: there is no folder no"),
        ("graph.csv", "out.json", "graph.csv: a graph file ends in .json, .onnx"),
    ],
)
def test_what_cannot_be_converted(capsys, tmp_path, monkeypatch, source, target, message):
    monkeypatch.chdir(tmp_path)
    assert main(["convert", source, target]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert message in err
    assert list(tmp_path.iterdir()) == []


def test_an_onnx_model_with_dimensions(capsys, tmp_path):
    onnx = pytest.importorskip("onnx")
    helper, FLOAT = onnx.helper, onnx.TensorProto.FLOAT
    ends = [helper.make_tensor_value_info(name, FLOAT, ["batch", 3]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "relu", ends[:1], ends[1:])
    model, path = tmp_path / "model.onnx", tmp_path / "graph.json"
    onnx.save(helper.make_model(graph), str(model))
    assert main(["convert", str(model), str(path), "--dim", "batch=5"]) == 0
    assert [tensor["bytes"] for tensor in json.loads(path.read_text())["tensors"]] == [60, 60]
    capsys.readouterr()
    model.write_bytes(b"\x00junk")
    assert main(["convert", str(model), str(path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_folder_of_files_becomes_a_corpus(tmp_path, capsys):
    for split, name in (("train", "chain"), ("test", "diamond")):
        (tmp_path / "in" / split).mkdir(parents=True)
        write_graph(example_graph(name), tmp_path / "in" / split / f"{name}.json")
    for target in ("out", "out.npz"):
        assert main(["convert", str(tmp_path / "in"), str(tmp_path / target)]) == 0
        assert capsys.readouterr().out.endswith("a corpus of 2 graphs\n")
        assert [graph.num_ops for graph in load_corpus(tmp_path / target, split="train")] == [3]


@pytest.mark.parametrize(
    ("files", "target", "message"),
    [
        ([], "out", "the folder holds no graph file"),
        (["a.json"], "out.json", "a corpus is a folder, or a file whose name ends in .npz"),
        (["a.json"], "no/out.npz", "there is no folder"),
        (["a.json", "a.pbtxt"], "out", "another file gives the name 'a' too"),
    ],
)
def test_a_folder_that_is_no_corpus_is_one_line(tmp_path, capsys, files, target, message):
    (tmp_path / "in").mkdir()
    for name in files:
        if name.endswith("json"):
            write_graph(example_graph("chain"), tmp_path / "in" / name)
        else:
            (tmp_path / "in" / name).write_text('node { name: "_SOURCE" id: 0 }')
    assert main(["convert", str(tmp_path / "in"), str(tmp_path / target)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / target).exists()
