"""How many bytes of activations must be live while some op runs, whatever the order: one minimum cut per op.

Let S be the ops that have run before op ``v`` in some order. S holds every ancestor of ``v``, neither ``v`` nor a
descendant, and with each op its predecessors (control inputs included). While ``v`` runs, these bytes are live:

* every activation produced in S that is an output of the graph or has a reader outside S (``v`` is outside, so its
  inputs count),
* the outputs of ``v``, read or not, and its workspace.

The least sum over all such S is a minimum cut (``S`` = source side): an activation costs its bytes on an arc from its
producer, followed by infinite arcs to its readers, or ends in the sink where it is live for certain; an infinite arc
from each op to each predecessor keeps S closed (project selection; Picard, Management Science 22, 1976). The peak of
every order is at least the largest minimum cut over all ops.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from regal.bounds.liveness import Liveness
from regal.graph import CSR

FREE, BEFORE, AFTER = 0, 1, 2
MAX_CAPACITY = 2**63 - 1


@dataclass(frozen=True, eq=False)
class MinCut:
    """The largest minimum cut found.

    Attributes
    ----------
    value : int
        Bytes of activations and workspace that are live at some moment of every order; persistent tensors left out.
    op : int or None
        The op while which they are live; None without ops.
    complete : bool
        Whether no op's minimum cut is larger than both ``value`` and the ``floor`` that was asked for.
    flows : int
        Number of maximum flows computed.
    order : int64 array, shape (num_ops,)
        Of the orders met on the way, the one with the least peak on one device.
    order_peak : int
        That peak in bytes, counted like ``value``: where the two are equal, ``order`` is optimal on one device.
    """

    value: int
    op: int | None
    complete: bool
    flows: int
    order: NDArray[np.int64]
    order_peak: int


def largest_min_cut(
    live: Liveness,
    *,
    seconds: float | None = None,
    max_flows: int | None = None,
    floor: int = 0,
    progress: Callable[[MinCut], None] | None = None,
) -> MinCut:
    """The largest minimum cut over all ops, or the largest found within ``seconds``.

    Live bytes while an op runs, in any order, are an upper bound on its minimum cut. So an op matters only while its
    least upper bound exceeds the best cut so far, and ops go by descending upper bound, alternating with the op that
    needs most for itself. Each minimum cut gives a new order, its S first and then its op, and so new upper bounds for
    all ops: few flows are needed before no op is left.

    Parameters
    ----------
    seconds : float, optional
        Checked between flows; without it the result is complete. With 0 the value is the largest ``live.own``.
    max_flows : int, optional
        Stop after this many maximum flows: unlike ``seconds``, a limit that gives the same result every time.
    floor : int
        Cuts up to this value are of no interest.
    progress : callable, optional
        Called with the best so far after each flow.

    Raises
    ------
    ValueError
        When ``seconds`` is negative or no number.

    Examples
    --------
    In program order this graph's large tensors are live together, 600 bytes; one pair after the other needs 106.

    >>> from regal.graph import example_graph
    >>> cut = largest_min_cut(Liveness(example_graph("branches")))
    >>> cut.value, cut.complete, cut.order_peak
    (101, True, 106)
    """
    if seconds is not None and not seconds >= 0:
        raise ValueError(f"seconds must be a number from 0 on, not {seconds!r}")
    deadline = float("inf") if seconds is None else time.perf_counter() + seconds
    n = live.graph.num_ops
    position = np.arange(n)
    if not n:
        return MinCut(0, None, True, 0, position, 0)
    upper = live.while_running(position)
    op = int(live.own.argmax())
    best = MinCut(int(live.own[op]), op, False, 0, position.copy(), int(upper.max()))
    network = None
    while upper.max() > max(best.value, floor):
        if time.perf_counter() >= deadline or best.flows == max_flows:
            return best
        network = network or CutNetwork(live)
        open_ops = upper > max(best.value, floor)
        promise = upper if best.flows % 2 == 0 else live.own
        op = int(np.where(open_ops, promise, -1).argmax())
        value, before = network.cut(op)
        best = replace(best, flows=best.flows + 1)
        if value > best.value:
            best = replace(best, value=value, op=op)
        order = _brought_forward(position, before, op)
        position[order] = np.arange(n)
        held = live.while_running(position)
        np.minimum(upper, held, out=upper)
        upper[op] = value
        if held.max() < best.order_peak:
            best = replace(best, order=order, order_peak=int(held.max()))
        if progress is not None:
            progress(best)
    return replace(best, complete=True)


def _brought_forward(position: NDArray[np.int64], before: NDArray[np.bool_], op: int) -> NDArray[np.int64]:
    """The order in which the ops ``before`` come first, then ``op``, then the rest, each part as in ``position``."""
    part = np.where(before, 0, 2)
    part[op] = 1
    return np.lexsort((position, part))


class CutNetwork:
    """Minimum cuts over one graph; only ops that may run before or after ``op`` become nodes of its network."""

    def __init__(self, live: Liveness) -> None:
        self.live = live
        graph = live.graph
        self.successors, self.predecessors = _adjacency(graph.successors), _adjacency(graph.predecessors)
        self.after = graph.predecessors.row_of_value
        self.before = graph.predecessors.values

    def cut(self, op: int) -> tuple[int, NDArray[np.bool_]]:
        """The least live bytes while ``op`` runs, and the ops (bool array, shape (num_ops,)) that run before it then.

        Ancestors of ``op`` are merged into the source; ``op`` and its descendants are the sink.
        """
        live = self.live
        side = self._sides(op)
        lasts = live.is_output.copy()  # live from its production until `op` runs
        lasts[live.read_tensor[side[live.reader] == AFTER]] = True
        fixed = int(live.size[lasts & (side[live.producer] == BEFORE)].sum()) + int(live.made[op])
        free = np.flatnonzero(side == FREE)
        node = np.zeros(len(side), np.int64)  # 0 is the source, 1 the sink, then the free ops, then shared tensors
        node[free] = np.arange(2, 2 + len(free))
        finite, infinite = self._arcs(side, lasts, node, 2 + len(free))
        value, chosen = _max_flow(finite, infinite)
        before = side == BEFORE
        before[free[chosen[(chosen >= 2) & (chosen < 2 + len(free))] - 2]] = True
        return fixed + value, before

    def _sides(self, op: int) -> NDArray[np.int8]:
        side = np.full(self.live.graph.num_ops, FREE, np.int8)
        side[breadth_first_order(self.predecessors, op, return_predecessors=False)] = BEFORE
        side[breadth_first_order(self.successors, op, return_predecessors=False)] = AFTER
        return side

    def _arcs(
        self, side: NDArray[np.int8], lasts: NDArray[np.bool_], node: NDArray[np.int64], num_nodes: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Arcs ``(tail, head, bytes)`` and infinite arcs ``(tail, head)``, one per column.

        A tensor with one free reader is an arc; one with several is a node of its own, so that it costs once.
        """
        live = self.live
        tail = node[live.producer]
        to_sink = np.flatnonzero(lasts & (side[live.producer] == FREE))
        open_read = ~lasts[live.read_tensor] & (side[live.reader] == FREE)
        tensor, head = live.read_tensor[open_read], node[live.reader[open_read]]
        reads = np.bincount(tensor, minlength=len(live.size))
        shared = np.flatnonzero(reads > 1)
        node_of_tensor = np.zeros(len(live.size), np.int64)
        node_of_tensor[shared] = np.arange(num_nodes, num_nodes + len(shared))
        single, several = reads[tensor] == 1, reads[tensor] > 1
        inside = (side[self.before] == FREE) & (side[self.after] == FREE)
        finite = [
            (tail[to_sink], np.ones_like(to_sink), live.size[to_sink]),
            (tail[tensor[single]], head[single], live.size[tensor[single]]),
            (tail[shared], node_of_tensor[shared], live.size[shared]),
        ]
        infinite = [
            (node_of_tensor[tensor[several]], head[several]),
            (node[self.after[inside]], node[self.before[inside]]),
        ]
        return np.hstack([np.vstack(arcs) for arcs in finite]), np.hstack([np.vstack(arcs) for arcs in infinite])


def _adjacency(lists: CSR) -> csr_array:
    data = np.ones(len(lists.values))
    return csr_array((data, lists.values, lists.offsets.astype(np.int32)), shape=(len(lists), len(lists)))


def _max_flow(finite: NDArray[np.int64], infinite: NDArray[np.int64]) -> tuple[int, NDArray[np.int64]]:
    """The maximum flow from node 0 to node 1, and the nodes on the source side of a minimum cut."""
    from ortools.graph.python import max_flow

    if not np.any(finite[0] == 0):
        return 0, np.zeros(0, np.int64)
    tails = np.concatenate([finite[0], infinite[0]])
    heads = np.concatenate([finite[1], infinite[1]])
    capacity = np.full(len(tails), min(int(finite[2].sum()) + 1, MAX_CAPACITY), np.int64)
    capacity[: finite.shape[1]] = finite[2]
    flow = max_flow.SimpleMaxFlow()
    flow.add_arcs_with_capacity(tails, heads, capacity)
    status = flow.solve(0, 1)
    if status != flow.OPTIMAL:
        raise RuntimeError(f"the maximum flow over {len(tails)} arcs ended with status {status}")
    return int(flow.optimal_flow()), np.asarray(flow.get_source_side_min_cut(), np.int64)
