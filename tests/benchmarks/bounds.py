"""How long the certified bound takes, and how far the best plan found is above it."""

from __future__ import annotations

from typing import Any

import regal
from regal.bounds import peak_memory_bound
from regal.graph import read_graph
from tests.benchmarks.options import Options

SEEDS = 3


def measure(options: Options) -> list[dict[str, Any]]:
    """For each sample graph on one and on two devices: the complete bound and the best plan of several searches."""
    rows = []
    for file in options.graphs:
        graph = read_graph(file)
        for devices in (1, 2):
            bound = peak_memory_bound(graph, regal.Cluster.uniform(devices))
            best = min(_best(graph, devices, seed, options) for seed in range(1 if options.quick else SEEDS))
            rows.append(
                {
                    "graph": graph.name,
                    "ops": graph.num_ops,
                    "devices": devices,
                    "bound_bytes": int(bound.value),
                    "complete": bound.complete,
                    "certificate": bound.certificate,
                    "seconds": round(bound.seconds, 4),
                    "best_bytes": best,
                    "gap_percent": round(100 * (best - bound.value) / bound.value, 3),
                }
            )
    return rows


def _best(graph: regal.ComputationGraph, devices: int, seed: int, options: Options) -> int:
    """Bytes of the best plan that the default search finds."""
    result = regal.optimize(graph, devices=devices, evaluations=options.evaluations, seed=seed, bound_seconds=0)
    return max(result.peak_memory)
