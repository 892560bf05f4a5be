"""What a second thread brings: the same search on one thread and on two, by the clock."""

from __future__ import annotations

from threading import Thread
from typing import Any

import numpy as np
from numba import njit

from regal.graph import ComputationGraph, read_graph
from tests.benchmarks.job import search
from tests.benchmarks.options import Options
from tests.benchmarks.stack import training_stack
from tests.benchmarks.timing import interleaved, wall_seconds

STEPS = 200_000_000
ROUNDS = 3
"""Times a repetition is done over, so that some fall into moments when nothing else runs."""


@njit(nogil=True, cache=True)
def arithmetic(steps):  # type: ignore[no-untyped-def]
    """Keep one core busy without touching memory."""
    word = np.uint64(1)
    for step in range(steps):
        word = word * np.uint64(6364136223846793005) + np.uint64(step)
    return word


def measure(options: Options) -> list[dict[str, Any]]:
    """For each sample graph and a deep one, the fastest of several runs on one and on two threads.

    ``machine`` is what a second thread brings to pure arithmetic measured in turn with them: 2 on two idle cores, less
    where something else is running. A gain says something where that is near 2 only.
    """
    graphs = [read_graph(file) for file in options.graphs]
    graphs.append(training_stack(300 if options.quick else 10_000))
    return [_measure_graph(graph, options) for graph in graphs]


def _measure_graph(graph: ComputationGraph, options: Options) -> dict[str, Any]:
    steps = STEPS // 100 if options.quick else STEPS

    def both_halves() -> None:
        other = Thread(target=arithmetic, args=(steps // 2,))
        other.start()
        arithmetic(steps // 2)
        other.join()

    jobs = {
        "one": lambda repetition: wall_seconds(lambda: search(graph, options.evaluations, 0, threads=1)),
        "two": lambda repetition: wall_seconds(lambda: search(graph, options.evaluations, 0, threads=2)),
        "arithmetic on one": lambda repetition: wall_seconds(lambda: arithmetic(steps)),
        "arithmetic on two": lambda repetition: wall_seconds(both_halves),
    }
    search(graph, 100, 0, threads=2)
    arithmetic(1)
    seconds = interleaved(jobs, ROUNDS * options.repetitions, min)
    return {
        "graph": graph.name,
        "ops": graph.num_ops,
        "seconds": {name: round(seconds[name], 4) for name in ("one", "two")},
        "gain": round(seconds["one"] / seconds["two"], 3),
        "machine": round(seconds["arithmetic on one"] / seconds["arithmetic on two"], 3),
    }
