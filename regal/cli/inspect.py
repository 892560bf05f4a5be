"""``regal inspect``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from regal.bounds import Liveness, largest_min_cut, peak_memory_bound, running_time_bound
from regal.cli.common import load_cluster, load_graph
from regal.cluster import Cluster
from regal.cost.kernels import evaluate
from regal.graph import ComputationGraph
from regal.plan import plan_from_order
from regal.plot.style import format_bytes, format_seconds
from regal.problem import Problem


def run(
    source: str, dimensions: tuple[str, ...], devices: int, cluster: Path | None, seconds: float, as_json: bool
) -> None:
    """Print the facts of a graph."""
    if not seconds >= 0:
        raise ValueError(f"--bound-seconds must be seconds from 0 on, not {seconds}")
    graph = load_graph(source, dimensions)
    facts = inspect(graph, load_cluster(cluster, devices), seconds)
    if as_json:
        print(json.dumps(facts, allow_nan=False))
        return
    table = Table(title=escape(graph.name), show_header=False)
    for key, value in facts.items():
        if key not in ("name", "warnings"):
            table.add_row(key.replace("_", " "), _text(key, value))
    console = Console()
    console.print(table)
    for warning in facts["warnings"]:
        console.print(f"warning: {warning}", style="yellow", highlight=False)


def inspect(graph: ComputationGraph, cluster: Cluster, seconds: float) -> dict[str, Any]:
    """Counts, sizes, depth, program-order peak, bounds and headroom of ``graph`` as plain values."""
    Problem(graph, cluster)
    one = Cluster.uniform(1)
    persistent = (graph.producer < 0) & (graph.consumers.counts > 0)
    cost = evaluate(plan_from_order(graph, one, np.zeros(graph.num_ops, np.int32), range(graph.num_ops)))
    cut = largest_min_cut(Liveness(graph), seconds=seconds / 3)
    single = peak_memory_bound(graph, one, seconds=seconds / 3)
    many = peak_memory_bound(graph, cluster, seconds=seconds / 3)
    best_order = int(graph.tensor_bytes[persistent].sum()) + cut.order_peak
    levels = _levels(graph)
    width = np.bincount(levels) if len(levels) else np.zeros(1, np.int64)
    return {
        "name": graph.name,
        "sha256": graph.sha256,
        "ops": graph.num_ops,
        "op_types": len(set(graph.op_types)),
        "tensors": graph.num_tensors,
        "activations": graph.num_activations,
        "reads": len(graph.inputs.values),
        "control_inputs": len(graph.control_inputs.values),
        "colocation_groups": len(set(graph.colocation[graph.colocation >= 0].tolist())),
        "graph_outputs": int(graph.is_output.sum()),
        "depth": int(levels.max() + 1) if len(levels) else 0,
        "widest_level": int(width.max()),
        "persistent_bytes": int(graph.tensor_bytes[persistent].sum()),
        "activation_bytes": int(graph.tensor_bytes[graph.activations].sum()),
        "largest_tensor_bytes": int(graph.tensor_bytes.max(initial=0)),
        "program_order_peak_bytes": cost.max_peak_memory,
        "min_cut_order_peak_bytes": best_order,
        "one_device_bound_bytes": int(single.value),
        "one_device_bound_complete": single.complete,
        "one_device_headroom": _headroom(cost.max_peak_memory, int(single.value)),
        "devices": cluster.num_devices,
        "peak_memory_bound_bytes": int(many.value),
        "peak_memory_certificate": many.certificate,
        "total_work_seconds": float(graph.runtime.sum()),
        "running_time_bound_seconds": float(running_time_bound(graph, cluster).value),
        "warnings": _warnings(graph, persistent),
    }


def _levels(graph: ComputationGraph) -> np.ndarray:
    """int64 array, shape (num_ops,): length of the longest path of ops that ends before each op."""
    level = [0] * graph.num_ops
    for op, before in enumerate(graph.predecessors.to_lists()):
        if before:
            level[op] = 1 + max(level[other] for other in before)
    return np.array(level, np.int64)


def _headroom(peak: int, bound: int) -> float:
    return 1.0 - bound / peak if peak else 0.0


def _warnings(graph: ComputationGraph, persistent: np.ndarray) -> list[str]:
    warnings = []
    unread = int(((graph.producer < 0) & (graph.consumers.counts == 0)).sum())
    if unread:
        warnings.append(f"{unread} persistent tensors have no reader and cost nothing")
    if graph.num_ops and not graph.runtime.any():
        warnings.append("all running times are zero: the running-time objective means nothing")
    if graph.num_activations and not graph.is_output[graph.activations].any():
        warnings.append("no activation is an output of the graph: every result is released as soon as it is made")
    if not persistent.any():
        warnings.append("no persistent tensor is read: parameters and inputs seem to be missing")
    return warnings


def _text(key: str, value: Any) -> str:
    if key.endswith("_bytes"):
        return f"{format_bytes(value)} ({value})"
    if key.endswith("_seconds"):
        return format_seconds(value)
    return f"{value:.2%}" if key.endswith("headroom") else str(value)
