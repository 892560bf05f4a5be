"""A corpus of graphs that somebody has in files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from regal.corpus.facts import facts
from regal.corpus.record import Record
from regal.corpus.shard import numbered
from regal.corpus.splits import SPLITS, TEST
from regal.corpus.write import write_corpus
from regal.graph import ComputationGraph


def convert(graphs: Iterable[tuple[Path, str, ComputationGraph]], name: str, target: Path) -> int:
    """Write graphs with their relative path and format as a corpus, and return how many there are.

    A graph is called by its path without the ending, and is a family of its own. Where the path begins with ``train``,
    ``valid`` or ``test``, that is its split, else ``test``. Every graph is kept, also where two have one topology.

    Raises
    ------
    ValueError
        When two graphs would have one name, or a file cannot be written.
    """
    splits: dict[str, list[str]] = {split: [] for split in SPLITS}
    pairs: dict[str, tuple[Record, ComputationGraph]] = {}
    for path, framework, graph in graphs:
        record = _record(path, framework, graph)
        if record.name in pairs:
            raise ValueError(f"{path}: another file gives the name {record.name!r} too")
        splits[path.parts[0] if path.parts[0] in SPLITS else TEST].append(record.name)
        pairs[record.name] = record, replace(graph, name=record.name, op_names=numbered(graph.op_types))
    return write_corpus(target, name, pairs.values(), splits)


def _record(path: Path, framework: str, graph: ComputationGraph) -> Record:
    name = path.as_posix()
    for ending in (".gz", path.suffix if path.suffix != ".gz" else Path(path.stem).suffix):
        name = name.removesuffix(ending)
    source = graph.meta.get("source", {})
    measured = facts(replace(graph, op_names=numbered(graph.op_types)))
    return Record(
        name=name,
        framework=str(source.get("framework", framework)),
        framework_version=str(source.get("version", "")),
        package="",
        package_version="",
        model=graph.name,
        family=name,
        mode=str(source.get("mode", "")),
        batch=0,
        opaque_ops=int(source.get("opaque_ops", 0)),
        brkga_2k=None,
        brkga_20k=None,
        **measured,
    )
