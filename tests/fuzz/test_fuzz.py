"""A slice of the campaign that ``python -m tests.fuzz`` runs in full, and files made to exhaust memory or time."""

import sys

import pytest

from tests.fuzz.bombs import CLUSTERS, GRAPHS, measure
from tests.fuzz.campaign import MOST_MEMORY, campaign
from tests.fuzz.cases import make_case
from tests.fuzz.families import FAMILIES
from tests.fuzz.graphs import GRAPH_ONLY
from tests.fuzz.judge import Answer, Wrong, check_error, expect_files
from tests.fuzz.plans import PLAN_ONLY
from tests.fuzz.texts import ANY_TEXT
from tests.fuzz.values import ANY_FILE

LONGEST = 15.0
"""Seconds that a bomb may take on a slow machine, the start of the command included."""


@pytest.mark.slow
@pytest.mark.parametrize(("family", "count"), [("files", 2000), ("clusters", 300), ("options", 120), ("onnx", 12)])
def test_mutants_give_a_plan_or_one_line(family, count):
    if family in ("options", "onnx"):
        pytest.importorskip("onnx")
    summary = campaign(start=10**9, count=count, jobs=2, family=family)
    assert summary.wrong == {}
    assert summary.count == count
    assert len({outcome for _, outcome in summary.outcomes}) > 1
    if family == "files":
        assert summary.well_formed > count / 2
        assert summary.outcomes["graph", "plan"] > count / 10
        assert summary.outcomes["plan", "verified"] > count / 50
        assert summary.outcomes["plan", "found wrong"] > count / 50


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited and measured on Linux")
@pytest.mark.parametrize("name", GRAPHS)
def test_no_graph_file_takes_a_gigabyte(tmp_path, name):
    make, message = GRAPHS[name]
    (tmp_path / "g.json").write_bytes(make())
    check_bomb(measure("convert", str(tmp_path / "g.json"), str(tmp_path / "copy.json")), "g.json", message)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited and measured on Linux")
@pytest.mark.parametrize("name", CLUSTERS)
def test_no_cluster_file_takes_a_gigabyte(tmp_path, name):
    make, message = CLUSTERS[name]
    (tmp_path / "c.toml").write_bytes(make())
    options = ("--cluster", str(tmp_path / "c.toml"), "--method", "heuristics", "--bound-seconds", "0")
    plan = str(tmp_path / "p.json")
    check_bomb(measure("optimize", "example:diamond", *options, "--output", plan), "c.toml", message)
    if not message:
        check_bomb(measure("verify", "example:diamond", plan), "p.json", "")


def check_bomb(measured, file, message):
    assert 0 < measured.peak < MOST_MEMORY, measured
    assert measured.seconds < LONGEST, measured
    assert measured.code == (2 if message else 0), measured
    assert message in measured.error
    assert measured.error.count("\n") == (1 if message else 0)
    assert not message or f"{file}: " in measured.error


@pytest.mark.parametrize("family", ["files", "clusters"])
def test_a_seed_is_always_the_same_mutant(family):
    make, _ = FAMILIES[family]
    assert [make(seed) for seed in range(50)] == [make(seed) for seed in range(50)]
    assert len({make(seed).data for seed in range(50)}) > 45


def test_every_mutation_is_drawn():
    drawn = {name for seed in range(1500) for name in make_case(seed).mutations}
    assert drawn == {mutation.__name__ for mutation in (*ANY_FILE, *ANY_TEXT, *GRAPH_ONLY, *PLAN_ONLY)}


@pytest.mark.parametrize(
    ("code", "out", "text"),
    [
        (0, "", "regal: f: op 3 'a': runtime is missing\n"),
        (2, "?", "regal: f: op 3 'a': runtime is missing\n"),
        (2, "", "regal: op 3 'a': runtime is missing\n"),
        (2, "", "regal: f: something is wrong\n"),
        (2, "", "regal: f: op 3 'a': runtime\nis missing\n"),
        (2, "", "regal: f: op 3 'a': \x1b[31m\n"),
        (2, "", "regal: f: op 3 'a': 'int' object is not subscriptable\n"),
        (2, "", "regal: f: op 3 'a'" + "a" * 1000 + "\n"),
        (2, "", ""),
    ],
)
def test_the_judge_sees_a_bad_message(tmp_path, code, out, text):
    check_error(Answer(2, "", "regal: f: op 3 'a': runtime is missing\n"), "f", 2)
    with pytest.raises(Wrong):
        check_error(Answer(code, out, text), "f", 2)


def test_the_judge_sees_what_is_left_behind(tmp_path):
    (tmp_path / "a").touch()
    expect_files(tmp_path, tmp_path / "a")
    (tmp_path / ".a.x").touch()
    with pytest.raises(Wrong, match="left behind"):
        expect_files(tmp_path, tmp_path / "a")
