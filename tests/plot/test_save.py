import importlib.util
import json
from pathlib import Path

import plotly.graph_objects as go
import plotly.io
import pytest

from regal.plan import Plan
from regal.plot import plot_front, plot_plan, save_figure


def test_html_needs_no_network_and_repeats(tmp_path: Path, diamond_plan: Plan) -> None:
    path, again = tmp_path / "plan.html", tmp_path / "again.HTML"
    save_figure(plot_plan(diamond_plan), path)
    save_figure(plot_plan(diamond_plan), again)
    text = path.read_text()
    assert "<script src=" not in text
    assert len(text) > 3e6  # plotly.js itself
    assert "peak of device 1" in text
    assert path.read_bytes() == again.read_bytes()


def test_json_reads_back(tmp_path: Path, diamond_plan: Plan) -> None:
    figure = plot_plan(diamond_plan)
    save_figure(figure, tmp_path / "plan.json")
    text = (tmp_path / "plan.json").read_text()
    assert json.loads(text)["data"][0]["name"] == "device 0: peak 70 B"
    again = plotly.io.from_json(text)
    assert again.layout.title == figure.layout.title
    assert [trace.hovertext for trace in again.data] == [trace.hovertext for trace in figure.data]


@pytest.mark.parametrize("name", ["plan.txt", "plan", "plan.html.gz"])
def test_other_suffixes_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=r"must be one of \.html, \.json, \.png, \.svg, \.pdf, not"):
        save_figure(go.Figure(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_images_without_kaleido_say_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"as \.png needs the package kaleido; install it"):
        save_figure(go.Figure(), tmp_path / "plan.png")


def test_images_without_a_browser_say_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_browser(self: go.Figure, format: str, scale: int) -> bytes:
        raise RuntimeError("\nKaleido requires Google Chrome\nto be installed")

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(go.Figure, "to_image", no_browser)
    with pytest.raises(ValueError, match=r"cannot draw a \.svg: Kaleido requires Google Chrome$"):
        save_figure(go.Figure(), tmp_path / "plan.svg")


def test_images_are_what_kaleido_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(go.Figure, "to_image", lambda self, format, scale: f"{format} {scale}".encode())
    save_figure(go.Figure(), tmp_path / "plan.PDF")
    assert (tmp_path / "plan.PDF").read_bytes() == b"pdf 2"


def test_a_failed_write_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "front.json"
    path.write_text("before")

    def full_disk(source: str, target: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full_disk)
    with pytest.raises(ValueError, match=r"cannot write .*front\.json: No space left"):
        save_figure(plot_front([(1, 1.0)]), path)
    assert [entry.read_text() for entry in tmp_path.iterdir()] == ["before"]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"cannot write .*nowhere"):
        save_figure(go.Figure(), tmp_path / "nowhere" / "plan.json")
