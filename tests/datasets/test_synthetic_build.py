"""The command behind ``datasets/synthetic``: it goes on where it stopped, and the committed list is what it makes."""

import json
import runpy
from itertools import islice
from pathlib import Path

import pytest

from regal.corpus.topology import topology_hash
from regal.synthetic import SPLIT_COUNTS, split
from regal.synthetic.accepted import Accepted, Tried, read_accepted, write_accepted

FOLDER = Path(__file__).parents[2] / "datasets" / "synthetic"
SCRIPT = runpy.run_path(str(FOLDER / "build.py"))
COMMITTED = FOLDER / "accepted.json"


def run(folder, *arguments):
    SCRIPT["main"](["--output", str(folder), *arguments])
    return read_accepted(folder / "accepted.json")


def test_a_run_goes_on_where_the_last_one_stopped(tmp_path, capsys):
    """Each run without time tries one batch; together they try what one longer run would."""
    first = run(tmp_path, "--minutes", "0").splits["valid"]
    second = run(tmp_path, "--minutes", "0").splits["valid"]
    assert (first.tried, second.tried) == (16, 32)
    assert second.accepted[: len(first.accepted)] == first.accepted
    assert sum(second.outcomes.values()) == sum(second.families.values()) == 32
    assert sum(second.accepted_families.values()) == len(second.accepted)
    assert second.seconds > first.seconds > 0
    assert "valid: 32 tried" in capsys.readouterr().out
    assert second.accepted == [i for i in read_accepted(COMMITTED).splits["valid"].accepted if i < 32]
    card = (tmp_path / "README.md").read_text()
    assert f"| valid | 32 | {len(second.accepted)} | 1000 |" in card


def test_two_topologies_alike_are_entered_once():
    tried, seen, outcome = Tried(), set(), SCRIPT["Outcome"]
    for index, (name, accepted, family, topology) in enumerate(
        [("fits", True, "x", "a"), ("no room", False, "y", "a"), ("faster", True, "x", "a"), ("faster", True, "y", "b")]
    ):
        SCRIPT["enter"](tried, outcome(index, name, accepted, family, topology, 0.5), seen)
    outcomes = {"fits": 1, "no room": 1, "topology seen before": 1, "faster": 1}
    assert tried == Tried(4, [0, 3], outcomes, {"x": 2, "y": 2}, {"x": 1, "y": 1}, 2.0)


def test_a_run_ends_when_all_splits_are_full(tmp_path, monkeypatch, capsys):
    counts = {"train": 3, "valid": 2, "test": 1}
    monkeypatch.setitem(SCRIPT["main"].__globals__, "SPLIT_COUNTS", counts)
    monkeypatch.setitem(SCRIPT["main"].__globals__, "BATCH", 3)
    done = run(tmp_path)
    assert {name: len(tried.accepted) for name, tried in done.splits.items()} == counts
    assert all(tried.tried == tried.accepted[-1] + 1 for tried in done.splits.values())
    capsys.readouterr()
    assert run(tmp_path) == done
    assert capsys.readouterr().out == ""


def test_a_list_of_other_settings_is_not_continued(tmp_path, capsys):
    write_accepted(tmp_path / "accepted.json", Accepted({"evaluations": [1, 2]}, {}))
    with pytest.raises(SystemExit):
        run(tmp_path, "--minutes", "0")
    assert "remove it to begin anew" in capsys.readouterr().err


def test_the_card_is_up_to_date_and_its_text_stays(tmp_path):
    text = (FOLDER / "README.md").read_text()
    (tmp_path / "README.md").write_text(text)
    (tmp_path / "accepted.json").write_bytes(COMMITTED.read_bytes())
    run(tmp_path, "--card")
    assert (tmp_path / "README.md").read_text() == text


def test_the_committed_list_is_of_these_settings():
    accepted = read_accepted(COMMITTED)
    assert accepted.settings == json.loads(json.dumps(SCRIPT["SETTINGS"]))
    assert set(accepted.splits) <= set(SPLIT_COUNTS)
    for name, tried in accepted.splits.items():
        assert len(tried.accepted) <= SPLIT_COUNTS[name]
        hashes = [topology_hash(graph) for graph in islice(split(name, accepted=COMMITTED), 50)]
        assert len(set(hashes)) == len(hashes)
