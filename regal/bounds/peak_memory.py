"""Certified lower bounds on the peak-memory objective, in bytes and as utilisation.

Every certificate holds for any number of devices, with copies, because of two facts about a valid plan.

*One moment, all devices.* When an op starts to run, let S be the ops that have run. An activation made in S that an op
outside S still reads is on some device: on its home while that reader is there or the copy to it is not made, else on
the reader's device. An output of the graph stays on its home. A persistent tensor with a consumer is on at least one
device throughout. So all these bytes, with the outputs and workspace of the op, are held by the devices together. With
T such bytes, some device holds at least T / K, since only K = min(devices, colocation units) of them run anything; of
their capacities c_d (all 1 for the form in bytes) some device fills a share of at least T / sum of the K largest c_d.

*One op, one device.* While an op runs, its inputs, outputs and workspace are all on its device, where also every
persistent tensor lies that an op of its colocation group reads. With W such bytes some device fills a share of at least
W / largest c_d.

Certificates:

min-cut
    T = persistent tensors with a consumer + the largest minimum cut (:mod:`regal.bounds.min_cut`). On one device this
    is the bound of all orders.
last op
    T while the op that runs last does: persistent tensors, all outputs of the graph, and the rest of the least working
    set among the ops that can be last, those that no other op waits for.
working set
    W of the op where it is largest.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regal.bounds.bound import Bound, colocation_units
from regal.bounds.liveness import Liveness
from regal.bounds.min_cut import MinCut, largest_min_cut
from regal.cluster import Cluster
from regal.graph import ComputationGraph


class _Certificate(NamedTuple):
    """Some device holds at least this share of its capacity."""

    share: Fraction
    name: str
    op: int | None


def peak_memory_bound(
    graph: ComputationGraph,
    cluster: Cluster,
    *,
    seconds: float | None = None,
    max_flows: int | None = None,
    progress: Callable[[Bound], None] | None = None,
) -> Bound:
    """Bytes that the fullest device needs at its peak in every valid plan.

    Parameters
    ----------
    seconds : float, optional
        When to stop raising the bound, checked between maximum flows; without it the bound is complete. With 0 it
        takes no flow.
    max_flows : int, optional
        Stop after this many maximum flows: unlike ``seconds``, a limit that gives the same bound every time.
    progress : callable, optional
        Called with the bound so far after each flow.

    Raises
    ------
    ValueError
        When ``seconds`` is negative or no number.

    Examples
    --------
    >>> from regal.graph import example_graph
    >>> bound = peak_memory_bound(example_graph("diamond"), Cluster.uniform(1))
    >>> bound.value, bound.certificate, bound.op
    (88, 'min-cut', 2)
    >>> peak_memory_bound(example_graph("chain"), Cluster.uniform(2)).value  # each op reads the parameter of 100 bytes
    130
    """
    return _bound(graph, [1] * cluster.num_devices, math.ceil, seconds, max_flows, progress)


def peak_utilisation_bound(
    graph: ComputationGraph,
    cluster: Cluster,
    *,
    seconds: float | None = None,
    max_flows: int | None = None,
    progress: Callable[[Bound], None] | None = None,
) -> Bound:
    """Share of its memory that the fullest device needs in every valid plan; above 1 no plan is feasible.

    Parameters, exceptions and certificates are those of :func:`peak_memory_bound`. The share is rounded as
    :meth:`regal.cost.Cost.peak_utilisation` rounds, so that it is never above a plan's. It is infinite where bytes
    must be held and no device has memory.

    Examples
    --------
    >>> from regal.graph import example_graph
    >>> peak_utilisation_bound(example_graph("diamond"), Cluster.uniform(1, memory=44)).value
    2.0
    """
    if not cluster.memory.any():
        bound = peak_memory_bound(graph, cluster, seconds=0)
        return Bound(math.inf if bound.value else 0.0, bound.certificate, bound.op, True, bound.seconds)
    return _bound(graph, cluster.memory.tolist(), float, seconds, max_flows, progress)


def _bound(
    graph: ComputationGraph,
    capacities: list[int],
    rounded: Callable[[Fraction], int | float],
    seconds: float | None,
    max_flows: int | None,
    progress: Callable[[Bound], None] | None,
) -> Bound:
    start = time.perf_counter()
    if not graph.num_ops:
        return Bound(rounded(Fraction(0)), "no ops", None, True, time.perf_counter() - start)
    live, unit = Liveness(graph), colocation_units(graph)
    used = sorted(capacities)[-(int(unit.max()) + 1) :]
    persistent = (graph.producer < 0) & (graph.consumers.counts > 0)
    resident = int(graph.tensor_bytes[persistent].sum())
    working_set = _working_sets(live, unit)
    op = int(working_set.argmax())
    cheap = [
        _Certificate(Fraction(resident + _at_the_last_op(live), sum(used)), "last op", None),
        _Certificate(Fraction(int(working_set[op]), used[-1]), "working set", op),
    ]
    floor = math.floor(max(cheap).share * sum(used)) - resident

    def bound(cut: MinCut) -> Bound:
        certificates = [_Certificate(Fraction(resident + cut.value, sum(used)), "min-cut", cut.op), *cheap]
        best = max(certificates, key=lambda certificate: certificate.share)
        return Bound(rounded(best.share), best.name, best.op, cut.complete, time.perf_counter() - start)

    report = None if progress is None else lambda cut: progress(bound(cut))
    return bound(largest_min_cut(live, seconds=seconds, max_flows=max_flows, floor=max(floor, 0), progress=report))


def _working_sets(live: Liveness, unit: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64 array, shape (num_ops,): bytes on the device of each op while it runs, persistent ones of its unit too."""
    graph = live.graph
    read = graph.producer[graph.inputs.values] < 0
    pairs = np.stack([unit[graph.inputs.row_of_value[read]], graph.inputs.values[read].astype(np.int64)])
    pairs = np.unique(pairs, axis=1)
    persistent = np.zeros(graph.num_ops, np.int64)
    np.add.at(persistent, pairs[0], graph.tensor_bytes[pairs[1]])
    return live.own + persistent[unit]


def _at_the_last_op(live: Liveness) -> int:
    """Bytes of activations and workspace that are held while the last op runs, whichever it is."""
    graph = live.graph
    besides = live.own.copy()
    lasting, lasting_read = live.is_output, live.is_output[live.read_tensor]
    np.subtract.at(besides, live.producer[lasting], live.size[lasting])
    np.subtract.at(besides, live.reader[lasting_read], live.size[live.read_tensor[lasting_read]])
    can_be_last = graph.successors.counts == 0
    return int(live.size[lasting].sum()) + int(besides[can_be_last].min())
