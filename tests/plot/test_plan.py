import subprocess
import sys
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest

import regal
from regal.cluster import Cluster
from regal.cost.reference import evaluate, trace
from regal.graph import GraphBuilder, example_graph
from regal.plan import RUN, InvalidPlan, Plan
from regal.plot import plot_plan
from regal.plot.gantt import MAX_BARS, chart_bars, chart_rows
from regal.plot.plan import MAX_POINTS
from regal.plot.style import byte_unit


def by_name(figure: go.Figure) -> dict[str, go.Scatter | go.Bar]:
    assert len({trace.name for trace in figure.data}) == len(figure.data)
    return {trace.name: trace for trace in figure.data}


def test_memory_panel_equals_the_trace(diamond_plan: Plan) -> None:
    traces = by_name(plot_plan(diamond_plan))
    line, mark = traces["device 1: peak 88 B"], traces["peak of device 1"]
    assert line.x.tolist() == [-1, 1, 1.5, 3, 3.5, 4.5, 5.5]
    assert line.y.tolist() == [0, 8, 8, 88, 64, 0, 0]
    assert line.line.shape == "hv"
    assert line.hovertext[3] == "event 3: c (widen)<br>88 B on device 1"
    assert line.hovertext[4] == "after event 3<br>64 B on device 1"
    assert (list(mark.x), list(mark.y)) == ([3], [88])
    assert mark.hovertext[0].split("<br>") == [
        "<b>peak of device 1: 88 B</b> (88 bytes)",
        "event 3: c (widen); the largest there:",
        "64 B  c:0",
        "16 B  workspace of c",
        "8 B  a:0",
    ]


def test_time_panel_has_ops_on_devices_and_copies_on_links(diamond_plan: Plan) -> None:
    figure = plot_plan(diamond_plan)
    traces = by_name(figure)
    ops, copies = traces["ops on device 0"], traces["copies"]
    assert (ops.base.tolist(), ops.x.tolist(), ops.y.tolist()) == ([0, 1, 15], [1, 2, 1], [0, 0, 0])
    assert (copies.base.tolist(), copies.x.tolist(), copies.y.tolist()) == ([1, 6], [2, 9], [2, 3])
    assert list(figure.layout.yaxis2.ticktext) == ["device 0", "device 1", "link 0 → 1", "link 1 → 0"]
    assert list(figure.layout.yaxis2.tickvals) == [0, 1, 2, 3]
    assert ops.hovertext[1] == (
        "<b>b (narrow)</b><br>event 2, op 1 on device 0<br>start 1.00 s, finish 3.00 s<br>outputs 4 B, workspace 0 B"
    )
    assert copies.hovertext[1] == (
        "<b>copy of c:0</b><br>event 4, tensor 2, device 1 → 0<br>start 6.00 s, finish 15.0 s<br>64 B"
    )


def test_capacities_within_reach_are_drawn(diamond_plan: Plan) -> None:
    figure = plot_plan(diamond_plan)
    assert [(shape.y0, shape.label.text) for shape in figure.layout.shapes] == [
        (100, "capacity of device 0: 100 B"),
        (90, "capacity of device 1: 90 B"),
    ]
    assert figure.layout.yaxis.range[1] > 100
    assert "fits" in figure.layout.title.subtitle.text
    far = Plan(diamond_plan.graph, Cluster.uniform(2), diamond_plan.placement, diamond_plan.schedule)
    assert plot_plan(far).layout.shapes == ()


def test_a_plan_that_does_not_fit_says_so(diamond_plan: Plan) -> None:
    small = Plan(diamond_plan.graph, Cluster.uniform(2, memory=60), diamond_plan.placement, diamond_plan.schedule)
    figure = plot_plan(small)
    assert [shape.label.text for shape in figure.layout.shapes] == ["capacity of every device: 60 B"]
    assert "exceeds the devices' memory by 38 B" in figure.layout.title.subtitle.text  # 10 and 28


def test_peak_of_persistent_tensors_alone_is_at_the_start() -> None:
    # nothing but the parameter: the op writes no tensor
    builder = GraphBuilder()
    builder.add_op("read", name="use", inputs=[builder.add_tensor(7)])
    plan = Plan(builder.build(), Cluster.uniform(1), [0], [[0, RUN]])
    mark = by_name(plot_plan(plan))["peak of device 0"]
    assert (list(mark.x), list(mark.y)) == ([-1], [7])
    assert mark.hovertext[0].endswith("before the first event; the largest there:<br>7 B  persistent, read by use")


def test_a_large_plan_is_thinned_and_its_peaks_stay_exact(large_plan: Plan) -> None:
    figure = plot_plan(large_plan)
    traces, cost = by_name(figure), evaluate(large_plan)
    size, _ = byte_unit(cost.max_peak_memory)
    for device, peak in enumerate(cost.peak_memory):
        mark = traces[f"peak of device {device}"]
        line = next(trace for trace in figure.data if trace.name.startswith(f"device {device}: peak"))
        assert mark.y[0] * size == line.y.max() * size == peak
        assert line.x[line.y.argmax()] == mark.x[0]
        assert f"({peak:,} bytes)" in mark.hovertext[0]
        assert mark.hovertext[0].count("<br>") == 11
    assert MAX_POINTS >= sum(len(line.x) for line in figure.data[:3]) > MAX_POINTS / 2
    assert len(trace(large_plan)) > MAX_BARS >= sum(len(chart.x) for chart in figure.data[6:]) > MAX_BARS / 4
    steps = trace(large_plan)
    bars = chart_bars(steps, chart_rows(large_plan, steps))
    drawn = [chart for chart in figure.data[6:] if isinstance(chart, go.Bar)]
    assert sum(len(chart.x) for chart in drawn) == sum(bar.busy > 0 for bar in bars) < len(bars)
    assert len(figure.to_json()) < 1.2e6


def test_ops_and_copies_that_take_no_time_have_marks() -> None:
    graph = example_graph("branches")
    free = Plan(
        graph,
        Cluster.uniform(2),
        [0] * 12 + [1],
        [[op, RUN] for op in range(12)] + [[2 * at + 1, 1] for at in range(6)] + [[12, RUN]],
    )
    marks = by_name(plot_plan(free))["copies that take no time"]
    assert (marks.x.tolist(), marks.y.tolist()) == ([7, 8, 9, 10, 11, 12], [2] * 6)
    assert "<b>copy of reduce3:0</b>" in marks.hovertext[3]


def test_a_plan_without_duration_still_locates_its_ops() -> None:
    builder = GraphBuilder()
    builder.add_op("noop", name="first")
    builder.add_op("noop", name="second")
    figure = plot_plan(Plan(builder.build(), Cluster.uniform(1), [0, 0], [[0, RUN], [1, RUN]]))
    marks = by_name(figure)["ops on device 0 that take no time"]
    assert marks.x.tolist() == [0]
    assert "first (noop)" in marks.hovertext[0]
    assert "second (noop)" in marks.hovertext[0]
    assert figure.layout.xaxis2.range == (-1, 1)


def test_an_empty_plan_has_a_figure(empty_plan: Plan) -> None:
    figure = plot_plan(empty_plan)
    assert [trace.name for trace in figure.data[:2]] == ["device 0: peak 0 B", "device 1: peak 0 B"]
    assert len(figure.data) == 4
    assert all(np.all(np.asarray(trace.y) == 0) for trace in figure.data)


def test_names_are_no_markup(hostile_plan: Plan) -> None:
    figure = plot_plan(hostile_plan)
    texts = [text for trace in figure.data for text in trace.hovertext] + [figure.layout.title.text]
    joined = "".join(texts).replace("<b>", "").replace("</b>", "").replace("<br>", "")
    assert "<" not in joined
    assert '&lt;script&gt;alert("op")&lt;/script&gt;' in joined
    html = figure.to_html(include_plotlyjs=False)
    assert "<script>alert" not in html
    assert "</script>alert" not in html
    html.encode()


def test_wrong_plans_are_refused(diamond_plan: Plan) -> None:
    graph, cluster = diamond_plan.graph, diamond_plan.cluster
    with pytest.raises(InvalidPlan, match="rule 3"):
        plot_plan(Plan(graph, cluster, diamond_plan.placement, diamond_plan.schedule[::-1]))
    builder = GraphBuilder()
    builder.add_op("slow", runtime=1e200)
    with pytest.raises(ValueError, match="running time must be finite"):
        plot_plan(Plan(builder.build(), Cluster.uniform(1, speed=1e-200), [0], [[0, RUN]]))


def test_importing_loads_no_plotly() -> None:
    code = "import sys, regal.plot, regal.plot.html; sys.exit(any(name in sys.modules for name in ('plotly', 'torch')))"
    root = Path(regal.__file__).parents[1]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0
