"""The build script of the onnx corpus: every light model, each with its family, always the same graph."""

import runpy
from pathlib import Path

import pytest

onnx = pytest.importorskip("onnx")

from regal.corpus import topology_hash  # noqa: E402
from regal.graph import read_graph  # noqa: E402

SCRIPT = runpy.run_path(str(Path(__file__).parents[2] / "datasets" / "onnx" / "build.py"))
JOBS = SCRIPT["JOBS"]
LIGHT = Path(onnx.__file__).parent / "backend/test/data/light"


def test_every_light_model_is_a_job():
    assert {job.model for job in JOBS} == {path.stem for path in LIGHT.glob("*.onnx")}
    assert len(JOBS) == 9


def test_relatives_share_a_family():
    families = {job.model: job.family for job in JOBS}
    assert families["light_inception_v1"] == families["light_inception_v2"] == "inception"
    assert len(set(families.values())) == 8


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.model)
def test_a_graph_is_complete_and_the_same_every_time(job):
    (mode, graph), *rest = job.trace().items()
    assert (mode, rest, graph.name) == ("inference", [], job.model)
    source = graph.meta["source"]
    assert (source["mode"], source["unknown_shapes"], source["opaque_ops"]) == ("inference", 0, 0)
    assert source["flops"] > 1e8
    assert graph.sha256 == job.trace()["inference"].sha256
    assert "ConstantOfShape" not in graph.op_types


def test_topologies_differ_but_for_zfnet_which_is_alexnet_with_other_sizes():
    hashes = {job.model: topology_hash(job.trace()["inference"]) for job in JOBS}
    assert hashes["light_zfnet512"] == hashes["light_bvlc_alexnet"]
    assert len(set(hashes.values())) == 8


def test_the_harvest_writes_what_the_job_traces(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["build.py", "--output", str(tmp_path), "--only", "onnx.light_zfnet512"])
    assert SCRIPT["main"](JOBS, "") == 0
    written = read_graph(tmp_path / "onnx.light_zfnet512.inference.json.gz")
    job = next(job for job in JOBS if job.model == "light_zfnet512")
    assert written.sha256 == job.trace()["inference"].sha256
