"""Fronts: plans and points by peak memory and running time, and which of them no other beats in both."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from regal.cost import Cost
from regal.cost.reference import evaluate
from regal.plan import Plan, check_plan
from regal.plot.style import NEUTRAL, PALETTE, base_layout, byte_unit, format_bytes, format_seconds, safe, time_axis

if TYPE_CHECKING:
    import plotly.graph_objects as go

BEATEN = "#A8A8A8"
MARKS = ("square", "triangle-up", "cross", "star", "pentagon", "x")


class Point(NamedTuple):
    """One plan's two figures and its name."""

    name: str
    peak_memory: int
    running_time: float


def plot_front(
    points: Mapping[str, Plan | Cost | tuple[int, float]] | Iterable[Plan | Cost | tuple[int, float]],
    *,
    references: Mapping[str, Plan | Cost | tuple[int, float]] | None = None,
    peak_memory_bound: int | None = None,
    running_time_bound: float | None = None,
    title: str = "Peak memory and running time",
) -> go.Figure:
    """Scatter of plans by peak memory and running time; a stepped line joins those that no other one beats.

    Parameters
    ----------
    points : mapping from name, or iterable
        Plans, costs, or pairs of peak memory in bytes (on the fullest device) and running time in seconds.
    references : mapping from name, optional
        Points to compare with, such as baselines; each has a mark of its own and takes no part in the front.
    peak_memory_bound, running_time_bound : bytes and seconds, optional
        Lower bounds, drawn as lines.
    title : str

    Raises
    ------
    ValueError
        For a plan that is not valid, or a figure that is negative or not finite.

    Examples
    --------
    >>> figure = plot_front({"fast": (200, 1.0), "small": (100, 2.0), "poor": (300, 2.5)})
    >>> figure.data[0].x.tolist(), figure.data[0].y.tolist()
    ([100.0, 200.0], [2.0, 1.0])
    """
    import plotly.graph_objects as go

    named = points.items() if isinstance(points, Mapping) else ((f"plan {at}", item) for at, item in enumerate(points))
    plans = [_point(name, item) for name, item in named]
    others = [_point(name, item) for name, item in (references or {}).items()]
    for name, bound in (("peak_memory_bound", peak_memory_bound), ("running_time_bound", running_time_bound)):
        _check(name, 0 if bound is None else bound)
    front = pareto_front(plans)
    on_front = set(front)
    rest = [point for point in plans if point not in on_front]
    size, unit = byte_unit(max([point.peak_memory for point in plans + others] + [peak_memory_bound or 0]))
    line = {"shape": "hv", "width": 1.5, "color": PALETTE[0]}
    traces = [_scatter("front", front, size, PALETTE[0], mode="lines+markers", line=line)]
    if rest:
        traces.append(_scatter("beaten by another", rest, size, BEATEN))
    for at, point in enumerate(others):
        color, symbol = PALETTE[1:][at % (len(PALETTE) - 1)], MARKS[at % len(MARKS)]
        traces.append(_scatter(safe(point.name), [point], size, color, symbol))
    figure = go.Figure(traces)
    if peak_memory_bound is not None:
        figure.add_vline(peak_memory_bound / size, **_bound(format_bytes(peak_memory_bound)))
    if running_time_bound is not None:
        figure.add_hline(running_time_bound, **_bound(format_seconds(running_time_bound)))
    subtitle = f"{len(front)} of {len(plans)} plans are on the front; lower is better on both axes"
    figure.update_layout(**base_layout(safe(title, 120), subtitle), height=560, margin={"t": 90, "r": 20})
    figure.update_xaxes(title=f"peak memory in {unit}")
    figure.update_yaxes(**time_axis("running time"))
    return figure


def _scatter(
    name: str, points: list[Point], size: int, color: str, symbol: str = "circle", mode: str = "markers", **line: Any
) -> go.Scatter:
    import plotly.graph_objects as go

    return go.Scatter(
        name=name,
        showlegend=True,
        mode=mode,
        x=np.array([point.peak_memory / size for point in points]),
        y=np.array([point.running_time for point in points]),
        marker={"color": color, "symbol": symbol, "size": 10, "line": {"color": "white", "width": 1}},
        hovertext=[_describe(point) for point in points],
        hoverinfo="text",
        **line,
    )


def _bound(text: str) -> dict[str, Any]:
    label = {"textposition": "end", "xanchor": "right", "font": {"color": NEUTRAL, "size": 12}}
    return {
        "line": {"color": NEUTRAL, "width": 1.5, "dash": "dash"},
        "label": {**label, "text": f"lower bound {text}"},
    }


def pareto_front(points: Iterable[Point]) -> list[Point]:
    """The points that no other beats in one figure without losing in the other, by ascending peak memory.

    Of equal points the first stays.

    Examples
    --------
    >>> [point.name for point in pareto_front([Point("a", 2, 1.0), Point("b", 1, 2.0), Point("c", 2, 2.0)])]
    ['b', 'a']
    """
    front: list[Point] = []
    for point in sorted(points, key=lambda point: (point.peak_memory, point.running_time)):
        if not front or point.running_time < front[-1].running_time:
            front.append(point)
    return front


def _point(name: str, item: Plan | Cost | tuple[int, float]) -> Point:
    if isinstance(item, Plan):
        check_plan(item)
        item = evaluate(item)
    if isinstance(item, Cost):
        item = (item.max_peak_memory, item.running_time)
    peak_memory, running_time = item
    _check(f"peak memory of {name}", peak_memory)
    _check(f"running time of {name}", running_time)
    return Point(name, peak_memory, running_time)


def _check(name: str, value: float) -> None:
    if not 0 <= value < math.inf:
        raise ValueError(f"{name}: must be finite and not negative, not {value}")


def _describe(point: Point) -> str:
    peak = f"{format_bytes(point.peak_memory)} ({point.peak_memory:,} bytes)"
    return f"<b>{safe(point.name)}</b><br>peak memory {peak}<br>running time {format_seconds(point.running_time)}"
