"""The model asserted step by step on plans small enough to check by hand."""

import pytest
from hypothesis import given

from regal.cluster import Cluster, Device, Link
from regal.cost import Cost
from regal.cost.reference import Step, evaluate, start_memory, trace
from regal.graph import ComputationGraph, GraphBuilder, example_graph
from regal.plan import RUN, Plan, check_plan
from tests import oracle
from tests.strategies import plans

ONE, TWO = Cluster.uniform(1), Cluster.uniform(2)


def make_plan(graph: ComputationGraph, cluster: Cluster, placement: list[int], schedule: list) -> Plan:
    """``schedule`` holds an op, or (tensor, device)."""
    plan = Plan(graph, cluster, placement, [(event, RUN) if isinstance(event, int) else event for event in schedule])
    check_plan(plan)
    return plan


def levels(plan: Plan) -> list[tuple[int, tuple[int, ...]]]:
    """Per event the bytes at its highest moment on its device, and the bytes everywhere behind it."""
    return [(step.during, step.memory) for step in trace(plan)]


def clock(plan: Plan) -> list[tuple[float, float]]:
    return [(step.start, step.finish) for step in trace(plan)]


def test_a_chain_on_one_device():
    # w (100, persistent) is read by all:   a ──10──> b ──20──> c ──5──> out
    plan = make_plan(example_graph("chain"), ONE, [0, 0, 0], [0, 1, 2])
    assert start_memory(plan) == [100]
    assert levels(plan) == [(110, (110,)), (130, (120,)), (125, (105,))]
    assert [step.released for step in trace(plan)] == [(), ((1, 0),), ((2, 0),)]
    assert clock(plan) == [(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)]
    assert evaluate(plan) == Cost((130,), 3.0)


def test_a_persistent_tensor_is_on_every_device_that_reads_it():
    # w (100) ──> a, b, c    a ──10──> b ──20──> c on devices 0, 1, 1
    plan = make_plan(example_graph("chain"), TWO, [0, 1, 1], [0, (1, 1), 1, 2])
    assert start_memory(plan) == [100, 100]
    assert levels(plan) == [(110, (110, 100)), (110, (100, 110)), (130, (100, 120)), (125, (100, 105))]
    assert evaluate(plan).peak_memory == (110, 130)


def test_persistent_tensors_that_nobody_reads_cost_nothing_and_is_output_says_nothing():
    # read (7, marked) ──> a      unread (1000, marked)
    builder = GraphBuilder()
    read, _ = builder.add_tensor(7, is_output=True), builder.add_tensor(1000, is_output=True)
    builder.add_op("a", inputs=[read])
    plan = make_plan(builder.build(), TWO, [1], [0])
    assert levels(plan) == [(7, (0, 7))]
    assert evaluate(plan).peak_memory == (0, 7)


def test_the_start_counts_as_a_peak():
    # w (9) ──> a on device 1, while device 0 runs nothing that takes memory
    builder = GraphBuilder()
    w = builder.add_tensor(9)
    builder.add_op("a", inputs=[w])
    builder.add_op("b", inputs=[w])
    plan = make_plan(builder.build(), TWO, [0, 1], [0, 1])
    assert evaluate(plan).peak_memory == (9, 9)
    assert evaluate(make_plan(GraphBuilder().build(), TWO, [], [])) == Cost((0, 0), 0.0)


def test_the_diamond_on_two_devices_with_slow_links():
    # a (8) ──> b (4) ──> d (2)     c on device 1, workspace 16; links take 1 s and 8 bytes a second
    #   └────> c (64) ──┘
    cluster = Cluster.uniform(2, latency=1.0, bandwidth=8.0)
    plan = make_plan(example_graph("diamond"), cluster, [0, 0, 1, 0], [0, (0, 1), 1, 2, (2, 0), 3])
    assert trace(plan) == [
        Step(0, RUN, 0, 8, (8, 0), (), 0.0, 1.0),
        Step(0, 1, 1, 8, (8, 8), (), 1.0, 3.0),
        Step(1, RUN, 0, 12, (4, 8), ((0, 0),), 1.0, 3.0),
        Step(2, RUN, 1, 88, (4, 64), ((0, 1),), 3.0, 6.0),
        Step(2, 0, 0, 68, (68, 0), ((2, 1),), 6.0, 15.0),
        Step(3, RUN, 0, 70, (2, 0), ((1, 0), (2, 0)), 15.0, 16.0),
    ]
    assert evaluate(plan) == Cost((70, 88), 16.0)


def test_unread_results_go_at_once_and_outputs_stay():
    # a ──> unread (5), output (3)      b (nothing)
    builder = GraphBuilder()
    unread, output = builder.add_tensor(5), builder.add_tensor(3, is_output=True)
    builder.add_op("a", outputs=[unread, output], workspace=10)
    builder.add_op("b")
    plan = make_plan(builder.build(), ONE, [0, 0], [0, 1])
    assert levels(plan) == [(18, (3,)), (3, (3,))]
    assert [step.released for step in trace(plan)] == [((unread, 0),), ()]


def send_and_go_on(is_output: bool) -> ComputationGraph:
    """a (10) ──> b (1);  c makes 10 bytes after them: a and c on device 0, b on device 1."""
    builder = GraphBuilder()
    sent = builder.add_tensor(10, is_output)
    builder.add_op("a", outputs=[sent], runtime=1.0)
    builder.add_op("b", inputs=[sent], outputs=[builder.add_tensor(1)], runtime=1.0)
    builder.add_op("c", outputs=[builder.add_tensor(10)], runtime=1.0)
    return builder.build()


def test_a_copy_that_releases_holds_its_home_up():
    cluster = Cluster.uniform(2, latency=0.5, bandwidth=10.0)
    plan = make_plan(send_and_go_on(False), cluster, [0, 1, 0], [0, (0, 1), 2, 1])
    assert levels(plan) == [(10, (10, 0)), (10, (0, 10)), (10, (0, 10)), (11, (0, 0))]
    assert clock(plan) == [(0.0, 1.0), (1.0, 2.5), (2.5, 3.5), (2.5, 3.5)]


def test_a_copy_of_an_output_releases_nothing_at_home_and_holds_nobody_up():
    cluster = Cluster.uniform(2, latency=0.5, bandwidth=10.0)
    plan = make_plan(send_and_go_on(True), cluster, [0, 1, 0], [0, (0, 1), 2, 1])
    assert levels(plan) == [(10, (10, 0)), (10, (10, 10)), (20, (10, 10)), (11, (10, 0))]
    assert clock(plan) == [(0.0, 1.0), (1.0, 2.5), (1.0, 2.0), (2.5, 3.5)]


def test_home_keeps_a_tensor_until_its_last_copy_and_its_last_reader():
    # a (8) ──> b on 1, c on 2, d on 0
    builder = GraphBuilder()
    sent = builder.add_tensor(8)
    builder.add_op("a", outputs=[sent])
    for name in "bcd":
        builder.add_op("read", name=name, inputs=[sent])
    graph, cluster = builder.build(), Cluster.uniform(3)
    plan = make_plan(graph, cluster, [0, 1, 2, 0], [0, (0, 1), 3, 1, (0, 2), 2])
    assert [step.memory for step in trace(plan)] == [(8, 0, 0), (8, 8, 0), (8, 8, 0), (8, 0, 0), (0, 0, 8), (0, 0, 0)]
    plan = make_plan(graph, cluster, [0, 1, 2, 0], [0, (0, 1), (0, 2), 1, 2, 3])
    assert [step.memory for step in trace(plan)] == [(8, 0, 0), (8, 8, 0), (8, 8, 8), (8, 0, 8), (8, 0, 0), (0, 0, 0)]


def two_results(sizes: tuple[int, int]) -> ComputationGraph:
    """a ──x, y──> b: two tensors go the same way."""
    builder = GraphBuilder()
    x, y = (builder.add_tensor(size) for size in sizes)
    builder.add_op("a", outputs=[x, y], runtime=1.0)
    builder.add_op("b", inputs=[x, y], runtime=1.0)
    return builder.build()


def test_copies_queue_on_their_link_for_the_bytes_and_not_for_the_latency():
    plan = make_plan(
        two_results((20, 10)), Cluster.uniform(2, latency=0.5, bandwidth=10.0), [0, 1], [0, (0, 1), (1, 1), 1]
    )
    assert clock(plan) == [(0.0, 1.0), (1.0, 3.5), (3.0, 4.5), (4.5, 5.5)]


def test_a_copy_waits_for_its_target_to_be_free():
    # before: busy (2 s) on device 1;   a (1 s) on device 0 ──4──> b on device 1
    builder = GraphBuilder()
    sent = builder.add_tensor(4)
    builder.add_op("busy", runtime=2.0)
    builder.add_op("a", outputs=[sent], runtime=1.0)
    builder.add_op("b", inputs=[sent], runtime=1.0)
    graph, cluster = builder.build(), Cluster.uniform(2, bandwidth=4.0)
    assert clock(make_plan(graph, cluster, [1, 0, 1], [0, 1, (0, 1), 2])) == [(0, 2), (0, 1), (2, 3), (3, 4)]
    # The walk decides: a copy that comes before the busy op in the schedule does not wait for it.
    assert clock(make_plan(graph, cluster, [1, 0, 1], [1, (0, 1), 0, 2])) == [(0, 1), (1, 2), (0, 2), (2, 3)]


def test_control_inputs_are_awaited_across_devices():
    # a (2 s) on device 0 ─ ─> b (1 s) on device 1
    builder = GraphBuilder()
    builder.add_op("a", runtime=2.0)
    builder.add_op("b", control_inputs=[0], runtime=1.0)
    assert clock(make_plan(builder.build(), TWO, [0, 1], [0, 1])) == [(0, 2), (2, 3)]


def test_speed_divides_the_runtime():
    cluster = Cluster((Device(speed=4.0), Device(speed=0.5)))
    plan = make_plan(send_and_go_on(False), cluster, [0, 1, 0], [0, (0, 1), 2, 1])
    assert clock(plan) == [(0, 0.25), (0.25, 0.25), (0.25, 0.5), (0.25, 2.25)]
    assert evaluate(plan).running_time == 2.25


def test_links_have_a_direction():
    cluster = Cluster((Device(), Device()), (Link(0, 1, latency=5.0),))
    assert clock(make_plan(two_results((1, 1)), cluster, [0, 1], [0, (0, 1), (1, 1), 1]))[-1] == (6, 7)
    assert clock(make_plan(two_results((1, 1)), cluster, [1, 0], [0, (0, 0), (1, 0), 1]))[-1] == (1, 2)


def test_zero_bytes_are_copied_and_released_like_others():
    cluster = Cluster.uniform(2, latency=0.5, bandwidth=10.0)
    plan = make_plan(two_results((0, 0)), cluster, [0, 1], [0, (0, 1), (1, 1), 1])
    assert [step.released for step in trace(plan)] == [(), ((0, 0),), ((1, 0),), ((0, 1), (1, 1))]
    assert evaluate(plan) == Cost((0, 0), 2.5)


@given(plans())
def test_every_step_is_as_the_lifetimes_say(plan):
    start, during, after = oracle.memory(plan)
    assert start_memory(plan) == start
    for step, high, low, seconds in zip(trace(plan), during, after, oracle.times(plan), strict=True):
        assert step.during == high[step.device]
        assert list(step.memory) == low
        assert (step.start, step.finish) == seconds
    assert evaluate(plan) == oracle.evaluate(plan)


@given(plans())
def test_only_outputs_and_persistent_tensors_are_left(plan):
    steps = trace(plan)
    left = list(start_memory(plan))
    graph = plan.graph
    for tensor in graph.activations[graph.is_output[graph.activations]].tolist():
        left[plan.placement[graph.producer[tensor]]] += int(graph.tensor_bytes[tensor])
    assert not steps or list(steps[-1].memory) == left
    assert all(count >= 0 for step in steps for count in step.memory)


@pytest.mark.parametrize("bandwidth", [5e-324, 1e-300])
def test_a_link_that_is_too_slow_for_floats_takes_for_ever(bandwidth):
    plan = make_plan(
        two_results((2**53 - 1, 0)), Cluster.uniform(2, bandwidth=bandwidth), [0, 1], [0, (0, 1), (1, 1), 1]
    )
    assert evaluate(plan).running_time == float("inf")
