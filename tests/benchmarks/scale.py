"""Time and memory of the search as graphs grow; ``python -m tests.benchmarks.scale OPS EVALUATIONS THREADS`` is one point."""

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


def measure(options: Options) -> dict[str, Any]:
    """Microseconds of an evaluation for each size on one thread, the fitted exponent, and the largest search in full.

    Every point is a fresh process, and the fastest of its repetitions counts.
    """
    sizes, evaluations = ((200, 400), 180) if options.quick else (SIZES, 500)
    points = [min((_point(size, evaluations, 1) for _ in range(options.repetitions)), key=_cost) for size in sizes]
    whole = _point(sizes[-1], options.evaluations, 2)
    exponent = fitted_exponent([(point["ops"], point["microseconds_per_evaluation"]) for point in points])
    if options.plot is not None:
        options.plot.write_text(scaling_svg(points, exponent))
    return {"points": points, "exponent": round(exponent, 3), "whole": whole}


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


def _point(num_ops: int, evaluations: int, threads: int) -> dict[str, Any]:
    printed = run_module("tests.benchmarks.scale", str(num_ops), str(evaluations), str(threads))
    return json.loads(printed)


def search(num_ops: int, evaluations: int, threads: int) -> dict[str, Any]:
    """Build a graph, search a plan on two devices, and report seconds and the peak of this process's memory."""
    import regal

    def optimize(graph: regal.ComputationGraph, count: int) -> regal.Result:
        result = regal.optimize(
            graph, method="brkga", evaluations=count, warm_start=False, threads=threads, bound_seconds=0
        )
        assert isinstance(result, regal.Result)
        return result

    graph = training_stack(num_ops)
    optimize(training_stack(1), 100)
    start, cpu_start = time.perf_counter(), time.process_time()
    result = optimize(graph, evaluations)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu_start
    used = cpu if threads == 1 else seconds
    return {
        "ops": graph.num_ops,
        "evaluations": result.evaluations,
        "threads": threads,
        "seconds": round(seconds, 3),
        "cpu_seconds": round(cpu, 3),
        "microseconds_per_evaluation": round(1e6 * used / result.evaluations, 2),
        "peak_bytes": peak_bytes(),
    }


if __name__ == "__main__":
    print(json.dumps(search(*map(int, sys.argv[1:]))))
