"""What the methods reach on the example graphs: ``python -m experiments.examples``.

Peak memory on two equal devices with free links, 5,000 evaluations, several seeds, one thread. The example graphs were
developed on, so this says how the methods behave, not how they generalise. Writes ``results/examples.csv`` (a row per
graph, method and seed) and ``results/examples.md`` (means, paired differences, the graphs that got worse).
"""

from __future__ import annotations

import argparse
import csv
import io
from collections import defaultdict
from pathlib import Path

import numpy as np
from rich.progress import track

import regal
from regal.bounds import peak_memory_bound
from regal.files import write_text

ROOT = Path(__file__).parent
GRAPHS = ROOT.parent / "datasets" / "examples"
METHODS: dict[str, dict[str, object]] = {
    "heuristics": {"method": "heuristics"},
    "BRKGA 5K": {"method": "brkga", "warm_start": False},
    "auto": {"method": "auto"},
}
BASELINE = "BRKGA 5K"
FIELDS = ("graph", "ops", "method", "seed", "peak_memory", "running_time", "lower_bound", "evaluations", "seconds")
RESAMPLES = 10_000


def run(seeds: int) -> list[dict[str, object]]:
    """A row per graph, method and seed."""
    rows = []
    items = [(path, seed) for path in sorted(GRAPHS.glob("*.json.gz")) for seed in range(seeds)]
    for path, seed in track(items, "optimizing"):
        graph = regal.load(path)
        bound = peak_memory_bound(graph, regal.Cluster.uniform(2)).value
        for name, options in METHODS.items():
            result = regal.optimize(graph, 2, seed=seed, threads=1, bound_seconds=0.0, **options)
            values = (
                graph.name, graph.num_ops, name, seed, result.cost.max_peak_memory, result.running_time, bound,
                result.evaluations, round(result.search_seconds, 4),
            )  # fmt: skip
            rows.append(dict(zip(FIELDS, values, strict=True)))
    return rows


def report(rows: list[dict[str, object]]) -> str:
    """The Markdown tables of the rows."""
    gaps: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    seconds: dict[str, list[float]] = defaultdict(list)
    ops = {}
    for row in rows:
        gap = 100 * (float(row["peak_memory"]) / float(row["lower_bound"]) - 1)  # type: ignore[arg-type]
        gaps[str(row["graph"])][str(row["method"])].append(gap)
        seconds[str(row["method"])].append(float(row["seconds"]))  # type: ignore[arg-type]
        ops[str(row["graph"])] = row["ops"]
    lines = ["Gap to the certified lower bound in %, mean over seeds:", ""]
    lines += ["| graph | ops | " + " | ".join(METHODS) + " |", "|---|---:" + "|---:" * len(METHODS) + "|"]
    means = {graph: {method: float(np.mean(values[method])) for method in METHODS} for graph, values in gaps.items()}
    for graph, mean in means.items():
        lines.append(f"| {graph} | {ops[graph]} | " + " | ".join(f"{mean[method]:.2f}" for method in METHODS) + " |")
    columns = {method: np.array([mean[method] for mean in means.values()]) for method in METHODS}
    lines.append("| **mean** | | " + " | ".join(f"**{columns[method].mean():.2f}**" for method in METHODS) + " |")
    lines.append("| median | | " + " | ".join(f"{np.median(columns[method]):.2f}" for method in METHODS) + " |")
    lines.append("| seconds | | " + " | ".join(f"{np.median(seconds[method]):.2f}" for method in METHODS) + " |")
    lines += ["", f"Paired difference to {BASELINE} in percentage points (95 % bootstrap interval over graphs):", ""]
    for method in METHODS:
        if method != BASELINE:
            difference = columns[method] - columns[BASELINE]
            low, high = _interval(difference)
            worse = [graph for graph, value in zip(means, difference, strict=True) if value > 0]
            text = ", ".join(worse) if worse else "none"
            lines.append(f"- {method}: {difference.mean():+.2f} [{low:+.2f}, {high:+.2f}]; worse on: {text}")
    return "\n".join(lines) + "\n"


def _interval(values: np.ndarray) -> tuple[float, float]:
    """95 % percentile bootstrap interval of the mean."""
    random = np.random.default_rng(0)
    means = values[random.integers(0, len(values), (RESAMPLES, len(values)))].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def main() -> None:
    """Run, and write both files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--output", type=Path, default=ROOT / "results")
    arguments = parser.parse_args()
    rows = run(arguments.seeds)
    text = io.StringIO()
    writer = csv.DictWriter(text, FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(arguments.output / "examples.csv", text.getvalue())
    write_text(arguments.output / "examples.md", report(rows))


if __name__ == "__main__":
    main()
