"""``regal convert``."""

from __future__ import annotations

from pathlib import Path

from regal.cli.common import check_folder, load_graph
from regal.graph import write_graph


def run(source: str, dimensions: tuple[str, ...], target: Path) -> None:
    """Read the graph and write it."""
    check_folder(target, (".json", ".json.gz"), "OUT")
    graph = load_graph(source, dimensions)
    write_graph(graph, target)
    print(f"{target}: {graph!r}")
