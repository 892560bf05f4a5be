from random import Random

import numpy as np
import pytest

from regal.cluster import Cluster
from regal.cost.reference import evaluate
from regal.decode import Decoder
from regal.graph import GraphBuilder, example_graph
from regal.plan import check_plan
from regal.problem import Objective, Problem
from regal.search import brkga as limits
from regal.search.budget import Budget
from regal.search.nsga2 import solve
from tests.oracle import all_plans
from tests.strategies import random_cluster, random_graph

GRAPH = random_graph(Random(1), max_ops=60, min_ops=60)
PROBLEM = Problem(GRAPH, Cluster.uniform(2, bandwidth=500.0), Objective.PARETO)


def dominates(one, other):
    return one != other and one[0] <= other[0] and one[1] <= other[1]


def area(points, reference):
    """Byte-seconds between points and reference: a staircase."""
    total, ceiling = 0.0, reference[1]
    for size, seconds in sorted(points):
        if size < reference[0] and seconds < ceiling:
            total += (reference[0] - size) * (ceiling - seconds)
            ceiling = seconds
    return total


@pytest.mark.parametrize("warm_start", [True, False])
def test_nobody_on_the_front_is_beaten(warm_start):
    for seed in range(8):
        rng = Random(seed)
        graph = random_graph(rng, max_ops=40)
        front = solve(Problem(graph, random_cluster(rng, graph)), Budget(400), seed, warm_start=warm_start)
        points = front.points()
        assert points == sorted(points)
        assert len(set(points)) == len(points)
        assert not any(dominates(one, other) for one in points for other in points)
        assert front.problem.objective is Objective.PARETO
        for result, (size, seconds) in zip(front.results, points, strict=True):
            check_plan(result.plan)
            assert result.cost == evaluate(result.plan)
            assert (max(result.peak_memory), result.running_time) == (size, seconds)
        if front.hypervolume:
            assert front.hypervolume == pytest.approx(area(points, front.reference))


def test_tiny_fronts_are_exact():
    longest = 0
    for seed in range(12):
        rng = Random(seed)
        graph = random_graph(rng, max_ops=4, min_ops=3)
        if graph.tensor_bytes.sum() >= 2**53:  # keys are ranked by float64, which does not tell such bytes apart
            continue
        cluster = Cluster.uniform(2, memory=10, bandwidth=rng.choice((3.0, 1e3)), latency=rng.choice((0.0, 0.3)))
        costs = [evaluate(plan) for plan in all_plans(graph, cluster)]
        every = {(cost.max_peak_memory, cost.running_time) for cost in costs}
        best = sorted(one for one in every if not any(dominates(other, one) for other in every))
        assert solve(Problem(graph, cluster), Budget(1500), seed).points() == best
        longest = max(longest, len(best))
    assert longest >= 2


def test_two_ends_of_a_front():
    #           ┌─> read, 2 s ─> 30 (output)
    # split, 1 s ─(10)
    #           └─> read, 2 s ─> 30 (output)      the copy of 10 to the other device takes 5 s
    builder = GraphBuilder()
    start = builder.add_tensor(10)
    builder.add_op("split", outputs=[start], runtime=1.0)
    for _ in range(2):
        builder.add_op("read", inputs=[start], outputs=[builder.add_tensor(30, is_output=True)], runtime=2.0)
    graph = builder.build()
    front = solve(Problem(graph, Cluster.uniform(2, bandwidth=2.0)), Budget(500))
    # one device: 10 + 30 + 30 = 70 bytes, 5 s; a reader elsewhere: 40 bytes, 1 + 5 + 2 = 8 s
    assert front.points() == [(40, 8.0), (70, 5.0)]


def test_more_budget_is_never_worse():
    volumes = []
    for evaluations in (120, 400, 1500):
        front = solve(PROBLEM, Budget(evaluations), 3)
        volumes.append(front.hypervolume)
        reference = front.reference
    assert volumes == sorted(volumes)
    assert volumes[-1] > volumes[0]
    assert reference == solve(PROBLEM, Budget(120), 3).reference


@pytest.mark.parametrize("evaluations", [1, 12, 13, 50, 112, 113, 250])
def test_every_evaluation_is_used(evaluations):
    calls = []
    front = solve(PROBLEM, Budget(evaluations), 0, progress=calls.append)
    assert front.results[0].evaluations == evaluations
    assert [state.evaluations for state in calls] == sorted({state.evaluations for state in calls})


def test_an_interruption_brings_the_front_so_far(monkeypatch):
    def interrupt(progress):
        if progress.evaluations > 300:
            raise KeyboardInterrupt

    front = solve(PROBLEM, Budget(5000), 3, progress=interrupt)
    assert front.results[0].stop_reason == "interrupted"
    assert front.points() == solve(PROBLEM, Budget(front.results[0].evaluations), 3).points()

    def broken(self, keys, cutoff=np.inf):
        if len(keys):
            raise KeyboardInterrupt
        return np.zeros((0, 2))

    monkeypatch.setattr(Decoder, "__call__", broken)
    front = solve(PROBLEM, Budget(5000), 3)
    assert front.results[0].evaluations == len(front.results[0].baselines) == 12
    with pytest.raises(KeyboardInterrupt):
        solve(PROBLEM, Budget(5000), 3, warm_start=False)


def test_nothing_to_trade():
    for graph in (GraphBuilder().build(), example_graph("chain")):
        front = solve(Problem(graph, Cluster.uniform(1)), Budget(50))
        assert len(front.results) == 1
    assert solve(Problem(GraphBuilder().build(), Cluster.uniform(2)), Budget(50)).hypervolume == 0.0


def test_a_population_beyond_memory_is_refused(monkeypatch):
    monkeypatch.setattr(limits, "MAX_POPULATION_BYTES", 1000)
    with pytest.raises(ValueError, match="a population of 100 rows"):
        solve(PROBLEM, Budget(600))
