"""The corpora under ``datasets/``: whole, unmixed, and what their records say."""

import csv
import hashlib
import json
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest

from regal.corpus import Corpus, load_corpus, split_of, topology_hash
from regal.corpus.facts import depth, facts, num_edges
from regal.corpus.splits import PINNED, SPLITS

DATASETS = Path(__file__).parents[2] / "datasets"
NAMES = sorted(path.parent.name for path in DATASETS.glob("*/corpus.json"))
TEST_ONLY = {"go", "onnx", "xla"}
LEAST = {"go": 14, "onnx": 9, "pytorch": 600, "tensorflow": 372, "xla": 90}
MAX_BYTES = 25 * 10**6
SAMPLE = 23
"""Every so many-th graph is read and measured anew."""


@cache
def corpus_of(name: str) -> Corpus:
    return load_corpus(name)


def test_the_corpora_are_there():
    assert set(LEAST) <= set(NAMES)


def test_they_are_small_enough_for_git():
    assert sum(path.stat().st_size for path in DATASETS.rglob("*") if path.is_file()) <= MAX_BYTES


@pytest.mark.parametrize("name", NAMES)
def test_one_graph_per_topology_and_enough_of_them(name):
    hashes = [record.topology_hash for record in corpus_of(name).records]
    assert len(hashes) == len(set(hashes)) or name == "onnx"  # held whole: AlexNet and ZFNet differ in sizes alone
    assert len(hashes) >= LEAST[name]


@pytest.mark.parametrize("name", NAMES)
def test_shards_are_what_the_index_says(name):
    index = json.loads((DATASETS / name / "corpus.json").read_text())
    hashes = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (DATASETS / name).glob("*.npz")}
    assert hashes == index["shards"]


@pytest.mark.parametrize("name", NAMES)
def test_families_do_not_cross_splits(name):
    corpus = corpus_of(name)
    for record in corpus.records:
        split = "test" if name in TEST_ONLY else split_of(record.family)
        assert record.name in corpus.splits[split]


def test_families_that_were_developed_on_are_trained_on():
    for name in ("pytorch", "tensorflow"):
        families = {record.family for record in corpus_of(name).records}
        assert families & PINNED
        assert not {record.family for record in corpus_of(name).split("test").records} & PINNED


def test_topologies_do_not_cross_splits_over_corpora():
    members = {split: set() for split in SPLITS}
    for name in NAMES:
        for split in SPLITS:
            members[split] |= {record.topology_hash for record in corpus_of(name).split(split).records}
    for first, second in combinations(SPLITS, 2):
        assert not members[first] & members[second]


@pytest.mark.parametrize("name", sorted(set(NAMES) - TEST_ONLY))
def test_each_split_has_its_share(name):
    corpus = corpus_of(name)
    shares = [len(corpus.splits[split]) / len(corpus) for split in SPLITS]
    assert all(abs(share - due) < 0.15 for share, due in zip(shares, (0.6, 0.2, 0.2), strict=True)), shares


@pytest.mark.parametrize("name", NAMES)
def test_graphs_load_and_are_what_their_records_say(name):
    corpus = corpus_of(name)
    for record, graph in zip(corpus.records, corpus, strict=True):
        assert (graph.name, graph.num_ops, graph.num_tensors) == (record.name, record.ops, record.tensors)
        assert topology_hash(graph) == record.topology_hash


@pytest.mark.parametrize("name", NAMES)
def test_records_hold_what_is_measured(name):
    corpus = corpus_of(name)
    for place in range(0, len(corpus), SAMPLE):
        record, graph = corpus.records[place], corpus[place]
        assert graph.sha256 == record.sha256
        if record.ops < 4000:
            found = facts(graph)
            assert {key: getattr(record, key) for key in found} == found
        else:
            assert (record.edges, record.depth) == (num_edges(graph), depth(graph))


@pytest.mark.parametrize("name", NAMES)
def test_the_log_tells_of_every_model(name):
    with open(DATASETS / name / "log.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    kept = [row["name"] for row in rows if row["outcome"] == "ok"]
    assert sorted(kept) == sorted(record.name for record in corpus_of(name).records)
    assert all(row["reason"] for row in rows if row["outcome"] != "ok")


@pytest.mark.parametrize("name", NAMES)
def test_every_corpus_has_its_card_its_script_and_its_environment(name):
    for file in ("README.md", "build.py", "constraints.txt", "splits.json", "vocabulary.json"):
        assert (DATASETS / name / file).is_file(), file
