"""Time and memory of the search as graphs grow.

One point, in a process of its own: ``python -m tests.benchmarks.scale OPS EVALUATIONS THREADS``.
"""

from __future__ import annotations

import json
import math
import sys
import time
from typing import Any

from tests.benchmarks.options import Options
from tests.benchmarks.scale_plot import scaling_svg
from tests.benchmarks.stack import training_stack
from tests.benchmarks.timing import peak_bytes, run_module

SIZES = (1000, 3000, 10_000, 30_000, 80_000)
REPETITIONS = 3
"""More than these tell nothing new of runs that take seconds."""


def measure(options: Options) -> dict[str, Any]:
    """Microseconds of an evaluation for each size on one thread, the fitted exponent, and the largest search in full.

    Every point is a fresh process, and the fastest of its repetitions counts.
    """
    sizes = (200, 400) if options.quick else SIZES
    times = range(min(options.repetitions, REPETITIONS))
    points = [min((_point(size, 1, options) for _ in times), key=_cost) for size in sizes]
    largest = min((_point(sizes[-1], 2, options) for _ in times), key=_seconds)
    exponent = fitted_exponent([(point["ops"], _cost(point)) for point in points])
    if options.plot is not None:
        options.plot.write_text(scaling_svg(points, exponent))
    return {"points": points, "exponent": round(exponent, 3), "two_threads": largest}


def fitted_exponent(points: list[tuple[float, float]]) -> float:
    """The e of the power law y = c · x^e that fits best, by least squares of the logarithms.

    Examples
    --------
    >>> round(fitted_exponent([(1.0, 5.0), (10.0, 500.0), (100.0, 50000.0)]), 6)
    2.0
    """
    x, y = ([math.log(point[axis]) for point in points] for axis in (0, 1))
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    covariance = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return covariance / sum((a - mean_x) ** 2 for a in x)


def _cost(point: dict[str, Any]) -> float:
    return float(point["microseconds_per_evaluation"])


def _seconds(point: dict[str, Any]) -> float:
    return float(point["seconds"])


def _point(num_ops: int, threads: int, options: Options) -> dict[str, Any]:
    printed = run_module("tests.benchmarks.scale", str(num_ops), str(options.evaluations), str(threads))
    return json.loads(printed)


def point(num_ops: int, evaluations: int, threads: int) -> dict[str, Any]:
    """Build a graph, search a plan on two devices, and report the seconds and the peak of this process's memory.

    ``seconds`` is by the clock from the graph to the plan; the microseconds are processor time of the search without
    the kernels' arrays of the graph, which are made once.
    """
    from regal.problem import Problem
    from regal.search import Budget, brkga

    options = brkga.Options(warm_start=False, threads=threads)
    graph = training_stack(num_ops)
    brkga.solve(Problem(graph), Budget(100), 0, options)
    start = time.perf_counter()
    problem = Problem(graph)
    num_links = len(problem.graph_arrays.links)
    cpu_start = time.process_time()
    result = brkga.solve(problem, Budget(evaluations), 0, options)
    cpu, seconds = time.process_time() - cpu_start, time.perf_counter() - start
    return {
        "ops": graph.num_ops,
        "links": num_links,
        "evaluations": result.evaluations,
        "threads": threads,
        "seconds": round(seconds, 3),
        "microseconds_per_evaluation": round(1e6 * cpu / result.evaluations, 2),
        "peak_bytes": peak_bytes(),
    }


if __name__ == "__main__":
    print(json.dumps(point(*map(int, sys.argv[1:]))))
