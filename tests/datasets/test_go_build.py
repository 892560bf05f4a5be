"""The build script of the go corpus: which workloads it lists, and that they have the structure of their papers."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "datasets" / "go"


@pytest.fixture
def in_a_process():
    """Runs code in a fresh Python in the corpus' folder; the lines that it prints."""
    for name in ("tensorflow", "sonnet", "keras"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")

    def run(code, seed="0"):
        return subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code],
            cwd=FOLDER,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()

    return run


@pytest.mark.slow
def test_every_workload_of_the_paper_is_listed(in_a_process):
    jobs = [
        line.split()
        for line in in_a_process("""
import build
for job in build.jobs():
    print(job.model, job.family, job.batch, job.cpu_seconds)
""")
    ]
    models = [model for model, *_ in jobs]
    assert len(set(models)) == len(models) >= 14
    depths = {f"{name}_{layers}" for name in ("rnnlm", "gnmt", "transformer_xl") for layers in (2, 4, 8)}
    assert depths <= set(models)
    families = {family for _, family, *_ in jobs}
    assert families == {"rnnlm", "gnmt", "transformer-xl", "wavenet", "inception", "amoebanet"}
    assert all(int(batch) > 0 for _, _, batch, _ in jobs)


SMALL = """
import build, workloads_attention, workloads_recurrent
workloads_recurrent.WIDTH = 8
workloads_attention.LENGTH, workloads_attention.VOCABULARY = 6, 20
networks = {
    "rnnlm": build.rnnlm(2, 3, length=4, vocabulary=9),
    "gnmt": build.gnmt(3, 2, length=4, vocabulary=9),
    "xl": build.transformer_xl(2, 2, segments=3),
    "wavenet": build.wavenet(2, 3, 1, length=16),
}
for name, network in networks.items():
    for mode, graph in build.graphs(network, ["inference", "step-adam"]).items():
        kinds = graph.op_types
        counts = [kinds.count(kind) for kind in ("Tanh", "Softmax", "Conv2D")]
        outputs = graph.tensor_bytes[graph.is_output].tolist()
        print(name, mode, *counts, graph.meta["source"]["opaque_ops"], outputs, graph.sha256, sep="|")
"""


@pytest.mark.slow
def test_networks_have_the_structure_of_their_papers_and_are_traced_alike_again(in_a_process):
    lines = in_a_process(SMALL, "1")
    found = {tuple(line.split("|")[:2]): line.split("|")[2:7] for line in lines}
    lstm = 2  # an LSTM squashes twice a step
    assert found["rnnlm", "inference"][:4] == [str(2 * 4 * lstm), "0", "0", "0"]
    # four steps of 1 + 3 cores in the encoder and 3 in the decoder, whose attention squashes once and has a softmax
    assert found["gnmt", "inference"][:4] == [str(4 * (4 + 3) * lstm + 4), "4", "0", "0"]
    assert found["xl", "inference"][:4] == ["0", str(2 * 3), "0", "0"]
    # three convolutions a layer, but for the last, whose way back nobody reads, and two of the output
    assert found["wavenet", "inference"][:3] == ["6", "0", str(6 * 3 - 1 + 2)]
    for (_, mode), (*_, outputs) in found.items():
        assert mode == "inference" or outputs == "[4]"  # the loss alone
    assert lines == in_a_process(SMALL, "2")


@pytest.mark.slow
def test_the_cells_of_amoebanet_halve_the_image_and_join_what_their_genotype_says(in_a_process):
    code = """
import build, tensorflow as tf
from sonnet_layers import floats
from workloads_convolution import NORMAL, REDUCTION, AmoebaNet, Cell
for edges, joined in (NORMAL, REDUCTION):
    read = {state for state, _ in edges}
    print(len(edges), sorted((set(range(7)) - read) - set(joined)))
shape = lambda cell: tf.function(lambda x, y: cell(x, y, True), autograph=False).get_concrete_function(
    floats(1, 8, 8, 6), floats(1, 8, 8, 6)).output_shapes
print(shape(Cell(4, False, False)), shape(Cell(4, True, False)))
print(len(AmoebaNet(6, 16).cells))
"""
    assert in_a_process(code) == ["10 []", "10 []", "(1, 8, 8, 16) (1, 4, 4, 12)", "22"]
