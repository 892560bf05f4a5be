import json

import pytest

from regal.cli.main import main


def test_a_corpus_shows_what_it_holds(folder, capsys):
    assert main(["inspect", "--corpus", str(folder)]) == 0
    text = capsys.readouterr().out
    assert "tiny: 3 graphs (1 train, 0 valid, 2 test)" in text
    assert "inference" in text


def test_a_corpus_as_json(folder, capsys):
    assert main(["inspect", "--corpus", str(folder), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["splits"] == {"train": 1, "valid": 0, "test": 2}
    assert [(group["package"], group["graphs"]) for group in facts["groups"]] == [("regal", 3), ("all", 3)]
    assert facts["groups"][1]["search_headroom"] == pytest.approx(0.1)


@pytest.mark.parametrize("arguments", [[], ["example:chain", "--corpus", "x"]])
def test_a_graph_or_a_corpus_but_not_both(arguments, capsys):
    assert main(["inspect", *arguments]) == 2
    assert "a graph, or --corpus" in capsys.readouterr().err


def test_a_graph_of_a_corpus_is_a_graph(folder, capsys):
    assert main(["inspect", f"corpus:{folder}:regal.diamond.inference", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ops"] == 4


@pytest.mark.parametrize(
    ("source", "message"),
    [("corpus:chain", "reads corpus:NAME:GRAPH"), ("corpus:{}:ghost", "has no graph 'ghost'")],
)
def test_a_graph_that_is_not_there_is_one_line(folder, source, message, capsys):
    assert main(["inspect", source.format(folder)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
