from pathlib import Path

import pytest

from regal.corpus import load_corpus
from regal.corpus.convert import convert
from regal.graph import example_graph


def graphs(*paths: str):
    return ((Path(path), "some", example_graph(name)) for path, name in zip(paths, ("chain", "diamond"), strict=False))


def test_files_become_a_corpus(tmp_path):
    assert convert(graphs("train/a.json.gz", "other/b.pbtxt"), "mine", tmp_path / "c.npz") == 2
    corpus = load_corpus(tmp_path / "c.npz")
    assert corpus.name == "mine"
    assert [record.name for record in corpus.split("train").records] == ["train/a"]
    assert [record.name for record in corpus.split("test").records] == ["other/b"]
    assert corpus["train/a"].num_ops == 3
    assert corpus.records[0].framework == "some"
    assert corpus.records[0].sha256 == corpus["train/a"].sha256


def test_two_files_of_one_name_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"a\.pbtxt: another file gives the name 'a' too"):
        convert(graphs("a.json", "a.pbtxt"), "mine", tmp_path / "c")
    assert not (tmp_path / "c").exists()
