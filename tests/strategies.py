"""Random graphs, clusters, keys and plans: one generator each, fed by a seeded ``random.Random`` or by hypothesis.

``random_graph(random.Random(7))`` repeats itself; ``graphs()`` is the same generator as a hypothesis strategy, which
shrinks what breaks a test.
"""

from random import Random

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from regal.cluster import Cluster, Device, Link
from regal.decode import Layout
from regal.graph import ComputationGraph, GraphBuilder
from regal.plan import RUN, Plan
from regal.problem import Objective, Problem

RUNTIMES = (0.0, 0.0, 0.1, 0.25, 1 / 3, 1.0, 7e-9, 1e3)
MEMORY_OBJECTIVES = (Objective.PEAK_MEMORY, Objective.PEAK_UTILISATION)
SINGLE_OBJECTIVES = (*MEMORY_OBJECTIVES, Objective.RUNNING_TIME)


def random_size(rng: Random) -> int:
    """Bytes: often none, often equal, sometimes huge."""
    return rng.choice((0, 0, 1, 1, 5, 64, rng.randint(0, 1000), 2**53 - 1 if rng.random() < 0.05 else 12))


def random_graph(rng: Random, max_ops: int = 60, min_ops: int = 0) -> ComputationGraph:
    """Shared reads, several or no outputs per op, unread tensors, outputs of the graph that are read or persistent,
    control edges, workspaces, colocation groups, sizes and runtimes of zero, tensors in any order.
    """
    num_ops = rng.randint(min_ops, max_ops)
    persistent = [random_size(rng) for _ in range(rng.randint(0, 4))]
    outputs = [[random_size(rng) for _ in range(rng.choice((0, 1, 1, 1, 1, 2, 3)))] for _ in range(num_ops)]
    sizes = persistent + [size for row in outputs for size in row]
    index = list(range(len(sizes)))  # the tensor that each entry of ``sizes`` becomes
    if rng.random() < 0.5:
        rng.shuffle(index)
    marked = [rng.random() < 0.15 for _ in sizes]
    builder = GraphBuilder("random")
    for tensor in np.argsort(index, kind="stable").tolist():
        builder.add_tensor(sizes[tensor], marked[tensor])
    reach = rng.choice((2, 5, 60))  # how far back an op reads
    grouped = rng.choice((0.0, 0.0, 0.2))
    made: list[int] = []
    next_tensor = len(persistent)
    for op in range(num_ops):
        recent = made[-reach:]
        inputs = rng.sample(recent, min(len(recent), rng.choice((0, 1, 1, 2, 3))))
        inputs += rng.sample(range(len(persistent)), min(len(persistent), rng.choice((0, 0, 1, 2))))
        written = list(range(next_tensor, next_tensor + len(outputs[op])))
        builder.add_op(
            "op",
            inputs=[index[tensor] for tensor in inputs],
            outputs=[index[tensor] for tensor in written],
            control_inputs=rng.sample(range(op), min(op, rng.choice((0, 0, 0, 0, 1, 2)))),
            runtime=rng.choice(RUNTIMES),
            workspace=random_size(rng) if rng.random() < 0.3 else 0,
            colocation=rng.choice((0, 3, 2**40)) if rng.random() < grouped else None,
        )
        made += written
        next_tensor += len(written)
    return builder.build()


def random_cluster(rng: Random, graph: ComputationGraph, max_devices: int = 4) -> Cluster:
    """Alike or not, roomy, tight or without memory; all pairs linked, some, or none."""
    num_devices = rng.randint(1, max_devices)
    total = int(graph.tensor_bytes.sum())
    memories = (0, 1, total // 4, total // 2, total, total + 1000)
    devices = [Device(rng.choice(memories), rng.choice((1.0, 1.0, 0.5, 3.0, 1e3))) for _ in range(num_devices)]
    if rng.random() < 0.4:
        devices = devices[:1] * num_devices
    linked = rng.choice((0.0, 0.5, 1.0))
    links = [
        Link(a, b, rng.choice((0.0, 0.0, 0.3, 1e-6)), rng.choice((float("inf"), 1.0, 3.0, 12e9)))
        for a in range(num_devices)
        for b in range(num_devices)
        if a != b and rng.random() < linked
    ]
    return Cluster(tuple(devices), tuple(links))


def random_keys(rng: Random, layout: Layout, rows: int) -> NDArray:
    """Rows of keys, uint16 or uint32, padded or not: spread out, tied, or alike in their upper bits."""
    dtype = np.dtype(rng.choice((np.uint16, np.uint32))) if layout.key_dtype == np.uint16 else layout.key_dtype
    width = rng.choice((layout.num_keys, layout.num_padded_keys))
    generator = np.random.default_rng(rng.getrandbits(32))
    kind = rng.choice(("spread", "spread", "tied", "crowded"))
    low, high = {"spread": (0, np.iinfo(dtype).max), "tied": (0, 2), "crowded": (40_000, 40_040)}[kind]
    return generator.integers(low, high, (rows, width), dtype, endpoint=True)


def random_placement(rng: Random, graph: ComputationGraph, num_devices: int) -> list[int]:
    """Any placement that respects the colocation groups."""
    device_of_group: dict[int, int] = {}
    placement = [rng.randrange(num_devices) for _ in range(graph.num_ops)]
    for op, group in enumerate(graph.colocation.tolist()):
        if group >= 0:
            placement[op] = device_of_group.setdefault(group, placement[op])
    return placement


def random_plan(rng: Random, graph: ComputationGraph, cluster: Cluster) -> Plan:
    """Any valid plan: runs and copies in any order that their needs allow."""
    placement = random_placement(rng, graph, cluster.num_devices)
    producer = graph.producer.tolist()
    needs: dict[tuple[int, int], set[tuple[int, int]]] = {}
    for op, tensors in enumerate(graph.inputs.to_lists()):
        needs[op, RUN] = {(other, RUN) for other in graph.control_inputs[op].tolist()}
        for tensor in tensors:
            source = (producer[tensor], RUN)
            if producer[tensor] < 0:
                continue
            if placement[producer[tensor]] != placement[op]:
                copy = (tensor, placement[op])
                needs[copy] = {source}
                source = copy
            needs[op, RUN].add(source)
    schedule: list[tuple[int, int]] = []
    done: set[tuple[int, int]] = set()
    while len(done) < len(needs):
        ready = [event for event in needs if event not in done and needs[event] <= done]
        schedule.append(rng.choice(ready))
        done.add(schedule[-1])
    return Plan(graph, cluster, np.array(placement, np.int32), np.array(schedule, np.int32).reshape(-1, 2))


def graphs(max_ops: int = 10) -> st.SearchStrategy[ComputationGraph]:
    """Graphs that hypothesis can shrink."""
    return st.builds(random_graph, st.randoms(use_true_random=False), st.just(max_ops))


@st.composite
def problems(draw: st.DrawFn, max_ops: int = 10, max_devices: int = 4) -> Problem:
    """A graph, a cluster and one of the objectives."""
    rng = draw(st.randoms(use_true_random=False))
    graph = random_graph(rng, max_ops)
    return Problem(graph, random_cluster(rng, graph, max_devices), rng.choice(SINGLE_OBJECTIVES))


@st.composite
def plans(draw: st.DrawFn, max_ops: int = 10, max_devices: int = 4) -> Plan:
    """A valid plan of a graph on a cluster."""
    rng = draw(st.randoms(use_true_random=False))
    graph = random_graph(rng, max_ops)
    return random_plan(rng, graph, random_cluster(rng, graph, max_devices))
