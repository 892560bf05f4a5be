"""Proposals: the distributions that the initial population and the mutants are drawn from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

UNIFORM, QUANTIZED, BETA = 0, 1, 2
"""Kinds of proposal, as the kernels know them."""

KNOTS = 257
"""Entries of an inverse distribution table: the ends of 256 intervals of equal probability."""


@dataclass(frozen=True)
class Uniform:
    """Every key is uniform."""

    @property
    def num_keys(self) -> None:
        """None: fits any number of keys."""
        return None


@dataclass(frozen=True, eq=False)
class Beta:
    """Key ``k`` has the distribution Beta(a[k], b[k]), sampled exactly.

    Attributes
    ----------
    a, b : float64 array, shape (num_keys,)
        Finite and above 0.

    Raises
    ------
    ValueError
        For a wrong shape or value; the message holds it.

    Examples
    --------
    >>> Beta([1.0, 2.0], [1.0, 0.5]).num_keys
    2
    """

    a: NDArray[np.float64]
    b: NDArray[np.float64]

    def __init__(self, a: ArrayLike, b: ArrayLike) -> None:
        shapes = _check_shapes(a, b)
        if shapes[0].ndim != 1:
            raise ValueError(f"a and b must be 1-D, got {shapes[0].ndim} dimensions")
        object.__setattr__(self, "a", _frozen(shapes[0]))
        object.__setattr__(self, "b", _frozen(shapes[1]))

    @property
    def num_keys(self) -> int:
        """Keys this proposal is for."""
        return len(self.a)


@dataclass(frozen=True, eq=False)
class QuantizedBeta:
    """Keys share a few distributions, each an inverse distribution table; sampling costs what uniform keys cost.

    A draw is interpolated between two knots, so the drawn distribution agrees with the exact one at the inner knots
    and its distribution function differs by less than 1/256 anywhere. The outer 1/256 of each tail has the right
    mean but is uniform, and so does not reach as far as a long tail does.

    Attributes
    ----------
    tables : uint64 array, shape (num_tables, 257)
        Quantiles at equal steps of probability, times 2^32: ascending, at most 2^32.
    table_of : uint16 array, shape (num_keys,)
        Table of each key.

    Raises
    ------
    ValueError
        For a wrong shape or value; the message holds it.

    Examples
    --------
    >>> proposal = QuantizedBeta.from_grid([1.0, 2.0], [1.0, 5.0], table_of=[0, 0, 1])
    >>> proposal.tables.shape, proposal.num_keys
    ((2, 257), 3)
    """

    tables: NDArray[np.uint64]
    table_of: NDArray[np.uint16]

    def __init__(self, tables: ArrayLike, table_of: ArrayLike) -> None:
        knots = np.asarray(tables)
        if knots.ndim != 2 or knots.shape[1] != KNOTS or knots.dtype.kind not in "ui":
            raise ValueError(f"tables must be integers of shape (*, {KNOTS}), got {knots.dtype} {knots.shape}")
        if (knots[:, 1:] < knots[:, :-1]).any() or (knots < 0).any() or (knots > 2**32).any():
            raise ValueError(f"tables must ascend from 0 to at most 2^32, got {knots.min()} to {knots.max()}")
        index = np.asarray(table_of)
        if index.ndim != 1 or index.dtype.kind not in "ui":
            raise ValueError(f"table_of must be 1-D integers, got {index.dtype} {index.shape}")
        if len(index) and not (index.min() >= 0 and index.max() < min(len(knots), 2**16)):
            raise ValueError(f"table_of must be in [0, {len(knots)}), got {index.min()} to {index.max()}")
        object.__setattr__(self, "tables", _frozen(knots.astype(np.uint64)))
        object.__setattr__(self, "table_of", _frozen(index.astype(np.uint16)))

    @classmethod
    def from_grid(cls, a_values: ArrayLike, b_values: ArrayLike, table_of: ArrayLike) -> QuantizedBeta:
        """Tables of the distributions Beta(a, b), one for each pair of the two arrays.

        Parameters
        ----------
        a_values, b_values : float64 arrays
            Broadcast against each other and read in C order: table ``t`` is of the ``t``-th pair.
        table_of : integer array, shape (num_keys,)
        """
        from brkga.beta import quantile_tables

        a, b = _check_shapes(a_values, b_values)
        return cls(quantile_tables(a.ravel(), b.ravel()), table_of)

    @property
    def num_keys(self) -> int:
        """Keys this proposal is for."""
        return len(self.table_of)


Proposal = Uniform | Beta | QuantizedBeta


def _check_shapes(a: ArrayLike, b: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both parameters as float64 arrays of one shape, every value finite and above 0."""
    left, right = np.asarray(a, np.float64), np.asarray(b, np.float64)
    try:
        left, right = np.broadcast_arrays(left, right)
    except ValueError:
        raise ValueError(f"a and b must have matching shapes, got {left.shape} and {right.shape}") from None
    for name, values in (("a", left), ("b", right)):
        wrong = values[~((values > 0.0) & np.isfinite(values))]
        if wrong.size:
            raise ValueError(f"{name} must be finite and above 0, got {wrong.flat[0]}")
    return left, right


def _frozen(values: NDArray) -> NDArray:
    copy = np.array(values, order="C")
    copy.setflags(write=False)
    return copy
