"""Breeding and decoding the new rows of a generation, in parts for several threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brkga.population import Population

Decoder = Callable[[NDArray[Any], Any], ArrayLike]
"""``decoder(keys[rows, num_keys], cutoff) -> fitness[rows]`` or ``fitness[rows, columns]``; lower is better."""

ROWS_PER_PART = 4
"""A thread is worth waking for this many rows."""


def decode_new_rows(
    population: Population, decoder: Decoder, pool: ThreadPoolExecutor, threads: int
) -> NDArray[np.float64]:
    """float64, shape (islands · new rows,) or (islands · new rows, columns): fitness of the new rows, bred if need be.

    The calling thread does the first part. What the rows are does not depend on the number of parts.

    Raises
    ------
    ValueError
        If the decoder returns a fitness for another number of rows.
    """
    if population.parameters.reject_duplicates:
        population.fill()
    rows = population.num_new
    parts = max(1, min(threads, rows // ROWS_PER_PART))
    bounds = [rows * part // parts for part in range(parts + 1)]
    others = [pool.submit(_decode_part, population, decoder, *bounds[part : part + 2]) for part in range(1, parts)]
    pieces = [_decode_part(population, decoder, *bounds[:2]), *(other.result() for other in others)]
    population.filled = True
    islands = len(population.rows)
    if parts == islands == 1:
        return pieces[0][0]
    return np.concatenate([piece[island] for island in range(islands) for piece in pieces])


def _decode_part(population: Population, decoder: Decoder, low: int, high: int) -> list[NDArray[np.float64]]:
    """Fitness of the new rows ``low`` to ``high`` of every island."""
    first = population.known
    pieces = []
    for island in range(len(population.rows)):
        if not population.filled:
            population.breed_part(island, low, high)
        keys = population.layout.keys(population.next[island, first + low : first + high])
        fitness = np.ascontiguousarray(decoder(keys, population.as_told(population.cutoff(island))), np.float64)
        if fitness.shape[:1] != (high - low,):
            raise ValueError(f"the decoder must return a fitness for each of {high - low} rows, got {fitness.shape}")
        pieces.append(fitness)
    return pieces
