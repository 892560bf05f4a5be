"""The file formats ``regal-plan/1`` and ``regal-front/1``: JSON, or JSON.gz.

A plan: ``{"format": "regal-plan/1", "graph": name, "graph_sha256": hex, "devices": D, "cluster": {...},
"placement": [device per op], "schedule": [["run", op] | ["copy", tensor, device]...], "objective": name,
"peak_memory": [bytes per device], "running_time": seconds, "feasible": bool, "lower_bound": number or null,
"search": {...}}``. The schedule holds every run and every copy, in order. ``cluster`` is as
:meth:`regal.cluster.Cluster.to_json` writes it. ``search`` is free: how the plan was found.

A front: ``{"format": "regal-front/1", "graph": name, "graph_sha256": hex, "plans": [plan...], "search": {...}}``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regal.cluster import Cluster
from regal.files import ParseError, parse_json, read_bytes, short
from regal.graph import ComputationGraph
from regal.plan.plan import RUN, Plan

PLAN_FORMAT = "regal-plan/1"
FRONT_FORMAT = "regal-front/1"
PLAN_KEYS = (
    "format",
    "graph",
    "graph_sha256",
    "devices",
    "cluster",
    "placement",
    "schedule",
    "objective",
    "peak_memory",
    "running_time",
    "feasible",
    "lower_bound",
    "search",
)
FRONT_KEYS = ("format", "graph", "graph_sha256", "plans", "search")
INT32 = 2**31


@dataclass(frozen=True, eq=False)
class PlanFile:
    """A plan and the figures that its file claims for it."""

    plan: Plan
    graph_sha256: str
    objective: str
    peak_memory: tuple[int, ...]
    running_time: float
    feasible: bool
    lower_bound: float | None
    search: dict[str, Any]


def plan_to_json(plan: Plan, figures: dict[str, Any]) -> dict[str, Any]:
    """The plan and its ``figures`` (objective, peak_memory, running_time, feasible, lower_bound, search) as JSON."""
    head = {
        "format": PLAN_FORMAT,
        "graph": plan.graph.name,
        "graph_sha256": plan.graph.sha256,
        "devices": plan.cluster.num_devices,
    }
    body = {
        "cluster": plan.cluster.to_json(),
        "placement": plan.placement.tolist(),
        "schedule": [list(event) for event in plan.events()],
    }
    return head | figures | body


def front_to_json(graph: ComputationGraph, plans: list[dict[str, Any]], search: dict[str, Any]) -> dict[str, Any]:
    """Plans of one graph, as :func:`plan_to_json` writes them, as one JSON object."""
    head = {"format": FRONT_FORMAT, "graph": graph.name, "graph_sha256": graph.sha256}
    return head | {"search": search, "plans": plans}


def read_plans(path: str | Path, graph: ComputationGraph) -> list[PlanFile]:
    """The plans of a ``regal-plan/1`` or ``regal-front/1`` file, read for ``graph``.

    Whether the plans are valid, belong to the graph and cost what the file says is another question, see
    :func:`regal.verification.verify`.

    Raises
    ------
    ValueError
        For a file that breaks the format.
    """
    value = parse_json(read_bytes(path), str(path))
    try:
        if isinstance(value, dict) and value.get("format") == FRONT_FORMAT:
            return _front(value, graph)
        return [_plan(value, graph)]
    except ValueError as error:
        raise ParseError(f"{path}: {error}") from error


def _front(value: dict[str, Any], graph: ComputationGraph) -> list[PlanFile]:
    _check_keys(value, FRONT_KEYS)
    _check_head(value)
    plans = []
    for index, plan in enumerate(_list(value, "plans")):
        try:
            plans.append(_plan(plan, graph))
            if plans[-1].graph_sha256 != value["graph_sha256"]:
                raise ValueError("graph_sha256 is not the front's")
        except ValueError as error:
            raise ValueError(f"plan {index}: {error}") from error
    if not plans:
        raise ValueError("plans must hold at least one plan")
    return plans


def _plan(value: Any, graph: ComputationGraph) -> PlanFile:
    if not isinstance(value, dict) or value.get("format") != PLAN_FORMAT:
        found = value.get("format") if isinstance(value, dict) else type(value).__name__
        raise ValueError(f"format must be {PLAN_FORMAT!r}, not {short(found)}")
    _check_keys(value, PLAN_KEYS)
    _check_head(value)
    cluster = Cluster.from_json(value["cluster"])
    if value["devices"] != cluster.num_devices or isinstance(value["devices"], bool):
        raise ValueError(f"devices is {short(value['devices'])}, but the cluster has {cluster.num_devices}")
    placement = [_integer(device, f"placement of op {op}") for op, device in enumerate(_list(value, "placement"))]
    schedule = [_event(event, place) for place, event in enumerate(_list(value, "schedule"))]
    claims = enumerate(_list(value, "peak_memory"))
    peaks = tuple(_integer(peak, f"peak_memory of device {device}", 2**63) for device, peak in claims)
    if not isinstance(value["objective"], str):
        raise ValueError(f"objective must be text, not {short(value['objective'])}")
    if not isinstance(value["feasible"], bool):
        raise ValueError(f"feasible must be true or false, not {short(value['feasible'])}")
    bound = value["lower_bound"]
    return PlanFile(
        Plan(graph, cluster, np.array(placement, np.int32), np.array(schedule, np.int32).reshape(-1, 2)),
        value["graph_sha256"],
        value["objective"],
        peaks,
        _number(value["running_time"], "running_time"),
        value["feasible"],
        None if bound is None else _number(bound, "lower_bound"),
        value["search"],
    )


def _event(event: Any, place: int) -> tuple[int, int]:
    if isinstance(event, list) and event:
        if event[0] == "run" and len(event) == 2:
            return _integer(event[1], f"schedule, event {place}: op"), RUN
        if event[0] == "copy" and len(event) == 3:
            tensor, device = event[1:]
            where = f"schedule, event {place}:"
            return _integer(tensor, f"{where} tensor"), _integer(device, f"{where} device")
    raise ValueError(f'schedule, event {place}: must be ["run", op] or ["copy", tensor, device], not {short(event)}')


def _check_keys(value: dict[str, Any], keys: tuple[str, ...]) -> None:
    for key in keys:
        if key not in value:
            raise ValueError(f"{key} is missing")
    for key in value:
        if key not in keys:
            raise ValueError(f"unknown key {short(key)}")


def _check_head(value: dict[str, Any]) -> None:
    for key in ("graph", "graph_sha256"):
        if not isinstance(value[key], str):
            raise ValueError(f"{key} must be text, not {short(value[key])}")
    if not isinstance(value["search"], dict):
        raise ValueError(f"search must be an object, not {short(value['search'])}")


def _list(value: dict[str, Any], key: str) -> list[Any]:
    if not isinstance(value[key], list):
        raise ValueError(f"{key} must be a list, not {short(value[key])}")
    return value[key]


def _integer(value: Any, where: str, bound: int = INT32) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < bound:
        raise ValueError(f"{where} must be an integer from 0 to {bound - 1}, not {short(value)}")
    return value


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{where} must be a number, not {short(value)}")
    if (isinstance(value, int) and abs(value) >= 2**63) or not math.isfinite(value) or value < 0:
        raise ValueError(f"{where} must be finite and not negative, not {short(value)}")
    return value
