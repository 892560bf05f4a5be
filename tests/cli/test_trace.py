import json

import pytest

from regal.cli.main import main
from regal.graph import read_graph

torch = pytest.importorskip("torch")

MODULE = """
import torch

def build():
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)), (torch.zeros(3, 4),)

def training():
    model, inputs = build()
    return {"model": model, "example_inputs": inputs, "loss": lambda y: y.sum(), "name": "tiny", "training": True}

def wrong():
    return 3
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    name = f"tiny_module_{abs(hash(request.node.name))}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    return name


def test_a_model_becomes_a_plan(capsys, folder, tmp_path):
    assert main(["trace", f"{folder}:training", "--output", "graph.json.gz"]) == 0
    out, err = capsys.readouterr()
    graph = read_graph("graph.json.gz")
    assert (out, err) == (f"graph.json.gz: {graph!r}\n", "")
    assert graph.name == "tiny"
    assert main(["optimize", "graph.json.gz", "--evaluations", "300", "--json", "--output", "plan.json"]) == 0
    assert json.loads(capsys.readouterr().out)["graph"] == "tiny"
    assert main(["verify", "graph.json.gz", "plan.json"]) == 0


def test_training_and_inference(folder):
    sizes = []
    for option in ([], ["--training"], ["--inference"]):
        for target in ("build", "training"):
            assert main(["trace", f"{folder}:{target}", "--output", "graph.json", *option]) == 0
            sizes.append(read_graph("graph.json").num_ops)
    forward, backward, *forced = sizes
    assert forward < backward
    assert forced[1] == backward
    assert forced[2:] == [forward, forward]


def test_the_update_of_an_optimizer(capsys, folder):
    assert main(["trace", f"{folder}:build", "--output", "graph.json", "--optimizer", "momentum"]) == 0
    graph = read_graph("graph.json")
    assert (graph.meta["source"]["mode"], graph.meta["source"]["optimizer"]) == ("step", "momentum")
    capsys.readouterr()
    assert main(["trace", f"{folder}:build", "--output", "no.json", "--optimizer", "adam", "--inference"]) == 2
    assert capsys.readouterr().err == "regal: optimizer 'adam' needs gradients: trace with training=True\n"


@pytest.mark.parametrize(
    ("target", "output", "message"),
    [
        ("nothing", "g.json", "must read module:function"),
        ("no_such_module:build", "g.json", "cannot import no_such_module"),
        ("{}:nobody", "g.json", "has no nobody"),
        ("{}:wrong", "g.json", "must return (model, example_inputs) or a dict, not int"),
        ("{}:build", "g.txt", "--output g.txt: the name must end in .json or .json.gz"),
        ("{}:build", "no/g.json", "--output no/g.json: there is no folder no"),
    ],
)
def test_bad_targets(capsys, folder, tmp_path, target, output, message):
    assert main(["trace", target.format(folder), "--output", output]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert message in err
    assert not list(tmp_path.glob("g.*"))
