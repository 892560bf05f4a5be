"""What is measured of a graph when it enters a corpus."""

from __future__ import annotations

from typing import Any

import numpy as np

from regal.bounds import peak_memory_bound
from regal.cluster import Cluster
from regal.corpus.topology import topology_hash
from regal.cost.kernels import evaluate
from regal.graph import ComputationGraph
from regal.plan import plan_from_order
from regal.problem import Objective, Problem
from regal.search.brkga import Options, solve
from regal.search.budget import Budget

MAX_FLOWS = 100
"""Of the lower bound: a limit by count, so that the bound is the same every time."""
LOW, HIGH = 2_000, 20_000
"""Evaluations between which a graph shows its room for search, as the REGAL paper filters its graphs."""
SEED = 0


def facts(graph: ComputationGraph) -> dict[str, Any]:
    """The entries of a :class:`regal.corpus.Record` that follow from the graph alone, but for those of a search."""
    one = Cluster.uniform(1)
    plan = plan_from_order(graph, one, np.zeros(graph.num_ops, np.int32), range(graph.num_ops))
    peak = evaluate(plan).max_peak_memory
    bound = peak_memory_bound(graph, one, max_flows=MAX_FLOWS)
    persistent = (graph.producer < 0) & (graph.consumers.counts > 0)
    return {
        "ops": graph.num_ops,
        "edges": num_edges(graph),
        "control_inputs": len(graph.control_inputs.values),
        "tensors": graph.num_tensors,
        "depth": depth(graph),
        "bytes": int(graph.tensor_bytes.sum()),
        "persistent_bytes": int(graph.tensor_bytes[persistent].sum()),
        "running_time": float(graph.runtime.sum()),
        "program_order_peak": peak,
        "bound": int(bound.value),
        "bound_complete": bound.complete,
        "headroom": round(1.0 - bound.value / peak, 6) if peak else 0.0,
        "topology_hash": topology_hash(graph),
        "sha256": graph.sha256,
    }


def search_facts(graph: ComputationGraph) -> dict[str, int]:
    """``brkga_2k`` and ``brkga_20k``: one search of plain BRKGA on two devices, read off at both budgets."""
    best: dict[str, int] = {}
    problem = Problem(graph, Cluster.uniform(2), Objective.PEAK_MEMORY)
    result = solve(problem, Budget(HIGH), SEED, Options(warm_start=False))
    evaluations, values = result.history["evaluations"], result.history["best"]
    best["brkga_2k"] = int(max(value for count, value in zip(evaluations, values, strict=True) if count >= LOW))
    best["brkga_20k"] = int(result.objective_value)
    return best


def num_edges(graph: ComputationGraph) -> int:
    """Pairs of ops of which the second reads a tensor that the first makes."""
    producer = graph.producer[graph.inputs.values].astype(np.int64)
    reader = graph.inputs.row_of_value.astype(np.int64)[producer >= 0]
    return len(np.unique(reader * max(graph.num_ops, 1) + producer[producer >= 0]))


def depth(graph: ComputationGraph) -> int:
    """Ops on the longest path."""
    level: list[int] = []
    for before in graph.predecessors.to_lists():
        level.append(1 + max((level[op] for op in before), default=0))
    return max(level, default=0)
