"""Corpora on disk: a folder of shards with an index, or one file that holds both."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from regal.corpus.record import Record
from regal.corpus.shard import write_shard
from regal.files import write_json, write_text
from regal.graph import ComputationGraph

FORMAT = "regal-corpus/1"
INDEX, VOCABULARY, SPLIT_FILE = "corpus.json", "vocabulary.json", "splits.json"
OPS_PER_SHARD = 150_000
"""A shard is closed when it holds more ops: reading one graph unpacks its whole shard."""


def write_corpus(
    target: str | Path,
    name: str,
    graphs: Iterable[tuple[Record, ComputationGraph]],
    splits: Mapping[str, Sequence[str]],
) -> int:
    """Write a corpus and return how many graphs it holds.

    Parameters
    ----------
    target : path
        A folder, made where it is missing; or a file that ends in ``.npz``, which then is a shard with the index in it.
    name : str
    graphs : iterable of (Record, ComputationGraph)
        Consumed one by one.
    splits : mapping of str to sequence of str
        ``"train"``, ``"valid"`` and ``"test"`` to names of graphs; every graph in one of them.

    Raises
    ------
    ValueError
        When a file cannot be written. A folder's index comes last, so that it never names what is not there.
    """
    target = Path(target)
    numbers: dict[str, int] = {}
    if target.suffix == ".npz":
        pairs = list(graphs)
        _learn(numbers, (graph for _, graph in pairs))
        entries = [{**record.to_json(), "shard": target.name, "index": i} for i, (record, _) in enumerate(pairs)]
        index = {"format": FORMAT, "name": name, "vocabulary": list(numbers), "splits": dict(splits), "graphs": entries}
        write_shard(target, [graph for _, graph in pairs], list(numbers), index)
        return len(entries)
    target.mkdir(parents=True, exist_ok=True)
    hashes: dict[str, str] = {}
    entries = []
    for shard in _shards(graphs):
        file = f"shard-{len(hashes):03}.npz"
        _learn(numbers, (graph for _, graph in shard))
        write_shard(target / file, [graph for _, graph in shard], list(numbers))
        hashes[file] = hashlib.sha256((target / file).read_bytes()).hexdigest()
        entries += [{**record.to_json(), "shard": file, "index": i} for i, (record, _) in enumerate(shard)]
    write_json(target / VOCABULARY, list(numbers))
    write_json(target / SPLIT_FILE, dict(splits))
    _write_index(target / INDEX, {"format": FORMAT, "name": name, "shards": hashes}, entries)
    for path in target.glob("shard-*.npz"):
        if path.name not in hashes:
            path.unlink()
    return len(entries)


def _shards(
    graphs: Iterable[tuple[Record, ComputationGraph]],
) -> Iterable[list[tuple[Record, ComputationGraph]]]:
    shard: list[tuple[Record, ComputationGraph]] = []
    ops = 0
    for record, graph in graphs:
        if shard and ops + graph.num_ops > OPS_PER_SHARD:
            yield shard
            shard, ops = [], 0
        shard.append((record, graph))
        ops += graph.num_ops
    if shard:
        yield shard


def _learn(numbers: dict[str, int], graphs: Iterable[ComputationGraph]) -> None:
    """Give the next numbers to op types that have none yet."""
    for graph in graphs:
        for text in dict.fromkeys(graph.op_types):
            numbers.setdefault(text, len(numbers))


def _write_index(path: Path, head: dict[str, Any], entries: list[dict[str, Any]]) -> None:
    """One line per graph, so that a change shows in a diff as what it is."""
    lines = ",\n".join(json.dumps(entry, separators=(",", ":"), allow_nan=False) for entry in entries)
    write_text(path, f'{json.dumps(head)[:-1]}, "graphs": [\n{lines}\n]}}\n')
