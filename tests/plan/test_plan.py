import numpy as np
import pytest

from regal.cluster import Cluster
from regal.graph import GraphBuilder, example_graph
from regal.plan import RUN, Plan

SCHEDULE = [[0, RUN], [0, 1], [1, RUN], [2, RUN], [2, 0], [3, RUN]]


@pytest.fixture
def plan() -> Plan:
    """The diamond, with c on device 1.

    a (8) ──> b (4) ──> d (2)
      └────> c (64) ──┘
    """
    return Plan(example_graph("diamond"), Cluster.uniform(2), np.array([0, 0, 1, 0]), np.array(SCHEDULE))


def test_figures_of_the_schedule(plan):
    assert (plan.num_copies, plan.copied_bytes) == (2, 72)
    assert plan.events() == [("run", 0), ("copy", 0, 1), ("run", 1), ("run", 2), ("copy", 2, 0), ("run", 3)]
    assert repr(plan) == "Plan('diamond', devices=2, ops=4, copies=2)"


def test_arrays_are_own_and_cannot_be_written():
    placement, schedule = np.zeros(4, np.int64), np.array(SCHEDULE)
    plan = Plan(example_graph("diamond"), Cluster.uniform(2), placement, schedule)
    placement[0] = schedule[0, 0] = 9
    assert (plan.placement.dtype, plan.schedule.dtype) == (np.int32, np.int32)
    assert (plan.placement.tolist(), plan.schedule.tolist()) == ([0, 0, 0, 0], SCHEDULE)
    for array in (plan.placement, plan.schedule):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0


def test_no_events():
    plan = Plan(GraphBuilder("empty").build(), Cluster.uniform(2), [], [])
    assert (plan.schedule.shape, plan.num_copies, plan.copied_bytes, plan.events()) == ((0, 2), 0, 0, [])
