from random import Random

import numpy as np
import pytest

from regal.cluster import Cluster
from regal.cost.reference import evaluate
from regal.decode import Decoder
from regal.graph import example_graph
from regal.plan import check_plan
from regal.problem import Problem
from regal.search import warm_start as module
from regal.search.budget import Budget
from regal.search.orders import ORDERS
from regal.search.warm_start import warm_start
from tests.strategies import random_cluster, random_graph

LARGE = Budget(1000)
GRAPH = random_graph(Random(1), max_ops=60, min_ops=60)


def test_candidates_are_valid_distinct_and_costed():
    for seed in range(40):
        rng = Random(seed)
        graph = random_graph(rng, max_ops=30)
        problem = Problem(graph, random_cluster(rng, graph))
        found = warm_start(problem, LARGE)
        assert found.stop_reason is None
        assert 1 <= len(found.candidates) <= len(ORDERS) * (3 if problem.cluster.num_devices > 1 else 1)
        assert len(found.orders) == len(ORDERS)
        plans = {(c.plan.placement.tobytes(), c.plan.schedule.tobytes()) for c in found.candidates}
        assert len(plans) == len(found.candidates)
        for candidate in found.candidates:
            check_plan(candidate.plan)
            assert candidate.cost == evaluate(candidate.plan)


def test_doing_nothing_comes_first():
    first = warm_start(Problem(GRAPH, Cluster.uniform(2)), Budget(1)).candidates[0]
    assert first.name == "program-order, one device"
    assert first.plan.schedule.tolist() == [[op, -1] for op in range(GRAPH.num_ops)]
    assert first.plan.placement.tolist() == [0] * GRAPH.num_ops


def test_the_budget_is_kept():
    problem = Problem(GRAPH, Cluster.uniform(2))
    every = [candidate.name for candidate in warm_start(problem, LARGE).candidates]
    assert len(every) == 12
    for count in range(1, 13):
        found = warm_start(problem, Budget(count))
        assert [candidate.name for candidate in found.candidates] == every[:count]
        assert found.stop_reason == "evaluations"
    found = warm_start(problem, Budget(None, 1e-9))
    assert (len(found.candidates), found.stop_reason) == (1, "seconds")


def test_equal_plans_appear_once():
    names = [c.name for c in warm_start(Problem(example_graph("chain"), Cluster.uniform(1)), LARGE).candidates]
    assert names == ["program-order, one device"]


def test_an_interruption_keeps_what_is_there(monkeypatch):
    def interrupt(graph):
        raise KeyboardInterrupt

    monkeypatch.setitem(module.ORDERS, "depth-first", interrupt)
    found = warm_start(Problem(GRAPH, Cluster.uniform(2)), LARGE)
    assert (len(found.candidates), found.stop_reason) == (3, "interrupted")
    monkeypatch.setitem(module.ORDERS, "program-order", interrupt)
    with pytest.raises(KeyboardInterrupt):
        warm_start(Problem(GRAPH, Cluster.uniform(2)), LARGE)


def test_rows_decode_to_the_plans_and_the_orders():
    problem = Problem(GRAPH, Cluster.uniform(2))
    decoder, found = Decoder(problem), warm_start(problem, LARGE)
    rows = found.rows(problem, 100, 5)
    assert len(rows) == 75
    for candidate, row in zip(found.candidates, rows, strict=False):
        plan = decoder.plan(row)
        assert plan.placement.tolist() == candidate.plan.placement.tolist()
        assert plan.schedule.tolist() == candidate.plan.schedule.tolist()
    orders = [order.tolist() for order in found.orders]
    placements = set()
    for index, row in enumerate(rows[len(found.candidates) :]):
        plan = decoder.plan(row)
        assert plan.schedule[plan.schedule[:, 1] < 0, 0].tolist() == orders[index % 4]
        placements.add(plan.placement.tobytes())
    assert len(placements) == 75 - 12


def test_rows_are_no_more_than_asked_for_and_repeat():
    problem = Problem(GRAPH, Cluster.uniform(2))
    found = warm_start(problem, LARGE)
    for count in (1, 3, 12, 13, 20, 100):
        assert 1 <= len(found.rows(problem, count, 0)) <= count
    assert np.array_equal(found.rows(problem, 50, 3), found.rows(problem, 50, 3))
    assert not np.array_equal(found.rows(problem, 50, 3), found.rows(problem, 50, 4))
    few = warm_start(problem, Budget(2)).rows(problem, 10, 0)
    assert len(few) == 7
