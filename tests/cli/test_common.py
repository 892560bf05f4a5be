from pathlib import Path

import pytest

from regal.cli.common import check_folder, load_cluster, load_graph
from regal.cluster import Cluster, Device


def test_dimensions_go_to_the_importer(monkeypatch):
    asked = []
    monkeypatch.setattr("regal.frontends.load", lambda source, **options: asked.append((source, options)))
    load_graph("a.onnx", ())
    load_graph("a.onnx", ("batch=4", "7", "a=b=2"))
    assert asked == [
        ("a.onnx", {}),
        ("a.onnx", {"dimensions": {"batch": 4, "a=b": 2}, "default_dimension": 7}),
    ]


@pytest.mark.parametrize("text", ["", "batch", "batch=", "=4", "batch=-1", "batch=x", "1.5", "batch=²", "9999999999"])
def test_dimensions_that_are_none(text):
    with pytest.raises(ValueError, match="--dim takes NAME=SIZE or SIZE with a whole number, not"):
        load_graph("a.onnx", (text,))


def test_a_cluster_file_takes_the_place_of_devices(tmp_path):
    path = tmp_path / "cluster.toml"
    path.write_text('[[devices]]\nmemory = "1 KiB"\ncount = 3\n')
    assert load_cluster(path, 7) == Cluster((Device(1024),) * 3)
    assert load_cluster(None, 2) == Cluster.uniform(2)


def test_output_files_are_checked_first(tmp_path):
    check_folder(None, (".json",), "--output")
    check_folder(tmp_path / "a.json", (".json",), "--output")
    (tmp_path / "b.json").mkdir()
    assert [path.name for path in tmp_path.iterdir()] == ["b.json"]
    for path, message in (
        (tmp_path / "a.txt", r"--output .*a\.txt: the name must end in \.json or \.json\.gz"),
        (tmp_path / "no" / "a.json", r"--output .*a\.json: there is no folder .*no"),
        (tmp_path / "b.json", r"--output .*b\.json: is a folder"),
    ):
        with pytest.raises(ValueError, match=message):
            check_folder(path, (".json", ".json.gz"), "--output")


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs a folder that nobody can write to")
def test_a_folder_that_takes_no_files():
    with pytest.raises(ValueError, match=r"--plot /proc/a\.json: cannot write there: "):
        check_folder(Path("/proc/a.json"), (".json",), "--plot")
