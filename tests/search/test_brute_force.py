from random import Random

import numpy as np
import pytest

from regal.cluster import Cluster, Device, Link
from regal.cost.reference import evaluate
from regal.graph import GraphBuilder, example_graph
from regal.plan import check_plan
from regal.problem import Problem
from regal.search.brute_force import MAX_OPS, brute_force, placements
from tests.oracle import all_plans
from tests.strategies import SINGLE_OBJECTIVES, random_cluster, random_graph


@pytest.mark.parametrize("objective", SINGLE_OBJECTIVES)
@pytest.mark.parametrize("seed", range(40))
def test_is_the_best_of_all_plans(objective, seed):
    rng = Random(seed)
    graph = random_graph(rng, max_ops=4, min_ops=1)
    cluster = random_cluster(rng, graph, max_devices=2 if graph.num_ops > 3 else 3)
    problem = Problem(graph, cluster, objective)
    plan, cost = brute_force(problem)
    check_plan(plan)
    assert evaluate(plan) == cost
    assert problem.rank(cost) == min(problem.rank(evaluate(other)) for other in all_plans(graph, cluster))


@pytest.mark.parametrize("objective", SINGLE_OBJECTIVES)
def test_alike_devices_are_not_told_apart(objective):
    rng = Random(5)
    for _ in range(10):
        graph = random_graph(rng, max_ops=4, min_ops=2)
        cluster = Cluster.uniform(2, memory=100, latency=0.3, bandwidth=3.0)
        problem = Problem(graph, cluster, objective)
        assert problem.rank(brute_force(problem)[1]) == min(
            problem.rank(evaluate(plan)) for plan in all_plans(graph, cluster)
        )


def test_the_order_decides_the_peak():
    # expand_i (100) ──> reduce_i (1) ──> sum: expanding one by one needs 100 and the results so far.
    graph = example_graph("branches")
    assert graph.num_ops > MAX_OPS
    builder = GraphBuilder("three branches")
    results = []
    for _ in range(3):
        large, small = builder.add_tensor(100), builder.add_tensor(1)
        builder.add_op("expand", outputs=[large])
        builder.add_op("reduce", inputs=[large], outputs=[small])
        results.append(small)
    builder.add_op("sum", inputs=results, outputs=[builder.add_tensor(1, is_output=True)])
    plan, cost = brute_force(Problem(builder.build(), Cluster.uniform(1)))
    assert cost.peak_memory == (103,)
    assert plan.schedule[:, 0].tolist()[-1] == 6


def test_seven_ops_on_two_unequal_devices_are_soon_done():
    graph = random_graph(Random(1), max_ops=7, min_ops=7)
    cluster = Cluster((Device(50, 1.0), Device(400, 2.0)), (Link(0, 1, 0.3, 100.0), Link(1, 0, 0.0, 50.0)))
    for objective in SINGLE_OBJECTIVES:
        plan, cost = brute_force(Problem(graph, cluster, objective))
        check_plan(plan)
        assert evaluate(plan) == cost


def test_a_plan_that_fits_beats_a_faster_one():
    # Two ops of 1 s without a tensor between them: together they take 1 s on two devices, but device 1 holds nothing.
    builder = GraphBuilder()
    for _ in range(2):
        builder.add_op("make", outputs=[builder.add_tensor(10, is_output=True)], runtime=1.0)
    graph = builder.build()
    tight = Problem(graph, Cluster((Device(20), Device(0))), "running-time")
    plan, cost = brute_force(tight)
    assert (plan.placement.tolist(), cost.running_time) == ([0, 0], 2.0)
    roomy = Problem(graph, Cluster((Device(20), Device(10))), "running-time")
    assert brute_force(roomy)[1].running_time == 1.0


def test_placements_keep_groups_together_and_name_alike_devices_once():
    builder = GraphBuilder()
    for colocation in (7, None, 7):
        builder.add_op("op", colocation=colocation)
    graph = builder.build()
    assert list(placements(Problem(graph, Cluster.uniform(2)))) == [(0, 0, 0), (0, 1, 0)]
    unequal = Cluster((Device(1), Device(2)))
    assert list(placements(Problem(graph, unequal))) == [(0, 0, 0), (0, 1, 0), (1, 0, 1), (1, 1, 1)]
    one_slow_link = Cluster((Device(1), Device(1)), (Link(0, 1, latency=1.0),))
    assert len(list(placements(Problem(graph, one_slow_link)))) == 4
    assert len(list(placements(Problem(graph, Cluster.uniform(2, bandwidth=5.0))))) == 2


def test_no_ops_cost_nothing():
    plan, cost = brute_force(Problem(GraphBuilder().build(), Cluster.uniform(2)))
    assert (len(plan.schedule), cost.peak_memory, cost.running_time) == (0, (0, 0), 0.0)


def test_refuses_what_it_cannot_prove():
    builder = GraphBuilder()
    for _ in range(MAX_OPS + 1):
        builder.add_op("op")
    with pytest.raises(ValueError, match=f"at most {MAX_OPS} ops, not {MAX_OPS + 1}"):
        brute_force(Problem(builder.build()))
    diamond = example_graph("diamond")
    with pytest.raises(ValueError, match="not 'pareto'"):
        brute_force(Problem(diamond, objective="pareto"))
    with pytest.raises(ValueError, match="walked 3 partial schedules"):
        brute_force(Problem(diamond), max_plans=3)
    assert np.isfinite(brute_force(Problem(diamond), max_plans=1000)[1].running_time)
