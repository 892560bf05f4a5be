"""Recompute everything that a plan file says, with the plain reference and nothing that made the plan."""

from __future__ import annotations

from pathlib import Path

from regal.cost.reference import evaluate
from regal.graph import ComputationGraph
from regal.plan import check_plan
from regal.plan.json_io import PlanFile, read_plans
from regal.problem import Objective, Problem


class VerificationError(ValueError):
    """A plan file is well-formed, but its plan or a figure of it is wrong; the message says what."""


def verify(graph: ComputationGraph, path: str | Path) -> list[PlanFile]:
    """Check a plan or front file against ``graph``, on the plan's own cluster.

    The graph's hash, every rule of a valid plan, peak memory to the byte, running time to the last bit, feasibility,
    and that no lower bound lies above the objective.

    Raises
    ------
    VerificationError
        When a plan or a figure is wrong, or the plan is of another graph.
    ValueError
        When the file breaks the format.
    """
    plans = read_plans(path, graph)
    for index, claim in enumerate(plans):
        try:
            _verify_plan(graph, claim)
        except ValueError as error:
            where = f"plan {index}: " if len(plans) > 1 else ""
            raise VerificationError(f"{path}: {where}{error}") from error
    return plans


def _verify_plan(graph: ComputationGraph, claim: PlanFile) -> None:
    if claim.graph_sha256 != graph.sha256:
        raise VerificationError(
            f"the plan is of another graph: its graph_sha256 is {claim.graph_sha256[:64]!r}, "
            f"this graph's is {graph.sha256!r}"
        )
    cluster = claim.plan.cluster
    objective = Objective.of(claim.objective)
    problem = Problem(graph, cluster, objective)
    check_plan(claim.plan)
    cost = evaluate(claim.plan)
    _equal("number of peak_memory entries", len(claim.peak_memory), cluster.num_devices)
    for device, (claimed, computed) in enumerate(zip(claim.peak_memory, cost.peak_memory, strict=True)):
        _equal(f"peak_memory of device {device}", claimed, computed)
    _equal("running_time", claim.running_time, cost.running_time)
    _equal("feasible", claim.feasible, cost.feasible(cluster))
    value = problem.objective_value(cost)
    if claim.lower_bound is not None and claim.lower_bound > value:
        raise VerificationError(f"lower_bound {claim.lower_bound} lies above the plan's {objective.value} {value}")


def _equal(name: str, claimed: object, computed: object) -> None:
    if claimed != computed:
        raise VerificationError(f"{name} is {computed}, but the file says {claimed}")
