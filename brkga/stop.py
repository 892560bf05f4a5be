"""Stop rules: small callables that look at the state of a search and name a reason to stop."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Fitness = float | NDArray[np.float64]
"""A float, or float64 of shape (columns,) that is compared lexicographically; lower is better."""


class State(NamedTuple):
    """What stop rules and callbacks see of a search.

    Attributes
    ----------
    generation : int
        Generations bred since the initial population, which is generation 0.
    evaluations : int
        Rows decoded so far.
    next_evaluations : int
        Rows that the next generation will decode.
    seconds : float
        Seconds spent searching, earlier runs of a resumed search included.
    best_fitness : float, or float64 of shape (columns,)
        Best so far.
    cutoff : float, or float64 of shape (columns,)
        Fitness of the worst elite.
    stalled : int
        Generations since the best fitness improved.
    """

    generation: int
    evaluations: int
    next_evaluations: int
    seconds: float
    best_fitness: Fitness
    cutoff: Fitness
    stalled: int


StopRule = Callable[[State], str | None]
"""A reason to stop, or None to go on."""


@dataclass(frozen=True)
class MaxGenerations:
    """Stop after ``limit`` generations (the initial population is generation 0); reason ``"generations"``."""

    limit: int

    def __post_init__(self) -> None:
        _check_count("MaxGenerations", self.limit, 0)

    def __call__(self, state: State) -> str | None:
        """The reason to stop at ``state``, or None."""
        return "generations" if state.generation >= self.limit else None


@dataclass(frozen=True)
class MaxEvaluations:
    """Stop before a generation that would decode more than ``limit`` rows in all; reason ``"evaluations"``.

    Examples
    --------
    >>> rule = MaxEvaluations(1000)
    >>> state = State(11, 980, 80, 0.1, 1.0, 2.0, 0)
    >>> rule(state), rule(state._replace(evaluations=900))
    ('evaluations', None)
    """

    limit: int

    def __post_init__(self) -> None:
        _check_count("MaxEvaluations", self.limit, 1)

    def __call__(self, state: State) -> str | None:
        """The reason to stop at ``state``, or None."""
        return "evaluations" if state.evaluations + state.next_evaluations > self.limit else None


@dataclass(frozen=True)
class MaxSeconds:
    """Stop once ``limit`` seconds were spent, by whole generations; reason ``"seconds"``."""

    limit: float

    def __post_init__(self) -> None:
        if not self.limit >= 0.0:
            raise ValueError(f"MaxSeconds must be at least 0, got {self.limit}")

    def __call__(self, state: State) -> str | None:
        """The reason to stop at ``state``, or None."""
        return "seconds" if state.seconds >= self.limit else None


@dataclass(frozen=True)
class Target:
    """Stop once the best fitness is at most ``value``, one number for each fitness column; reason ``"target"``."""

    value: float | Sequence[float] | NDArray[np.float64]

    def __post_init__(self) -> None:
        if any(math.isnan(number) for number in _columns(self.value)):
            raise ValueError(f"Target must be a number, got {self.value}")

    def __call__(self, state: State) -> str | None:
        """The reason to stop at ``state``, or None."""
        best, value = _columns(state.best_fitness), _columns(self.value)
        if len(best) != len(value):
            raise ValueError(f"Target must have {len(best)} fitness columns, got {len(value)}")
        return "target" if best <= value else None


@dataclass(frozen=True)
class Stall:
    """Stop after ``generations`` in a row that did not improve the best fitness; reason ``"stall"``."""

    generations: int

    def __post_init__(self) -> None:
        _check_count("Stall", self.generations, 1)

    def __call__(self, state: State) -> str | None:
        """The reason to stop at ``state``, or None."""
        return "stall" if state.stalled >= self.generations else None


def first_reason(rules: Iterable[StopRule], state: State) -> str | None:
    """The reason of the first rule that wants to stop, or None.

    Raises
    ------
    ValueError
        If a rule returns something else than a string or None.
    """
    for rule in rules:
        reason = rule(state)
        if reason is None:
            continue
        if not isinstance(reason, str):
            raise ValueError(f"a stop rule must return a reason as str, or None to go on; {rule!r} gave {reason!r}")
        return reason
    return None


def check_rules(stop: StopRule | Iterable[StopRule]) -> tuple[StopRule, ...]:
    """One rule or several, as a tuple.

    Raises
    ------
    ValueError
        If there is none, or one is not callable.
    """
    rules: tuple[StopRule, ...] = (stop,) if callable(stop) else tuple(stop)
    if not rules:
        raise ValueError("stop must hold a rule, such as MaxEvaluations(5000); without one the search never ends")
    for rule in rules:
        if not callable(rule):
            raise ValueError(f"stop must hold callables, got {rule!r}")
    return rules


def _columns(fitness: Fitness | Sequence[float]) -> list[float]:
    return np.atleast_1d(fitness).tolist()


def _check_count(name: str, value: int, least: int) -> None:
    try:
        count = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} must be an integer, got {value!r}") from None
    if count < least:
        raise ValueError(f"{name} must be at least {least}, got {count}")
