import json

import pytest

from regal.cli.main import main
from regal.graph import example_graph
from regal.search import optimize


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "plan.json"
    optimize(example_graph("branches"), evaluations=200).save(path)
    return path


def verify(capsys, *arguments):
    code = main(["verify", *map(str, arguments)])
    out, err = capsys.readouterr()
    assert out.count("\n") + err.count("\n") == 1
    return code, out, err


def tamper(path, key, change):
    value = json.loads(path.read_text())
    value[key] = change(value[key])
    path.write_text(json.dumps(value))


def test_a_good_plan(capsys, plan):
    code, out, err = verify(capsys, "example:branches", plan)
    assert (code, err) == (0, "")
    assert out.startswith("verified: Plan('branches', devices=2, ops=13, copies=")
    assert "peak memory 103 + 103 bytes, running time 7.0 s" in out


TAMPERED = {
    "peak": ("peak_memory", lambda value: [value[0] - 1, *value[1:]], "peak_memory of device 0 is 103, but the file"),
    "running time": ("running_time", lambda value: value * 0.5, "running_time is 7.0, but the file says 3.5"),
    "feasible": ("feasible", lambda value: not value, "feasible is True, but the file says False"),
    "bound": ("lower_bound", lambda value: 104, "lower_bound 104 lies above the plan's peak-memory 103"),
    "placement": ("placement", lambda value: [1 - value[0], *value[1:]], "rule 2: the copy of tensor"),
    "device": ("placement", lambda value: [5, *value[1:]], "rule 1: op 0 'expand0' is on device 5"),
    "order": ("schedule", lambda value: value[::-1], "rule 3: op"),
    "missing run": ("schedule", lambda value: value[:-1], "rule 1: op 12 'sum' never runs"),
    "objective": ("objective", lambda value: "fame", "objective must be one of"),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_a_wrong_plan(capsys, plan, name):
    key, change, message = TAMPERED[name]
    tamper(plan, key, change)
    code, _, err = verify(capsys, "example:branches", plan)
    assert code == 1
    assert err.startswith(f"regal: {plan}: ")
    assert message in err


def test_another_graph(capsys, plan):
    code, _, err = verify(capsys, "example:chain", plan)
    assert code == 1
    assert "the plan is of another graph: its graph_sha256 is" in err


@pytest.mark.parametrize("content", [b"", b"junk \xff", b"{}", b"[]", b'{"format": "regal-plan/2"}', b"\x1f\x8b\x08"])
def test_a_file_that_is_no_plan(capsys, plan, content):
    plan.write_bytes(content)
    code, _, err = verify(capsys, "example:branches", plan)
    assert code == 2
    assert err.startswith(f"regal: {plan}: ")


def test_files_that_cannot_be_read(capsys, plan, tmp_path):
    assert verify(capsys, "example:branches", tmp_path / "missing.json")[0] == 2
    assert verify(capsys, "example:branches", tmp_path)[0] == 2
    assert verify(capsys, tmp_path / "missing.json", plan)[0] == 2
    assert verify(capsys, plan, plan)[0] == 2
