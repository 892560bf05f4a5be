import pytest

from regal.corpus import load_corpus, topology_hash
from regal.corpus.shard import write_shard
from regal.corpus.write import write_corpus
from regal.files import ParseError
from regal.graph import example_graph
from tests.tiny_corpus import NAMES, record_of


@pytest.fixture
def pairs():
    return [(record_of(example_graph(name), name), example_graph(name)) for name in NAMES]


@pytest.fixture
def splits(pairs) -> dict[str, list[str]]:
    names = [record.name for record, _ in pairs]
    return {"train": names[:1], "valid": [], "test": names[1:]}


@pytest.mark.parametrize("target", ["folder", "file.npz"])
def test_a_corpus_comes_back(tmp_path, pairs, splits, target, monkeypatch):
    monkeypatch.setattr("regal.corpus.write.OPS_PER_SHARD", 5)
    assert write_corpus(tmp_path / target, "tiny", iter(pairs), splits) == 3
    corpus = load_corpus(tmp_path / target)
    assert corpus.name == "tiny"
    assert list(corpus.records) == [record for record, _ in pairs]
    assert [topology_hash(graph) for graph in corpus] == [topology_hash(graph) for _, graph in pairs]
    assert [graph.name for graph in corpus.split("train")] == splits["train"]
    assert len(list((tmp_path / "folder").glob("shard-*.npz"))) == (3 if target == "folder" else 0)


def test_a_smaller_corpus_leaves_nothing_of_a_larger_one(tmp_path, pairs, splits, monkeypatch):
    monkeypatch.setattr("regal.corpus.write.OPS_PER_SHARD", 5)
    write_corpus(tmp_path, "tiny", pairs, splits)
    write_corpus(tmp_path, "tiny", pairs[:1], {"train": splits["train"], "valid": [], "test": []})
    assert sorted(path.name for path in tmp_path.glob("*.npz")) == ["shard-000.npz"]
    assert len(load_corpus(tmp_path)) == 1


def test_the_same_graphs_give_the_same_files(tmp_path, pairs, splits):
    for name in ("a", "b"):
        write_corpus(tmp_path / name, "tiny", pairs, splits)
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_an_empty_corpus_is_one(tmp_path):
    assert write_corpus(tmp_path, "none", [], {"train": [], "valid": [], "test": []}) == 0
    assert list(load_corpus(tmp_path)) == []


def test_a_shard_alone_is_no_corpus(tmp_path):
    write_shard(tmp_path / "s.npz", [example_graph("chain")], sorted(set(example_graph("chain").op_types)))
    with pytest.raises(ParseError, match="holds no index"):
        load_corpus(tmp_path / "s.npz")


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ([], "vocabulary: must be a list"),
        ({"vocabulary": []}, "splits: must be an object"),
        ({"vocabulary": [], "splits": {"train": [], "valid": [], "test": []}}, "not a corpus of the format"),
    ],
)
def test_a_file_whose_index_is_broken_is_refused(tmp_path, index, message):
    graph = example_graph("chain")
    write_shard(tmp_path / "s.npz", [graph], sorted(set(graph.op_types)), index)
    with pytest.raises(ParseError, match=message):
        load_corpus(tmp_path / "s.npz")
