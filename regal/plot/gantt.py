"""The Gantt chart of a plan: bars and marks over model time, a row per device and per used link."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regal.cost.reference import Step
from regal.plan import RUN, Plan
from regal.plot.memory import tensor_name
from regal.plot.style import NEUTRAL, color_of, format_bytes, format_seconds, safe

if TYPE_CHECKING:
    import plotly.graph_objects as go

MAX_BARS = 2400
"""Most bars and marks of a chart; beyond it, neighbours in time are merged."""
BAR_HEIGHT = 0.72
"""Height of a bar in rows; a merged bar is lower by the share of its time in which nothing happens."""
MAX_LINKS = 40
"""Most links with a row of their own: those with the most bytes; further links share one row."""
MAX_NAMED = 3
"""Most events that the hover text of a merged bar names: those that take longest."""


class Bar(NamedTuple):
    """Events that are drawn as one: a bar, or a mark where none of them takes time.

    ``busy`` is the share of the time from ``start`` to ``finish``, in seconds, that the events take; 0 for a mark.
    """

    row: int
    start: float
    finish: float
    busy: float
    events: list[int]


class Rows(NamedTuple):
    """The rows of a chart: their names, and the row of each event."""

    names: list[str]
    row_of_event: list[int]


def chart_rows(plan: Plan, steps: Sequence[Step]) -> Rows:
    """Devices first, then the used links in order of source and target."""
    num_devices = plan.cluster.num_devices
    home = plan.placement[plan.graph.producer].tolist() if plan.graph.num_ops else []
    sizes = plan.graph.tensor_bytes.tolist()
    sent: Counter[tuple[int, int]] = Counter()
    for step in steps:
        if step.target != RUN:
            sent[home[step.what], step.target] += sizes[step.what]
    shown = sorted(link for link, _ in sent.most_common(MAX_LINKS))
    row_of_link = {link: num_devices + row for row, link in enumerate(shown)}
    rows = [
        step.device if step.target == RUN else row_of_link.get((home[step.what], step.target), num_devices + len(shown))
        for step in steps
    ]
    names = [f"device {device}" for device in range(num_devices)]
    names += [f"link {source} → {target}" for source, target in shown]
    return Rows(names + ["other links"] * (len(sent) > len(shown)), rows)


def chart_bars(steps: Sequence[Step], rows: Rows, limit: int = MAX_BARS) -> list[Bar]:
    """One bar per event; events of a row that take no time at the same moment are one mark.

    Where these are more than ``limit``, time is cut into equal slices, as many as the limit allows, and the events of
    a row that start in the same slice become one bar and one mark at most: ``max(limit, 2 · rows)`` or fewer remain.
    """
    start = np.array([step.start for step in steps], np.float64)
    finish = np.array([step.finish for step in steps], np.float64)
    zero = finish <= start
    lane = 2 * np.array(rows.row_of_event, np.int64) + zero
    slot = np.where(zero, start, np.arange(len(steps)))
    bars = _grouped(steps, lane, slot)
    if len(bars) <= limit:
        return bars
    when = start / (finish.max() or 1.0)
    slot = np.zeros(len(steps), np.int64)
    for slices in (2**power for power in range(1, 21)):
        finer = np.minimum((when * slices).astype(np.int64), slices - 1)
        if len(np.unique(lane * slices + finer)) > limit:
            break
        slot = finer
    return _grouped(steps, lane, slot)


def _grouped(steps: Sequence[Step], lane: NDArray[np.int64], slot: NDArray) -> list[Bar]:
    """One bar per pair of lane (twice the row, plus one for events without duration) and slot, by lane and start."""
    starts = np.array([step.start for step in steps], np.float64)
    groups: dict[tuple[int, float], list[int]] = {}
    lanes, slots = lane.tolist(), slot.tolist()
    for event in np.lexsort((starts, lane)).tolist():
        groups.setdefault((lanes[event], slots[event]), []).append(event)
    bars = []
    for (number, _), events in groups.items():
        start, finish = steps[events[0]].start, max(steps[event].finish for event in events)
        busy = sum(steps[event].finish - steps[event].start for event in events)
        bars.append(Bar(number // 2, start, finish, min(busy / (finish - start), 1.0) if busy else 0.0, events))
    return bars


def chart_traces(plan: Plan, steps: Sequence[Step], rows: Rows, bars: Sequence[Bar]) -> list[go.Bar | go.Scatter]:
    """Plotly traces: per device, and for all links together, one of bars and one of marks where there are any."""
    num_devices = plan.cluster.num_devices
    owners: dict[tuple[int, bool], list[Bar]] = {}
    for bar in bars:
        owners.setdefault((min(bar.row, num_devices), bar.busy > 0), []).append(bar)
    traces = []
    for (owner, takes_time), group in sorted(owners.items()):
        device = owner if owner < num_devices else None
        traces.append((_bar_trace if takes_time else _mark_trace)(plan, steps, device, group))
    return traces


def _bar_trace(plan: Plan, steps: Sequence[Step], device: int | None, bars: Sequence[Bar]) -> go.Bar:
    import plotly.graph_objects as go

    color = NEUTRAL if device is None else color_of(device)
    return go.Bar(
        name="copies" if device is None else f"ops on device {device}",
        legendgroup="copies" if device is None else f"device {device}",
        showlegend=False,
        orientation="h",
        base=np.array([bar.start for bar in bars]),
        x=np.array([bar.finish - bar.start for bar in bars]),
        y=np.array([bar.row for bar in bars], np.int32),
        width=BAR_HEIGHT * np.array([max(bar.busy, 0.1) for bar in bars]),
        marker={
            "color": (np.arange(len(bars)) % 2).astype(np.int8),
            "cmin": 0,
            "cmax": 1,
            "colorscale": [[0, color], [1, lighter(color)]],
            "line": {"width": 0},
        },
        hovertext=[describe_bar(plan, steps, bar) for bar in bars],
        hoverinfo="text",
    )


def _mark_trace(plan: Plan, steps: Sequence[Step], device: int | None, bars: Sequence[Bar]) -> go.Scatter:
    import plotly.graph_objects as go

    color = NEUTRAL if device is None else color_of(device)
    return go.Scatter(
        name="copies that take no time" if device is None else f"ops on device {device} that take no time",
        legendgroup="copies" if device is None else f"device {device}",
        showlegend=False,
        mode="markers",
        x=np.array([bar.start for bar in bars]),
        y=np.array([bar.row for bar in bars], np.int32),
        marker={"symbol": "line-ns-open", "size": 13, "color": color, "line": {"width": 1.5, "color": color}},
        hovertext=[describe_bar(plan, steps, bar) for bar in bars],
        hoverinfo="text",
    )


def lighter(color: str) -> str:
    """A ``#rrggbb`` colour halfway to white: neighbouring bars take turns.

    Examples
    --------
    >>> lighter("#0072B2")
    '#7fb8d8'
    """
    return "#" + "".join(f"{(int(color[at : at + 2], 16) + 255) // 2:02x}" for at in (1, 3, 5))


def describe_bar(plan: Plan, steps: Sequence[Step], bar: Bar) -> str:
    """Hover text of a bar, as markup: one event in full, or how many there are and the longest of them."""
    if len(bar.events) == 1:
        return describe_event(plan, steps, bar.events[0])
    longest = sorted(bar.events, key=lambda event: (steps[event].start - steps[event].finish, event))[:MAX_NAMED]
    kind = "ops" if steps[bar.events[0]].target == RUN else "copies"
    when = f"at {format_seconds(bar.start)}"
    if bar.finish > bar.start:
        when = f"from {format_seconds(bar.start)} to {format_seconds(bar.finish)}"
    if bar.busy:
        when += f", busy {bar.busy:.0%}"
    lines = [f"<b>{len(bar.events)} {kind} {when}</b>"]
    for event in longest:
        step = steps[event]
        took = f", {format_seconds(step.finish - step.start)}" if step.finish > step.start else ""
        lines.append(f"event {event}: {event_name(plan, step)}{took}")
    if len(bar.events) > len(longest):
        lines.append(f"and {len(bar.events) - len(longest)} more")
    return "<br>".join(lines)


def describe_event(plan: Plan, steps: Sequence[Step], event: int) -> str:
    """Hover text of one event, as markup."""
    graph, step = plan.graph, steps[event]
    times = f"start {format_seconds(step.start)}, finish {format_seconds(step.finish)}"
    if step.target == RUN:
        written = format_bytes(int(graph.tensor_bytes[graph.outputs[step.what]].sum()))
        workspace = format_bytes(int(graph.workspace[step.what]))
        where, sizes = f"op {step.what} on device {step.device}", f"outputs {written}, workspace {workspace}"
    else:
        home = int(plan.placement[graph.producer[step.what]])
        where, sizes = (
            f"tensor {step.what}, device {home} → {step.target}",
            format_bytes(int(graph.tensor_bytes[step.what])),
        )
    return f"<b>{event_name(plan, step)}</b><br>event {event}, {where}<br>{times}<br>{sizes}"


def event_name(plan: Plan, step: Step) -> str:
    """``conv1 (conv2d)`` for a run, ``copy of conv1:0`` for a copy, as markup."""
    graph = plan.graph
    if step.target == RUN:
        return f"{safe(graph.op_names[step.what])} ({safe(graph.op_types[step.what], 40)})"
    return f"copy of {safe(tensor_name(graph, step.what))}"
