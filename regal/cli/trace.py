"""``regal trace``."""

from __future__ import annotations

from pathlib import Path

from regal.cli.common import check_folder
from regal.frontends import trace
from regal.frontends.target import load_target
from regal.graph import write_graph


def run(target: str, output: Path, training: bool | None) -> None:
    """Call the function, trace its model, write the graph."""
    check_folder(output, (".json", ".json.gz"), "--output")
    found = load_target(target)
    graph = trace(
        found.model,
        found.example_inputs,
        loss=found.loss,
        training=bool(found.training) if training is None else training,
        name=found.name,
    )
    write_graph(graph, output)
    print(f"{output}: {graph!r}")
