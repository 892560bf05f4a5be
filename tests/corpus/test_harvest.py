import json
import sys

import pytest

from regal.corpus import harvest
from regal.corpus.harvest import Job
from regal.graph import example_graph, read_graph


def both():
    return {"inference": example_graph("chain"), "training": example_graph("diamond")}


def fails():
    raise RuntimeError("cannot trace this\nfor many reasons")


def spins():
    while True:
        pass


def leaves():
    sys.exit(3)


def job(name: str, trace, **options) -> Job:
    return Job(name, "numpy", "family", 4, trace, **options)


def outcome(folder, name: str) -> dict:
    return json.loads((folder / f"numpy.{name}.outcome.json").read_text())


def test_graphs_and_outcomes_are_written(tmp_path):
    harvest.harvest([job("good", both), job("bad", fails), job("odd", leaves)], tmp_path / "deep" / "er", workers=2)
    folder = tmp_path / "deep" / "er"
    good = outcome(folder, "good")
    assert (good["outcome"], good["graphs"], good["batch"]) == ("ok", {"inference": 3, "training": 4}, 4)
    assert good["package_version"] == harvest.version_of("numpy")
    assert good["cpu_seconds"] >= 0
    assert read_graph(folder / "numpy.good.training.json.gz").num_ops == 4
    assert outcome(folder, "bad")["reason"] == "RuntimeError: cannot trace this"
    assert outcome(folder, "odd")["outcome"] == "error"
    assert not list(folder.glob("*.report.json"))


def test_a_job_stops_at_its_limit(tmp_path):
    harvest.harvest([job("slow", spins, cpu_seconds=1)], tmp_path)
    assert outcome(tmp_path, "slow")["outcome"] == "timeout"


def test_a_second_run_goes_on(tmp_path):
    harvest.harvest([job("a", both), job("b", fails)], tmp_path)
    harvest.harvest([job("a", fails), job("b", both), job("c", both)], tmp_path)
    assert [outcome(tmp_path, name)["outcome"] for name in "abc"] == ["ok", "error", "ok"]
    harvest.harvest([job("a", fails), job("b", both)], tmp_path, retry=True)
    assert [outcome(tmp_path, name)["outcome"] for name in "ab"] == ["ok", "ok"]


def test_two_jobs_of_one_name_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"two jobs have the name 'numpy\.a'"):
        harvest.harvest([job("a", both), job("a", both)], tmp_path)


def test_the_command_line_chooses(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["build.py", "--output", str(tmp_path), "--only", "numpy.a*"])
    assert harvest.main([job("ab", both), job("b", both)], "test") == 0
    assert [path.name for path in tmp_path.glob("*.outcome.json")] == ["numpy.ab.outcome.json"]
    monkeypatch.setattr(sys, "argv", ["build.py", "--list"])
    capsys.readouterr()
    assert harvest.main([job("ab", both), job("b", both)], "test") == 0
    assert capsys.readouterr().out == "numpy.ab\tfamily\nnumpy.b\tfamily\n"


def test_versions_are_found_by_import_name():
    assert harvest.version_of("no_such_package") is None
    assert harvest.version_of("google") is not None
