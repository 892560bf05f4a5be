"""A corpus small enough to look at."""

import json
from pathlib import Path

from regal.corpus.record import Record
from regal.corpus.shard import write_shard
from regal.corpus.write import FORMAT
from regal.graph import ComputationGraph, example_graph

NAMES = ("branches", "chain", "diamond")
FAMILIES = {"branches": "vgg", "chain": "bert", "diamond": "vgg"}


def record_of(graph: ComputationGraph, family: str) -> Record:
    """A record with made-up figures."""
    return Record(
        name=f"regal.{graph.name}.inference", framework="torch", framework_version="2", package="regal",
        package_version="1", model=graph.name, family=family, mode="inference", batch=4, ops=graph.num_ops, edges=3,
        control_inputs=0, tensors=graph.num_tensors, depth=3, bytes=100, persistent_bytes=10, running_time=1.0,
        program_order_peak=100, bound=95, bound_complete=True, headroom=0.05, brkga_2k=100, brkga_20k=90,
        opaque_ops=0, topology_hash="a" * 32, sha256=graph.sha256,
    )  # fmt: skip


def write_tiny_corpus(tmp_path: Path) -> Path:
    """A corpus of three tiny graphs in two shards."""
    graphs = [example_graph(name) for name in NAMES]
    vocabulary = sorted({text for graph in graphs for text in graph.op_types})
    write_shard(tmp_path / "shard-000.npz", graphs[:2], vocabulary)
    write_shard(tmp_path / "shard-001.npz", graphs[2:], vocabulary)
    entries = []
    for graph, place in zip(graphs, [("000", 0), ("000", 1), ("001", 0)], strict=True):
        record = record_of(graph, FAMILIES[graph.name])
        entries.append({**record.to_json(), "shard": f"shard-{place[0]}.npz", "index": place[1]})
    names = [entry["name"] for entry in entries]
    (tmp_path / "corpus.json").write_text(json.dumps({"format": FORMAT, "name": "tiny", "graphs": entries}))
    (tmp_path / "vocabulary.json").write_text(json.dumps(vocabulary))
    (tmp_path / "splits.json").write_text(json.dumps({"train": names[1:2], "valid": [], "test": [names[0], names[2]]}))
    return tmp_path
