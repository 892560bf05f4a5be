import numpy as np
import pytest

from regal.cluster import Cluster, Device, Link
from regal.graph import ComputationGraph, GraphBuilder, example_graph
from regal.plan import RUN, Plan, check_plan


def in_program_order(graph: ComputationGraph, cluster: Cluster, placement: list[int]) -> Plan:
    """Ops in program order, the copies of a tensor right after its producer."""
    events = []
    for op in range(graph.num_ops):
        events.append((op, RUN))
        for tensor in graph.outputs[op].tolist():
            devices = {placement[reader] for reader in graph.consumers[tensor].tolist()} - {placement[op]}
            events += [(tensor, device) for device in sorted(devices)]
    plan = Plan(graph, cluster, np.array(placement, np.int32), np.array(events, np.int32))
    check_plan(plan)
    return plan


def random_graph(num_ops: int, seed: int = 0) -> ComputationGraph:
    """Each op reads up to two tensors of the last 20 ops and a parameter; a third take no time, some need workspace."""
    rng = np.random.default_rng(seed)
    builder = GraphBuilder("random")
    parameters = [builder.add_tensor(int(size)) for size in rng.integers(1, 10**6, 5)]
    written: list[int] = []
    for op in range(num_ops):
        recent = rng.choice(written[-20:], min(2, len(written)), replace=False).tolist() if written else []
        tensor = builder.add_tensor(int(rng.integers(1, 10**6)), is_output=bool(rng.random() < 0.02))
        builder.add_op(
            "relu",
            name=f"layer{op}.relu",
            inputs=[*recent, parameters[op % 5]],
            outputs=[tensor],
            runtime=float(rng.random() < 0.7) * float(rng.exponential(1e-3)),
            workspace=int(rng.integers(0, 10**5)),
        )
        written.append(tensor)
    return builder.build()


@pytest.fixture
def diamond_plan() -> Plan:
    """Two devices; c and its 64 bytes are on device 1, whose link takes 1 s and 8 bytes a second.

    a (8) ──> b (4) ──────> d
      └─────> c (64) ──────┘
    """
    cluster = Cluster((Device(100), Device(90)), (Link(0, 1, 1.0, 8.0), Link(1, 0, 1.0, 8.0)))
    return in_program_order(example_graph("diamond"), cluster, [0, 0, 1, 0])


@pytest.fixture(scope="session")
def large_plan() -> Plan:
    """3,000 ops on three devices: more than a figure draws one by one."""
    graph = random_graph(3000)
    return in_program_order(graph, Cluster.uniform(3, bandwidth=1e9), [op // 7 % 3 for op in range(3000)])


@pytest.fixture
def empty_plan() -> Plan:
    return in_program_order(GraphBuilder("empty").build(), Cluster.uniform(2), [])


@pytest.fixture
def hostile_plan() -> Plan:
    """Names that are markup, quotes, control characters and half a surrogate pair."""
    builder = GraphBuilder("<script>alert('graph')</script>")
    tensor = builder.add_tensor(10)
    builder.add_op("<i>type</i>", name='<script>alert("op")</script>', outputs=[tensor], runtime=1.0)
    name = "</title><b onclick='x'>&amp;\n\x00\ud800"
    builder.add_op("</svg>", name=name, inputs=[tensor], outputs=[builder.add_tensor(3)])
    return in_program_order(builder.build(), Cluster.uniform(2), [0, 1])
