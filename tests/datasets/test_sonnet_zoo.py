"""The Sonnet zoo: that it holds what the card says, and what a network becomes in each mode."""

import ast
import importlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "datasets" / "tensorflow"
SOURCES = sorted(FOLDER.glob("sonnet_*.py"))


def network_builders():
    """Name of every function of the zoo's modules that returns a Network, and its text."""
    for path in SOURCES:
        for node in ast.parse(path.read_text()).body:
            returned = node.returns if isinstance(node, ast.FunctionDef) else None
            private = path.name == "sonnet_steps.py" or (returned is not None and node.name.startswith("_"))
            if isinstance(returned, ast.Name) and returned.id == "Network" and not private:
                yield f"{path.stem}.{node.name}", ast.get_docstring(node)


def test_every_builder_says_whose_model_it_is():
    texts = dict(network_builders())
    assert len(texts) >= 40
    for name, text in texts.items():
        assert text.startswith(("Shipped by Sonnet: ", "Ours on Sonnet modules")), name


def in_a_process(code, seed="0"):
    """Lines that ``code`` prints in a fresh Python in the zoo's folder."""
    if importlib.util.find_spec("sonnet") is None or importlib.util.find_spec("tensorflow") is None:
        pytest.skip("Sonnet is not installed")
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1", "PYTHONHASHSEED": seed}
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=FOLDER,
        env={**os.environ, **quiet},
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout.splitlines()


@pytest.mark.slow
def test_the_zoo_lists_each_model_once_and_uses_every_builder():
    lines = in_a_process("""
import sonnet_zoo as zoo
jobs = zoo.jobs()
print(len(jobs), len({job.name for job in jobs}), min(job.batch for job in jobs))
print(*sorted({entry.origin for entry in zoo.MODELS.values()}), sep="|")
print(*sorted({f"{entry.build.__module__}.{entry.build.__name__}" for entry in zoo.MODELS.values()}))
""")
    listed, distinct, smallest_batch = map(int, lines[0].split())
    assert listed == distinct >= 100
    assert smallest_batch >= 1
    assert lines[1] == "ours on Sonnet modules|shipped by Sonnet"
    assert lines[2].split() == sorted(name for name, _ in network_builders())


TWO_PLAYERS = """
import sonnet as snt, tensorflow as tf
from sonnet_layers import floats
from sonnet_steps import Network, graphs

class Players(snt.Module):
    def __init__(self):
        super().__init__()
        self.maker, self.judge = snt.Linear(8, with_bias=False), snt.Linear(1, with_bias=False)

net = Players()
judged = lambda x: tf.reduce_mean(net.judge(net.maker(x)))
network = Network(net, [floats(4, 5)], net.maker, {"maker": judged, "judge": lambda x: -judged(x)})
for mode, graph in graphs(network, ["inference", "training", "step", "step-momentum", "step-adam"]).items():
    outputs = sorted(graph.tensor_bytes[graph.is_output].tolist())
    persistent = sorted(graph.tensor_bytes[graph.producer < 0].tolist())
    assigned = sum("Assign" in kind for kind in graph.op_types)
    print(mode, graph.meta["source"]["mode"], assigned, outputs, persistent, graph.sha256, sep="|")
"""


@pytest.mark.slow
def test_two_objectives_are_learned_in_one_step_and_traced_alike_again():
    # x[4,5] -> maker[5,8] -> judge[8,1] -> mean: gradients of 160 and 32 bytes, each for its own objective.
    lines = [line.split("|") for line in in_a_process(TWO_PLAYERS, "1")]
    found = {mode: rest for mode, *rest in lines}
    weights = [32, 80, 160]  # judge, x, maker
    assert found["inference"][:4] == ["inference", "0", "[128]", "[80, 160]"]
    assert found["training"][:4] == ["training", "0", "[4, 4, 32, 160]", str(weights)]
    assert found["step"][:4] == ["step", "2", "[4, 4]", str(weights)]
    assert found["step-momentum"][:4] == ["step", "4", "[4, 4]", str(sorted([*weights, 32, 160]))]
    # Adam: two moments a variable, and a counter of 8 bytes for each optimizer
    assert found["step-adam"][:4] == ["step", "8", "[4, 4]", str(sorted(weights + 2 * [8, 32, 160]))]
    assert lines == [line.split("|") for line in in_a_process(TWO_PLAYERS, "2")]


@pytest.mark.slow
def test_no_core_leaves_a_loop_and_the_graph_says_whose_it_is():
    code = """
import sonnet_recurrent as recurrent
from sonnet_zoo import Entry, trace
for graph in trace(Entry("lstm", 4, recurrent.recurrent, ("lstm", 1, 3), "sgd")).values():
    source = graph.meta["source"]
    print(source["origin"], source["opaque_ops"], source["unknown_shapes"], graph.op_types.count("Tanh"), sep="|")
"""
    # an LSTM squashes twice a step, in three steps
    assert in_a_process(code) == ["ours on Sonnet modules|0|0|6"] * 2
