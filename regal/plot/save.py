"""Figures as files."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

from regal.files import write_bytes, write_text

if TYPE_CHECKING:
    import plotly.graph_objects as go

IMAGES = {".png": "png", ".svg": "svg", ".pdf": "pdf"}


def save_figure(figure: go.Figure, path: str | Path) -> None:
    """Write a figure to ``path``, which appears whole or not at all; the suffix says as what.

    ``.html`` holds plotly.js itself (5 MB of the file), so that it opens in any browser without a network.
    ``.json`` is what ``plotly.io.from_json`` reads. ``.png``, ``.svg`` and ``.pdf`` need the package kaleido and a
    Chrome browser.

    Raises
    ------
    ValueError
        For another suffix, for an image without kaleido or its browser, or when the file cannot be written.
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".html":
        config = {"displaylogo": False, "responsive": True}
        write_text(path, figure.to_html(include_plotlyjs=True, div_id="figure", config=config))
    elif suffix == ".json":
        write_text(path, figure.to_json() + "\n")
    elif suffix in IMAGES:
        write_bytes(path, _image(figure, IMAGES[suffix], path))
    else:
        known = ", ".join([".html", ".json", *IMAGES])
        raise ValueError(f"cannot save a figure as {path}: the suffix must be one of {known}, not {suffix!r}")


def _image(figure: go.Figure, kind: str, path: str | Path) -> bytes:
    if importlib.util.find_spec("kaleido") is None:
        raise ValueError(
            f"cannot save {path}: a figure as .{kind} needs the package kaleido; install it, or save .html"
        )
    try:
        return figure.to_image(format=kind, scale=2)
    except RuntimeError as error:
        reason = str(error).strip().split("\n")[0]
        raise ValueError(f"cannot save {path}: kaleido cannot draw a .{kind}: {reason}") from error
