import json

import pytest

from regal.cli.main import main
from regal.graph import example_graph, read_graph


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
        ("graph.csv", "out.json", "graph.csv: a graph file ends in .json, .json.gz or .onnx"),
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
