import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from regal.cluster import Cluster
from regal.cost.reference import trace
from regal.graph import ComputationGraph, GraphBuilder, example_graph
from regal.plan import RUN, Plan
from regal.plot.html import MAX_DEVICES, graph_to_html, op_depths, plan_to_html, program_order_levels
from regal.plot.memory import memory_levels

SVG = "{http://www.w3.org/2000/svg}"


def cells(html: str) -> dict[str, list[str]]:
    """Rows of all tables, by first cell; the page must be well-formed."""
    rows = ElementTree.fromstring(html).iter("tr")
    return {row[0].text or "": ["".join(cell.itertext()) for cell in row[1:]] for row in rows}


def test_plan_preview_holds_the_costs(diamond_plan: Plan) -> None:
    html = plan_to_html(diamond_plan)
    assert html == diamond_plan._repr_html_()
    rows = cells(html)
    assert rows["peak memory"] == ["88 B on the fullest device"]
    assert rows["running time"] == ["16.0 s"]
    assert rows["copies"] == ["2, 72 B"]
    assert rows["feasible"] == ["yes"]
    assert rows["0"][:3] == ["3", "70 B", "100 B"]
    assert rows["1"][:3] == ["1", "88 B", "90 B"]


def test_plan_preview_says_what_does_not_fit(diamond_plan: Plan) -> None:
    small = Plan(diamond_plan.graph, Cluster.uniform(2, memory=80), diamond_plan.placement, diamond_plan.schedule)
    assert cells(plan_to_html(small))["feasible"] == ["no, exceeds the devices' memory by 8 B"]


def test_plan_preview_of_a_wrong_plan_names_the_rule(diamond_plan: Plan) -> None:
    wrong = Plan(diamond_plan.graph, diamond_plan.cluster, [0, 0, 9, 0], diamond_plan.schedule)
    text = "".join(ElementTree.fromstring(plan_to_html(wrong)).itertext())
    assert "not valid: rule 1: op 2 'c' is on device 9, but there are 2 devices" in text


def test_sparklines_share_a_scale_and_mark_the_peak(diamond_plan: Plan) -> None:
    heights = []
    for drawing in ElementTree.fromstring(plan_to_html(diamond_plan)).iter(f"{SVG}svg"):
        circle, line = drawing.find(f"{SVG}circle"), drawing.findall(f"{SVG}path")[1]
        assert circle is not None
        ys = [float(value) for value in re.findall(r"V([\d.]+)", line.get("d", ""))]
        assert float(circle.get("cy", "nan")) == min(ys)
        heights.append(40 - min(ys))
    assert heights == pytest.approx([36 * 70 / 88, 36], abs=0.06)


def test_many_devices_show_the_fullest() -> None:
    count = MAX_DEVICES + 4
    builder = GraphBuilder()
    for op in range(count):
        builder.add_op("make", outputs=[builder.add_tensor(op + 1)])
    plan = Plan(builder.build(), Cluster.uniform(count), range(count), [[op, RUN] for op in range(count)])
    rows = cells(plan_to_html(plan))
    assert [device for device in rows if device.isdigit()] == [f"{device}" for device in range(4, count)]
    assert "and 4 devices with lower peaks" in plan_to_html(plan)


def test_graph_preview() -> None:
    graph = example_graph("diamond")
    html = graph_to_html(graph)
    assert html == graph._repr_html_()
    rows = cells(html)
    assert rows["ops"] == ["4 (split 1, narrow 1, widen 1, join 1)"]
    assert rows["tensors"] == ["4, of which 4 activations"]
    assert rows["activations"] == ["78 B"]
    assert rows["runtime"] == ["7.00 s in total"]
    assert rows["depth"] == ["3 levels, up to 2 ops wide"]
    assert rows["peak memory"] == ["92 B in program order on one device, at op 2 'c'"]  # 8 + 4 + 64 + 16


def with_unread_tensors() -> ComputationGraph:
    """An unread activation, an output with and without readers, a parameter that nobody reads."""
    builder = GraphBuilder()
    unread, kept, last = builder.add_tensor(5), builder.add_tensor(7, is_output=True), builder.add_tensor(11)
    builder.add_tensor(1000)
    builder.add_op("make", inputs=[builder.add_tensor(100)], outputs=[unread, kept], workspace=3)
    builder.add_op("read", inputs=[kept], outputs=[last])
    builder.mark_output(last)
    return builder.build()


def test_program_order_levels_equal_the_trace(large_plan: Plan) -> None:
    for graph in (with_unread_tensors(), example_graph("branches"), example_graph("chain"), large_plan.graph):
        events = np.column_stack([np.arange(graph.num_ops), np.full(graph.num_ops, RUN)])
        plan = Plan(graph, Cluster.uniform(1), np.zeros(graph.num_ops), events)
        (expected,) = memory_levels(plan, trace(plan))
        levels = program_order_levels(graph)
        assert np.array_equal(levels.position, expected.position)
        assert np.array_equal(levels.bytes, expected.bytes)


def test_depths() -> None:
    assert op_depths(example_graph("branches")).tolist() == [0] * 6 + [1] * 6 + [2]


def test_previews_of_nothing(empty_plan: Plan) -> None:
    rows = cells(graph_to_html(empty_plan.graph))
    assert rows["ops"] == ["0 ()"]
    assert rows["depth"] == ["0 levels, up to 0 ops wide"]
    assert rows["peak memory"] == ["0 B in program order on one device, before the first op"]
    assert cells(plan_to_html(empty_plan))["running time"] == ["0 s"]


def test_names_are_text(hostile_plan: Plan) -> None:
    for html in (graph_to_html(hostile_plan.graph), plan_to_html(hostile_plan)):
        root = ElementTree.fromstring(html)
        html.encode()
        assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
            "div", "table", "tr", "td", "th", "svg", "title", "path", "circle",
        }  # fmt: skip
        assert "<script>alert('graph')</script>" in "".join(root.itertext())
        assert "<script" not in html


def test_previews_stay_small(large_plan: Plan) -> None:
    assert len(plan_to_html(large_plan)) < 25_000
    assert len(graph_to_html(large_plan.graph)) < 10_000
