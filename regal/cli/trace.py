"""``regal trace``."""

from __future__ import annotations

from pathlib import Path

from regal.cli.common import check_folder
from regal.frontends import trace
from regal.frontends.target import load_target
from regal.graph import write_graph


def run(target: str, output: Path, training: bool | None, optimizer: str | None) -> None:
    """Build the model that ``target`` names, trace it, write the graph."""
    check_folder(output, (".json", ".json.gz"), "--output")
    found = load_target(target)
    if optimizer is None and training is not False:
        optimizer = found.optimizer
    if training is None:
        training = found.training or optimizer is not None
    graph = trace(
        found.model,
        found.example_inputs,
        loss=found.loss,
        training=training,
        optimizer=optimizer,
        data_dependent=found.data_dependent,
        name=found.name,
    )
    write_graph(graph, output)
    print(f"{output}: {graph!r}")
