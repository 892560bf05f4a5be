"""The list of seeds whose graphs pass the filter, as ``datasets/synthetic/build.py`` makes it.

``{"format": "regal-synthetic/1", "settings": {...}, "splits": {"train": {"tried": 5, "accepted": [0, 3], "outcomes":
{"faster": 2, "no room": 3}, "families": {"erdos-renyi": 5}, "accepted_families": {"erdos-renyi": 2}, "seconds": 0.9},
...}}`` where ``accepted`` are distances from the split's first seed, ``tried`` is how many of them were tried from 0 on
without a gap, the three objects count graphs tried by outcome, tried by family and accepted by family, and ``seconds``
is what that took on one core.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from itertools import pairwise
from pathlib import Path
from typing import Any

from regal.files import ParseError, parse_json, read_bytes, short, write_json

FORMAT = "regal-synthetic/1"
MAX_TRIED = 2**40
"""Below the distance between the first seeds of two splits."""


@dataclass
class Tried:
    """What became of the first ``tried`` seeds of a split."""

    tried: int = 0
    accepted: list[int] = field(default_factory=list)
    outcomes: dict[str, int] = field(default_factory=dict)
    families: dict[str, int] = field(default_factory=dict)
    accepted_families: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass
class Accepted:
    """The settings of the filter, and what it did with each split."""

    settings: dict[str, Any]
    splits: dict[str, Tried]


def read_accepted(path: str | Path) -> Accepted:
    """Read a list of accepted seeds.

    Raises
    ------
    ParseError
        For a file that is no such list.
    """
    value = parse_json(read_bytes(path), str(path))
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise ParseError(f"{path}: no list of the format {FORMAT}")
    settings, splits = value.get("settings"), value.get("splits")
    if not isinstance(settings, dict) or not isinstance(splits, dict):
        raise ParseError(f"{path}: settings and splits must be objects")
    return Accepted(settings, {name: _tried(entry, f"{path}: split {short(name)}") for name, entry in splits.items()})


def write_accepted(path: str | Path, accepted: Accepted) -> None:
    """Replace the file atomically."""
    write_json(
        path,
        {
            "format": FORMAT,
            "settings": accepted.settings,
            "splits": {name: vars(tried) for name, tried in accepted.splits.items()},
        },
    )


def _tried(entry: Any, where: str) -> Tried:
    keys = [each.name for each in fields(Tried)]
    if not isinstance(entry, dict) or set(entry) != set(keys):
        raise ParseError(f"{where}: must be an object of {', '.join(keys)}")
    tried, accepted, seconds = entry["tried"], entry["accepted"], entry["seconds"]
    if type(tried) is not int or not 0 <= tried <= MAX_TRIED:
        raise ParseError(f"{where}: tried must be a number of seeds, not {short(tried)}")
    if not isinstance(accepted, list) or not all(type(index) is int for index in accepted):
        raise ParseError(f"{where}: accepted must be a list of integers, not {short(accepted)}")
    if accepted and any(after <= before for before, after in pairwise([-1, *accepted, tried])):
        raise ParseError(f"{where}: accepted must ascend from 0 on and stay below {tried}")
    for key in ("outcomes", "families", "accepted_families"):
        if not isinstance(entry[key], dict) or not all(type(count) is int for count in entry[key].values()):
            raise ParseError(f"{where}: {key} must count seeds, not {short(entry[key])}")
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 <= seconds < float("inf"):
        raise ParseError(f"{where}: seconds must be a number, not {short(seconds)}")
    return Tried(**entry)
