"""The figure of a plan: memory of every device over the schedule, and a Gantt chart over model time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from regal.cost import Cost
from regal.cost.reference import Step, trace
from regal.plan import RUN, Plan, check_plan
from regal.plot.gantt import Rows, chart_bars, chart_rows, chart_traces, event_name
from regal.plot.memory import START, Levels, lifetimes, memory_levels, residents
from regal.plot.style import CAPACITY, base_layout, byte_unit, color_of, format_bytes, format_seconds, safe, time_axis

if TYPE_CHECKING:
    import plotly.graph_objects as go

MAX_POINTS = 3000
"""Most points of all memory lines together, as far as every device keeps 40."""
NUM_NAMED = 10
"""How many of a peak's largest tensors its mark names."""
REACH = 1.6
"""A capacity line is drawn where it stands below this many times the highest peak."""
MEMORY_HEIGHT, ROW_HEIGHT, MARGINS = 340, 26, 230


def plot_plan(plan: Plan) -> go.Figure:
    """Interactive figure of a plan, in two panels.

    Above, the bytes on every device over the event index; the diamond marks a device's peak and names the largest
    tensors that make it; a device's capacity is drawn where it is within reach. Below, a bar per run and copy over
    model time, on a row per device and per used link; a tick stands for ops or copies that take no time. Lines of
    large plans are thinned and bars merged, each as high as its share of busy time; peaks stay exact.

    Raises
    ------
    ValueError
        For a plan that is not valid, or whose running time is not finite.

    Examples
    --------
    >>> from regal.cluster import Cluster
    >>> from regal.graph import example_graph
    >>> plan = Plan(example_graph("chain"), Cluster.uniform(1), [0, 0, 0], [[0, -1], [1, -1], [2, -1]])
    >>> [trace.name for trace in plot_plan(plan).data]
    ['device 0: peak 130 B', 'peak of device 0', 'ops on device 0']
    """
    from plotly.subplots import make_subplots

    check_plan(plan)
    steps = trace(plan)
    levels = memory_levels(plan, steps)
    runs = [step.finish for step in steps if step.target == RUN]
    cost = Cost(tuple(level.peak for level in levels), max(runs, default=0.0))
    if not math.isfinite(cost.running_time):
        raise ValueError(f"the running time must be finite to be drawn, not {cost.running_time}")
    rows = chart_rows(plan, steps)
    chart_height = max(4, len(rows.names)) * ROW_HEIGHT
    figure = make_subplots(
        rows=2,
        subplot_titles=["Memory over the schedule", "Runs and copies over time"],
        row_heights=[MEMORY_HEIGHT, chart_height],
        vertical_spacing=min(0.5, 90 / (MEMORY_HEIGHT + chart_height)),
    )
    size, unit = byte_unit(cost.max_peak_memory)
    upper = _memory_traces(plan, steps, levels, size)
    lower = chart_traces(plan, steps, rows, chart_bars(steps, rows))
    figure.update_annotations(x=0, xanchor="left", font={"size": 14})
    figure.add_traces(upper + lower, rows=[1] * len(upper) + [2] * len(lower), cols=[1] * len(upper + lower))
    lines = capacities(plan, cost)
    for capacity, name in lines.items():
        figure.add_hline(
            capacity / size,
            row=1,
            col=1,
            line={"color": CAPACITY, "width": 1.5, "dash": "dash"},
            label={"text": name, "textposition": "start", "font": {"color": CAPACITY, "size": 12}},
        )
    figure.update_layout(**_layout(plan, cost), height=MEMORY_HEIGHT + chart_height + MARGINS)
    top = max([cost.max_peak_memory, *lines]) / size or 1
    figure.update_yaxes(title=f"memory in {unit}", range=[0, 1.08 * top], row=1, col=1)
    events = {"title": "event of the schedule", "range": [-1.5, max(len(steps), 1)], "zeroline": False}
    figure.update_xaxes(**events, dtick=1 if len(steps) <= 24 else None, row=1, col=1)
    _time_panel_axes(figure, rows, cost.running_time)
    return figure


def capacities(plan: Plan, cost: Cost) -> dict[int, str]:
    """Label of every capacity that is within reach of the highest peak, by its bytes."""
    devices: dict[int, list[int]] = {}
    for number, device in enumerate(plan.cluster.devices):
        devices.setdefault(device.memory, []).append(number)
    labels = {}
    for capacity, numbers in devices.items():
        if capacity <= REACH * cost.max_peak_memory:
            whose = "of every device" if len(devices) == 1 else f"of device {', '.join(map(str, numbers[:8]))}"
            more = ", …" if len(devices) > 1 and len(numbers) > 8 else ""
            labels[capacity] = f"capacity {whose}{more}: {format_bytes(capacity)}"
    return labels


def _memory_traces(plan: Plan, steps: Sequence[Step], levels: Sequence[Levels], size: int) -> list[go.Scatter]:
    import plotly.graph_objects as go

    alive = lifetimes(plan, steps)
    limit = max(MAX_POINTS // len(levels), 40)
    lines, marks = [], []
    for device, full in enumerate(levels):
        level = full.thinned(limit)
        group, color, peak = f"device {device}", color_of(device), full.peak
        lines.append(
            go.Scatter(
                name=f"{group}: peak {format_bytes(peak)}",
                legendgroup=group,
                mode="lines",
                line={"shape": "hv", "width": 1.8, "color": color},
                x=level.position,
                y=level.bytes / size,
                hovertext=[
                    f"{_moment(plan, steps, position)}<br>{format_bytes(num_bytes)} on {group}"
                    for position, num_bytes in zip(level.position.tolist(), level.bytes.tolist(), strict=True)
                ],
                hoverinfo="text",
            )
        )
        named = residents(plan, alive, full.peak_event, device, NUM_NAMED)
        text = [f"<b>peak of {group}: {format_bytes(peak)}</b> ({peak:,} bytes)"]
        text.append(f"{_moment(plan, steps, full.peak_event)}; the largest there:")
        text += [f"{format_bytes(resident.bytes)}  {safe(resident.name)}" for resident in named]
        marks.append(
            go.Scatter(
                name=f"peak of {group}",
                legendgroup=group,
                showlegend=False,
                mode="markers",
                marker={"symbol": "diamond", "size": 11, "color": color, "line": {"color": "white", "width": 1.5}},
                x=[full.peak_event],
                y=[peak / size],
                hovertext=["<br>".join(text)],
                hoverinfo="text",
            )
        )
    return lines + marks


def _moment(plan: Plan, steps: Sequence[Step], position: float) -> str:
    event = int(position)
    if position == START:
        return "before the first event"
    if position > event:
        return f"after event {event}"
    return f"event {event}: {event_name(plan, steps[event])}"


def _layout(plan: Plan, cost: Cost) -> dict[str, Any]:
    excess = cost.excess_bytes(plan.cluster)
    fits = f"exceeds the devices' memory by {format_bytes(excess)}" if excess else "fits the devices' memory"
    subtitle = (
        f"peak memory {format_bytes(cost.max_peak_memory)}, running time {format_seconds(cost.running_time)}, "
        f"ops {plan.graph.num_ops:,}, copies {plan.num_copies:,} ({format_bytes(plan.copied_bytes)}); {fits}"
    )
    return base_layout(f"Plan of {safe(plan.graph.name)}", subtitle) | {
        "barmode": "overlay",
        "legend": {"title": {"text": "Memory"}, "tracegroupgap": 2},
        "margin": {"l": 100, "r": 20, "t": 110, "b": 50},
    }


def _time_panel_axes(figure: go.Figure, rows: Rows, running_time: float) -> None:
    span = [-0.01 * running_time, 1.01 * running_time] if running_time else [-1, 1]
    figure.update_xaxes(**time_axis("model time"), range=span, zeroline=False, row=2, col=1)
    if not running_time:
        figure.update_xaxes(tickvals=[0], row=2, col=1)
    count = len(rows.names)
    ticks = {"tickvals": np.arange(count), "ticktext": rows.names, "showgrid": False, "zeroline": False}
    figure.update_yaxes(**ticks, range=[count - 0.4, -0.6], row=2, col=1)
