from random import Random

import pytest
from hypothesis import given

from regal.cluster import Cluster
from regal.cost import kernels, reference
from regal.cost.arrays import graph_arrays
from regal.graph import GraphBuilder, example_graph
from regal.plan import RUN, Plan
from tests.strategies import plans, random_cluster, random_graph, random_plan

TABLE = {"reference": reference.evaluate, "numba": kernels.evaluate}


@pytest.mark.parametrize("name", TABLE)
def test_the_diamond(name):
    cluster = Cluster.uniform(2, latency=1.0, bandwidth=8.0)
    schedule = [[0, RUN], [0, 1], [1, RUN], [2, RUN], [2, 0], [3, RUN]]
    cost = TABLE[name](Plan(example_graph("diamond"), cluster, [0, 0, 1, 0], schedule))
    assert (cost.peak_memory, cost.running_time) == ((70, 88), 16.0)


@given(plans(max_ops=14))
def test_kernels_equal_the_reference(plan):
    assert kernels.evaluate(plan) == reference.evaluate(plan)


@pytest.mark.parametrize("seed", range(100))
def test_kernels_equal_the_reference_on_larger_graphs(seed):
    rng = Random(seed)
    graph = random_graph(rng, max_ops=80, min_ops=20)
    arrays = graph_arrays(graph)
    for _ in range(2):
        plan = random_plan(rng, graph, random_cluster(rng, graph, max_devices=6))
        assert kernels.evaluate(plan, arrays) == reference.evaluate(plan)


def test_counters_reach_the_largest_total():
    builder = GraphBuilder()
    sizes = [2**53 - 1] * 1024 + [1023]
    builder.add_op("all", outputs=[builder.add_tensor(size, is_output=True) for size in sizes])
    plan = Plan(builder.build(), Cluster.uniform(1), [0], [[0, RUN]])
    assert kernels.evaluate(plan).peak_memory == reference.evaluate(plan).peak_memory == (2**63 - 1,)
