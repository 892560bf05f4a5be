from itertools import combinations

import numpy as np
import pytest

from regal.bounds import Liveness, largest_min_cut
from regal.bounds.min_cut import CutNetwork
from regal.cluster import Cluster
from regal.cost.reference import evaluate, start_memory
from regal.graph import GraphBuilder, example_graph
from regal.plan import Plan


def live_bytes(graph, before, op):
    """What the model holds while ``op`` runs after exactly the ops ``before``; None where that cannot be."""
    predecessors = graph.predecessors.to_lists()
    if op in before or any(not before.issuperset(predecessors[other]) for other in [*before, op]):
        return None
    total = int(graph.workspace[op])
    for tensor, source in enumerate(graph.producer.tolist()):
        waits = bool(graph.is_output[tensor]) or any(int(reader) not in before for reader in graph.consumers[tensor])
        if source == op or (source in before and waits):
            total += int(graph.tensor_bytes[tensor])
    return total


def brute_force_cut(graph, op):
    ops = range(graph.num_ops)
    sets = (set(chosen) for size in ops for chosen in combinations(ops, size))
    return min(held for before in sets if (held := live_bytes(graph, before, op)) is not None)


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("scale", [1, 2**49 + 1])
def test_each_cut_is_the_least_over_all_downsets(random_graph, seed, scale):
    graph = random_graph(seed, 7, scale)
    network = CutNetwork(Liveness(graph))
    expected = [brute_force_cut(graph, op) for op in range(graph.num_ops)]
    for op in range(graph.num_ops):
        value, before = network.cut(op)
        assert value == expected[op]
        assert live_bytes(graph, set(np.flatnonzero(before).tolist()), op) == value
    best = largest_min_cut(Liveness(graph))
    assert best.complete
    assert best.value == max(expected)
    assert expected[best.op] == best.value


@pytest.mark.parametrize("seed", range(30))
def test_it_bounds_every_order_and_the_returned_order_has_the_stated_peak(random_graph, all_plans, seed):
    graph = random_graph(seed, 6)
    best = largest_min_cut(Liveness(graph))
    plans = list(all_plans(graph, Cluster.uniform(1)))
    resident = start_memory(plans[0])[0]
    peaks = [evaluate(plan).max_peak_memory for plan in plans]
    assert best.value + resident <= min(peaks) <= best.order_peak + resident
    schedule = np.stack([best.order, np.full(graph.num_ops, -1)], axis=1)
    plan = Plan(graph, Cluster.uniform(1), np.zeros(graph.num_ops), schedule)
    assert evaluate(plan).max_peak_memory == best.order_peak + resident


def test_a_shared_tensor_costs_once_and_a_control_edge_closes_the_set():
    """``v`` may run alone, or after ``a`` and both readers; the control edge makes ``a`` come first.

    a --6--> b --1--> c        a - - > v (20)
     \\_______6______/^
    """
    builder = GraphBuilder()
    shared, small, end, large = (builder.add_tensor(size) for size in (6, 1, 0, 20))
    a = builder.add_op("a", outputs=[shared])
    builder.add_op("b", inputs=[shared], outputs=[small])
    builder.add_op("c", inputs=[shared, small], outputs=[end])
    builder.add_op("v", outputs=[large], control_inputs=[a])
    network = CutNetwork(Liveness(builder.build()))
    value, before = network.cut(3)
    assert (value, before.tolist()) == (20, [True, True, True, False])
    assert network.cut(1)[0] == 7


def test_totals_just_below_the_limit_do_not_overflow():
    """Each branch holds one tensor or the other while a reader runs, and the reader's own makes one more.

    source --> reader (511 of them) --> join        all arcs 2^53 - 1 bytes, 1022 of them
    """
    size, width = 2**53 - 1, 511
    builder = GraphBuilder()
    middle, ends = ([builder.add_tensor(size) for _ in range(width)] for _ in range(2))
    builder.add_op("source", outputs=middle)
    for tensor, end in zip(middle, ends, strict=True):
        builder.add_op("reader", inputs=[tensor], outputs=[end])
    builder.add_op("join", inputs=ends)
    live = Liveness(builder.build())
    assert CutNetwork(live).cut(100)[0] == (width + 1) * size
    assert largest_min_cut(live).value == (width + 1) * size


def test_without_time_the_largest_own_bytes_stand():
    live = Liveness(example_graph("branches"))
    none, all_of_it = largest_min_cut(live, seconds=0), largest_min_cut(live)
    assert (none.value, none.flows, none.complete) == (int(live.own.max()), 0, False)
    assert all_of_it.complete
    assert all_of_it.order_peak == 106 < none.order_peak == 601


@pytest.mark.parametrize("seed", range(10))
def test_more_flows_never_lower_the_value(random_graph, seed):
    reports = []
    live = Liveness(random_graph(seed, 30))
    best = largest_min_cut(live, progress=reports.append)
    values = [report.value for report in reports]
    assert [report.flows for report in reports] == list(range(1, best.flows + 1))
    assert values == sorted(values)
    assert best.value == max([int(live.own.max()), *values])


def test_a_floor_above_every_cut_needs_no_flow():
    live = Liveness(example_graph("branches"))
    best = largest_min_cut(live, floor=10**6)
    assert (best.complete, best.flows) == (True, 0)


def test_no_ops_and_no_edges():
    assert largest_min_cut(Liveness(GraphBuilder().build())).value == 0
    builder = GraphBuilder()
    builder.add_op("alone", workspace=5)
    assert largest_min_cut(Liveness(builder.build())).value == 5


@pytest.mark.parametrize("seconds", [-1.0, float("nan")])
def test_seconds_that_are_no_time_are_refused(seconds):
    with pytest.raises(ValueError, match="seconds must be a number from 0 on"):
        largest_min_cut(Liveness(example_graph("chain")), seconds=seconds)
