"""Write the table of this folder's README: ``python datasets/examples/card.py``."""

from __future__ import annotations

from pathlib import Path

import regal
from regal.bounds import peak_memory_bound

FOLDER = Path(__file__).parent
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"


def table() -> str:
    """One row per graph: counts, sizes, program-order peak on one device, and its certified bound."""
    lines = [
        "| graph | ops | tensors | persistent MB | activations MB | program-order peak MB | bound MB | sha256 |",
        "|---|---:|---:|---:|---:|---:|---:|---|",
    ]
    one = regal.Cluster.uniform(1)
    for path in sorted(FOLDER.glob("*.json.gz")):
        graph = regal.load(path)
        heuristics = regal.optimize(graph, cluster=one, method="heuristics", bound_seconds=0.0)
        peak = next(c.cost.max_peak_memory for c in heuristics.baselines if c.name.startswith("program-order"))
        activations = int(graph.tensor_bytes[graph.activations].sum())
        persistent = int(graph.tensor_bytes[(graph.producer < 0) & (graph.consumers.counts > 0)].sum())
        bound = peak_memory_bound(graph, one).value
        sizes = " | ".join(f"{size / 1e6:.1f}" for size in (persistent, activations, peak, bound))
        lines.append(f"| {graph.name} | {graph.num_ops} | {graph.num_tensors} | {sizes} | `{graph.sha256[:12]}` |")
    return "\n".join(lines)


def main() -> None:
    """Replace the table between the marks."""
    readme = FOLDER / "README.md"
    head, rest = readme.read_text().split(BEGIN)
    tail = rest.split(END)[1]
    readme.write_text(f"{head}{BEGIN}\n{table()}\n{END}{tail}")


if __name__ == "__main__":
    main()
