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
def fill_table(a, b, table):  # type: ignore[no-untyped-def]
    """Write the quantiles of Beta(a, b) at equal steps of probability into ``table``; see :func:`quantile_tables`."""
    intervals = len(table) - 1
    for knot in range(intervals + 1):
        table[knot] = knot / intervals
    if a == 1.0 and b == 1.0:
        return
    low = 0.0
    for knot in range(1, intervals):
        low = beta_quantile(a, b, knot / intervals, low)
        table[knot] = low
    # x times the density of Beta(a, b) is mean times the density of Beta(a + 1, b)
    mean = a / (a + b)
    first, last = table[1], table[intervals - 1]
    below_first = mean * beta_distribution(a + 1.0, b, first)[0] * intervals
    above_last = mean * (1.0 - beta_distribution(a + 1.0, b, last)[0]) * intervals
    table[0] = min(max(2.0 * below_first - first, 0.0), first)
    table[intervals] = max(min(2.0 * above_last - last, 1.0), last)


def quantile_tables(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.uint64]:
    """uint64, shape (len(a), 257): quantiles of 0/256 ... 256/256 of each Beta(a[t], b[t]), times 2^32.

    The two outer entries are not the quantiles 0 and 1 but nearer: where the line from them to the next entry has
    the mean that the distribution has beyond that entry.

    Examples
    --------
    >>> int(quantile_tables(np.array([2.0]), np.array([2.0]))[0, 128]) == 2**31
    True
    """
    tables = np.empty((len(a), KNOTS))
    for table, left, right in zip(tables, np.array(a, np.float64), np.array(b, np.float64), strict=True):
        fill_table(left, right, table)
    return np.rint(tables * 2.0**32).astype(np.uint64)
