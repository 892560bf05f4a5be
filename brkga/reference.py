"""The kernels of :mod:`brkga.kernels` and :mod:`brkga.ranking` again in plain Python: slow, obvious, and equal.

A row is taken apart into its keys, worked on with unbounded integers, and packed again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from brkga.proposal import BETA, QUANTIZED, UNIFORM

if TYPE_CHECKING:
    from brkga.kernels import BreedArrays

WORD = 2**64
GOLDEN = 0x9E3779B97F4A7C15
PARENTS, CROSSOVER, SAMPLE, SOURCE = range(4)
FIRST, AGAIN = 0, 4


def mix(word: int) -> int:
    """splitmix64's finaliser (Steele, Lea and Flood, 2014)."""
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) % WORD
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) % WORD
    return word ^ (word >> 31)


def stream(breed: BreedArrays, index: int, purpose: int) -> Iterator[int]:
    """The endless random words of one row and purpose."""
    start = mix((int(breed.seed) + GOLDEN) % WORD)
    for part in (int(breed.island), int(breed.generation), index * 8 + purpose):
        start = mix((start + part * GOLDEN + 1) % WORD)
    while True:
        yield mix(start)
        start = (start + GOLDEN) % WORD


def below(word: int, bound: int) -> int:
    """A number in [0, bound) from the upper half of a random word."""
    return (word // 2**32) * bound // 2**32


def split(word: int, bits: int) -> list[int]:
    """The lanes of a word, the lowest first."""
    return [(int(word) >> shift) % 2**bits for shift in range(0, 64, bits)]


def join(keys: list[int], bits: int) -> list[int]:
    """Words whose lanes are the keys."""
    lanes = 64 // bits
    return [
        sum(key << (lane * bits) for lane, key in enumerate(keys[first : first + lanes]))
        for first in range(0, len(keys), lanes)
    ]


def split_row(row: NDArray[np.uint64], bits: int) -> list[int]:
    """All lanes of a row."""
    return [key for word in row.tolist() for key in split(word, bits)]


def draw_keys(breed: BreedArrays, index: int, purpose: int, lanes: int) -> list[int]:
    """A uniform key for each of the ``lanes`` of a row."""
    words = stream(breed, index, purpose)
    return [key for _ in range(lanes * breed.bits // 64) for key in split(next(words), breed.bits)]


def sample(row: NDArray[np.uint64], index: int, attempt: int, breed: BreedArrays) -> None:
    """Fill ``row`` with a fresh chromosome from the proposal."""
    bits, lanes = breed.bits, len(row) * (64 // breed.bits)
    kind = breed.kind
    if kind != UNIFORM and next(stream(breed, index, SOURCE + attempt)) >> 32 < int(breed.uniform_share):
        kind = UNIFORM
    keys = draw_keys(breed, index, SAMPLE + attempt, lanes)
    if kind == QUANTIZED:
        tables = [breed.tables[table].tolist() for table in breed.table_of]
        keys = [quantile(table, draw, bits) for table, draw in zip(tables, keys, strict=False)]
    elif kind == BETA:
        starts = [word for _, word in zip(range(breed.shapes.shape[1]), stream(breed, index, SAMPLE + attempt))]  # noqa: B905
        shares = [beta_variate(start, a, b) for start, a, b in zip(starts, *breed.shapes.tolist(), strict=True)]
        keys = [min(int(share * 2**bits), 2**bits - 1) for share in shares]
    words = join(keys, bits)
    row[:] = words[: len(row)]
    row[-1] = int(row[-1]) & int(breed.tail)


def quantile(table: list[int], draw: int, bits: int) -> int:
    """The key at the uniform ``draw``, by linear interpolation between the knots of ``table``."""
    knot, part = divmod(draw, 2 ** (bits - 8))
    value = table[knot] * (2 ** (bits - 8) - part) + table[knot + 1] * part
    return min(value // 2 ** (bits - 8) // 2 ** (32 - bits), 2**bits - 1)


def beta_variate(counter: int, a: float, b: float) -> float:
    """One Beta(a, b) variate from two gamma variates, compared by their logarithms."""
    x, counter = log_gamma_variate(counter, a)
    y, counter = log_gamma_variate(counter, b)
    return 1.0 / (1.0 + math.exp(min(y - x, 700.0)))


def log_gamma_variate(counter: int, shape: float) -> tuple[float, int]:
    """Logarithm of a Gamma(shape, 1) variate and the advanced counter (Marsaglia and Tsang, 2000)."""

    def unit() -> float:
        nonlocal counter
        counter = (counter + GOLDEN) % WORD
        return (float(mix(counter) >> 12) + 0.5) * 2.0**-52

    boost = 0.0
    if shape < 1.0:
        boost = math.log(unit()) / shape
        shape += 1.0
    d = shape - 1.0 / 3.0
    while True:
        radius = math.sqrt(-2.0 * math.log(unit()))
        normal = radius * math.cos(2.0 * math.pi * unit())
        uniform = unit()
        root = 1.0 + 1.0 / math.sqrt(9.0 * d) * normal
        if root > 0.0:
            v = root * root * root
            if math.log(uniform) < 0.5 * normal * normal + d - d * v + d * math.log(v):
                return math.log(d * v) + boost, counter


def draw_distinct(words: list[int], low: int, high: int) -> list[int]:
    """As many distinct numbers from [low, high) as there are ``words``, ascending (Floyd's sampling)."""
    chosen: set[int] = set()
    for k, word in enumerate(words):
        top = high - len(words) + k
        pick = low + below(word, top - low + 1)
        chosen.add(top if pick in chosen else pick)
    return sorted(chosen)


def mate(row: NDArray[np.uint64], index: int, attempt: int, previous: NDArray[np.uint64], breed: BreedArrays) -> None:
    """Fill ``row`` with an offspring of rows of ``previous``, the elites first."""
    bits, elites, others = breed.bits, breed.elites, len(previous) - breed.elites
    words = stream(breed, index, PARENTS + attempt)
    if breed.parents == 2:
        parents = [below(next(words), elites), elites + below(next(words), others)]
    else:
        draws = [next(words) for _ in range(breed.parents)]
        parents = draw_distinct(draws[: breed.elite_parents], 0, elites)
        parents += draw_distinct(draws[breed.elite_parents :], elites, len(previous))
    pool = [split_row(previous[parent], bits) for parent in parents]
    row[:] = join(cross(pool, index, CROSSOVER + attempt, breed), bits)


def cross(pool: list[list[int]], index: int, purpose: int, breed: BreedArrays) -> list[int]:
    """Each key from one of the rows of ``pool``."""
    lanes = len(pool[0])
    if breed.parents == 2:
        inherit = split_row(breed.inherit, breed.bits)
        chances = inherit if len(inherit) == lanes else [inherit[0]] * lanes
        draws = [key % 2 ** (breed.bits - 1) for key in draw_keys(breed, index, purpose, lanes)]
        return [pool[0 if draw < chance else 1][k] for k, (draw, chance) in enumerate(zip(draws, chances, strict=True))]
    words = stream(breed, index, purpose)
    shares = breed.shares.tolist()[:-1]
    return [pool[sum(draw >= share for share in shares)][k] for k, draw in zip(range(lanes), (w >> 32 for w in words))]  # noqa: B905


def breed_row(
    rows: NDArray[np.uint64], previous: NDArray[np.uint64], index: int, attempt: int, breed: BreedArrays
) -> None:
    """Fill ``rows[index]`` with a mutant or an offspring."""
    place, new_rows = index - breed.elites, len(previous) - breed.elites
    if (place + 1) * breed.mutants // new_rows > place * breed.mutants // new_rows:
        sample(rows[index], index, attempt, breed)
    else:
        mate(rows[index], index, attempt, previous, breed)


def sample_rows(rows: NDArray[np.uint64], first: int, last: int, breed: BreedArrays) -> None:
    """Fill ``rows[first:last]`` with fresh chromosomes."""
    for index in range(first, last):
        sample(rows[index], index, FIRST, breed)


def breed_rows(
    rows: NDArray[np.uint64], previous: NDArray[np.uint64], first: int, last: int, breed: BreedArrays
) -> None:
    """Fill ``rows[first:last]`` with the mutants and offspring of ``previous``."""
    for index in range(first, last):
        breed_row(rows, previous, index, FIRST, breed)


def shake_rows(
    rows: NDArray[np.uint64], previous: NDArray[np.uint64], first: int, last: int, breed: BreedArrays
) -> None:
    """Fill ``rows[first:last]``: elites whose keys stay with the chance ``inherit``, fresh rows behind them."""
    sample_rows(rows, first, last, breed)
    two = breed._replace(parents=2)
    for index in range(first, min(last, breed.elites)):
        pool = [split_row(previous[index], breed.bits), split_row(rows[index], breed.bits)]
        rows[index] = join(cross(pool, index, CROSSOVER, two), breed.bits)


def replace_duplicates(rows: NDArray[np.uint64], previous: NDArray[np.uint64], breed: BreedArrays) -> int:
    """Breed again, then draw, each new row that equals an elite or an earlier new row; returns how many."""
    seen = {row.tobytes() for row in previous[: breed.elites]}
    replaced = 0
    for index in range(breed.elites, len(rows)):
        if rows[index].tobytes() in seen:
            breed_row(rows, previous, index, AGAIN, breed)
            if rows[index].tobytes() in seen:
                sample(rows[index], index, AGAIN, breed)
            replaced += 1
        seen.add(rows[index].tobytes())
    return replaced


def rank(
    rows: NDArray[np.uint64],
    previous: NDArray[np.uint64],
    old: NDArray[np.float64],
    new: NDArray[np.float64],
    first: int,
    fitness: NDArray[np.float64],
) -> int:
    """Sort the elites of every island to the front; what stood there and stays behind fills the gaps."""
    flat = new.reshape(-1, new.shape[2])
    for row, values in enumerate(flat.tolist()):
        if any(math.isnan(value) or value == -math.inf for value in values):
            return row
    elites = fitness.shape[1]
    for island in range(len(rows)):
        pool = [(values, row) for row, values in enumerate(old[island].tolist())]
        pool += [(values, first + row) for row, values in enumerate(new[island].tolist())]
        best = sorted(pool)[:elites]
        fitness[island] = [values for values, _ in best]
        before = np.concatenate([previous[island, :elites], rows[island, elites:]])
        front = [row for _, row in best]
        gaps = sorted(row for row in front if row >= elites)
        behind = [row for row in range(elites) if row not in front]
        rows[island] = before
        rows[island, :elites] = before[front]
        rows[island, gaps] = before[behind]
    return -1
