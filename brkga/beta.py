"""Compiled: the regularized incomplete beta function, its inverse, and inverse tables of Beta distributions."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from brkga.proposal import KNOTS

TINY = 1e-300
PRECISION = 1e-15


@njit(cache=True)
def beta_fraction(a, b, x):  # type: ignore[no-untyped-def]
    """The continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method."""
    c = 1.0
    d = 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > TINY else TINY)
    value = d
    for m in range(1, 100_000):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        step = 1.0
        for term in (even, odd):
            d = 1.0 + term * d
            d = 1.0 / (d if abs(d) > TINY else TINY)
            c = 1.0 + term / c
            c = c if abs(c) > TINY else TINY
            step = c * d
            value *= step
        if abs(step - 1.0) < PRECISION:
            break
    return value


@njit(cache=True)
def beta_distribution(a, b, x):  # type: ignore[no-untyped-def]
    """Distribution function of Beta(a, b) at ``x`` in [0, 1], and its density."""
    if x <= 0.0:
        return 0.0, 0.0
    if x >= 1.0:
        return 1.0, 0.0
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    front = math.exp(log_front)
    density = front / (x * (1.0 - x))
    if x <= (a + 1.0) / (a + b + 2.0):
        return front * beta_fraction(a, b, x) / a, density
    return 1.0 - front * beta_fraction(b, a, 1.0 - x) / b, density


@njit(cache=True)
def beta_quantile(a, b, target, low):  # type: ignore[no-untyped-def]
    """The ``x`` in [low, 1] where the distribution function of Beta(a, b) is ``target``.

    Newton's steps inside a bracket; a step that leaves the bracket or fails to halve it is followed by a bisection.
    """
    high = 1.0
    x = 0.5 * (low + high)
    bisect = False
    while high - low > PRECISION:
        width = high - low
        value, density = beta_distribution(a, b, x)
        if value < target:
            low = x
        else:
            high = x
        newton = x - (value - target) / density if density > 0.0 else -1.0
        if not bisect and low < newton < high:
            if abs(newton - x) < PRECISION:
                return newton
            x = newton
        else:
            x = 0.5 * (low + high)
        bisect = not bisect and high - low > 0.5 * width
    return x


@njit(cache=True)
def fill_tables(a, b, tables):  # type: ignore[no-untyped-def]
    """Write the quantiles times 2^32 of every Beta(a[t], b[t]) into ``tables[t]``."""
    intervals = tables.shape[1] - 1
    for t in range(len(a)):
        x = 0.0
        tables[t, 0] = 0
        tables[t, intervals] = 2**32
        for knot in range(1, intervals):
            # without a bisection, exact for the uniform distribution
            x = knot / intervals if a[t] == 1.0 and b[t] == 1.0 else beta_quantile(a[t], b[t], knot / intervals, x)
            tables[t, knot] = np.uint64(x * 2.0**32 + 0.5)


def quantile_tables(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.uint64]:
    """uint64, shape (len(a), 257): quantiles of 0/256 ... 256/256 of each Beta(a[t], b[t]), times 2^32.

    Examples
    --------
    >>> quantile_tables(np.array([2.0]), np.array([2.0]))[0, 128] == 2**31
    True
    """
    tables = np.empty((len(a), KNOTS), np.uint64)
    fill_tables(np.array(a, np.float64), np.array(b, np.float64), tables)
    return tables
