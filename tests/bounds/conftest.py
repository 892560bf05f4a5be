"""Random small graphs and every valid plan of them: the judges of the bounds."""

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pytest

from regal.cluster import Cluster
from regal.graph import ComputationGraph, GraphBuilder
from regal.plan import RUN, Plan


def make_random_graph(seed: int, num_ops: int, scale: int = 1) -> ComputationGraph:
    """Shared reads, several outputs per op, unread tensors, workspaces, control edges, groups, persistent tensors."""
    rng = np.random.default_rng(seed)
    builder = GraphBuilder(f"random{seed}")
    persistent = [builder.add_tensor(int(rng.integers(0, 8)) * scale, bool(rng.random() < 0.2)) for _ in range(2)]
    made: list[int] = []
    for op in range(num_ops):
        inputs = [tensor for tensor in made if rng.random() < 0.35] + [t for t in persistent if rng.random() < 0.3]
        outputs = [
            builder.add_tensor(int(rng.integers(0, 10)) * scale, bool(rng.random() < 0.2))
            for _ in range(rng.choice([0, 1, 1, 1, 2]))
        ]
        builder.add_op(
            "op",
            inputs=inputs,
            outputs=outputs,
            control_inputs=[other for other in range(op) if rng.random() < 0.08],
            runtime=float(rng.choice([0.0, 0.1, 0.3, 0.7, 1.0])),
            workspace=int(rng.choice([0, 0, 3, 9])) * scale,
            colocation=int(rng.integers(0, 2)) if rng.random() < 0.25 else None,
        )
        made += outputs
    return builder.build()


def enumerate_plans(graph: ComputationGraph, cluster: Cluster) -> Iterator[Plan]:
    """Every valid plan: each placement that respects the groups, each order of runs and copies."""
    producer, inputs = graph.producer.tolist(), graph.inputs.to_lists()
    controls, groups = graph.control_inputs.to_lists(), graph.colocation.tolist()
    for place in product(range(cluster.num_devices), repeat=graph.num_ops):
        if len({(group, place[op]) for op, group in enumerate(groups) if group >= 0}) > len(set(groups) - {-1}):
            continue
        before: dict[tuple[int, int], set[tuple[int, int]]] = {}
        for op, device in enumerate(place):
            needs = {(other, RUN) for other in controls[op]}
            for tensor in inputs[op]:
                source = producer[tensor]
                if source >= 0 and place[source] == device:
                    needs.add((source, RUN))
                elif source >= 0:
                    needs.add((tensor, device))
                    before[tensor, device] = {(source, RUN)}
            before[op, RUN] = needs
        for schedule in _orders(before, []):
            yield Plan(graph, cluster, np.array(place), np.array(schedule).reshape(-1, 2))


def _orders(before: dict, done: list) -> Iterator[list]:
    if len(done) == len(before):
        yield list(done)
    for event, needs in before.items():
        if event not in done and needs <= set(done):
            yield from _orders(before, [*done, event])


@pytest.fixture
def random_graph() -> Callable[..., ComputationGraph]:
    return make_random_graph


@pytest.fixture
def all_plans() -> Callable[[ComputationGraph, Cluster], Iterator[Plan]]:
    return enumerate_plans
