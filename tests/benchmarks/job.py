"""The whole job: pure BRKGA for peak memory on two devices, against the same in C++, and on two threads."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import regal
from regal.graph import ComputationGraph, read_graph
from tests.benchmarks import yardstick
from tests.benchmarks.options import Options
from tests.benchmarks.timing import Job, cpu_seconds, interleaved, wall_seconds

DEVICES = 2


def measure(options: Options) -> list[dict[str, Any]]:
    """For each sample graph, seconds of the search and the median peak that it finds.

    The C++ program and the run on one thread beside it are timed in processor seconds, the two runs that show what
    a second thread brings in seconds on the clock. The program's own seconds leave out reading the graph, ours leave out
    nothing but reading and compiling.
    """
    with tempfile.TemporaryDirectory() as folder:
        binary = yardstick.build(Path(folder))
        return [_measure_graph(read_graph(file), binary, Path(folder), options) for file in options.graphs]


def _measure_graph(
    graph: ComputationGraph, binary: Path | None, folder: Path, options: Options
) -> dict[str, Any]:
    evaluations = options.evaluations
    peaks: dict[str, list[int]] = {}

    def search(seed: int, threads: int) -> None:
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
        peaks.setdefault("ours", []).append(max(result.peak_memory))

    def program(name: str, path: Path) -> Job:
        def job(seed: int) -> float:
            outcome = yardstick.run(path, text, DEVICES, evaluations, seed)
            peaks.setdefault(name, []).append(outcome.peak)
            return outcome.cpu_seconds

        return job

    text = yardstick.write_text(graph, folder / "graph.txt")
    jobs: dict[str, Job] = {"ours": _timed(cpu_seconds, search, threads=1)}
    if binary is not None:
        jobs["C++"] = program("C++", binary)
    if options.reference is not None:
        jobs["reference"] = program("reference", options.reference)
    jobs["one thread, clock"] = _timed(wall_seconds, search, threads=1)
    jobs["two threads, clock"] = _timed(wall_seconds, search, threads=2)
    search(0, 2)
    peaks.clear()
    seconds = interleaved(jobs, options.repetitions)
    return {
        "graph": graph.name,
        "ops": graph.num_ops,
        "evaluations": evaluations,
        "seconds": {name: round(value, 4) for name, value in seconds.items()},
        "peak_bytes": {name: round(statistics.median(values)) for name, values in peaks.items()},
    }


def _timed(
    clock: Callable[[Callable[[], Any]], float], search: Callable[[int, int], None], threads: int
) -> Job:
    return lambda repetition: clock(lambda: search(repetition, threads))
