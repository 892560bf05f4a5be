from collections import Counter

import pytest

from regal.cluster import Cluster
from regal.cost.reference import trace
from regal.graph import GraphBuilder
from regal.plan import RUN, Plan
from regal.plot.gantt import MAX_LINKS, Bar, chart_bars, chart_rows, describe_bar


def test_bars_of_the_diamond(diamond_plan: Plan) -> None:
    steps = trace(diamond_plan)
    rows = chart_rows(diamond_plan, steps)
    assert rows.names == ["device 0", "device 1", "link 0 → 1", "link 1 → 0"]
    assert chart_bars(steps, rows) == [
        Bar(0, 0.0, 1.0, 1.0, [0]),
        Bar(0, 1.0, 3.0, 1.0, [2]),
        Bar(0, 15.0, 16.0, 1.0, [5]),
        Bar(1, 3.0, 6.0, 1.0, [3]),
        Bar(2, 1.0, 3.0, 1.0, [1]),  # a latency of 1 s, then 8 bytes at 8 bytes a second
        Bar(3, 6.0, 15.0, 1.0, [4]),
    ]


def test_events_without_duration_at_one_moment_share_a_mark() -> None:
    builder = GraphBuilder()
    for op, runtime in enumerate([0.0, 0.0, 2.0, 0.0]):
        builder.add_op("noop", name=f"op{op}", runtime=runtime)
    plan = Plan(builder.build(), Cluster.uniform(1), [0] * 4, [[op, RUN] for op in range(4)])
    steps = trace(plan)
    bars = chart_bars(steps, chart_rows(plan, steps))
    assert bars == [Bar(0, 0.0, 2.0, 1.0, [2]), Bar(0, 0.0, 0.0, 0.0, [0, 1]), Bar(0, 2.0, 2.0, 0.0, [3])]
    text = describe_bar(plan, steps, bars[1])
    assert text == "<b>2 ops at 0 s</b><br>event 0: op0 (noop)<br>event 1: op1 (noop)"


@pytest.mark.parametrize("limit", [20, 100, 1000])
def test_merging_bounds_the_bars_and_loses_no_event(large_plan: Plan, limit: int) -> None:
    steps = trace(large_plan)
    rows = chart_rows(large_plan, steps)
    bars = chart_bars(steps, rows, limit)
    assert max(limit, 2 * len(rows.names)) >= len(bars) > limit / 4
    assert sorted(event for bar in bars for event in bar.events) == list(range(len(steps)))
    for bar in bars:
        group = [steps[event] for event in bar.events]
        assert {rows.row_of_event[event] for event in bar.events} == {bar.row}
        assert bar.start == min(step.start for step in group)
        assert bar.finish == max(step.finish for step in group)
        assert {step.finish > step.start for step in group} == {bar.busy > 0}
        assert bar.busy <= 1
    busy = Counter[int]()
    for bar in bars:
        busy[bar.row] += bar.busy * (bar.finish - bar.start)
    for device in range(3):
        expected = sum(step.finish - step.start for step in steps if step.target == RUN and step.device == device)
        assert busy[device] == pytest.approx(expected)


def test_a_merged_bar_names_its_longest_events(large_plan: Plan) -> None:
    steps = trace(large_plan)
    bar = max(chart_bars(steps, chart_rows(large_plan, steps), 50), key=lambda bar: len(bar.events))
    longest = max(bar.events, key=lambda event: steps[event].finish - steps[event].start)
    lines = describe_bar(large_plan, steps, bar).split("<br>")
    assert lines[0].startswith(f"<b>{len(bar.events)} ops from ")
    assert lines[1].startswith(f"event {longest}: layer{steps[longest].what}.relu (relu), ")
    assert lines[-1] == f"and {len(bar.events) - 3} more"


def test_links_beyond_the_rows_share_one() -> None:
    # op i on device i sends i + 1 bytes to the last op: one link each
    num_devices = MAX_LINKS + 3
    builder = GraphBuilder()
    tensors = [builder.add_tensor(op + 1) for op in range(num_devices - 1)]
    for tensor in tensors:
        builder.add_op("make", outputs=[tensor])
    builder.add_op("join", inputs=tensors)
    events = [(op, RUN) for op in range(num_devices - 1)] + [(tensor, num_devices - 1) for tensor in tensors]
    plan = Plan(builder.build(), Cluster.uniform(num_devices), range(num_devices), [*events, (num_devices - 1, RUN)])
    rows = chart_rows(plan, trace(plan))
    assert len(rows.names) == num_devices + MAX_LINKS + 1
    assert rows.names[num_devices] == f"link 2 → {num_devices - 1}"  # the two smallest have no row
    assert rows.names[-1] == "other links"
    assert rows.row_of_event.count(len(rows.names) - 1) == 2
