from random import Random

import numpy as np
import pytest

from regal.cluster import Cluster
from regal.cost.reference import evaluate
from regal.graph import GraphBuilder, example_graph
from regal.plan import check_plan, plan_from_order
from regal.search.orders import ORDERS, depth_first_order, memory_greedy_order, min_cut_order, program_order
from tests.strategies import random_graph


def peak(graph, order):
    placement = np.zeros(graph.num_ops, np.int32)
    return evaluate(plan_from_order(graph, Cluster.uniform(1), placement, order.tolist())).max_peak_memory


@pytest.mark.parametrize("name", ORDERS)
def test_orders_are_valid(name):
    for seed in range(60):
        graph = random_graph(Random(seed), max_ops=40)
        order = ORDERS[name](graph)
        assert order.dtype == np.int64
        assert sorted(order.tolist()) == list(range(graph.num_ops))
        check_plan(plan_from_order(graph, Cluster.uniform(1), np.zeros(graph.num_ops, np.int32), order.tolist()))


def test_program_order():
    assert program_order(example_graph("diamond")).tolist() == [0, 1, 2, 3]


def test_min_cut_order_is_never_worse_than_program_order():
    better = 0
    for seed in range(60):
        graph = random_graph(Random(seed), max_ops=40)
        here, there = peak(graph, min_cut_order(graph)), peak(graph, program_order(graph))
        assert here <= there
        better += here < there
    assert better > 10


def test_depth_first_finishes_a_branch_before_the_next():
    #  0 ─> 2 ─┐
    #  1 ─> 3 ─┴> 4      5 reads nothing and nobody waits for it
    builder = GraphBuilder()
    tensors = [builder.add_tensor(1) for _ in range(4)]
    builder.add_op("a", outputs=[tensors[0]])
    builder.add_op("b", outputs=[tensors[1]])
    builder.add_op("c", inputs=[tensors[0]], outputs=[tensors[2]])
    builder.add_op("d", inputs=[tensors[1]], outputs=[tensors[3]])
    builder.add_op("e", inputs=[tensors[3]], control_inputs=[2])
    builder.add_op("f")
    graph = builder.build()
    order = depth_first_order(graph).tolist()
    assert sorted([order[:2], order[2:4]]) == [[0, 2], [1, 3]]
    assert order[4:] == [4, 5]


def test_depth_first_needs_no_recursion():
    builder = GraphBuilder()
    previous = []
    for _ in range(5000):
        tensor = builder.add_tensor(1)
        builder.add_op("op", inputs=previous, outputs=[tensor])
        previous = [tensor]
    assert depth_first_order(builder.build()).tolist() == list(range(5000))


def test_memory_greedy_takes_the_op_that_adds_least():
    #  0 ──(10)──> 1 ──(4)──> 4      2 ──(7)──> 3 ──(1)──> 4
    # Least is added by 2 (7 against 10), then by 3 (1 - 7), then 0, then 1 (4 - 10), then 4.
    builder = GraphBuilder()
    a, b, c, d = (builder.add_tensor(size) for size in (10, 4, 7, 1))
    builder.add_op("0", outputs=[a])
    builder.add_op("1", inputs=[a], outputs=[b])
    builder.add_op("2", outputs=[c])
    builder.add_op("3", inputs=[c], outputs=[d])
    builder.add_op("4", inputs=[b, d])
    assert memory_greedy_order(builder.build()).tolist() == [2, 3, 0, 1, 4]


def test_memory_greedy_counts_a_release_once_the_last_reader_is_known():
    #  0 ──(10)──┬─> 1 ──(3)      Either reader alone adds its output; once one has run, the other releases the 10.
    #            └─> 2 ──(9)      3 adds 2, and so waits for 1 (3 > 2, it goes first) and runs before 2 only if 2 were
    #  3 ──(2)                    still to add 9.
    builder = GraphBuilder()
    large, *small = (builder.add_tensor(size, is_output=size < 10) for size in (10, 3, 9, 2))
    builder.add_op("0", outputs=[large])
    builder.add_op("1", inputs=[large], outputs=[small[0]])
    builder.add_op("2", inputs=[large], outputs=[small[1]])
    builder.add_op("3", control_inputs=[0], outputs=[small[2]])
    # after 0: 1 adds 3, 2 adds 9, 3 adds 2 -> 3; then 1 (3 < 9); then 2 (9 - 10)
    assert memory_greedy_order(builder.build()).tolist() == [0, 3, 1, 2]


def greedy_by_hand(graph):
    """The rule of the memory-greedy order, looked up anew for every step."""
    done, order = set(), []
    while len(order) < graph.num_ops:

        def added(op):
            total = 0
            for tensor in graph.outputs[op].tolist():
                if graph.is_output[tensor] or len(graph.consumers[tensor]):
                    total += int(graph.tensor_bytes[tensor])
            for tensor in graph.inputs[op].tolist():
                left = set(graph.consumers[tensor].tolist()) - done - {op}
                if graph.producer[tensor] >= 0 and not left and not graph.is_output[tensor]:
                    total -= int(graph.tensor_bytes[tensor])
            return total

        ready = [op for op in range(graph.num_ops) if op not in done and set(graph.predecessors[op].tolist()) <= done]
        order.append(min(ready, key=lambda op: (added(op), op)))
        done.add(order[-1])
    return order


def test_memory_greedy_follows_its_rule():
    for seed in range(60):
        graph = random_graph(Random(seed), max_ops=25)
        assert memory_greedy_order(graph).tolist() == greedy_by_hand(graph)
