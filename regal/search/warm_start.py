"""Heuristic plans that a search starts from and may not do worse than."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from regal.cost.kernels import evaluate
from regal.decode import Layout, encode, order_keys
from regal.graph import example_graph
from regal.plan import plan_from_order
from regal.problem import Problem
from regal.search.budget import Budget
from regal.search.orders import ORDERS
from regal.search.placements import balanced_bytes, balanced_work, best_single_device
from regal.search.result import Candidate, Result

ORDER_SHARE = 0.75
"""Share of the initial population that starts from heuristics; the rest comes from the proposal."""


@dataclass(frozen=True, eq=False)
class WarmStart:
    """Where a search starts.

    Attributes
    ----------
    candidates : list of Candidate
        Complete plans with their costs.
    orders : list of int64 arrays, shape (num_ops,)
        The heuristic orders, for chromosomes that leave the placement open.
    stop_reason : str or None
        Why the search is over already; None when it can go on.
    """

    candidates: list[Candidate]
    orders: list[NDArray[np.int64]]
    stop_reason: str | None = None

    def rows(self, problem: Problem, count: int, seed: int) -> NDArray:
        """Chromosomes, shape (at most count, num_padded_keys): the plans, then the orders with random placements.

        Random placements spread the memory, the orders keep the peaks low: on training graphs such rows beat both
        complete heuristic plans and uniform rows, and the search combines them.
        """
        layout = Layout.of(problem.graph, problem.cluster.num_devices)
        rows = [encode(candidate.plan) for candidate in self.candidates[:count]]
        random = np.random.Generator(np.random.Philox(seed))
        wanted = min(max(int(ORDER_SHARE * count), len(rows)), count)
        ordered = [order_keys(problem.graph, layout, order) for order in self.orders]
        for index in range(wanted - len(rows)):
            row = ordered[index % len(ordered)].copy()
            top = np.iinfo(layout.key_dtype).max
            row[layout.affinities] = random.integers(
                0, top, layout.num_ops * layout.num_devices, dtype=layout.key_dtype, endpoint=True
            )
            rows.append(row)
        return np.array(rows, layout.key_dtype).reshape(-1, layout.num_padded_keys)


def warm_start(problem: Problem, budget: Budget) -> WarmStart:
    """Every order of :data:`regal.search.orders.ORDERS` on the best single device and on balanced splits.

    The splits are contiguous chunks of that order, balanced by bytes and by running time. With one device there is
    nothing to split. Equal plans appear once, under the first name. The program order on one device is always there,
    the others as long as the budget lasts and nobody interrupts.
    """
    start = time.perf_counter()
    begun = WarmStart([], [])
    seen: set[bytes] = set()
    try:
        for name, make_order in ORDERS.items():
            order = make_order(problem.graph)
            begun.orders.append(order)
            for placement_name, placement in _placements(problem, order).items():
                key = np.concatenate([placement, order.astype(np.int32)]).tobytes()
                if key in seen:
                    continue
                reason = budget.reason_to_stop(len(seen), time.perf_counter() - start) if seen else None
                if reason is not None:
                    return replace(begun, stop_reason=reason)
                seen.add(key)
                plan = plan_from_order(problem.graph, problem.cluster, placement, order.tolist())
                cost = evaluate(plan, problem.graph_arrays)
                begun.candidates.append(Candidate(f"{name}, {placement_name}", plan, cost))
    except KeyboardInterrupt:
        if not begun.candidates:
            raise
        return replace(begun, stop_reason="interrupted")
    return replace(begun, stop_reason=budget.reason_to_stop(len(seen), time.perf_counter() - start))


def prepare() -> None:
    """Import and compile what the heuristics need, so that a search's clock can start after it."""
    warm_start(Problem(example_graph("branches")), Budget())


def solve(problem: Problem, budget: Budget, seed: int = 0) -> Result:
    """The best of the heuristic plans."""
    prepare()
    start = time.perf_counter()
    found = warm_start(problem, budget)
    best = min(found.candidates, key=lambda candidate: problem.rank(candidate.cost))
    return Result(
        problem=problem,
        plan=best.plan,
        cost=best.cost,
        method="heuristics",
        seed=seed,
        evaluations=len(found.candidates),
        search_seconds=time.perf_counter() - start,
        stop_reason=found.stop_reason or "done",
        baselines=tuple(found.candidates),
    )


def _placements(problem: Problem, order: NDArray[np.int64]) -> dict[str, NDArray[np.int32]]:
    """The placements to try with ``order``, by name."""
    graph, cluster = problem.graph, problem.cluster
    placements = {"one device": best_single_device(graph, cluster)}
    if cluster.num_devices > 1:
        placements["split by bytes"] = balanced_bytes(graph, cluster, order)
        placements["split by work"] = balanced_work(graph, cluster, order)
    return placements
