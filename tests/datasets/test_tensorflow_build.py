"""The build script of the tensorflow corpus: zoos, each in a process of its own, and what they trace of a model."""

import importlib.util
import os
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from regal.corpus.harvest import Job

FOLDER = Path(__file__).parents[2] / "datasets" / "tensorflow"


@pytest.fixture
def build(monkeypatch):
    """What the script defines; the environment and command line that it changes are put back."""
    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.setattr(sys, "argv", [str(FOLDER / "build.py")])
    return SimpleNamespace(**runpy.run_path(str(FOLDER / "build.py")))


def test_every_zoo_is_a_module(build):
    assert {f"{zoo}_zoo.py" for zoo in build.ZOOS} == {path.name for path in FOLDER.glob("*_zoo.py")}


@pytest.mark.parametrize(("zoo", "legacy"), [("keras", None), ("kecam", "1")])
def test_a_zoo_is_imported_in_its_environment_and_harvested_with_the_options_left(
    build, zoo, legacy, monkeypatch, capsys
):
    seen = {}

    def jobs():
        seen.update(os.environ)
        return [Job(name, "keras", "net", 4, dict) for name in ("small", "large")]

    monkeypatch.delitem(os.environ, "TF_USE_LEGACY_KERAS", raising=False)
    monkeypatch.setitem(sys.modules, f"{zoo}_zoo", SimpleNamespace(jobs=jobs))
    assert build.main(["--zoo", zoo, "--only", "*.small", "--list"]) == 0
    assert capsys.readouterr().out == "keras.small\tnet\n"
    assert (seen["CUDA_VISIBLE_DEVICES"], seen.get("TF_USE_LEGACY_KERAS")) == ("-1", legacy)


def test_all_zoos_run_in_turn_each_in_a_process_and_the_worst_code_is_returned(build, monkeypatch):
    commands = []

    def run(command):
        commands.append(command)
        return SimpleNamespace(returncode=len(commands) % 3)

    monkeypatch.setattr(subprocess, "run", run)
    assert build.main(["--limit", "3"]) == 2
    assert [command[2:] for command in commands] == [["--zoo", zoo, "--limit", "3"] for zoo in build.ZOOS]


def test_an_unknown_zoo_is_refused(build, capsys):
    with pytest.raises(SystemExit, match="2"):
        build.main(["--zoo", "moon"])
    assert "moon" in capsys.readouterr().err


def run_in_a_process(code, **environment):
    """What ``code`` prints in a fresh Python, whose hash seed differs every time."""
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=FOLDER,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1", **environment},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\n")[:-1]


@pytest.fixture
def frameworks():
    for name in ("tensorflow", "keras", "keras_hub", "keras_cv_attention_models"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")


TINY = """
import keras, tensorflow as tf
from steps import Task, input_specs, trace
x = keras.Input((5,))
hidden = keras.layers.Dense(8, activation="relu")(x)
model = keras.Model(x, keras.layers.Dense(3, use_bias=False)(hidden))
unused = keras.Variable([1.0], name="unused")
variables = [*model.trainable_variables, unused]
optimizer = keras.optimizers.SGD(0.1, momentum=0.9)
optimizer.build(variables)
task = Task(
    name="tiny", call=lambda x, training: model(x, training=training), inputs=input_specs(model),
    variables=variables, optimizer=optimizer, labels=tf.TensorSpec([4], tf.int32),
)
for mode, graph in trace(task, ("inference", "training", "step")).items():
    outputs = sorted(graph.tensor_bytes[graph.is_output].tolist())
    print(mode, graph.name, sum("Assign" in kind for kind in graph.op_types), outputs, graph.sha256)
"""


@pytest.mark.slow
def test_the_three_modes_of_a_model_and_the_same_graphs_every_time(frameworks):
    # x[4,5] -> dense 8 -> dense 3 -> loss; gradients: 5x8, 8, 8x3 floats; the variable that is not used has none.
    lines = [line.split(" ", 3) for line in run_in_a_process(TINY, PYTHONHASHSEED="1")]
    modes = {mode: (name, int(assigns), rest.rpartition(" ")[0]) for mode, name, assigns, rest in lines}
    assert modes["inference"] == ("tiny.inference", 0, "[48]")
    assert modes["training"] == ("tiny.training", 0, "[4, 32, 96, 160]")
    name, assigns, outputs = modes["step"]
    assert (name, outputs) == ("tiny.step", "[4]")
    assert assigns == 3 * 2 + 1  # each variable and its momentum, and the optimizer's counter
    assert lines == [line.split(" ", 3) for line in run_in_a_process(TINY, PYTHONHASHSEED="2")]


@pytest.mark.slow
def test_keras_zoo_holds_every_application(frameworks):
    code = """
import keras, keras_zoo
print(*sorted(name.lower() for name in dir(keras.applications) if name[0].isupper()))
print(*sorted(job.model for job in keras_zoo.jobs()))
"""
    there, listed = run_in_a_process(code)
    assert there == listed
    assert len(listed.split()) == 40


@pytest.mark.slow
@pytest.mark.parametrize(("zoo", "at_least"), [("keras", 40), ("hub", 90), ("kecam", 130)])
def test_jobs_are_distinct_and_each_class_named_exists(frameworks, zoo, at_least):
    code = f"""
import {zoo}_zoo as zoo
names = [job.name for job in zoo.jobs()]
print(len(names), len(set(names)))
if {zoo == "kecam"}:
    for families in (zoo.FIRST, zoo.THEN):
        for path in sum(families.values(), ()):
            module, name = path.split(".")
            assert hasattr(getattr(zoo.kecam, module), name), path
"""
    total, distinct = map(int, run_in_a_process(code, TF_USE_LEGACY_KERAS="1" if zoo == "kecam" else "0")[-1].split())
    assert total == distinct >= at_least
