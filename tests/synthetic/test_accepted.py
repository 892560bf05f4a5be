"""The list of accepted seeds: read again as it was written, and nothing else."""

import json
from random import Random

import pytest

from regal.files import ParseError
from regal.synthetic.accepted import Accepted, Tried, read_accepted, write_accepted
from tests.fuzz.texts import damage

LIST = {
    "format": "regal-synthetic/1",
    "settings": {"evaluations": [1, 2]},
    "splits": {
        "train": {
            "tried": 5,
            "accepted": [0, 3],
            "outcomes": {"fits": 2, "no room": 3},
            "families": {"a": 4, "b": 1},
            "accepted_families": {"a": 2},
            "seconds": 0.5,
        }
    },
}


def test_what_is_written_is_read_again(tmp_path):
    path = tmp_path / "accepted.json"
    accepted = Accepted({"a": 1}, {"train": Tried(5, [0, 4], {"fits": 2}, {"a": 2}, {}, 1.5), "test": Tried()})
    write_accepted(path, accepted)
    assert read_accepted(path) == accepted
    path.write_text(json.dumps(LIST))
    assert read_accepted(path).splits["train"] == Tried(
        5, [0, 3], {"fits": 2, "no room": 3}, {"a": 4, "b": 1}, {"a": 2}, 0.5
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "regal-synthetic/2"}, "no list of the format regal-synthetic/1"),
        ({"settings": []}, "settings and splits must be objects"),
        ({"splits": None}, "settings and splits must be objects"),
        (
            {"splits": {"train": 3}},
            "split 'train': must be an object of tried, accepted, outcomes, families, accepted_families, seconds",
        ),
        ({"splits": {"train": {"tried": 1}}}, "must be an object of tried"),
    ],
)
def test_other_values_are_refused(tmp_path, change, message):
    path = tmp_path / "accepted.json"
    path.write_text(json.dumps(LIST | change))
    with pytest.raises(ParseError, match=r"accepted\.json: .*" + message):
        read_accepted(path)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("tried", -1, "tried must be a number of seeds, not -1"),
        ("tried", 2**41, "tried must be"),
        ("tried", True, "tried must be"),
        ("tried", 3, "accepted must ascend from 0 on and stay below 3"),
        ("accepted", {}, "accepted must be a list of integers, not dict of 0"),
        ("accepted", [1.0], "accepted must be a list of integers"),
        ("accepted", [True], "accepted must be a list of integers"),
        ("accepted", [3, 3], "accepted must ascend"),
        ("accepted", [-1, 3], "accepted must ascend"),
        ("outcomes", [], "outcomes must count seeds"),
        ("outcomes", {"fits": "2"}, "outcomes must count seeds"),
        ("families", None, "families must count seeds"),
        ("accepted_families", {"a": 1.0}, "accepted_families must count seeds"),
        ("seconds", "1", "seconds must be a number"),
        ("seconds", -0.5, "seconds must be a number"),
    ],
)
def test_wrong_entries_are_named(tmp_path, key, value, message):
    path = tmp_path / "accepted.json"
    entry = LIST["splits"]["train"] | {key: value}
    path.write_text(json.dumps(LIST | {"splits": {"train": entry}}))
    with pytest.raises(ParseError, match=r"accepted\.json: split 'train': " + message):
        read_accepted(path)


def test_damaged_lists_are_read_or_refused(tmp_path):
    rng, path = Random(0), tmp_path / "accepted.json"
    refused = 0
    for _ in range(400):
        path.write_bytes(damage(json.dumps(LIST).encode(), rng)[0])
        try:
            read_accepted(path)
        except ParseError:
            refused += 1
    assert refused > 200
