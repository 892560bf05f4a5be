"""Pictures of corpora: how many ops, edges and levels their graphs have, and how much room."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, PercentFormatter

from regal.corpus import Corpus, Record
from regal.plot.style import NEUTRAL, PALETTE

BINS = 36


class Picture(NamedTuple):
    """One figure of each graph, and how it is called."""

    name: str
    title: str
    value: Callable[[Record], float]
    is_share: bool = False


PICTURES = (
    Picture("ops", "ops of a graph", lambda record: record.ops),
    Picture("edges", "edges of a graph (an op reads what another makes)", lambda record: record.edges),
    Picture("depth", "depth of a graph (ops on its longest path)", lambda record: record.depth),
    Picture(
        "room",
        "room of a graph: share of its peak above the bound; logarithmic heights",
        lambda record: record.headroom,
        is_share=True,
    ),
)


def draw(corpora: Sequence[Corpus], folder: Path) -> list[Path]:
    """Write one SVG file per picture, a row per corpus with its median; the same corpora give the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    corpora = [corpus for corpus in corpora if len(corpus)]
    return [_draw(picture, corpora, folder / f"{picture.name}.svg") for picture in PICTURES]


def _draw(picture: Picture, corpora: Sequence[Corpus], path: Path) -> Path:
    values = [np.array([picture.value(record) for record in corpus.records], float) for corpus in corpora]
    edges = _edges(np.concatenate(values) if values else np.ones(1), picture.is_share)
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "regal", "font.size": 9, "axes.edgecolor": NEUTRAL}):
        figure = Figure(figsize=(7.2, 0.6 + 0.9 * max(len(corpora), 1)), layout="constrained")
        rows = np.atleast_1d(figure.subplots(max(len(corpora), 1), sharex=True))
        for number, (axes, corpus, each) in enumerate(zip(rows, corpora, values, strict=False)):
            axes.hist(each, edges, histtype="stepfilled", log=picture.is_share, color=PALETTE[number % len(PALETTE)])
            axes.axvline(np.median(each), color="black", linewidth=1)
            axes.set_ylabel(f"{corpus.name}\n{len(corpus):,}", rotation=0, ha="right", va="center")
            axes.spines[["top", "right", "left"]].set_visible(False)
            axes.tick_params(left=False, labelleft=False, which="both")
        _label(rows[-1], picture)
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
    return path


def _edges(values: np.ndarray, is_share: bool) -> np.ndarray:
    """Limits of the bars: even, or even in the logarithm."""
    if is_share:
        return np.linspace(0, 1, BINS + 1)
    low, high = max(values.min(), 1), max(values.max(), 2)
    return np.geomspace(low * 0.999, high * 1.001, BINS + 1)


def _label(axes: mpl.axes.Axes, picture: Picture) -> None:
    axes.set_xlabel(picture.title)
    if picture.is_share:
        axes.xaxis.set_major_formatter(PercentFormatter(1.0))
        return
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.minorticks_off()
