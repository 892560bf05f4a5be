"""Make a corpus of harvested graphs: ``python datasets/pack.py pytorch``.

Reads what ``datasets/CORPUS/build.py`` left in ``build/corpora/CORPUS``, keeps one graph per topology, measures it,
assigns splits by family and writes the corpus: ``corpus.json``, ``vocabulary.json``, ``splits.json``, ``log.csv`` and
the shards. Measurements are kept beside the harvested graphs, so that a second run repeats none.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from rich.progress import track

from regal.corpus.facts import facts, search_facts
from regal.corpus.record import Record
from regal.corpus.shard import numbered
from regal.corpus.splits import SPLITS, TEST, split_of
from regal.corpus.write import write_corpus
from regal.files import write_json, write_text
from regal.graph import ComputationGraph, read_graph

DATASETS = Path(__file__).resolve().parent
TEST_ONLY = {"go", "onnx", "xla"}
"""Corpora that nothing is trained or tuned on."""
KEEP_ALL = {"onnx"}
"""Corpora of other people's models, held whole: two of them may have one topology and differ in sizes."""
LOG_FIELDS = (
    "name", "package", "package_version", "family", "batch", "outcome", "reason", "ops", "cpu_seconds", "peak_rss_bytes"
)  # fmt: skip


class Harvested(NamedTuple):
    """One graph of the harvest."""

    path: Path
    mode: str
    outcome: dict[str, Any]

    @property
    def name(self) -> str:
        """As the corpus calls it."""
        return f"{self.outcome['package']}.{self.outcome['model']}.{self.mode}"


def main() -> None:
    """Pack the corpora of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="+", help="such as pytorch")
    parser.add_argument("--input", type=Path, help="harvested graphs; default build/corpora/CORPUS")
    parser.add_argument("--output", type=Path, help="folder of the corpus; default datasets/CORPUS")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes that measure")
    parser.add_argument("--no-search", action="store_true", help="leave out BRKGA's 20,000 evaluations per graph")
    arguments = parser.parse_args()
    for corpus in arguments.corpus:
        source = arguments.input or Path("build/corpora") / corpus
        pack(corpus, source, arguments.output or DATASETS / corpus, arguments.workers, not arguments.no_search)


def pack(corpus: str, source: Path, target: Path, workers: int, search: bool) -> None:
    """Write the corpus of the graphs in ``source`` to ``target``."""
    outcomes = [json.loads(path.read_text()) for path in sorted(source.glob("*.outcome.json"))]
    families = json.loads((DATASETS / "families.json").read_text())
    for outcome in outcomes:
        outcome["family"] = families.get(outcome["family"], outcome["family"])
    harvested = sorted(_harvested(source, outcomes), key=lambda item: item.name)
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        measured = list(
            track(pool.map(measure, harvested, [search] * len(harvested)), f"{corpus}: measuring", len(harvested))
        )
    kept: dict[str, Record] = {}
    duplicate_of: dict[str, str] = {}
    for record in measured:
        if corpus in KEEP_ALL:
            kept[record.name] = record
        elif record.topology_hash in kept:
            first = kept[record.topology_hash]
            duplicate_of[record.name] = first.name
            if first.family != record.family:
                print(f"one topology, two families: {first.name} ({first.family}), {record.name} ({record.family})")
        else:
            kept[record.topology_hash] = record
    records = sorted(kept.values(), key=lambda record: (SPLITS.index(_split(corpus, record)), record.name))
    paths = {item.name: item.path for item in harvested}
    graphs = ((record, nameless(read_graph(paths[record.name]), record.name)) for record in records)
    splits = {name: [record.name for record in records if _split(corpus, record) == name] for name in SPLITS}
    write_corpus(target, corpus, graphs, splits)
    _write_log(target / "log.csv", outcomes, duplicate_of)
    print(f"{target}: {len(records)} graphs, {len(duplicate_of)} duplicates, {len(outcomes)} models tried")


def _harvested(source: Path, outcomes: list[dict[str, Any]]) -> Iterator[Harvested]:
    for outcome in outcomes:
        for mode in outcome["graphs"]:
            yield Harvested(source / f"{outcome['package']}.{outcome['model']}.{mode}.json.gz", mode, outcome)


def measure(item: Harvested, search: bool) -> Record:
    """The record of a graph; its measurements are kept in a file beside it."""
    graph = nameless(read_graph(item.path), item.name)
    memory = item.path.with_name(item.path.name.removesuffix(".json.gz") + ".facts.json")
    known = json.loads(memory.read_text()) if memory.exists() else {}
    if known.get("sha256") != graph.sha256:
        known = facts(graph)
    if search and "brkga_2k" not in known:
        known |= search_facts(graph)
    write_json(memory, known)
    source = graph.meta.get("source", {})
    return Record(
        name=item.name,
        framework=source.get("framework", ""),
        framework_version=source.get("version", ""),
        package=item.outcome["package"],
        package_version=item.outcome["package_version"] or "",
        model=item.outcome["model"],
        family=item.outcome["family"],
        mode=item.mode,
        batch=item.outcome["batch"],
        opaque_ops=source.get("opaque_ops", 0),
        **{"brkga_2k": None, "brkga_20k": None, **known},
    )


def nameless(graph: ComputationGraph, name: str) -> ComputationGraph:
    """The graph as a corpus holds it: ops are called by type and number."""
    return replace(graph, name=name, op_names=numbered(graph.op_types))


def _split(corpus: str, record: Record) -> str:
    return TEST if corpus in TEST_ONLY else split_of(record.family)


def _write_log(path: Path, outcomes: list[dict[str, Any]], duplicate_of: dict[str, str]) -> None:
    """A row per graph, and one per model that gave none."""
    text = io.StringIO()
    writer = csv.DictWriter(text, LOG_FIELDS, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    for outcome in outcomes:
        model = f"{outcome['package']}.{outcome['model']}"
        for mode, ops in outcome["graphs"].items():
            row = {**outcome, "name": f"{model}.{mode}", "ops": ops}
            if row["name"] in duplicate_of:
                row |= {"outcome": "duplicate", "reason": f"same topology as {duplicate_of[row['name']]}"}
            writer.writerow(row)
        if not outcome["graphs"]:
            writer.writerow({**outcome, "name": model, "ops": ""})
    write_text(path, text.getvalue())


if __name__ == "__main__":
    main()
