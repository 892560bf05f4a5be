"""The walk that moves change bit by bit agrees with the walk from nothing, and both with the performance model."""

from random import Random

import numpy as np
import pytest

from regal.cluster import Cluster
from regal.cost.arrays import cluster_arrays
from regal.cost.reference import evaluate
from regal.graph import GraphBuilder
from regal.plan import check_plan, plan_from_order
from regal.problem import Problem
from regal.search.annealing import kernels
from regal.search.annealing.arrays import graph_lists
from regal.search.annealing.state import Clock, Order, Profiles, Scratch, order_of, plan_of
from regal.search.placements import with_groups_together
from tests.strategies import random_cluster, random_graph


def problem_of(seed: int) -> Problem:
    rng = Random(seed)
    graph = random_graph(rng)
    return Problem(graph, random_cluster(rng, graph))


def start_of(problem: Problem, seed: int) -> Order:
    graph = problem.graph
    placement = np.random.default_rng(seed).integers(0, problem.cluster.num_devices, graph.num_ops).astype(np.int32)
    placement = with_groups_together(graph, placement)
    return order_of(plan_from_order(graph, problem.cluster, placement, range(graph.num_ops)))


@pytest.mark.parametrize("seed", range(120))
def test_memory_after_many_moves(seed):
    problem = problem_of(seed)
    graph, num_devices = graph_lists(problem.graph), problem.cluster.num_devices
    if not problem.graph.num_ops:
        return
    state = start_of(problem, seed)
    best = state.copy()
    profiles, saved = Profiles.empty(graph, num_devices), Profiles.empty(graph, num_devices)
    scratch, weight = Scratch.empty(graph, num_devices), np.ones(num_devices)
    random = np.array([seed], np.uint64)
    kernels.anneal_memory(graph, state, best, profiles, saved, scratch, weight, 0.05, 150, 1e3, 1.0, random)
    anew = Profiles.empty(graph, num_devices)
    kernels.fill(graph, state, anew, scratch.spans)
    for name, changed, filled in zip(Profiles._fields, profiles, anew, strict=True):
        assert np.array_equal(changed, filled), name
    for found, value in ((state, kernels.whole_peak(profiles, weight)), (best, best.value[0])):
        plan = plan_of(problem, found)
        check_plan(plan)
        assert float(evaluate(plan).max_peak_memory) == value
        assert np.array_equal(found.order[found.position], np.arange(problem.graph.num_ops))


@pytest.mark.parametrize("seed", range(120))
def test_running_time_after_many_moves(seed):
    problem = problem_of(seed)
    graph, cluster = graph_lists(problem.graph), cluster_arrays(problem.cluster)
    if not problem.graph.num_ops:
        return
    state = start_of(problem, seed)
    best = state.copy()
    profiles, scratch = Profiles.empty(graph, len(cluster.memory)), Scratch.empty(graph, len(cluster.memory))
    clock, random = Clock.empty(graph, len(cluster.memory)), np.array([seed], np.uint64)
    kernels.anneal_time(
        graph, cluster, state, best, profiles, scratch, clock, False, 1e-6, 150, 1e3, 1.0, random
    )  # fmt: skip
    for found in (state, best):
        plan = plan_of(problem, found)
        check_plan(plan)
        cost = evaluate(plan)
        assert kernels.running_time(graph, cluster, found, clock) == cost.running_time
        excess = kernels.excess_bytes(graph, cluster, found, profiles, scratch)
        assert excess == float(cost.excess_bytes(problem.cluster))
    assert best.value[0] == evaluate(plan_of(problem, best)).running_time


def test_an_early_copy_frees_its_home_early():
    # make ─(100)─> near ─(1)         near runs on device 0 with make, far on device 1
    #          └──> far  ─(1)
    builder = GraphBuilder()
    big, one, two = (builder.add_tensor(size) for size in (100, 1, 1))
    builder.add_op("make", outputs=[big])
    builder.add_op("near", inputs=[big], outputs=[one])
    builder.add_op("wait")
    builder.add_op("far", inputs=[big], outputs=[two])
    problem = Problem(builder.build(), Cluster.uniform(2))
    late = order_of(plan_from_order(problem.graph, problem.cluster, [0, 0, 0, 1], range(4)))
    early = late.copy()
    early.eager[0] = True
    graph, scratch = graph_lists(problem.graph), Scratch.empty(graph_lists(problem.graph), 2)
    after = {}
    for name, state in (("late", late), ("early", early)):
        profiles = Profiles.empty(graph, 2)
        kernels.fill(graph, state, profiles, scratch.spans)
        after[name] = profiles.after.tolist()
    assert after["late"] == [[100, 100, 100, 0], [0, 0, 0, 0]]
    assert after["early"] == [[100, 0, 0, 0], [100, 100, 100, 0]]
