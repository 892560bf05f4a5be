"""A slice of ``python -m tests.agreement``, the sample graphs, and a slice with every array index checked."""

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest

from regal.cluster import Cluster, Device, Link
from regal.decode import Decoder
from regal.graph import read_graph
from regal.problem import Problem
from tests.agreement import check_cutoffs, check_kernels, check_rows, check_seed
from tests.strategies import SINGLE_OBJECTIVES, random_keys

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted(ROOT.glob("datasets/examples/*.json.gz"))
GRAPHS = 2500


@pytest.mark.parametrize("part", range(5))
def test_all_ways_to_a_cost_agree(part):
    first = 10**6 + part * GRAPHS // 5
    plans = sum(check_seed(seed) for seed in range(first, first + GRAPHS // 5))
    assert plans == 2 * GRAPHS // 5


def test_there_are_sample_graphs():
    assert len(EXAMPLES) >= 1


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_all_ways_agree_on_sample_graphs(path):
    graph = read_graph(path)
    half = int(graph.tensor_bytes.sum()) // 8
    clusters = (
        Cluster((Device(half), Device(half // 2, 0.5)), (Link(0, 1, 1e-6, 12e9),)),
        Cluster.uniform(3, bandwidth=50e9),
    )
    for number, (cluster, objective) in enumerate(zip((*clusters, clusters[0]), SINGLE_OBJECTIVES, strict=True)):
        problem = Problem(graph, cluster, objective)
        decoder = Decoder(problem)
        keys = random_keys(Random(number), decoder.layout, 2)
        costs = check_rows(decoder, keys, second_opinion=False)
        check_kernels(problem, keys, costs)
        check_cutoffs(decoder, keys, costs)
        assert np.isfinite([cost.running_time for cost in costs]).all()


CHECKED = """
import numba
from tests.agreement import check_seed
assert numba.config.BOUNDSCHECK == 1
print(sum(check_seed(seed) for seed in range(150)))
"""


def test_no_index_is_out_of_range(tmp_path):
    environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", CHECKED]
    run = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.stdout == "300\n", run.stderr
