"""``regal optimize``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from regal.cli.common import check_folder, load_cluster, load_graph
from regal.cost import Cost
from regal.cost.kernels import evaluate
from regal.objective import Objective
from regal.plan import plan_from_order
from regal.plot.style import format_bytes, format_seconds
from regal.problem import Problem
from regal.search import Front, Result, lower_bound
from regal.search import Progress as SearchProgress
from regal.search import optimize as search
from regal.search.placements import best_single_device

BEFORE = "program-order, one device"


class Request(NamedTuple):
    """The options of ``regal optimize``."""

    graph: str
    dimensions: tuple[str, ...]
    devices: int
    cluster: Path | None
    objective: Objective
    method: str
    evaluations: int | None
    seconds: float | None
    seed: int
    threads: int | None
    warm_start: bool
    bound_seconds: float | None
    checkpoint: Path | None
    output: Path | None
    plot: Path | None
    as_json: bool


def run(request: Request) -> None:
    """Search, write the files, and print the result."""
    check_folder(request.output, (".json", ".json.gz"), "--output")
    check_folder(request.plot, (".html", ".json", ".png", ".svg", ".pdf"), "--plot")
    check_folder(request.checkpoint, (".npz",), "--checkpoint")
    graph = load_graph(request.graph, request.dimensions)
    problem = Problem(graph, load_cluster(request.cluster, request.devices), request.objective)
    result = _search(problem, request)
    if request.output is not None:
        result.save(request.output)
    if request.as_json:
        print(json.dumps(result.to_json(), allow_nan=False))
    elif isinstance(result, Front):
        _print_front(Console(), result)
    else:
        _print_result(Console(), result)
    if request.plot is not None:
        from regal.plot import save_figure

        save_figure(result.plot(), request.plot)


def _search(problem: Problem, request: Request) -> Result | Front:
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("loading", total=1.0)
        bound = _format(problem.objective, lower_bound(problem, 0.0).value) if console.is_terminal else ""

        def report(state: SearchProgress) -> None:
            shares = [0.0]
            if request.evaluations is not None:
                shares.append(state.evaluations / request.evaluations)
            if request.seconds is not None:
                shares.append(state.seconds / request.seconds)
            best = _format(problem.objective, state.objective_value)
            text = f"{state.evaluations} evaluations, best {best}, bound {bound}"
            bar.update(task, completed=max(shares), description=text)

        return search(
            problem.graph,
            cluster=problem.cluster,
            objective=problem.objective,
            method=request.method,
            evaluations=request.evaluations,
            seconds=request.seconds,
            seed=request.seed,
            warm_start=request.warm_start,
            threads=request.threads,
            bound_seconds=request.bound_seconds,
            progress=report if console.is_terminal else None,
            checkpoint=request.checkpoint,
        )


def _format(objective: Objective, value: float) -> str:
    if objective is Objective.RUNNING_TIME:
        return format_seconds(value)
    return f"{value:.1%}" if objective is Objective.PEAK_UTILISATION else format_bytes(int(value))


def _print_result(console: Console, result: Result) -> None:
    graph, objective = result.plan.graph, result.problem.objective
    table = Table(title=f"{escape(graph.name)}: {graph.num_ops} ops on {result.problem.cluster.num_devices} devices")
    for column in ("plan", "peak memory per device", "running time", objective.value):
        table.add_column(column, justify="left" if column == "plan" else "right")
    for name, cost in [*_compared_with(result), (result.method, result.cost)]:
        value = _format(objective, result.problem.objective_value(cost))
        table.add_row(name, _peaks(cost.peak_memory), format_seconds(cost.running_time), value)
    if result.lower_bound is not None:
        certificate = f"lower bound ({result.lower_bound.certificate})"
        table.add_row(certificate, "", "", _format(objective, result.lower_bound.value), style="dim")
    console.print(table)
    if result.gap is not None:
        console.print(f"gap to the bound: at most {result.gap:.2%}", highlight=False)
    if not result.feasible:
        console.print(f"does not fit: {format_bytes(result.excess_bytes)} too much", style="bold red", highlight=False)
    console.print(
        f"{result.evaluations} evaluations in {format_seconds(result.search_seconds)}, "
        f"stopped by {result.stop_reason}, seed {result.seed}",
        highlight=False,
    )


def _compared_with(result: Result) -> list[tuple[str, Cost]]:
    """What to print above the result: program order on one device, and the two best heuristics."""
    problem = result.problem
    placement = best_single_device(problem.graph, problem.cluster)
    before = plan_from_order(problem.graph, problem.cluster, placement, range(problem.graph.num_ops))
    others = [c for c in result.baselines if c.name != BEFORE]
    best_first = sorted(others, key=lambda candidate: problem.rank(candidate.cost))
    return [(BEFORE, evaluate(before, problem.graph_arrays)), *((c.name, c.cost) for c in best_first[:2])]


def _print_front(console: Console, front: Front) -> None:
    graph = front.problem.graph
    table = Table(title=f"{escape(graph.name)}: {len(front.results)} plans that nobody beats in both")
    for column in ("peak memory per device", "running time", "copied", "fits"):
        table.add_column(column, justify="right")
    for result in front.results:
        table.add_row(
            _peaks(result.peak_memory),
            format_seconds(result.running_time),
            format_bytes(result.plan.copied_bytes),
            "yes" if result.feasible else "no",
        )
    console.print(table)
    first = front.results[0]
    memory = "" if first.lower_bound is None else format_bytes(int(first.lower_bound.value))
    seconds = "" if front.time_bound is None else format_seconds(front.time_bound.value)
    console.print(f"lower bounds: {memory} and {seconds}; {first.evaluations} evaluations", highlight=False)


def _peaks(peaks: tuple[int, ...]) -> str:
    shown = " + ".join(format_bytes(peak) for peak in peaks[:4])
    return shown if len(peaks) <= 4 else f"{shown} + {len(peaks) - 4} more"
