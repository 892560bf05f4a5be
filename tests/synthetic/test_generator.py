"""Graphs from seeds: what they hold, that they repeat, and that no two are of one topology."""

import subprocess
import sys
from itertools import islice

import numpy as np
import pytest

from regal.corpus.topology import topology_hash
from regal.frontends.costgraph import parse, to_text
from regal.synthetic import FIRST_SEEDS, SPLIT_COUNTS, Family, generate, generate_many, generator, split
from regal.synthetic.accepted import Accepted, Tried, write_accepted

GOLDEN = [
    (0, "stochastic-block", "1fb23024d9f321e58d354a6d662be9e79a4625fb0d5b89b1f684c4e70da37b37"),
    (1, "barabasi-albert", "ad58c11add797d21b52fd7da7b1a53f57ac4090425e7f4e83ebb4b822e6bceb5"),
    (4, "watts-strogatz", "30340b71a86f1bd7d2c40ddc60376c7ac15cb6b2a3817568b6ce9d03b089daad"),
    (11, "erdos-renyi", "ab20a69143c77e6a8b0df14793b56691cec3d45a6c25932ffe4fe74f955f5cd3"),
]


@pytest.mark.parametrize("family", Family)
def test_a_graph_is_what_the_card_says(family):
    graph = generate(5, family)
    assert 50 <= graph.num_ops <= 200
    assert graph.meta["source"]["family"] == family.value
    assert graph.meta["source"]["seed"] == 5
    assert graph.name == f"synthetic.{family.value}.5"
    assert graph.outputs.counts.tolist() == [1] * graph.num_ops
    assert (graph.producer >= 0).all()
    assert graph.is_output.tolist() == (graph.consumers.counts == 0).tolist()
    assert not graph.workspace.any()
    assert not graph.control_inputs.values.size
    assert (graph.colocation == -1).all()
    microseconds = graph.runtime * 1e6
    assert microseconds == pytest.approx(np.rint(microseconds))
    assert min(microseconds.min(), graph.tensor_bytes.min()) >= 1


@pytest.mark.parametrize(("seed", "family", "sha256"), GOLDEN)
def test_seeds_mean_the_same_graphs_for_ever(seed, family, sha256):
    graph = generate(seed)
    assert (graph.meta["source"]["family"], graph.sha256) == (family, sha256)


def test_sizes_and_running_times_are_normal():
    graphs = [generate(seed) for seed in range(60)]
    sizes = np.concatenate([graph.tensor_bytes for graph in graphs])
    times = np.concatenate([graph.runtime for graph in graphs]) * 1e6
    for values in (sizes, times):
        assert values.mean() == pytest.approx(50, abs=0.5)
        assert values.std() == pytest.approx(10, abs=0.5)
    assert abs(np.corrcoef(sizes, times)[0, 1]) < 0.05


def test_families_and_numbers_of_ops_come_all_alike():
    graphs = [generate(seed) for seed in range(400)]
    families = [graph.meta["source"]["family"] for graph in graphs]
    assert all(70 < families.count(family.value) < 130 for family in Family)
    ops = np.array([graph.num_ops for graph in graphs])
    assert (ops.min(), ops.max()) == (50, 200)
    assert ops.mean() == pytest.approx(125, abs=6)


def test_arguments_replace_what_is_drawn_and_nothing_else():
    graph = generate(9)
    family = graph.meta["source"]["family"]
    assert generate(9, family, graph.num_ops).sha256 == graph.sha256
    assert generate(9, num_ops=7).num_ops == 7
    assert generate(9, num_ops=1).num_ops == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": -1}, r"seed must be an integer from 0 to 2\^64 - 1, not -1"),
        ({"seed": 2**64}, "seed must be"),
        ({"seed": 1.0}, "seed must be"),
        ({"seed": True}, "seed must be"),
        ({"seed": 0, "num_ops": 0}, "num_ops must be a positive integer, not 0"),
        ({"seed": 0, "num_ops": True}, "num_ops must be"),
        ({"seed": 0, "family": "tree"}, "family must be one of"),
    ],
)
def test_arguments_are_checked(arguments, message):
    with pytest.raises(ValueError, match=message):
        generate(**arguments)


def test_graphs_survive_the_format_of_the_published_ones():
    for seed in range(8):
        graph = generate(seed)
        assert parse(to_text(graph).encode()).sha256 == graph.sha256


# Several


def test_many_are_those_of_consecutive_seeds():
    assert [graph.sha256 for graph in generate_many(3, 17)] == [generate(seed).sha256 for seed in (17, 18, 19)]
    assert list(generate_many(0)) == []


def test_a_topology_that_was_there_is_left_out(monkeypatch):
    monkeypatch.setattr(generator, "generate", lambda seed: generate(seed // 2))
    names = [graph.meta["source"]["seed"] for graph in generate_many(4)]
    assert names == [0, 1, 2, 3]


@pytest.mark.parametrize("name", SPLIT_COUNTS)
def test_a_split_is_lazy_and_each_graph_stands_alone(name):
    found = [graph.sha256 for graph in islice(split(name), 3)]
    assert found == [generate(FIRST_SEEDS[name] + index).sha256 for index in range(3)]


def test_other_splits_are_refused_at_once():
    with pytest.raises(ValueError, match="split must be one of train, valid, test, not 'dev'"):
        split("dev")


def test_seeds_of_the_splits_do_not_meet():
    assert SPLIT_COUNTS == {"train": 10_000, "valid": 1_000, "test": 1_000}
    first = sorted(FIRST_SEEDS.values())
    assert min(np.diff(first)) >= 2**40


@pytest.mark.slow
def test_all_topologies_differ():
    hashes = [topology_hash(graph) for name in SPLIT_COUNTS for graph in split(name)]
    assert len(hashes) == 12_000
    assert len(set(hashes)) == 12_000


def test_the_first_topologies_differ():
    hashes = [topology_hash(graph) for name in SPLIT_COUNTS for graph in islice(split(name), 150)]
    assert len(set(hashes)) == 450


def test_a_filtered_split_holds_the_accepted_seeds(tmp_path):
    path = tmp_path / "accepted.json"
    write_accepted(path, Accepted({}, {"valid": Tried(9, [2, 5, 8])}))
    assert [graph.sha256 for graph in split("valid", accepted=path)] == [
        generate(FIRST_SEEDS["valid"] + index).sha256 for index in (2, 5, 8)
    ]
    assert list(split("train", accepted=path)) == []
    write_accepted(path, Accepted({}, {"test": Tried(2000, list(range(1500)))}))
    assert sum(1 for _ in islice(split("test", accepted=path), 2)) == 2
    with pytest.raises(ValueError, match="No such file"):
        split("valid", accepted=tmp_path / "missing.json")


def test_the_room_loads_nothing_heavy():
    code = (
        "import sys, regal.synthetic; print([name for name in ('numba', 'torch', 'networkx') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
