"""Previews of graphs and plans for notebooks: a small table and curves as inline SVG, without JavaScript."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from regal.cost import Cost
from regal.cost.reference import trace
from regal.graph import NO_PRODUCER, ComputationGraph
from regal.plan import RUN, InvalidPlan, Plan, check_plan
from regal.plot.memory import START, Levels, memory_levels
from regal.plot.style import color_of, format_bytes, format_seconds, safe

MAX_DEVICES = 16
"""Most devices of a plan's table: the fullest."""
MAX_POINTS = 240
"""Most levels of a curve."""
WIDTH, HEIGHT, MARGIN = 360, 44, 4


def graph_to_html(graph: ComputationGraph) -> str:
    """HTML preview of a graph: counts, sizes, depth, and the memory of its program order on one device."""
    levels = program_order_levels(graph)
    written = graph.producer != NO_PRODUCER
    depth = op_depths(graph)
    at = levels.peak_event
    peak_at = "before the first op" if at == START else f"at {safe(graph.describe_op(at), quote=True)}"
    types = Counter(graph.op_types).most_common(4)
    rows = [
        ("ops", f"{graph.num_ops:,} ({', '.join(f'{safe(name, 40, True)} {count:,}' for name, count in types)})"),
        ("tensors", f"{graph.num_tensors:,}, of which {graph.num_activations:,} activations"),
        ("persistent", format_bytes(int(graph.tensor_bytes[~written].sum()))),
        ("activations", format_bytes(int(graph.tensor_bytes[written].sum()))),
        ("runtime", f"{format_seconds(float(graph.runtime.sum()))} in total"),
        ("depth", f"{depth.max(initial=-1) + 1:,} levels, up to {np.bincount(depth).max(initial=0):,} ops wide"),
        ("peak memory", f"{format_bytes(levels.peak)} in program order on one device, {peak_at}"),
        ("memory", sparkline(levels, levels.peak, color_of(0))),
    ]
    return card(f"Graph {safe(graph.name, quote=True)}", table(([name, value] for name, value in rows)))


def plan_to_html(plan: Plan) -> str:
    """HTML preview of a plan: what it costs, and the memory of each device over its schedule.

    A plan that is not valid shows the rule that it breaks.
    """
    title = f"Plan of {safe(plan.graph.name, quote=True)}"
    try:
        check_plan(plan)
    except InvalidPlan as error:
        return card(title, f"<div>not valid: {safe(str(error), 400, True)}</div>")
    steps = trace(plan)
    levels = memory_levels(plan, steps)
    runs = [step.finish for step in steps if step.target == RUN]
    cost = Cost(tuple(level.peak for level in levels), max(runs, default=0.0))
    excess = cost.excess_bytes(plan.cluster)
    summary = table(
        [
            ["peak memory", f"{format_bytes(cost.max_peak_memory)} on the fullest device"],
            ["running time", format_seconds(cost.running_time)],
            ["ops", f"{plan.graph.num_ops:,}"],
            ["copies", f"{plan.num_copies:,}, {format_bytes(plan.copied_bytes)}"],
            ["feasible", f"no, exceeds the devices' memory by {format_bytes(excess)}" if excess else "yes"],
        ]
    )
    return card(title, summary + _device_table(plan, cost, levels))


def _device_table(plan: Plan, cost: Cost, levels: list[Levels]) -> str:
    num_ops = np.bincount(plan.placement, minlength=len(levels)).tolist()
    fullest = sorted(range(len(levels)), key=lambda device: -cost.peak_memory[device])[:MAX_DEVICES]
    rows = [["device", "ops", "peak", "capacity", "memory over the schedule"]]
    for device in sorted(fullest):
        rows.append(
            [
                f"{device}",
                f"{num_ops[device]:,}",
                format_bytes(cost.peak_memory[device]),
                format_bytes(plan.cluster.devices[device].memory),
                sparkline(levels[device], cost.max_peak_memory, color_of(device)),
            ]
        )
    left_out = len(levels) - len(fullest)
    return table(rows, header=True) + (f"<div>and {left_out:,} devices with lower peaks</div>" if left_out else "")


def program_order_levels(graph: ComputationGraph) -> Levels:
    """Memory levels of the plan that runs a graph in program order on one device, without replaying it."""
    last_use = np.where(graph.is_output, graph.num_ops, graph.producer)
    reads = ~graph.is_output[graph.inputs.values]
    np.maximum.at(last_use, graph.inputs.values[reads], graph.inputs.row_of_value[reads])
    activations = graph.activations
    added, freed = np.zeros((2, graph.num_ops + 1), np.int64)
    np.add.at(added, graph.producer[activations], graph.tensor_bytes[activations])
    np.add.at(freed, last_use[activations], graph.tensor_bytes[activations])
    persistent = (graph.producer == NO_PRODUCER) & (graph.consumers.counts > 0)
    start = int(graph.tensor_bytes[persistent].sum())
    after = start + np.cumsum(added - freed)[: graph.num_ops]
    during = after + freed[: graph.num_ops] + graph.workspace
    events = np.arange(graph.num_ops, dtype=np.float64)
    position = np.concatenate([[float(START)], np.column_stack([events, events + 0.5]).ravel()])
    return Levels(position, np.concatenate([[start], np.column_stack([during, after]).ravel()]).astype(np.int64))


def op_depths(graph: ComputationGraph) -> NDArray[np.int64]:
    """int64 array, shape (num_ops,): the number of ops on the longest path to each op, itself not counted."""
    depth: list[int] = []
    for before in graph.predecessors.to_lists():
        depth.append(1 + max((depth[op] for op in before), default=-1))
    return np.array(depth, np.int64)


def sparkline(levels: Levels, top: int, color: str) -> str:
    """Inline SVG of memory levels as a stepped area from 0 to ``top`` bytes; a dot stands on the peak."""
    shown = levels.thinned(MAX_POINTS)
    end = max(float(levels.position[-1]) + 0.5, 1.0)
    x = MARGIN + (shown.position - START) / (end - START) * (WIDTH - 2 * MARGIN)
    y = HEIGHT - MARGIN - shown.bytes / max(top, 1) * (HEIGHT - 2 * MARGIN)
    path, right, base = f"M{x[0]:.1f} {y[0]:.1f}", WIDTH - MARGIN, HEIGHT - MARGIN
    path += "".join(f"H{across:.1f}V{up:.1f}" for across, up in zip(x[1:], y[1:], strict=True)) + f"H{right}"
    at = shown.bytes.argmax()
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'role="img"><title>memory over the schedule, peak {format_bytes(levels.peak)}</title>'
        f'<path d="{path}V{base}H{MARGIN}Z" fill="{color}" fill-opacity="0.18"/>'
        f'<path d="{path}" fill="none" stroke="{color}" stroke-width="1.3"/>'
        f'<circle cx="{x[at]:.1f}" cy="{y[at]:.1f}" r="2.8" fill="{color}"/></svg>'
    )


def card(title: str, body: str) -> str:
    """HTML of a titled box."""
    return f'<div style="font-size: 13px"><div style="font-weight: 600">{title}</div>{body}</div>'


def table(rows: Iterable[Sequence[str]], header: bool = False) -> str:
    """HTML of a table; with ``header`` the first row is one. Cells are HTML already."""
    style = 'style="text-align: left; padding: 1px 12px 1px 0; vertical-align: middle"'
    lines = []
    for at, row in enumerate(rows):
        tag = "th" if header and at == 0 else "td"
        lines.append("<tr>" + "".join(f"<{tag} {style}>{cell}</{tag}>" for cell in row) + "</tr>")
    return '<table style="border-collapse: collapse">' + "".join(lines) + "</table>"
