"""What a search gives back."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regal.cost.cost import Cost
from regal.plan import Plan
from regal.problem import Objective, Problem

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from regal.bounds import Bound


@dataclass(frozen=True)
class Progress:
    """Where a search stands: evaluations so far, seconds so far, and the best objective value so far."""

    evaluations: int
    seconds: float
    objective_value: float


ProgressCallback = Callable[[Progress], None]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A named plan with its cost."""

    name: str
    plan: Plan
    cost: Cost


@dataclass(frozen=True, eq=False)
class Result:
    """The best plan that a method found.

    Attributes
    ----------
    problem : Problem
    plan : Plan
    cost : Cost
    method : str
    seed : int
    evaluations : int
        Plans costed, warm starts included.
    search_seconds : float
        Wall time of the search, warm starts included; loading, compilation and bounds left out.
    stop_reason : str
        ``"evaluations"``, ``"seconds"``, ``"interrupted"`` or what a rule said.
    lower_bound : Bound or None
        What no plan of the problem can go below.
    baselines : tuple of Candidate
        Heuristic plans of the same problem, for comparison.
    history : dict of str to list
        Numbers per generation, for plots.
    """

    problem: Problem
    plan: Plan
    cost: Cost
    method: str
    seed: int
    evaluations: int
    search_seconds: float
    stop_reason: str
    lower_bound: Bound | None = None
    baselines: tuple[Candidate, ...] = ()
    history: dict[str, list[float]] = field(default_factory=dict)

    @property
    def peak_memory(self) -> tuple[int, ...]:
        """Bytes per device."""
        return self.cost.peak_memory

    @property
    def running_time(self) -> float:
        """Seconds of the performance model."""
        return self.cost.running_time

    @property
    def objective_value(self) -> float:
        """Bytes, share or seconds, as the objective says."""
        return self.problem.objective_value(self.cost)

    @property
    def feasible(self) -> bool:
        """Whether every device's peak fits its memory."""
        return self.cost.feasible(self.problem.cluster)

    @property
    def excess_bytes(self) -> int:
        """Bytes by which the peaks exceed the memory, summed over devices."""
        return self.cost.excess_bytes(self.problem.cluster)

    @property
    def gap(self) -> float | None:
        """How far the plan can still be from optimal, as a share of the bound; None where that is no number."""
        if self.lower_bound is None or not 0 < self.lower_bound.value < math.inf or self.objective_value == math.inf:
            return None
        return self.objective_value / self.lower_bound.value - 1.0

    def to_json(self) -> dict[str, Any]:
        """The figures as JSON values, without the plan."""
        bound = self.lower_bound
        return {
            "graph": self.plan.graph.name,
            "devices": self.problem.cluster.num_devices,
            "objective": self.problem.objective.value,
            "objective_value": _finite(self.objective_value),
            "peak_memory": list(self.peak_memory),
            "peak_utilisation": _finite(self.cost.peak_utilisation(self.problem.cluster)),
            "running_time": self.running_time,
            "feasible": self.feasible,
            "excess_bytes": self.excess_bytes,
            "lower_bound": None if bound is None else _finite(bound.value),
            "lower_bound_certificate": None if bound is None else bound.certificate,
            "lower_bound_complete": None if bound is None else bound.complete,
            "gap": self.gap,
            "evaluations": self.evaluations,
            "search_seconds": self.search_seconds,
            "bound_seconds": None if bound is None else bound.seconds,
            "method": self.method,
            "seed": self.seed,
            "stop_reason": self.stop_reason,
            "copies": self.plan.num_copies,
            "copied_bytes": self.plan.copied_bytes,
            "baselines": {
                candidate.name: {
                    "peak_memory": list(candidate.cost.peak_memory),
                    "running_time": candidate.cost.running_time,
                }
                for candidate in self.baselines
            },
        }

    def save(self, path: str | Path) -> None:
        """Write the plan and its figures as a ``regal-plan/1`` file."""
        from regal.search.files import write_result

        write_result(self, path)

    def plot(self) -> go.Figure:
        """Memory over the schedule and a Gantt chart."""
        return self.plan.plot()

    def _repr_html_(self) -> str:
        return self.plan._repr_html_()


@dataclass(frozen=True, eq=False)
class Front:
    """The plans that nobody beats in both peak memory and running time, by ascending peak memory.

    Attributes
    ----------
    results : tuple of Result
        One per plan; each carries the bound on its peak memory.
    time_bound : Bound or None
        What no running time can go below.
    hypervolume : float
        Byte-seconds between the front and ``reference``.
    reference : tuple of (float, float)
        Bytes and seconds that the hypervolume is measured from.
    """

    problem: Problem
    results: tuple[Result, ...]
    time_bound: Bound | None
    hypervolume: float
    reference: tuple[float, float]

    def points(self) -> list[tuple[int, float]]:
        """(bytes on the fullest device, seconds) of each plan."""
        return [(result.cost.max_peak_memory, result.running_time) for result in self.results]

    def to_json(self) -> dict[str, Any]:
        """The figures as JSON values, without the plans."""
        first = self.results[0]
        return {
            **first.to_json(),
            "objective": Objective.PARETO.value,
            "time_lower_bound": None if self.time_bound is None else self.time_bound.value,
            "hypervolume": self.hypervolume,
            "reference_point": list(self.reference),
            "front": [
                {
                    "peak_memory": list(result.peak_memory),
                    "running_time": result.running_time,
                    "feasible": result.feasible,
                    "copied_bytes": result.plan.copied_bytes,
                }
                for result in self.results
            ],
        }

    def save(self, path: str | Path) -> None:
        """Write the plans and their figures as a ``regal-front/1`` file."""
        from regal.search.files import write_front

        write_front(self, path)

    def plot(self) -> go.Figure:
        """The front, with the baselines and bounds."""
        from regal.plot import plot_front

        first = self.results[0]
        return plot_front(
            [result.plan for result in self.results],
            references={candidate.name: candidate.cost for candidate in first.baselines},
            peak_memory_bound=None if first.lower_bound is None else int(first.lower_bound.value),
            running_time_bound=None if self.time_bound is None else float(self.time_bound.value),
        )


def _finite(value: float) -> float | None:
    """The value, or None where JSON has no number for it."""
    return value if value < math.inf else None
