"""The filter: the hardware follows from the graph, and each outcome has its graph."""

import math

import pytest

from regal.cluster import Cluster
from regal.graph import GraphBuilder
from regal.synthetic import generate
from regal.synthetic.filter import Room, cluster_for, room_to_improve


def chain(num_ops, size=10):
    """``a - b - c ...``, a second each."""
    builder = GraphBuilder()
    inputs: list[int] = []
    for _ in range(num_ops):
        outputs = [builder.add_tensor(size)]
        builder.add_op("op", inputs=inputs, outputs=outputs, runtime=1.0)
        inputs = outputs
    return builder.build()


def test_memory_and_bandwidth_follow_from_the_graph():
    """The peak of a chain is two tensors: 20 bytes; 10 bytes in half a second."""
    cluster = cluster_for(chain(4))
    assert cluster.memory.tolist() == [11, 11]
    assert cluster.bandwidth[0, 1] == cluster.bandwidth[1, 0] == 20.0
    assert not cluster.latency.any()


@pytest.mark.parametrize("graph", [GraphBuilder().build(), chain(3, size=0)])
def test_links_are_free_where_there_is_nothing_to_copy(graph):
    assert cluster_for(graph).bandwidth[0, 1] == math.inf


def test_a_graph_at_its_bound_is_spared_the_longer_search():
    found = room_to_improve(chain(4), Cluster.uniform(2), low=300, high=10_000)
    assert found.outcome == "at the bound"
    assert found.low == found.high == (0.0, 4.0)
    assert found.evaluations <= 300
    assert not found.accepted


def test_a_graph_that_never_fits():
    found = room_to_improve(chain(4), Cluster.uniform(2, memory=5), low=200, high=400)
    assert found.outcome == "never fits"
    assert found.high[0] > 0
    assert 300 < found.evaluations <= 400
    assert not found.accepted


def seeds_by_outcome(low, high, count=30):
    outcomes: dict[str, Room] = {}
    for seed in range(count):
        found = room_to_improve(generate(seed), low=low, high=high)
        outcomes.setdefault(found.outcome, found)
    return outcomes


def test_the_conditions_of_the_paper():
    found = seeds_by_outcome(500, 3000)
    assert {"fits", "faster", "no room"} <= set(found)
    fits, faster, no_room = found["fits"], found["faster"], found["no room"]
    assert (fits.accepted, faster.accepted, no_room.accepted) == (True, True, False)
    assert fits.low[0] > 0
    assert fits.high[0] == 0
    assert faster.low[0] == faster.high[0] == 0
    assert faster.high[1] <= 0.8 * faster.low[1]
    assert faster.evaluations <= 3000
    assert no_room.low[0] == no_room.high[0] == 0
    assert no_room.high[1] > 0.8 * no_room.low[1]


def test_the_outcome_repeats_itself():
    assert room_to_improve(generate(1), low=300, high=900) == room_to_improve(generate(1), low=300, high=900)


@pytest.mark.parametrize(("low", "high"), [(0, 10), (20, 10), (-5, 10)])
def test_limits_are_checked(low, high):
    with pytest.raises(ValueError, match=f"low at most high, not {low} and {high}"):
        room_to_improve(generate(0), low=low, high=high)
