import numpy as np
import pytest

from regal.bounds import Liveness
from regal.cluster import Cluster
from regal.cost.reference import start_memory, walk
from regal.graph import GraphBuilder


@pytest.mark.parametrize("seed", range(40))
def test_live_bytes_are_what_the_reference_counts_during_each_run(random_graph, all_plans, seed):
    graph = random_graph(seed, 5)
    live = Liveness(graph)
    for plan in all_plans(graph, Cluster.uniform(1)):
        order = plan.schedule[:, 0]
        position = np.empty(len(order), np.int64)
        position[order] = np.arange(len(order))
        resident = start_memory(plan)[0]
        assert (live.while_running(position)[order] + resident).tolist() == [step.during for step in walk(plan)]


def test_own_bytes_are_inputs_outputs_and_workspace():
    """``w`` is persistent and does not count; ``b`` has an output that nobody reads.

    a --4--> b --8--> (unread)
             w --^
    """
    builder = GraphBuilder()
    w, x, y = (builder.add_tensor(size) for size in (100, 4, 8))
    builder.add_op("a", outputs=[x], workspace=1)
    builder.add_op("b", inputs=[x, w], outputs=[y], workspace=2)
    live = Liveness(builder.build())
    assert live.own.tolist() == [5, 14]
    assert live.made.tolist() == [5, 10]
    assert live.size.tolist() == [4]
