"""Mutated cluster files: TOML values and TOML text."""

import copy
import json
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.cases import Case, change
from tests.fuzz.judge import OF_NO_FILE, check_error, check_success, expect_files, run
from tests.fuzz.texts import damage
from tests.fuzz.values import NUMBERS

BASES: tuple[dict[str, Any], ...] = (
    {"devices": [{"memory": "16 GiB", "count": 2}]},
    {"devices": [{"memory": 100, "speed": 0.5}, {"memory": "1.5 kB"}], "default_link": {"bandwidth": "12 GB"}},
    {
        "devices": [{}, {"memory": 0}, {"speed": 3.0}],
        "links": [{"from": 0, "to": 1, "latency": 1e-6, "bandwidth": 1e9}, {"from": 1, "to": 0}],
        "default_link": {"latency": 0.5},
    },
)
SIZES = ("16 GiB", "0", "1e3", "-1 GB", "16GiB", "9" * 25, "16 XB", "٣ GB", "1.5.5 GB", " 7 ", "0.1 B", "16\nGiB")


def make_case(seed: int) -> Case:
    """The mutated cluster file of a seed."""
    rng = Random(seed)
    value = copy.deepcopy(rng.choice(BASES))
    names: list[str] = []
    if rng.random() < 0.7:
        names = change(value, OWN, rng)
    try:
        text = "\n".join(f"{_key(key)} = {_toml(entry, rng)}" for key, entry in value.items())
    except RecursionError:
        text = "devices = " + "[" * 2000 + "]" * 2000
    data = text.encode("utf-8", "surrogatepass")
    if not names:
        data, names = damage(data, rng)
    return Case(seed, "cluster", 0, tuple(names), data)


def judge(case: Case, folder: Path) -> tuple[str, str]:
    """Optimize a tiny graph on the mutated cluster and verify the plan."""
    path, plan = folder / "c.toml", folder / "p.json"
    path.write_bytes(case.data)
    objective = Random(case.seed).choice(("peak-memory", "running-time", "peak-utilisation"))
    options = ("--objective", objective, "--method", "heuristics", "--bound-seconds", "0", "--output", str(plan))
    answer = run("optimize", "example:diamond", "--cluster", str(path), *options)
    if answer.code == 0:
        expect_files(folder, path, plan)
        check_success(run("verify", "example:diamond", str(plan)), "verified: ")
        return "plan", ""
    expect_files(folder, path)
    check_error(answer, path, 2, OF_NO_FILE)
    return "refused", answer.error


def figure(value: Any, rng: Random) -> None:
    """A speed, memory, latency or bandwidth of any range."""
    key, places = rng.choice(
        (("speed", "devices"), ("memory", "devices"), ("latency", "links"), ("bandwidth", "links"))
    )
    tables = value.get(places)
    if isinstance(tables, list) and tables and isinstance(table := rng.choice(tables), dict):
        table[key] = rng.choice((*NUMBERS, *SIZES, 16**5000))


def count(value: Any, rng: Random) -> None:
    """More devices, or fewer."""
    tables = value.get("devices")
    if isinstance(tables, list) and tables and isinstance(table := rng.choice(tables), dict):
        table["count"] = rng.choice((0, 1, 2, 20, 1023, 1024, 1025, 2**63, -1, 1.0, True))


def link(value: Any, rng: Random) -> None:
    """One more link."""
    ends = rng.choices((0, 1, 2, 3, -1, 2**40, 1.0, "0"), (5, 5, 5, 1, 1, 1, 1, 1), k=2)
    links = value.setdefault("links", [])
    if isinstance(links, list):
        links.append({"from": ends[0], "to": ends[1], rng.choice(("latency", "bandwidth")): rng.choice(NUMBERS)})


OWN = (figure, figure, count, link, link)


def _key(key: str) -> str:
    return key if key.isidentifier() and key.isascii() else json.dumps(key)


def _toml(value: Any, rng: Random) -> str:
    """A value as TOML writes it inline; what TOML has no words for stays JSON, and is refused."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)} = {_toml(entry, rng)}" for key, entry in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(entry, rng) for entry in value) + "]"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return hex(value) if value.bit_length() > 10_000 or rng.random() < 0.1 else str(value)
    return json.dumps(value, ensure_ascii=rng.random() < 0.5)
