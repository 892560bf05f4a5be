"""What keys mean, on graphs small enough to read; the reference and the compiled decoder must both say so."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regal.cluster import Cluster
from regal.decode import Decoder, Layout, reference
from regal.graph import ComputationGraph, GraphBuilder
from regal.plan import Plan, check_plan
from regal.problem import Problem
from tests import oracle
from tests.strategies import problems, random_keys


def compiled(graph: ComputationGraph, cluster: Cluster, keys: np.ndarray) -> Plan:
    return Decoder(Problem(graph, cluster)).plan(keys)


TABLE = {"reference": reference.decode, "numba": compiled}
each = pytest.mark.parametrize("decode", TABLE.values(), ids=TABLE)


def row(affinities: list[list[int]], priorities: list[int], transfers: list[list[int]]) -> np.ndarray:
    flat = [key for part in (*affinities, priorities, *transfers) for key in part]
    return np.array(flat, np.uint16)


def free_ops(count: int, groups: list[int | None] | None = None) -> ComputationGraph:
    builder = GraphBuilder()
    for op in range(count):
        builder.add_op("op", colocation=groups[op] if groups else None)
    return builder.build()


def fan() -> ComputationGraph:
    """a ──t0, t1──> b, c (each reads both); d reads nothing."""
    builder = GraphBuilder()
    tensors = [builder.add_tensor(1), builder.add_tensor(1)]
    builder.add_op("a", outputs=tensors)
    builder.add_op("b", inputs=tensors)
    builder.add_op("c", inputs=tensors)
    builder.add_op("d")
    return builder.build()


@each
def test_the_highest_affinity_wins_and_on_a_tie_the_lowest_device(decode):
    keys = row([[1, 9, 3], [7, 7, 7], [2, 8, 8], [0, 0, 65535], [0, 0, 0]], [0] * 5, [])
    assert decode(free_ops(5), Cluster.uniform(3), keys).placement.tolist() == [1, 0, 1, 2, 0]


@each
def test_a_group_goes_where_its_lowest_op_would_go_alone(decode):
    keys = row([[0, 1], [1, 0], [1, 0], [0, 1], [1, 0]], [0] * 5, [])
    graph = free_ops(5, [8, None, 8, 2, 2])
    assert decode(graph, Cluster.uniform(2), keys).placement.tolist() == [1, 0, 1, 1, 1]


@each
def test_of_the_ready_ops_the_highest_priority_goes_next_and_on_a_tie_the_lowest_op(decode):
    keys = row([[0]] * 5, [5, 65535, 5, 0, 6], [])
    assert decode(free_ops(5), Cluster.uniform(1), keys).events() == [("run", op) for op in (1, 4, 0, 2, 3)]


@each
def test_priorities_that_differ_in_their_lowest_bit_are_told_apart(decode):
    keys = row([[0]] * 5, [40000, 40003, 40001, 40004, 40002], [])
    assert decode(free_ops(5), Cluster.uniform(1), keys).events() == [("run", op) for op in (3, 1, 4, 2, 0)]


@each
def test_copies_have_keys_of_their_own(decode):
    # a on 0; b on 1, c on 2: the copies of t0 and t1 to 1 and 2 become ready together
    placement = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]]
    keys = row(placement, [9, 50, 1, 0], [[65535, 10, 40], [65535, 30, 20]])
    assert decode(fan(), Cluster.uniform(3), keys).events() == [
        ("run", 0),
        ("copy", 0, 2),
        ("copy", 1, 1),
        ("copy", 1, 2),
        ("copy", 0, 1),
        ("run", 1),
        ("run", 2),
        ("run", 3),
    ]


@each
def test_on_a_tie_ops_go_before_copies_and_then_the_lowest_tensor_and_device(decode):
    placement = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]]
    keys = row(placement, [7] * 4, [[7] * 3] * 2)
    assert decode(fan(), Cluster.uniform(3), keys).events() == [
        ("run", 0),
        ("run", 3),
        ("copy", 0, 1),
        ("copy", 0, 2),
        ("copy", 1, 1),
        ("run", 1),
        ("copy", 1, 2),
        ("run", 2),
    ]


@each
def test_a_low_predecessor_holds_a_high_op_back(decode):
    # a (0) ──t0──> b (9);  a ─ ─> c (8);  d (5) is free
    builder = GraphBuilder()
    tensor = builder.add_tensor(1)
    builder.add_op("a", outputs=[tensor])
    builder.add_op("b", inputs=[tensor])
    builder.add_op("c", control_inputs=[0])
    builder.add_op("d")
    keys = row([[0]] * 4, [0, 9, 8, 5], [[0]])
    assert decode(builder.build(), Cluster.uniform(1), keys).events() == [("run", op) for op in (3, 0, 1, 2)]


@each
def test_no_ops(decode):
    plan = decode(GraphBuilder().build(), Cluster.uniform(2), np.zeros(4, np.uint16))
    assert (plan.placement.tolist(), plan.events()) == ([], [])


def test_keys_may_be_fractions():
    keys = [0.5, 0.25, 0.125, 0.25, *(0.1, 0.9), *()]
    plan = reference.decode(free_ops(2), Cluster.uniform(2), keys)
    assert (plan.placement.tolist(), plan.events()) == ([0, 1], [("run", 1), ("run", 0)])


@given(problems(), st.randoms(use_true_random=False))
def test_any_keys_give_a_valid_plan(problem, rng):
    layout = Layout.of(problem.graph, problem.cluster.num_devices)
    plan = reference.decode(problem.graph, problem.cluster, random_keys(rng, layout, 1)[0])
    check_plan(plan)
    assert oracle.is_valid(plan)
