import json
import os
import pty
import select
import signal
import subprocess
import sys
import time

import pytest

from regal.cli.main import main
from regal.graph import GraphBuilder, example_graph, write_graph
from regal.verification import verify

FIGURES = {
    "peak_memory",
    "running_time",
    "objective_value",
    "lower_bound",
    "evaluations",
    "search_seconds",
    "method",
    "seed",
    "stop_reason",
    "feasible",
    "excess_bytes",
}


def figures(capsys, *arguments):
    """What ``--json`` prints, which is one object on one line and nothing on stderr."""
    assert main(["optimize", *arguments, "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.count("\n") == 1
    return json.loads(out)


@pytest.mark.parametrize("objective", ["peak-memory", "peak-utilisation", "running-time", "pareto"])
def test_json(capsys, objective):
    found = figures(capsys, "example:branches", "--objective", objective, "--evaluations", "300", "--seed", "3")
    assert set(found) >= FIGURES
    assert (found["objective"], found["seed"], found["devices"]) == (objective, 3, 2)
    assert found["evaluations"] <= 300


def test_defaults(capsys):
    found = figures(capsys, "example:branches", "--devices", "1")
    assert (found["peak_memory"], found["method"], found["seed"]) == ([106], "auto", 0)
    assert 4900 < found["evaluations"] <= 5000
    pure = figures(capsys, "example:branches", "--devices", "1", "--no-warm-start")
    assert (pure["evaluations"], pure["baselines"]) == (4980, {})


def test_seconds_alone_are_the_only_limit(capsys):
    found = figures(capsys, "example:chain", "--seconds", "0.7")
    assert found["stop_reason"] == "seconds"
    both = figures(capsys, "example:chain", "--seconds", "60", "--evaluations", "200")
    assert both["stop_reason"] == "evaluations"


def test_the_same_plan_on_any_number_of_threads(capsys, tmp_path):
    schedules = set()
    for threads in ("1", "2", str(8 * (os.cpu_count() or 1))):
        path = str(tmp_path / f"{threads}.json")
        figures(capsys, "example:branches", "--threads", threads, "--evaluations", "900", "--output", path)
        schedules.add(json.dumps(json.loads((tmp_path / f"{threads}.json").read_text())["schedule"]))
    assert len(schedules) == 1


def test_tables_and_files(capsys, tmp_path):
    plan, plot = tmp_path / "plan.json", tmp_path / "plan.html"
    arguments = ["optimize", "example:branches", "--evaluations", "200", "--output", str(plan), "--plot", str(plot)]
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert err == ""
    for text in ("branches: 13 ops on 2 devices", "program-order", "lower bound", "evaluations in", "seed 0"):
        assert text in out
    assert verify(example_graph("branches"), plan)[0].search["evaluations"] <= 200
    assert plot.read_text().startswith("<!doctype html>")


def test_a_front_and_its_files(capsys, tmp_path):
    front, plot = tmp_path / "front.json.gz", tmp_path / "front.json"
    arguments = ["optimize", "example:branches", "--objective", "pareto", "--evaluations", "200"]
    assert main([*arguments, "--output", str(front), "--plot", str(plot)]) == 0
    assert "plans that nobody beats in both" in capsys.readouterr().out
    assert json.loads(plot.read_text())["data"]
    assert main(["verify", "example:branches", str(front)]) == 0
    assert capsys.readouterr().out.startswith("verified: ")


def test_a_plan_that_does_not_fit_is_named(capsys, tmp_path):
    cluster = tmp_path / "cluster.toml"
    cluster.write_text("[[devices]]\nmemory = 50\n")
    assert main(["optimize", "example:chain", "--cluster", str(cluster), "--evaluations", "50"]) == 0
    assert "does not fit: 80 B too much" in capsys.readouterr().out
    found = figures(capsys, "example:chain", "--cluster", str(cluster), "--evaluations", "50")
    assert (found["feasible"], found["excess_bytes"], found["devices"]) == (False, 80, 1)


def test_names_are_text_and_not_markup(capsys, tmp_path):
    builder = GraphBuilder("[/bold] [red]name")
    builder.add_op("op", outputs=[builder.add_tensor(1)])
    path = tmp_path / "graph.json"
    write_graph(builder.build(), path)
    for arguments in (["optimize", "--evaluations", "20"], ["optimize", "--objective", "pareto"], ["inspect"]):
        assert main([arguments[0], str(path), *arguments[1:]]) == 0
        assert "[/bold] [red]name" in capsys.readouterr().out


def test_no_ops(capsys, tmp_path):
    path = tmp_path / "graph.json"
    write_graph(GraphBuilder("none").build(), path)
    found = figures(capsys, str(path), "--evaluations", "50")
    assert (found["peak_memory"], found["running_time"], found["gap"]) == ([0, 0], 0.0, None)
    assert main(["optimize", str(path), "--evaluations", "50", "--plot", str(tmp_path / "plot.html")]) == 0


REFUSED = {
    "a device too few": (["--devices", "0"], "from 1 to 1024 devices, not 0"),
    "negative devices": (["--devices", "-1"], "from 1 to 1024 devices, not -1"),
    "many devices": (["--devices", "1000000000"], "from 1 to 1024 devices"),
    "no evaluations": (["--evaluations", "0"], "evaluations must be a positive integer, not 0"),
    "negative evaluations": (["--evaluations", "-5"], "not -5"),
    "too many evaluations": (["--evaluations", "1" + 30 * "0"], "evaluations must be a positive integer"),
    "seconds nan": (["--seconds", "nan"], "seconds must be positive and finite, not nan"),
    "seconds inf": (["--seconds", "inf"], "seconds must be positive and finite, not inf"),
    "seconds negative": (["--seconds", "-1"], "seconds must be positive and finite, not -1.0"),
    "seconds none": (["--seconds", "0"], "seconds must be positive and finite, not 0.0"),
    "seed": (["--seed", "-1"], "seed must be an integer from 0 to 2^64 - 1, not -1"),
    "large seed": (["--seed", str(2**64)], "seed must be an integer from 0 to 2^64 - 1"),
    "threads": (["--threads", "0"], "threads must be from 1 to 1024, not 0"),
    "bound": (["--bound-seconds", "nan"], "bound_seconds must be seconds from 0 on, not nan"),
    "method": (["--method", "magic"], "method must be one of auto, brkga, annealing, heuristics, brute-force"),
    "pareto method": (["--method", "brkga", "--objective", "pareto"], "method must be one of auto, nsga2"),
    "dimension": (["--dim", "batch=x"], "--dim takes NAME=SIZE"),
    "dimension without ONNX": (["--dim", "batch=4"], "an example takes no option dimensions"),
    "cluster missing": (["--cluster", "no.toml"], "no.toml: No such file or directory"),
    "cluster a folder": (["--cluster", "."], "Is a directory"),
    "output suffix": (["--output", "plan.txt"], "--output plan.txt: the name must end in .json or .json.gz"),
    "output folder": (["--output", "no/plan.json"], "--output no/plan.json: there is no folder no"),
    "plot suffix": (["--plot", "plan.gif"], "--plot plan.gif: the name must end in .html"),
    "plot folder": (["--plot", "no/plan.html"], "there is no folder no"),
    "checkpoint suffix": (["--checkpoint", "a.json"], "--checkpoint a.json: the name must end in .npz"),
    "checkpoint of another method": (["--checkpoint", "a.npz", "--method", "heuristics"], "only the method brkga"),
    "checkpoint of a front": (["--checkpoint", "a.npz", "--objective", "pareto"], "only the method brkga"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_options(name, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options, message = REFUSED[name]
    assert main(["optimize", "example:chain", *options]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.startswith("regal: ")
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


CLUSTERS = {
    "not TOML": "[[devices",
    "no devices": "",
    "unknown key": "colour = 1",
    "unknown device key": "[[devices]]\nram = 1",
    "memory": '[[devices]]\nmemory = "16 apples"',
    "negative memory": "[[devices]]\nmemory = -1",
    "nan speed": "[[devices]]\nspeed = nan",
    "no speed": "[[devices]]\nspeed = 0",
    "count": "[[devices]]\ncount = 0",
    "many": "[[devices]]\ncount = 1024\n[[devices]]",
    "devices is a number": "devices = 3",
    "devices holds numbers": "devices = [3]",
    "link to nowhere": "[[devices]]\n[[links]]\nfrom = 0\nto = 5",
    "link to itself": "[[devices]]\n[[links]]\nfrom = 0\nto = 0",
    "link without ends": "[[devices]]\n[[links]]\nlatency = 1.0",
    "bandwidth": "[[devices]]\ncount = 2\n[[links]]\nfrom = 0\nto = 1\nbandwidth = 0",
    "latency": "[[devices]]\ncount = 2\n[default_link]\nlatency = -1.0",
    "not text": "\0\x01",
}


@pytest.mark.parametrize("name", CLUSTERS)
def test_bad_clusters(name, capsys, tmp_path):
    path = tmp_path / "cluster.toml"
    path.write_text(CLUSTERS[name])
    assert main(["optimize", "example:chain", "--cluster", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"regal: {path}: ")
    assert err.count("\n") == 1


FILES = {
    "empty.json": b"",
    "junk.json": bytes(range(256)),
    "junk.json.gz": b"\x1f\x8b" + bytes(50),
    "list.json": b"[]",
    "object.json": b"{}",
    "plan.json": b'{"format": "regal-plan/1"}',
    "nan.json": b"NaN",
    "deep.json": b"[" * 100_000,
    "graph.txt": b"{}",
    "no_suffix": b"{}",
}


@pytest.mark.parametrize("command", ["optimize", "inspect"])
@pytest.mark.parametrize("name", [*FILES, "missing.json", "folder.json", "folder", "", "example:"])
def test_bad_graphs(name, command, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "folder").mkdir()
    for file, data in FILES.items():
        (tmp_path / file).write_bytes(data)
    assert main([command, name]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("regal: ")
    assert err.count("\n") == 1


def test_nothing_half_written_is_left(capsys, tmp_path, monkeypatch):
    def fail(*arguments):
        raise OSError(28, "No space left on device")

    (tmp_path / "plan.json").write_text("before")
    monkeypatch.setattr("os.replace", fail)
    assert main(["optimize", "example:chain", "--evaluations", "50", "--output", str(tmp_path / "plan.json")]) == 2
    assert capsys.readouterr().err.endswith("No space left on device\n")
    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"]
    assert (tmp_path / "plan.json").read_text() == "before"


def test_the_result_is_shown_before_a_picture_fails(capsys, tmp_path, monkeypatch):
    def fail(figure, path):
        raise ValueError("no pictures today")

    monkeypatch.setattr("regal.plot.save_figure", fail)
    plot = str(tmp_path / "plan.html")
    assert main(["optimize", "example:chain", "--evaluations", "50", "--json", "--plot", plot]) == 2
    out, err = capsys.readouterr()
    assert json.loads(out)["peak_memory"]
    assert err == "regal: no pictures today\n"


def test_a_checkpoint_goes_on(capsys, tmp_path):
    def plan(evaluations, *options):
        path = tmp_path / "plan.json"
        found = figures(capsys, "example:branches", "--evaluations", evaluations, "--output", str(path), *options)
        return found["evaluations"], json.loads(path.read_text())["schedule"]

    checkpoint = ("--checkpoint", str(tmp_path / "search.npz"))
    whole = plan("2500")
    half = plan("1200", *checkpoint)
    assert half[0] <= 1200
    assert plan("2500", *checkpoint) == whole
    assert main(["optimize", "example:branches", "--seed", "1", *checkpoint]) == 2
    assert "the checkpoint is of another search: seed 0, not 1" in capsys.readouterr().err


def interrupt(arguments, cwd):
    """Start a process on a terminal, press Ctrl-C once it reports evaluations; its exit code, stdout and stderr."""
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "regal.cli.main", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=follower, cwd=cwd, text=True) as process:
        os.close(follower)
        shown, pressed, deadline = b"", False, time.monotonic() + 120
        while time.monotonic() < deadline:
            if select.select([leader], [], [], 1.0)[0]:
                try:
                    data = os.read(leader, 4096)
                except OSError:  # the other end is closed
                    break
                if not data:
                    break
                shown += data
            if not pressed and b"evaluations" in shown:
                process.send_signal(signal.SIGINT)
                pressed = True
        out = process.communicate(timeout=30)[0]
    os.close(leader)
    return process.returncode, out, shown.decode()


def test_ctrl_c_ends_a_search_with_the_best_plan_so_far(tmp_path):
    arguments = ["optimize", "example:branches", "--seconds", "100", "--json", "--output", "plan.json"]
    code, out, err = interrupt(arguments, tmp_path)
    assert code == 0, err
    assert "Traceback" not in err
    found = json.loads(out)
    assert found["stop_reason"] == "interrupted"
    assert found["search_seconds"] < 100
    assert verify(example_graph("branches"), tmp_path / "plan.json")[0].peak_memory == tuple(found["peak_memory"])
