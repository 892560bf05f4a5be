import math

import pytest

from regal.cost import Cost
from regal.cost.reference import evaluate
from regal.plan import Plan
from regal.plot import plot_front
from regal.plot.front import Point, pareto_front

KIB = 1024


def test_front_and_rest_hold_the_points() -> None:
    points = [(4 * KIB, 1.0), (2 * KIB, 3.0), Cost((KIB, 3 * KIB), 2.0), (4 * KIB, 3.0), (2 * KIB, 4.0)]
    figure = plot_front(points)
    front, rest = figure.data
    assert (front.x.tolist(), front.y.tolist()) == ([2, 3, 4], [3, 2, 1])
    assert sorted(zip(rest.x.tolist(), rest.y.tolist(), strict=True)) == [(2, 4), (4, 3)]
    assert front.line.shape == "hv"
    assert figure.layout.xaxis.title.text == "peak memory in KiB"
    assert front.hovertext[0] == "<b>plan 1</b><br>peak memory 2.00 KiB (2,048 bytes)<br>running time 3.00 s"
    assert "3 of 5" in figure.layout.title.subtitle.text


def test_the_front_is_what_no_point_beats() -> None:
    points = [Point(f"{at}", at * 7 % 11, float(at * 5 % 13)) for at in range(1, 40)]
    best = set()
    for point in points:
        beaten = any(
            other.peak_memory <= point.peak_memory
            and other.running_time <= point.running_time
            and other[1:] != point[1:]
            for other in points
        )
        if not beaten:
            best.add(point[1:])
    front = pareto_front(points)
    assert {point[1:] for point in front} == best
    assert len(front) == len(best) > 1
    assert front == sorted(front, key=lambda point: point.peak_memory)


def test_plans_are_evaluated(diamond_plan: Plan) -> None:
    cost = evaluate(diamond_plan)
    figure = plot_front({"mine": diamond_plan})
    assert (figure.data[0].x[0], figure.data[0].y[0]) == (cost.max_peak_memory, cost.running_time)
    assert "<b>mine</b>" in figure.data[0].hovertext[0]


def test_references_and_bounds_are_drawn_apart() -> None:
    figure = plot_front(
        {"a": (200, 2.0)},
        references={"<b>base</b>": (100, 1.0), "other": (300, 3.0)},
        peak_memory_bound=50,
        running_time_bound=0.5,
    )
    assert [trace.name for trace in figure.data] == ["front", "&lt;b&gt;base&lt;/b&gt;", "other"]
    assert len({trace.marker.symbol for trace in figure.data}) == 3
    vertical, horizontal = figure.layout.shapes
    assert (vertical.x0, vertical.x1, vertical.label.text) == (50, 50, "lower bound 50 B")
    assert (horizontal.y0, horizontal.y1, horizontal.label.text) == (0.5, 0.5, "lower bound 500 ms")


def test_no_points_are_a_figure() -> None:
    assert len(plot_front([]).data[0].x) == 0


@pytest.mark.parametrize("point", [(-1, 1.0), (1, math.nan), (1, math.inf), (1, -1.0)])
def test_figures_must_be_finite_and_not_negative(point: tuple[int, float]) -> None:
    with pytest.raises(ValueError, match="of mine: must be finite and not negative, not"):
        plot_front({"mine": point})


def test_bounds_must_be_finite() -> None:
    with pytest.raises(ValueError, match="running_time_bound: must be finite"):
        plot_front([], running_time_bound=math.nan)
