"""Parameters of the genetic algorithm, checked on creation."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

ELITE_SHARE = (0.10, 0.25)
MUTANT_SHARE = (0.10, 0.30)
ELITE_BIAS = (0.5, 0.8)
"""Usual ranges (Gonçalves and Resende, 2011, Table 1); the elite bias excludes the lower end."""

LARGEST_COUNT = 2**31 - 1


@dataclass(frozen=True)
class Parameters:
    """How many rows are what, and how offspring are bred.

    Attributes
    ----------
    population : int
        Rows (chromosomes) of one island.
    elites : int
        Best rows that survive a generation unchanged.
    mutants : int
        Fresh rows of each generation, drawn from the proposal.
    elite_bias : float or tuple of float
        Chance that a key comes from the elite parent: one number, or one for each key.
    parents, elite_parents : int
        Parents of an offspring, and how many of them are elite. The others come from all the other rows.
    bias : tuple of float, length parents, or None
        Weight of each parent, elite parents first. ``None`` shares ``elite_bias`` among the elite parents and the
        rest among the others.
    uniform_mutants : float
        Chance that a fresh row is uniform whatever the proposal, in [0, 1].
    reject_duplicates : bool
        Breed a new row again if it equals an elite or an earlier new row; if it still does, draw a mutant instead.
        It departs from the published algorithm and costs a hash of the population in each generation.
    islands : int
        Populations that evolve side by side.
    exchange_every : int
        Generations between two exchanges of elites among the islands; 0 for never.
    exchange_count : int
        Best rows that every island sends to each other island.

    Raises
    ------
    ValueError
        For a value that no search can use; the message holds it.

    Notes
    -----
    A value outside the usual range of the literature gives a ``UserWarning``.

    Examples
    --------
    >>> Parameters().elites
    20
    >>> Parameters(elite_bias=1.7)
    Traceback (most recent call last):
        ...
    ValueError: elite_bias must be in [0, 1], got 1.7
    """

    population: int = 100
    elites: int = 20
    mutants: int = 15
    elite_bias: float | Sequence[float] | NDArray[np.float64] = 0.7
    parents: int = 2
    elite_parents: int = 1
    bias: Sequence[float] | NDArray[np.float64] | None = None
    uniform_mutants: float = 0.0
    reject_duplicates: bool = False
    islands: int = 1
    exchange_every: int = 0
    exchange_count: int = 1

    def __post_init__(self) -> None:
        self._check_counts()
        self._check_mating()
        share = _number("uniform_mutants", self.uniform_mutants)
        _require(0.0 <= share <= 1.0, "uniform_mutants must be in [0, 1]", share)
        object.__setattr__(self, "uniform_mutants", share)
        _require(self.reject_duplicates in (False, True), "reject_duplicates must be a bool", self.reject_duplicates)
        object.__setattr__(self, "reject_duplicates", bool(self.reject_duplicates))
        self._warn_if_unusual()

    @classmethod
    def from_fractions(cls, population: int, elite: float = 0.2, mutant: float = 0.15, **others: Any) -> Parameters:
        """Parameters whose elites and mutants are given as shares of the population, rounded to the nearest count.

        Examples
        --------
        >>> Parameters.from_fractions(100, elite=0.25, mutant=0.29).mutants
        29
        """
        for name, share in (("elite", elite), ("mutant", mutant)):
            _require(0.0 <= _number(name, share) <= 1.0, f"{name} must be in [0, 1]", share)
        elites, mutants = (math.floor(share * population + 0.5) for share in (elite, mutant))
        return cls(population, elites, mutants, **others)

    @property
    def parent_weights(self) -> tuple[float, ...]:
        """Chance of each parent to give a key, elite parents first; they sum to 1."""
        if self.bias is not None:
            total = math.fsum(self.bias)
            return tuple(weight / total for weight in self.bias)
        _require(isinstance(self.elite_bias, float), "one elite_bias for all keys is needed", self.elite_bias)
        others = self.parents - self.elite_parents
        share = float(self.elite_bias)  # type: ignore[arg-type]
        return (share / self.elite_parents,) * self.elite_parents + ((1.0 - share) / others,) * others

    def _check_counts(self) -> None:
        for name, least in (
            ("population", 3),
            ("elites", 1),
            ("mutants", 0),
            ("parents", 2),
            ("elite_parents", 1),
            ("islands", 1),
            ("exchange_every", 0),
            ("exchange_count", 1),
        ):
            object.__setattr__(self, name, _count(name, getattr(self, name), least))
        p, pe, pm = self.population, self.elites, self.mutants
        _require(pe + pm < p, f"elites + mutants must be below population {p} to leave offspring", pe + pm)
        _require(
            self.elite_parents < self.parents, f"elite_parents must be below parents {self.parents}", self.elite_parents
        )
        _require(self.elite_parents <= pe, f"elite_parents must be at most elites {pe}", self.elite_parents)
        others = self.parents - self.elite_parents
        _require(others <= p - pe, f"parents - elite_parents must be at most the other rows {p - pe}", others)
        if self.exchange_every:
            _require(self.islands > 1, "exchange_every needs two islands or more, islands is", self.islands)
            _require(self.exchange_count <= pe, f"exchange_count must be at most elites {pe}", self.exchange_count)
            received = self.exchange_count * (self.islands - 1)
            _require(received <= p - pe, f"exchange_count * (islands - 1) must be at most {p - pe}", received)

    def _check_mating(self) -> None:
        dimensions = np.ndim(self.elite_bias)
        if dimensions == 0:
            shares: tuple[float, ...] = (_number("elite_bias", self.elite_bias),)
            object.__setattr__(self, "elite_bias", shares[0])
        else:
            _require(dimensions == 1, "elite_bias must be a number or 1-D, dimensions are", dimensions)
            shares = tuple(_number("elite_bias", share) for share in self.elite_bias)  # type: ignore[union-attr]
            object.__setattr__(self, "elite_bias", shares)
            simple = self.parents == 2 and self.bias is None
            _require(simple, "an elite_bias for each key needs two parents and no bias; parents is", self.parents)
        for share in shares:
            _require(0.0 <= share <= 1.0, "elite_bias must be in [0, 1]", share)
        if self.bias is not None:
            weights = tuple(_number("bias", weight) for weight in self.bias)
            object.__setattr__(self, "bias", weights)
            _require(len(weights) == self.parents, f"bias must have {self.parents} weights", len(weights))
            usable = all(0.0 <= weight < math.inf for weight in weights) and math.fsum(weights) > 0.0
            _require(usable, "bias must hold finite weights >= 0 that are not all 0", weights)

    def _warn_if_unusual(self) -> None:
        p = self.population
        for name, count, (low, high) in (("elites", self.elites, ELITE_SHARE), ("mutants", self.mutants, MUTANT_SHARE)):
            if not math.floor(low * p) <= count <= math.ceil(high * p):
                _warn(f"{name} = {count} is outside the usual {low:.2f} to {high:.2f} of population {p}")
        low, high = ELITE_BIAS
        shares = np.atleast_1d(self.elite_bias)
        unusual = shares[(shares <= low) | (shares > high)]
        if self.bias is None and len(unusual):
            _warn(f"elite_bias = {unusual[0]} is outside the usual ({low}, {high}]")


def _warn(message: str) -> None:
    warnings.warn(message, UserWarning, stacklevel=5)


def _require(holds: bool, rule: str, value: object) -> None:
    if not holds:
        raise ValueError(f"{rule}, got {value!r}")


def _count(name: str, value: Any, least: int) -> int:
    try:
        count = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} must be an integer, got {value!r}") from None
    _require(least <= count <= LARGEST_COUNT, f"{name} must be at least {least} and below 2^31", count)
    return count


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number, got {value!r}") from None
