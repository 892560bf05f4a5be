import json

import pytest

from regal.corpus import Corpus, load_corpus
from regal.files import ParseError


def rewrite(path, change):
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))


def test_a_corpus_is_a_sequence_of_graphs(folder):
    corpus = load_corpus(folder)
    assert len(corpus) == 3
    assert [graph.name for graph in corpus] == [record.name for record in corpus.records]
    assert corpus[1].num_ops == 3
    assert corpus["regal.diamond.inference"].num_ops == 4
    assert corpus[-1].meta["record"]["family"] == "vgg"
    assert repr(corpus).startswith("Corpus('tiny', graphs=3, ops=")


def test_a_split_and_a_filter_are_corpora(folder):
    assert [record.model for record in load_corpus(folder, split="test").records] == ["branches", "diamond"]
    train = load_corpus(folder).split("train")
    assert isinstance(train, Corpus)
    assert [graph.num_ops for graph in train] == [3]
    assert len(load_corpus(folder).filter(lambda record: record.ops > 3)) == 2


def test_graphs_are_read_when_they_are_asked_for(folder):
    corpus = load_corpus(folder)
    (folder / "shard-001.npz").unlink()
    assert corpus[0].num_ops
    assert corpus[1].num_ops
    with pytest.raises(ParseError, match="No such file"):
        corpus[2]


def test_an_unknown_graph_or_split_is_named(folder):
    with pytest.raises(KeyError, match="no graph 'nothing'"):
        load_corpus(folder)["nothing"]
    with pytest.raises(ValueError, match="has the splits train, valid, test, not 'dev'"):
        load_corpus(folder, split="dev")


def test_an_unknown_corpus_is_named(tmp_path):
    with pytest.raises(ValueError, match="is no corpus: give "):
        load_corpus(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("corpus.json", lambda v: v.update(format="other"), "not a corpus of the format 'regal-corpus/1'"),
        ("corpus.json", lambda v: v.update(name=3), "name must be text, not 3"),
        ("corpus.json", lambda v: v["graphs"].append(7), "graph 3: must be an object, not 7"),
        ("corpus.json", lambda v: v["graphs"][1].pop("ops"), "graph 1: the record lacks 'ops'"),
        ("corpus.json", lambda v: v["graphs"][1].update(x=1), "graph 1: the record has the unknown key 'x'"),
        ("corpus.json", lambda v: v["graphs"][1].update(ops="many"), "graph 1: ops must be int, not 'many'"),
        ("corpus.json", lambda v: v["graphs"][1].update(ops=True), "graph 1: ops must be int, not True"),
        ("corpus.json", lambda v: v["graphs"][1].update(shard="../x.npz"), "shard must name a .npz file"),
        ("corpus.json", lambda v: v["graphs"][1].update(index=-1), "index must be a place in the shard"),
        ("corpus.json", lambda v: v["graphs"].append(v["graphs"][0]), "'regal.branches.inference' appears twice"),
        ("splits.json", lambda v: v.pop("test"), "must be an object of the keys train, valid, test"),
        ("splits.json", lambda v: v["train"].append("ghost"), "belongs to one split, but 'ghost' does not"),
        ("splits.json", lambda v: v["train"].pop(), "belongs to one split, but 'regal.chain.inference' does not"),
        ("splits.json", lambda v: v["valid"].append("regal.chain.inference"), "belongs to one split"),
        ("vocabulary.json", lambda v: v.append(3), "must be a list of texts"),
    ],
)
def test_a_broken_file_is_refused_in_one_line(folder, file, change, message):
    rewrite(folder / file, change)
    with pytest.raises(ParseError, match=message) as caught:
        load_corpus(folder)
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_index_beyond_the_shard_is_refused(folder):
    rewrite(folder / "corpus.json", lambda value: value["graphs"][2].update(index=5))
    with pytest.raises(ParseError, match=r"it holds 1 graphs, but corpus\.json names graph 5"):
        load_corpus(folder)[2]


def test_notebooks_show_a_table(folder):
    text = load_corpus(folder)._repr_html_()
    assert "Corpus tiny, 3 graphs" in text
    assert "inference" in text
    assert "0 graphs" in load_corpus(folder, "valid")._repr_html_()
