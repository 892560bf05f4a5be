"""Every rule broken by a minimal plan, and a second opinion on plans that were changed at random."""

from random import Random

import numpy as np
import pytest
from hypothesis import given

from regal.cluster import Cluster
from regal.cost.reference import evaluate
from regal.graph import ComputationGraph, GraphBuilder
from regal.plan import RUN, InvalidPlan, Plan, check_plan
from tests import oracle
from tests.strategies import plans, random_cluster, random_graph, random_placement, random_plan


def make_graph() -> ComputationGraph:
    """w is persistent; b and c share a device; d waits for a.

    w ──> a ──t──> b       a ─ ─> d
          └───t──> c
    """
    builder = GraphBuilder()
    w, t = builder.add_tensor(5), builder.add_tensor(7)
    builder.add_op("make", name="a", inputs=[w], outputs=[t])
    builder.add_op("read", name="b", inputs=[t], colocation=4)
    builder.add_op("read", name="c", inputs=[t], colocation=4)
    builder.add_op("wait", name="d", control_inputs=[0])
    return builder.build()


TWO = Cluster.uniform(2)
GOOD = [(0, RUN), (1, 1), (1, RUN), (2, RUN), (3, RUN)]  # with placement 0, 1, 1, 0; the copy is of tensor 1
BROKEN: dict[str, tuple[list[int], list[tuple[int, int]], str]] = {
    "placement too short": ([0, 1, 1], GOOD, "rule 1: the placement has 3 entries for 4 ops"),
    "device too high": ([0, 1, 1, 2], GOOD, "rule 1: op 3 'd' is on device 2, but there are 2 devices"),
    "device negative": ([-1, 1, 1, 0], GOOD, "rule 1: op 0 'a' is on device -1, but there are 2 devices"),
    "op missing": ([0, 1, 1, 0], GOOD[:-1], "rule 1: op 3 'd' never runs"),
    "op twice": ([0, 1, 1, 0], [*GOOD, (2, RUN)], "rule 1: op 2 'c' runs at event 3 and again at event 5"),
    "no such op": ([0, 1, 1, 0], [*GOOD, (4, RUN)], "rule 1: event 5 names op 4 of 4"),
    "negative op": ([0, 1, 1, 0], [*GOOD, (-1, RUN)], "rule 1: event 5 names op -1 of 4"),
    "no such tensor": ([0, 1, 1, 0], [*GOOD, (2, 1)], "rule 2: event 5 names tensor 2 of 2"),
    "copy missing": (
        [0, 1, 1, 0],
        [GOOD[0], *GOOD[2:]],
        "rule 2: the copy of tensor 1 to device 1, which op 1 'b' needs, is missing",
    ),
    "copy twice": (
        [0, 1, 1, 0],
        [*GOOD, (1, 1)],
        "rule 2: the copy of tensor 1 to device 1 is at event 1 and again at event 5",
    ),
    "copy home": (
        [0, 1, 1, 0],
        [*GOOD, (1, 0)],
        "rule 2: the copy of tensor 1 to device 0 must not be there: it is the tensor's home device",
    ),
    "copy of a persistent tensor": (
        [0, 1, 1, 0],
        [(0, 1), *GOOD],
        "rule 2: the copy of tensor 0 to device 1 must not be there: the tensor is persistent",
    ),
    "copy that nobody needs": (
        [0, 0, 0, 0],
        GOOD,
        "rule 2: the copy of tensor 1 to device 1 must not be there: no consumer of the tensor runs there",
    ),
    "copy to no device": (
        [0, 1, 1, 0],
        [*GOOD, (1, 2)],
        "rule 2: the copy of tensor 1 to device 2 must not be there: no consumer of the tensor runs there",
    ),
    "copy to a negative device": (
        [0, 1, 1, 0],
        [*GOOD, (1, -2)],
        "rule 2: the copy of tensor 1 to device -2 must not be there: no consumer of the tensor runs there",
    ),
    "before its producer": (
        [0, 0, 0, 0],
        [(1, RUN), (0, RUN), (2, RUN), (3, RUN)],
        "rule 3: op 1 'b' runs before op 0 'a', which produces its input tensor 1",
    ),
    "before its copy": (
        [0, 1, 1, 0],
        [(0, RUN), (1, RUN), (1, 1), (2, RUN), (3, RUN)],
        "rule 3: op 1 'b' runs before the copy of tensor 1 to device 1 of its input",
    ),
    "before its control input": (
        [0, 1, 1, 0],
        [(3, RUN), *GOOD[:-1]],
        "rule 3: op 3 'd' runs before its control input op 0 'a'",
    ),
    "copy before its producer": (
        [0, 1, 1, 0],
        [(1, 1), (0, RUN), *GOOD[2:]],
        "rule 4: the copy of tensor 1 to device 1 comes before its producer op 0 'a' runs",
    ),
    "group on two devices": (
        [0, 1, 0, 0],
        GOOD,
        "rule 5: op 2 'c' is on device 0, but op 1 'b' of the same colocation group 4 is on device 1",
    ),
}


def test_the_plan_that_is_broken_below_is_valid():
    plan = Plan(make_graph(), TWO, [0, 1, 1, 0], GOOD)
    check_plan(plan)
    assert oracle.is_valid(plan)


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_is_named_with_its_op(name):
    placement, schedule, message = BROKEN[name]
    plan = Plan(make_graph(), TWO, placement, schedule)
    with pytest.raises(InvalidPlan) as caught:
        check_plan(plan)
    assert str(caught.value) == message
    assert not oracle.is_valid(plan)


def accepts(plan: Plan) -> bool:
    try:
        check_plan(plan)
    except InvalidPlan:
        return False
    return True


def mutate(rng: Random, plan: Plan) -> Plan:
    """Drop, repeat, move, swap or invent an event, or move an op to another device."""
    placement, schedule = plan.placement.tolist(), [tuple(event) for event in plan.schedule.tolist()]
    kind = rng.choice(("drop", "repeat", "move", "swap", "invent", "device", "retarget", "group"))
    if kind == "device" and placement:
        placement[rng.randrange(len(placement))] = rng.randrange(-1, plan.cluster.num_devices + 1)
    elif kind == "group":
        placement = random_placement(rng, plan.graph, plan.cluster.num_devices)
    elif kind == "invent":
        event = (rng.randint(-1, plan.graph.num_tensors), rng.randint(-2, plan.cluster.num_devices))
        schedule.insert(rng.randint(0, len(schedule)), event)
    elif schedule:
        one, other = rng.randrange(len(schedule)), rng.randrange(len(schedule))
        if kind == "drop":
            del schedule[one]
        elif kind == "repeat":
            schedule.insert(other, schedule[one])
        elif kind == "move":
            schedule.insert(other, schedule.pop(one))
        elif kind == "swap":
            schedule[one], schedule[other] = schedule[other], schedule[one]
        elif kind == "retarget":
            schedule[one] = (schedule[one][0], rng.randint(-1, plan.cluster.num_devices - 1))
    return Plan(plan.graph, plan.cluster, np.array(placement), np.array(schedule, np.int32).reshape(-1, 2))


def test_a_second_opinion_on_changed_plans():
    rng = Random(11)
    verdicts = {True: 0, False: 0}
    for _ in range(3000):
        graph = random_graph(rng, max_ops=8, min_ops=1)
        plan = mutate(rng, random_plan(rng, graph, random_cluster(rng, graph, max_devices=3)))
        verdict = accepts(plan)
        verdicts[verdict] += 1
        assert verdict == oracle.is_valid(plan)
        if verdict:
            assert evaluate(plan) == oracle.evaluate(plan)
    assert min(verdicts.values()) > 500


@given(plans())
def test_valid_plans_are_accepted(plan):
    check_plan(plan)
    assert oracle.is_valid(plan)
