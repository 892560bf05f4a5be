from random import Random

import pytest
from hypothesis import given

from regal.cluster import Cluster
from regal.graph import GraphBuilder, example_graph
from regal.plan import InvalidPlan, check_plan, plan_from_order
from tests.strategies import plans, random_cluster, random_graph, random_placement


def test_each_copy_comes_right_before_its_first_reader():
    # a (8) ──> b (4) ──> d (2)    b and c on device 1
    #   └────> c (64) ──┘
    plan = plan_from_order(example_graph("diamond"), Cluster.uniform(2), [0, 1, 1, 0], [0, 2, 1, 3])
    assert plan.events() == [
        ("run", 0),
        ("copy", 0, 1),
        ("run", 2),
        ("run", 1),
        ("copy", 1, 0),
        ("copy", 2, 0),
        ("run", 3),
    ]


@given(plans())
def test_any_order_of_the_ops_gives_a_valid_plan(plan):
    order = [what for what, device in plan.schedule.tolist() if device < 0]
    result = plan_from_order(plan.graph, plan.cluster, plan.placement, order)
    check_plan(result)
    assert [event[1] for event in result.events() if event[0] == "run"] == order
    assert result.num_copies == plan.num_copies


def test_the_program_order_always_does():
    rng = Random(3)
    for _ in range(30):
        graph = random_graph(rng)
        cluster = random_cluster(rng, graph)
        check_plan(
            plan_from_order(graph, cluster, random_placement(rng, graph, cluster.num_devices), range(graph.num_ops))
        )


def test_an_order_that_is_none_is_refused_by_the_validator():
    plan = plan_from_order(example_graph("chain"), Cluster.uniform(1), [0, 0, 0], [1, 0, 2])
    with pytest.raises(InvalidPlan, match=r"rule 3: op 1 'b' runs before op 0 'a'"):
        check_plan(plan)


def test_no_ops():
    assert plan_from_order(GraphBuilder().build(), Cluster.uniform(1), [], []).events() == []
