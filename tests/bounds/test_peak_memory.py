import math

import pytest

from regal.bounds import Liveness, largest_min_cut, peak_memory_bound, peak_utilisation_bound
from regal.cluster import Cluster, Device, Link
from regal.cost.reference import evaluate
from regal.graph import GraphBuilder, example_graph

LINKS = (Link(0, 1, 0.5, 4.0), Link(1, 0, 0.0, 2.0))
CLUSTERS = {
    "one": (Cluster((Device(40),)), 6),
    "two": (Cluster((Device(40), Device(40))), 4),
    "unequal": (Cluster((Device(10, 1.0), Device(90, 3.0)), LINKS), 4),
    "one without memory": (Cluster((Device(0), Device(30))), 4),
    "three": (Cluster((Device(10), Device(20), Device(70, 0.5))), 3),
}


@pytest.mark.parametrize("name", CLUSTERS)
@pytest.mark.parametrize("seed", range(20))
def test_no_plan_goes_below_either_form(random_graph, all_plans, name, seed):
    cluster, num_ops = CLUSTERS[name]
    graph = random_graph(seed, num_ops)
    costs = [evaluate(plan) for plan in all_plans(graph, cluster)]
    for seconds in (None, 0):
        assert peak_memory_bound(graph, cluster, seconds=seconds).value <= min(c.max_peak_memory for c in costs)
        share = peak_utilisation_bound(graph, cluster, seconds=seconds)
        assert share.value <= min(cost.peak_utilisation(cluster) for cost in costs)


@pytest.mark.parametrize("seed", range(12))
def test_on_one_device_it_is_at_least_the_persistent_bytes_and_the_largest_cut(random_graph, seed):
    graph = random_graph(seed, 8)
    resident = sum(
        int(graph.tensor_bytes[tensor])
        for tensor in range(graph.num_tensors)
        if graph.producer[tensor] < 0 and len(graph.consumers[tensor])
    )
    bound = peak_memory_bound(graph, Cluster.uniform(1))
    assert bound.complete
    assert bound.value >= resident + largest_min_cut(Liveness(graph)).value


def two_heavy_ops(colocation):
    """Two ops, each with a parameter of 50 bytes and an output of 7 that stays."""
    builder = GraphBuilder()
    for _ in range(2):
        weight, result = builder.add_tensor(50), builder.add_tensor(7, is_output=True)
        builder.add_op("op", inputs=[weight], outputs=[result], colocation=colocation)
    return builder.build()


def test_last_op_counts_every_output():
    """At the end both outputs are there, although each can come first: 100 + 14 bytes, on two devices 57 each."""
    graph = two_heavy_ops(None)
    one = peak_memory_bound(graph, Cluster.uniform(1))
    assert (one.value, one.certificate, one.op) == (114, "last op", None)
    assert peak_memory_bound(graph, Cluster.uniform(2)).value == 57


def test_a_last_op_adds_what_is_no_output_of_the_graph():
    """The last op is ``a`` (workspace 3, unread 2) or ``b`` (workspace 9): at least 7 + 7 + 5 bytes then."""
    builder = GraphBuilder()
    for unread, workspace in ((2, 3), (0, 9)):
        outputs = [builder.add_tensor(7, is_output=True), builder.add_tensor(unread)]
        builder.add_op("op", outputs=outputs, workspace=workspace)
    bound = peak_memory_bound(builder.build(), Cluster.uniform(1))
    assert (bound.value, bound.certificate) == (19, "last op")


def test_a_group_holds_its_persistent_tensors_together_and_uses_one_device():
    """A third op lets the second device be used: the group's device still holds 100 persistent bytes and an output."""
    graph = two_heavy_ops(3)
    assert peak_memory_bound(graph, Cluster.uniform(2)).value == 114
    builder = GraphBuilder()
    for group in (3, 3, None):
        weight, result = builder.add_tensor(50), builder.add_tensor(7, is_output=True)
        builder.add_op("op", inputs=[weight], outputs=[result], colocation=group)
    bound = peak_memory_bound(builder.build(), Cluster.uniform(2))
    assert (bound.value, bound.certificate, bound.op) == (107, "working set", 0)


def test_bytes_are_rounded_up_and_idle_devices_are_not_counted():
    """Three live bytes on two devices leave two on one; a device more than there are ops changes nothing.

    a --3--> b
    """
    builder = GraphBuilder()
    tensor = builder.add_tensor(3, is_output=True)
    first = [builder.add_tensor(0) for _ in range(2)]
    builder.add_op("a", outputs=[first[0]])
    builder.add_op("b", inputs=first[:1], outputs=[tensor])
    graph = builder.build()
    assert peak_memory_bound(graph, Cluster.uniform(2)).value == 3
    wide = GraphBuilder()
    for _ in range(4):
        wide.add_op("op", outputs=[wide.add_tensor(1, is_output=True)])
    assert peak_memory_bound(wide.build(), Cluster.uniform(3)).value == 2
    assert peak_memory_bound(wide.build(), Cluster.uniform(9)).value == 1


def test_utilisation_weighs_devices_by_their_memory():
    graph = two_heavy_ops(None)
    bound = peak_utilisation_bound(graph, Cluster((Device(19), Device(38))))
    assert (bound.value, bound.certificate) == (2.0, "last op")
    small = peak_utilisation_bound(graph, Cluster((Device(1000), Device(10))))
    assert small.value == 114 / 1010


def test_utilisation_without_memory():
    none = Cluster((Device(0), Device(0)))
    assert peak_utilisation_bound(two_heavy_ops(None), none).value == math.inf
    builder = GraphBuilder()
    builder.add_op("op")
    assert peak_utilisation_bound(builder.build(), none).value == 0.0


def test_without_time_the_cheap_certificates_stand():
    graph, cluster = example_graph("branches"), Cluster.uniform(1)
    cheap, full = (peak_memory_bound(graph, cluster, seconds=seconds) for seconds in (0, None))
    assert (cheap.value, cheap.complete) == (101, False)
    assert full.complete
    assert full.seconds > 0


@pytest.mark.parametrize("seed", range(8))
def test_progress_reports_never_fall_and_end_at_the_bound(random_graph, seed):
    graph, cluster, reports = random_graph(seed, 30), Cluster.uniform(2), []
    bound = peak_memory_bound(graph, cluster, progress=reports.append)
    values = [peak_memory_bound(graph, cluster, seconds=0).value, *(report.value for report in reports), bound.value]
    assert values == sorted(values)
    assert not any(report.complete for report in reports)


def test_no_ops_cost_nothing():
    graph = GraphBuilder().build()
    for bound in (peak_memory_bound(graph, Cluster.uniform(2)), peak_utilisation_bound(graph, Cluster.uniform(2))):
        assert (bound.value, bound.op, bound.complete) == (0, None, True)
