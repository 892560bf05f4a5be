"""The compiled decoder against the reference beyond what ``tests.agreement`` draws: odd rows, and where it may stop."""

from random import Random

import numpy as np
import pytest

from regal.cluster import Cluster
from regal.cost.reference import evaluate
from regal.decode import Decoder, Layout, reference
from regal.decode.kernels import Limits, decode, lowest_bit
from regal.graph import GraphBuilder
from regal.problem import Problem
from tests.agreement import check_kernels, check_rows
from tests.strategies import random_graph


@pytest.mark.parametrize("num_devices", [2, 3])
@pytest.mark.parametrize("dtype", [np.uint16, np.uint32])
def test_extreme_rows(num_devices, dtype):
    graph = random_graph(Random(2), max_ops=60, min_ops=60)
    problem = Problem(graph, Cluster.uniform(num_devices, latency=0.5, bandwidth=3.0))
    decoder, top = Decoder(problem), np.iinfo(dtype).max
    width = decoder.layout.num_keys
    rising = np.linspace(0, top, width).astype(dtype)
    keys = np.stack([np.zeros(width, dtype), np.full(width, top, dtype), rising, rising[::-1]])
    check_kernels(problem, keys, check_rows(decoder, keys))


def test_all_events_in_one_bucket_in_either_order():
    builder = GraphBuilder()
    for _ in range(300):
        builder.add_op("op")
    problem = Problem(builder.build(), Cluster.uniform(1))
    decoder = Decoder(problem)
    for priorities in (np.arange(300), np.arange(300)[::-1], np.arange(300) % 7):
        keys = np.zeros(decoder.layout.num_keys, np.uint32)
        keys[decoder.layout.priorities] = priorities
        expected = reference.decode(problem.graph, problem.cluster, keys)
        assert decoder.plan(keys).schedule.tolist() == expected.schedule.tolist()


def test_many_devices():
    graph = random_graph(Random(4), max_ops=60, min_ops=60)
    problem = Problem(graph, Cluster.uniform(20, memory=50, bandwidth=9.0), "running-time")
    decoder = Decoder(problem)
    keys = np.random.default_rng(1).integers(0, 2**16, (3, decoder.layout.num_keys), np.uint16)
    check_kernels(problem, keys, check_rows(decoder, keys))


@pytest.mark.parametrize("record", [True, None])
def test_a_walk_stops_beyond_its_limit_and_not_at_it(record):
    problem = Problem(random_graph(Random(9), max_ops=30, min_ops=30), Cluster.uniform(2))
    layout = Layout.of(problem.graph, 2)
    keys = np.random.default_rng(0).integers(0, 2**16, (1, layout.num_keys), np.uint16)
    peak = evaluate(reference.decode(problem.graph, problem.cluster, keys[0])).peak_memory
    assert min(peak) > 0
    for slack, finishes in ((0, True), (-1, False)):
        for device in range(2):
            memory = np.full(2, 2**63 - 1, np.int64)
            memory[device] = peak[device] + slack
            limits = Limits(memory, np.inf, np.inf, np.zeros(problem.graph.num_ops))
            finished = np.zeros(1, np.bool_)
            arrays = problem.graph_arrays, problem.cluster_arrays
            order = np.empty(layout.num_keys, np.uint32)
            pair = None if record else True
            decode(*arrays, keys, limits, np.zeros((1, 2), np.int64), np.zeros(1), finished, order, pair, None, record)
            assert finished[0] == finishes


def test_lowest_bit():
    from numba import njit

    @njit
    def positions(words):  # type: ignore[no-untyped-def]
        return [lowest_bit(word) for word in words]

    words = [1, 2, 12, 2**63, 2**64 - 2]
    assert positions(np.array(words, np.uint64)) == [0, 1, 2, 63, 1]
