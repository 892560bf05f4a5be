"""The build script of the xla corpus: distinct jobs with families, each zoo lowers, graphs repeat."""

import importlib
import sys
from pathlib import Path

import pytest

pytest.importorskip("haiku")
pytest.importorskip("flax")
pytest.importorskip("optax")

FOLDER = Path(__file__).parents[2] / "datasets" / "xla"
MODULES = ("build", "steps", "check")
ZOOS = ("haiku_vision", "haiku_text", "haiku_recurrent", "haiku_other", "flax", "jax")


@pytest.fixture(scope="module")
def corpus():
    """The modules of the folder by name, out of ``sys.modules`` again afterwards."""
    names = [*MODULES, *(f"{zoo}_zoo" for zoo in ZOOS)]
    kept = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    sys.path.insert(0, str(FOLDER))
    yield {name: importlib.import_module(name) for name in names}
    sys.path.remove(str(FOLDER))
    for name in names:
        del sys.modules[name]
    sys.modules.update(kept)


@pytest.fixture(scope="module")
def jobs(corpus):
    return [job for zoo in ZOOS for job in corpus[f"{zoo}_zoo"].jobs()]


def test_every_zoo_is_known_to_the_build_script(corpus):
    listed = {path.stem.removesuffix("_zoo") for path in FOLDER.glob("*_zoo.py")}
    assert set(corpus["build"].ZOOS) == listed
    assert set(ZOOS) | {"keras", "tensorflow"} == listed


def test_jobs_have_names_of_their_own_and_plain_families(jobs):
    names = [job.name for job in jobs]
    assert len(set(names)) == len(names) >= 90
    assert all(job.family == job.family.lower() and job.family.replace("_", "").isalnum() for job in jobs)
    assert len({job.family for job in jobs}) >= 40


SMALL = {
    "inference": ("inference", False),
    "training": ("training", False),
    "step": ("step", False),
    "step-scheduled": ("step", True),
}


@pytest.fixture(scope="module")
def graphs(corpus):
    task = corpus["haiku_other_zoo"].plain(2, 8)
    return corpus["steps"].lower(task, SMALL, "haiku.small")


@pytest.mark.parametrize("full_mode", SMALL)
def test_modes(graphs, full_mode):
    mode, scheduled = SMALL[full_mode]
    graph = graphs[full_mode]
    source = graph.meta["source"]
    assert graph.name == f"haiku.small.{full_mode}"
    assert (source["framework"], source["mode"], source["is_scheduled"]) == ("jax", mode, scheduled)
    assert source["opaque_ops"] == 0
    assert source["flops"] > 0


def test_training_returns_gradients_and_a_step_updates_in_place(graphs):
    assert graphs["inference"].is_output.sum() == 1
    assert graphs["training"].is_output.sum() == 1 + 4  # the loss, two weights and two biases
    step = graphs["step"]
    assert step.is_output.sum() == 1
    assert step.meta["source"]["updated_in_place"] == 8  # with their velocities
    assert sum(not len(outputs) for outputs in step.outputs) == 8


def test_graphs_repeat(corpus, graphs):
    again = corpus["steps"].lower(corpus["haiku_other_zoo"].plain(2, 8), SMALL, "haiku.small")
    assert {mode: graph.sha256 for mode, graph in graphs.items()} == {m: g.sha256 for m, g in again.items()}


def tiny(corpus):
    zoo = {name: corpus[f"{name}_zoo"] for name in ZOOS}
    ids = corpus["steps"].tokens(4, 64)
    return {
        "haiku_vision": zoo["haiku_vision"].gan(1),
        "haiku_text": zoo["haiku_text"].gpt(1, 64),
        "haiku_recurrent": zoo["haiku_recurrent"].language_model("lstm", 1, 16, 3),
        "haiku_other": zoo["haiku_other"].message_passing(1, 8),
        "flax": zoo["flax"].flax_task(zoo["flax"].Decoder(1, 32), ids, labels=ids),
        "jax": zoo["jax"].meta_learning(1, 1),
    }


@pytest.mark.parametrize("zoo", ZOOS)
def test_every_zoo_lowers(corpus, zoo):
    task = tiny(corpus)[zoo]
    (graph,) = corpus["steps"].lower(task, ["step"], zoo).values()
    source = graph.meta["source"]
    assert graph.num_ops > 50
    assert source["updated_in_place"] >= 0.9 * source["donated"] > 0
    assert source["opaque_ops"] <= 0.05 * graph.num_ops


def test_unequal_counts_are_told(corpus, monkeypatch):
    text = "HloModule m\n\nENTRY main {\n  ROOT x = f32[] parameter(0)\n}\n"
    corpus["check"].compare_counts(text)
    monkeypatch.setattr(corpus["check"].hlo, "instruction_counts", lambda text: {"main": 2})
    with pytest.raises(ValueError, match=r"^computation 'main': 2 instructions, XLA counts differ$"):
        corpus["check"].compare_counts(text)
