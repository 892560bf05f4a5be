import math

import pytest

from regal.bounds import running_time_bound
from regal.cluster import Cluster, Device, Link
from regal.cost.reference import evaluate
from regal.graph import GraphBuilder, example_graph

LINKS = (Link(0, 1, 0.5, 4.0), Link(1, 0, 0.0, 2.0))
CLUSTERS = {
    "one": (Cluster((Device(40, 0.3),)), 6),
    "two": (Cluster.uniform(2), 4),
    "unequal": (Cluster((Device(40, 0.7), Device(40, 3.0)), LINKS), 4),
    "three": (Cluster((Device(40, 1.0), Device(40, 1.1), Device(40, 0.1))), 3),
}


def graph_of(*ops):
    """Ops ``(runtime, ops before, group)`` that are linked by control edges alone."""
    builder = GraphBuilder()
    for runtime, before, group in ops:
        builder.add_op("op", runtime=runtime, control_inputs=before, colocation=group)
    return builder.build()


@pytest.mark.parametrize("name", CLUSTERS)
@pytest.mark.parametrize("seed", range(20))
def test_no_plan_is_faster(random_graph, all_plans, name, seed):
    cluster, num_ops = CLUSTERS[name]
    graph = random_graph(seed, num_ops)
    bound = running_time_bound(graph, cluster)
    assert bound.complete
    assert bound.value <= min(evaluate(plan).running_time for plan in all_plans(graph, cluster))


@pytest.mark.parametrize("seed", range(6))
def test_on_one_device_it_is_the_running_time_but_for_rounding(random_graph, all_plans, seed):
    graph, cluster = random_graph(seed, 6), Cluster((Device(40, 0.3),))
    fastest = min(evaluate(plan).running_time for plan in all_plans(graph, cluster))
    assert running_time_bound(graph, cluster).value == pytest.approx(fastest, rel=1e-12)


def test_critical_path_is_exact_in_float64():
    """0.1 + 0.2 + 0.3 in the model's order is 0.6000000000000001; the bound says the same on the faster device."""
    graph = graph_of((0.1, [], None), (0.2, [0], None), (0.3, [1], None), (0.05, [0], None))
    bound = running_time_bound(graph, Cluster((Device(1, 1.0), Device(1, 0.5))))
    assert (bound.value, bound.certificate, bound.op) == (0.1 + 0.2 + 0.3, "critical path", 2)


def test_total_work_is_shared_by_speed_among_devices_that_can_be_used():
    ops = [(1.0, [], None)] * 8
    bound = running_time_bound(graph_of(*ops), Cluster((Device(1, 3.0), Device(1, 1.0))))
    assert bound.value == pytest.approx(2.0, rel=1e-12)
    assert bound.value <= 2.0
    assert bound.certificate == "total work"
    assert bound.op is None


def test_largest_jobs_use_the_fastest_devices_only():
    """Two jobs of 6 seconds (one a group) and a small one: the jobs of 6 need 12 / (2 + 2), all work 13 / 5."""
    ops = [(3.0, [], 0), (3.0, [], 0), (6.0, [], None), (1.0, [], None)]
    bound = running_time_bound(graph_of(*ops), Cluster((Device(1, 2.0), Device(1, 1.0), Device(1, 2.0))))
    assert bound.value == pytest.approx(3.0, rel=1e-12)
    group = running_time_bound(graph_of((3.0, [], 0), (3.0, [], 0), (1.0, [], None)), Cluster.uniform(2))
    assert (group.value, group.certificate) == (pytest.approx(6.0, rel=1e-12), "largest jobs")


def test_work_window_adds_head_and_tail_to_the_work_between():
    """The longest path takes 4 s, all work 8 s / 2; yet 1 + 6 / 2 + 1 are needed on two devices.

       /-> 2 -\\
    1 ---> 2 ---> 1
       \\-> 2 -/
    """
    graph = graph_of((1.0, [], None), *[(2.0, [0], None)] * 3, (1.0, [1, 2, 3], None))
    bound = running_time_bound(graph, Cluster.uniform(2))
    assert (bound.value, bound.certificate) == (pytest.approx(5.0, rel=1e-12), "work window")
    assert bound.value <= 5.0


def test_copies_may_be_free():
    cluster = Cluster.uniform(2, latency=9.0, bandwidth=1.0)
    assert running_time_bound(example_graph("diamond"), cluster).value == 5.0


@pytest.mark.parametrize("steps", [2**25, 1000])
def test_thinned_out_heads_stay_valid(monkeypatch, steps):
    """A chain of 300 ops with a side op each, on one device all work in a row."""
    monkeypatch.setattr("regal.bounds.running_time.WINDOW_STEPS", steps)
    ops = []
    for op in range(0, 600, 2):
        ops += [(0.1, [op - 2] if op else [], None), (0.1, [op], None)]
    bound = running_time_bound(graph_of(*ops), Cluster.uniform(1))
    assert bound.value == pytest.approx(60.0, rel=1e-11)
    assert bound.value <= math.fsum([0.1] * 600)


def test_extreme_figures_stay_valid_numbers():
    tiny = graph_of(*[(5e-324, [], None)] * 4)
    assert running_time_bound(tiny, Cluster((Device(1, 2.0), Device(1, 2.0)))).value == 0.0
    huge = graph_of(*[(1.5e279, [], None)] * 2)
    bound = running_time_bound(huge, Cluster((Device(1, 1e279), Device(1, 1e279))))
    assert 0 <= bound.value <= 1.5
    slow = running_time_bound(huge, Cluster((Device(1, 1.0), Device(1, 1.0))))
    assert slow.value == 1.5e279


def test_no_ops_take_no_time():
    bound = running_time_bound(GraphBuilder().build(), Cluster.uniform(2))
    assert (bound.value, bound.op, bound.complete) == (0.0, None, True)
