"""Results as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from regal.files import write_json
from regal.plan.json_io import front_to_json, plan_to_json
from regal.search.result import Front, Result


def write_result(result: Result, path: str | Path) -> None:
    """Write a ``regal-plan/1`` file, replaced atomically."""
    write_json(path, result_to_json(result))


def write_front(front: Front, path: str | Path) -> None:
    """Write a ``regal-front/1`` file, replaced atomically."""
    first = front.results[0]
    search = _search(first) | {
        "hypervolume": front.hypervolume,
        "reference_point": list(front.reference),
        "time_lower_bound": None if front.time_bound is None else front.time_bound.value,
    }
    plans = [result_to_json(result) for result in front.results]
    write_json(path, front_to_json(first.plan.graph, plans, search))


def result_to_json(result: Result) -> dict[str, Any]:
    """The ``regal-plan/1`` object of a result."""
    bound = result.lower_bound
    figures = {
        "objective": result.problem.objective.value,
        "peak_memory": list(result.peak_memory),
        "running_time": result.running_time,
        "feasible": result.feasible,
        "lower_bound": None if bound is None or bound.value == float("inf") else bound.value,
        "search": _search(result),
    }
    return plan_to_json(result.plan, figures)


def _search(result: Result) -> dict[str, Any]:
    return {
        "method": result.method,
        "seed": result.seed,
        "evaluations": result.evaluations,
        "search_seconds": result.search_seconds,
        "stop_reason": result.stop_reason,
    }
