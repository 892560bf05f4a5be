"""The whole job: pure BRKGA for peak memory on two devices, against the same in plain C++."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path
from typing import Any

import regal
from regal.graph import ComputationGraph, read_graph
from tests.benchmarks import yardstick
from tests.benchmarks.options import Options
from tests.benchmarks.timing import Job, cpu_seconds, interleaved

DEVICES = 2


def search(graph: ComputationGraph, evaluations: int, seed: int, threads: int) -> int:
    """Run the pure genetic algorithm, without bounds, and return the peak in bytes that it finds."""
    result = regal.optimize(
        graph,
        devices=DEVICES,
        method="brkga",
        evaluations=evaluations,
        seed=seed,
        warm_start=False,
        threads=threads,
        bound_seconds=0,
    )
    return int(max(result.peak_memory))


def measure(options: Options) -> list[dict[str, Any]]:
    """For each sample graph, processor seconds of the search on one thread and the median peak that it finds.

    The programs' seconds leave out reading the graph; ours leave out reading and compiling.
    """
    with tempfile.TemporaryDirectory() as folder:
        programs = {"C++": yardstick.build(Path(folder)), "reference": options.reference}
        found = {name: path for name, path in programs.items() if path is not None}
        return [_measure_graph(read_graph(file), found, Path(folder), options) for file in options.graphs]


def _measure_graph(
    graph: ComputationGraph, programs: dict[str, Path], folder: Path, options: Options
) -> dict[str, Any]:
    text = yardstick.write_text(graph, folder / "graph.txt")
    peaks: dict[str, list[int]] = {name: [] for name in ("ours", *programs)}

    def ours(seed: int) -> float:
        return cpu_seconds(lambda: peaks["ours"].append(search(graph, options.evaluations, seed, threads=1)))

    def program(name: str, path: Path) -> Job:
        def job(seed: int) -> float:
            outcome = yardstick.run(path, text, DEVICES, options.evaluations, seed)
            peaks[name].append(outcome.peak)
            return outcome.cpu_seconds

        return job

    search(graph, 100, seed=0, threads=1)
    jobs = {"ours": ours, **{name: program(name, path) for name, path in programs.items()}}
    seconds = interleaved(jobs, options.repetitions)
    return {
        "graph": graph.name,
        "ops": graph.num_ops,
        "evaluations": options.evaluations,
        "seconds": {name: round(value, 4) for name, value in seconds.items()},
        "peak_bytes": {name: round(statistics.median(values)) for name, values in peaks.items()},
    }
