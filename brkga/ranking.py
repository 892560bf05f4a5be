"""Compiled: which rows become elite, and the order of the rows of the next population."""

from __future__ import annotations

import numpy as np
from numba import njit

FINE = -1
"""Status of :func:`rank` when every fitness can be ranked."""


@njit(cache=True)
def is_lower(left, right):  # type: ignore[no-untyped-def]
    """Whether the fitness ``left`` is better than ``right``, lexicographically."""
    for column in range(len(left)):
        if left[column] != right[column]:
            return left[column] < right[column]
    return False


@njit(cache=True)
def select(old, new, first, fitness, order):  # type: ignore[no-untyped-def]
    """Choose the best rows of the ascending ``old`` and of ``new``; on a tie the earlier row wins.

    Old row ``i`` has row number ``i``, new row ``i`` has ``first + i``. The fitness of the chosen rows goes to
    ``fitness``, ascending, and their row numbers to ``order``.
    """
    elites = len(fitness)
    count = len(old)
    for place in range(count):
        fitness[place] = old[place]
        order[place] = place
    for row in range(len(new)):
        if count == elites and not is_lower(new[row], fitness[elites - 1]):
            continue
        place = min(count, elites - 1)
        while place > 0 and is_lower(new[row], fitness[place - 1]):
            fitness[place] = fitness[place - 1]
            order[place] = order[place - 1]
            place -= 1
        fitness[place] = new[row]
        order[place] = first + row
        count = min(count + 1, elites)


@njit(cache=True)
def promote(rows, previous, order):  # type: ignore[no-untyped-def]
    """Move the rows numbered ``order`` to the front of ``rows``; all others keep their order.

    Rows with a number below ``len(order)`` are read from ``previous``. Those of them that are not chosen take the
    places that the chosen ones leave behind the front, both ascending.
    """
    elites = len(order)
    chosen = np.zeros(elites, np.bool_)
    for place in range(elites):
        row = order[place]
        if row < elites:
            chosen[row] = True
            rows[place] = previous[row]
        else:
            rows[place] = rows[row]
    left = np.sort(order[order >= elites])
    used = 0
    for row in range(elites):
        if not chosen[row]:
            rows[left[used]] = previous[row]
            used += 1


@njit(cache=True, nogil=True)
def rank(rows, previous, old, new, first, fitness):  # type: ignore[no-untyped-def]
    """Sort the elites of every island to the front of its rows.

    Parameters
    ----------
    rows : uint64, shape (islands, population, words)
        The new rows, from number ``first`` on.
    previous : uint64, shape (islands, elites or more, words)
        Rows whose number is below the number of elites.
    old : float64, shape (islands, known, columns)
        Ascending fitness of the first rows of ``previous``.
    new : float64, shape (islands, new rows, columns)
    fitness : float64, shape (islands, elites, columns)
        Output: fitness of the elites, ascending.

    Returns
    -------
    int
        FINE, or the number of the first new row whose fitness is NaN or minus infinity; then nothing is changed.
    """
    islands, count, columns = new.shape
    for island in range(islands):
        for row in range(count):
            for column in range(columns):
                if not new[island, row, column] > -np.inf:
                    return island * count + row
    order = np.empty(fitness.shape[1], np.int64)
    for island in range(islands):
        select(old[island], new[island], first, fitness[island], order)
        promote(rows[island], previous[island], order)
    return FINE
