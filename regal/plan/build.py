"""A plan from a placement and an order of the ops: the copies are added."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from regal.cluster import Cluster
from regal.graph import ComputationGraph
from regal.plan.plan import RUN, Plan


def plan_from_order(graph: ComputationGraph, cluster: Cluster, placement: ArrayLike, order: Iterable[int]) -> Plan:
    """Run the ops in ``order``; each copy comes right before the first op on its target that needs it.

    Parameters
    ----------
    placement : integers, shape (num_ops,)
    order : op indices, shape (num_ops,)
        A topological order; :func:`regal.plan.check_plan` tells when it is none.
    """
    device_of = np.asarray(placement, np.int32)
    device_list, producer, inputs = device_of.tolist(), graph.producer.tolist(), graph.inputs.to_lists()
    events: list[tuple[int, int]] = []
    copied: set[tuple[int, int]] = set()
    for op in order:
        device = device_list[op]
        for tensor in inputs[op]:
            source = producer[tensor]
            if source >= 0 and device_list[source] != device and (tensor, device) not in copied:
                copied.add((tensor, device))
                events.append((tensor, device))
        events.append((op, RUN))
    return Plan(graph, cluster, device_of, np.array(events, np.int32).reshape(-1, 2))
