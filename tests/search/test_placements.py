from random import Random

import numpy as np

from regal.cluster import Cluster, Device
from regal.graph import GraphBuilder
from regal.search.placements import balanced_bytes, balanced_work, best_single_device, with_groups_together
from tests.strategies import random_cluster, random_graph


def chain(sizes, runtimes=None, workspaces=None, groups=None, parameter=0):
    """Each op reads the tensor of the one before; the first two read a parameter too."""
    builder = GraphBuilder()
    previous = []
    weight = builder.add_tensor(parameter)
    for index, size in enumerate(sizes):
        tensor = builder.add_tensor(size)
        builder.add_op(
            "op",
            inputs=[*previous, *([weight] if index < 2 else [])],
            outputs=[tensor],
            runtime=runtimes[index] if runtimes else 0.0,
            workspace=workspaces[index] if workspaces else 0,
            colocation=groups[index] if groups else None,
        )
        previous = [tensor]
    return builder.build()


def program_order(graph):
    return np.arange(graph.num_ops)


def test_best_single_device_has_the_most_memory_then_speed():
    graph = chain([1, 1])
    devices = [Device(10, 9.0), Device(20, 1.0), Device(20, 2.0), Device(20, 2.0)]
    assert best_single_device(graph, Cluster(tuple(devices))).tolist() == [2, 2]
    assert best_single_device(graph, Cluster.uniform(3)).tolist() == [0, 0]


def test_chunks_hold_bytes_in_proportion_to_memory():
    graph = chain([10] * 12)
    for memories, counts in (((1, 1), [6, 6]), ((3, 1), [9, 3]), ((1, 2, 3), [2, 4, 6]), ((0, 5), [0, 12])):
        placement = balanced_bytes(graph, Cluster(tuple(Device(m) for m in memories)), program_order(graph))
        assert placement.dtype == np.int32
        assert np.bincount(placement, minlength=len(memories)).tolist() == counts
        assert sorted(placement.tolist()) == placement.tolist()


def test_workspace_and_the_first_read_of_a_parameter_weigh():
    # 60 bytes of parameter fall on op 0 and 20 of workspace on op 3: 70 | 10 + 10 + 30.
    graph = chain([10] * 4, workspaces=[0, 0, 0, 20], parameter=60)
    assert balanced_bytes(graph, Cluster.uniform(2), program_order(graph)).tolist() == [0, 1, 1, 1]


def test_an_op_goes_where_its_middle_falls():
    # 10 | 10 | 30 of 50 bytes; the border between equal devices is at 25, within the last op, whose middle is at 35.
    assert balanced_bytes(chain([10, 10, 30]), Cluster.uniform(2), np.arange(3)).tolist() == [0, 0, 1]
    assert balanced_bytes(chain([30, 10, 10]), Cluster.uniform(2), np.arange(3)).tolist() == [0, 1, 1]


def test_chunks_hold_work_in_proportion_to_speed():
    graph = chain([1] * 12, runtimes=[2.0] * 12)
    cluster = Cluster((Device(5, 1.0), Device(500, 2.0), Device(1, 3.0)))
    assert np.bincount(balanced_work(graph, cluster, program_order(graph))).tolist() == [2, 4, 6]


def test_chunks_follow_the_order():
    builder = GraphBuilder()
    for _ in range(6):
        builder.add_op("op", runtime=1.0)
    order = np.array([5, 0, 4, 1, 3, 2])
    assert balanced_work(builder.build(), Cluster.uniform(3), order).tolist() == [0, 1, 2, 2, 1, 0]


def test_without_weight_or_share_everything_is_on_one_device():
    graph = chain([0, 0, 0])
    assert balanced_bytes(graph, Cluster.uniform(2), program_order(graph)).tolist() == [0, 0, 0]
    assert balanced_work(graph, Cluster.uniform(2), program_order(graph)).tolist() == [0, 0, 0]
    nowhere = Cluster((Device(0), Device(0)))
    assert balanced_bytes(chain([5, 5]), nowhere, np.arange(2)).tolist() == [0, 0]
    assert balanced_bytes(chain([]), Cluster.uniform(2), np.arange(0)).tolist() == []


def test_groups_go_where_their_lowest_op_is():
    graph = chain([1] * 6, groups=[None, 4, 9, 4, None, 9])
    assert with_groups_together(graph, np.array([0, 1, 2, 3, 4, 5], np.int32)).tolist() == [0, 1, 2, 1, 4, 2]


def test_random_placements_are_sound():
    for seed in range(40):
        rng = Random(seed)
        graph = random_graph(rng, max_ops=30)
        cluster = random_cluster(rng, graph)
        for make in (balanced_bytes, balanced_work):
            placement = make(graph, cluster, program_order(graph))
            assert ((placement >= 0) & (placement < cluster.num_devices)).all()
            assert with_groups_together(graph, placement).tolist() == placement.tolist()
