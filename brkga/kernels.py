"""Compiled kernels: counter-based random numbers, mating, and sampling of mutants.

A population row is a row of 64-bit words; each word holds ``64 // bits`` unsigned keys of ``bits`` bits (its lanes).
Every random word is a hash of where it is used, so neither the number of threads nor the order of work can change it.
The same functions in plain Python are in :mod:`brkga.reference`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from brkga.proposal import BETA, QUANTIZED, UNIFORM

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
ONE = np.uint64(1)

PARENTS, CROSSOVER, SAMPLE, SOURCE = (np.uint64(purpose) for purpose in range(4))
"""What a stream of random words is for."""

FIRST, AGAIN = np.uint64(0), np.uint64(4)
"""Attempts at a row, added to the purpose: a row that is a duplicate is made again."""


class BreedArrays(NamedTuple):
    """What breeding needs to know beside the rows.

    Attributes
    ----------
    bits : int
        Bits per key, 16 or 32.
    tail : uint64
        Mask of the bits of a row's last word that belong to keys; the others stay 0.
    seed, island, generation : uint64
        Where in the search the rows are made; the counters of the random numbers.
    mutants : int
        Fresh rows among the new ones, spread evenly.
    elites : int
        Rows of the previous population that are elite, the first ones.
    inherit : uint64, shape (1,) or (words,)
        Per lane the elite bias times 2^(bits - 1): one word for all keys, or a word for every word of a row.
    parents, elite_parents : int
        Parents of an offspring, and how many of them are elite.
    shares : uint64, shape (parents,)
        Cumulative chances of each parent times 2^32; empty with two parents, where ``inherit`` decides.
    kind : int
        UNIFORM, QUANTIZED or BETA.
    uniform_share : uint64
        Chance times 2^32 that a fresh row ignores the proposal and is uniform.
    tables : uint64, shape (num_tables, knots)
        Inverse distribution functions times 2^32, for QUANTIZED.
    table_of : uint16, shape (num_keys,)
    shapes : float64, shape (2, num_keys)
        Parameters a and b, for BETA.
    """

    bits: int
    tail: np.uint64
    seed: np.uint64
    island: np.uint64
    generation: np.uint64
    mutants: int
    elites: int
    inherit: NDArray[np.uint64]
    parents: int
    elite_parents: int
    shares: NDArray[np.uint64]
    kind: int
    uniform_share: np.uint64
    tables: NDArray[np.uint64]
    table_of: NDArray[np.uint16]
    shapes: NDArray[np.float64]


@njit(cache=True, inline="always")
def mix(word):  # type: ignore[no-untyped-def]
    """splitmix64's finaliser: a bijection of 64-bit words."""
    word = (word ^ (word >> np.uint64(30))) * MIX_1
    word = (word ^ (word >> np.uint64(27))) * MIX_2
    return word ^ (word >> np.uint64(31))


@njit(cache=True)
def stream(seed, island, generation, row, purpose):  # type: ignore[no-untyped-def]
    """Start of the random stream of one row and purpose; its word ``k`` is ``mix(start + k * GOLDEN)``."""
    word = mix(np.uint64(seed) + GOLDEN)
    word = mix(word + np.uint64(island) * GOLDEN + ONE)
    word = mix(word + np.uint64(generation) * GOLDEN + ONE)
    return mix(word + (np.uint64(row) * np.uint64(8) + purpose) * GOLDEN + ONE)


@njit(cache=True)
def below(word, bound):  # type: ignore[no-untyped-def]
    """A number in [0, bound) from the upper half of a random word; ``bound`` is below 2^32."""
    return ((word >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32)


@njit(cache=True)
def is_mutant(index, mutants, new_rows):  # type: ignore[no-untyped-def]
    """Whether the new row ``index`` of ``new_rows`` is fresh; the mutants are spread evenly."""
    return ((index + 1) * mutants) // new_rows > (index * mutants) // new_rows


@njit(cache=True)
def cross_two(child, elite, other, start, inherit, bits):  # type: ignore[no-untyped-def]
    """Write into ``child``, lane by lane, the key of ``elite`` with the lane's chance, else the key of ``other``.

    A lane's random number has ``bits - 1`` bits; it is compared with the lane of ``inherit`` by one subtraction.
    """
    top = np.uint64(0x8000800080008000) if bits == 16 else np.uint64(0x8000000080000000)
    ones = np.uint64(0xFFFF) if bits == 16 else np.uint64(0xFFFFFFFF)
    down = np.uint64(bits - 1)
    same = len(inherit) == 1
    threshold = inherit[0]
    for k in range(len(child)):
        random = mix(start + np.uint64(k) * GOLDEN)
        if not same:
            threshold = inherit[k]
        take_other = ((((random | top) - threshold) & top) >> down) * ones
        child[k] = (elite[k] & ~take_other) | (other[k] & take_other)


@njit(cache=True)
def cross_many(child, pool, chosen, start, shares, bits):  # type: ignore[no-untyped-def]
    """Write into ``child`` each key from one of the rows ``chosen`` of ``pool``, by the cumulative ``shares``."""
    lanes = 64 // bits
    lane_mask = (ONE << np.uint64(bits)) - ONE
    for k in range(len(child)):
        word = np.uint64(0)
        for lane in range(lanes):
            random = mix(start + np.uint64(k * lanes + lane) * GOLDEN) >> np.uint64(32)
            which = 0
            while which < len(shares) - 1 and random >= shares[which]:
                which += 1
            word |= pool[chosen[which], k] & (lane_mask << np.uint64(lane * bits))
        child[k] = word


@njit(cache=True)
def sample_uniform(row, start):  # type: ignore[no-untyped-def]
    """Fill ``row`` with random words: every lane is a uniform key."""
    for k in range(len(row)):
        row[k] = mix(start + np.uint64(k) * GOLDEN)


@njit(cache=True)
def sample_quantized(row, start, tables, table_of, bits):  # type: ignore[no-untyped-def]
    """Send uniform lanes through each key's inverse distribution function, by linear interpolation between knots.

    A table of the uniform distribution returns the lane itself.
    """
    lanes = 64 // bits
    lane_mask = (ONE << np.uint64(bits)) - ONE
    fraction_bits = np.uint64(bits - 8)
    fraction_mask = (ONE << fraction_bits) - ONE
    one = ONE << fraction_bits
    down = np.uint64(32 - bits) + fraction_bits
    for k in range(len(row)):
        random = mix(start + np.uint64(k) * GOLDEN)
        word = np.uint64(0)
        for lane in range(lanes):
            key = k * lanes + lane
            if key >= len(table_of):
                break
            shift = np.uint64(lane * bits)
            draw = (random >> shift) & lane_mask
            table = table_of[key]
            knot = draw >> fraction_bits
            part = draw & fraction_mask
            # the product needs 33 + fraction_bits <= 57 bits
            value = (tables[table, knot] * (one - part) + tables[table, knot + ONE] * part) >> down
            word |= min(value, lane_mask) << shift
        row[k] = word


@njit(cache=True)
def sample_beta(row, start, shapes, bits):  # type: ignore[no-untyped-def]
    """Draw every key from its own Beta(a, b), as the share of one of two gamma variates."""
    lanes = 64 // bits
    size = 2.0**bits
    lane_mask = (ONE << np.uint64(bits)) - ONE
    for k in range(len(row)):
        word = np.uint64(0)
        for lane in range(lanes):
            key = k * lanes + lane
            if key >= shapes.shape[1]:
                break
            counter = mix(start + np.uint64(key) * GOLDEN)
            share = beta_variate(counter, shapes[0, key], shapes[1, key])
            word |= min(np.uint64(share * size), lane_mask) << np.uint64(lane * bits)
        row[k] = word


@njit(cache=True)
def unit(word):  # type: ignore[no-untyped-def]
    """A float in (0, 1) from a random word."""
    return (np.float64(word >> np.uint64(12)) + 0.5) * 2.0**-52


@njit(cache=True)
def beta_variate(counter, a, b):  # type: ignore[no-untyped-def]
    """One Beta(a, b) variate from the random stream at ``counter``.

    The logarithms of two gamma variates are compared, so that tiny parameters do not divide zero by zero.
    """
    x, counter = log_gamma_variate(counter, a)
    y, counter = log_gamma_variate(counter, b)
    return 1.0 / (1.0 + np.exp(min(y - x, 700.0)))


@njit(cache=True)
def log_gamma_variate(counter, shape):  # type: ignore[no-untyped-def]
    """Logarithm of a Gamma(shape, 1) variate and the advanced counter (Marsaglia and Tsang, 2000)."""
    boost = 0.0
    if shape < 1.0:
        counter += GOLDEN
        boost = np.log(unit(mix(counter))) / shape
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * d)
    while True:
        radius = np.sqrt(-2.0 * np.log(unit(mix(counter + GOLDEN))))
        normal = radius * np.cos(2.0 * np.pi * unit(mix(counter + np.uint64(2) * GOLDEN)))
        uniform = unit(mix(counter + np.uint64(3) * GOLDEN))
        counter += np.uint64(3) * GOLDEN
        cube = 1.0 + c * normal
        if cube <= 0.0:
            continue
        v = cube * cube * cube
        if np.log(uniform) < 0.5 * normal * normal + d - d * v + d * np.log(v):
            return np.log(d * v) + boost, counter


@njit(cache=True)
def sample(row, index, attempt, breed):  # type: ignore[no-untyped-def]
    """Fill ``row``, which has number ``index``, with a fresh chromosome from the proposal."""
    start = stream(breed.seed, breed.island, breed.generation, index, SAMPLE + attempt)
    kind = breed.kind
    if kind != UNIFORM and breed.uniform_share > 0:
        source = mix(stream(breed.seed, breed.island, breed.generation, index, SOURCE + attempt))
        if (source >> np.uint64(32)) < breed.uniform_share:
            kind = UNIFORM
    if kind == QUANTIZED:
        sample_quantized(row, start, breed.tables, breed.table_of, breed.bits)
    elif kind == BETA:
        sample_beta(row, start, breed.shapes, breed.bits)
    else:
        sample_uniform(row, start)
    row[len(row) - 1] &= breed.tail


@njit(cache=True)
def mate(row, index, attempt, previous, breed):  # type: ignore[no-untyped-def]
    """Fill ``row``, which has number ``index``, with an offspring of rows of ``previous``, the elites first.

    The elite parents are drawn uniformly from the elites, the others uniformly from all other rows; with more than
    two parents they are distinct and stand in order of their row numbers within each of the two kinds.
    """
    elites, population = breed.elites, len(previous)
    parents = stream(breed.seed, breed.island, breed.generation, index, PARENTS + attempt)
    start = stream(breed.seed, breed.island, breed.generation, index, CROSSOVER + attempt)
    if breed.parents == 2:
        elite = below(mix(parents), elites)
        other = below(mix(parents + GOLDEN), population - elites) + np.uint64(elites)
        cross_two(row, previous[elite], previous[other], start, breed.inherit, breed.bits)
    else:
        chosen = np.empty(breed.parents, np.int64)
        draw_distinct(chosen[: breed.elite_parents], parents, 0, elites)
        after = parents + np.uint64(breed.elite_parents) * GOLDEN
        draw_distinct(chosen[breed.elite_parents :], after, elites, population)
        cross_many(row, previous, chosen, start, breed.shares, breed.bits)


@njit(cache=True, nogil=True)
def sample_rows(rows, first, last, breed):  # type: ignore[no-untyped-def]
    """Fill ``rows[first:last]`` with fresh chromosomes."""
    for index in range(first, last):
        sample(rows[index], index, FIRST, breed)


@njit(cache=True)
def breed_row(rows, previous, index, attempt, breed):  # type: ignore[no-untyped-def]
    """Fill ``rows[index]`` with a mutant or an offspring of ``previous``; the mutants are spread evenly."""
    if is_mutant(index - breed.elites, breed.mutants, len(previous) - breed.elites):
        sample(rows[index], index, attempt, breed)
    else:
        mate(rows[index], index, attempt, previous, breed)


@njit(cache=True, nogil=True)
def breed_rows(rows, previous, first, last, breed):  # type: ignore[no-untyped-def]
    """Fill ``rows[first:last]`` with the mutants and offspring of ``previous``, whose first rows are the elites."""
    for index in range(first, last):
        breed_row(rows, previous, index, FIRST, breed)


@njit(cache=True, nogil=True)
def shake_rows(rows, previous, first, last, breed):  # type: ignore[no-untyped-def]
    """Fill ``rows[first:last]``: elites of ``previous`` whose keys stay with the chance ``inherit``, fresh rows behind.

    The other keys of an elite come from a fresh chromosome.
    """
    for index in range(first, last):
        sample(rows[index], index, FIRST, breed)
        if index < breed.elites:
            start = stream(breed.seed, breed.island, breed.generation, index, CROSSOVER)
            cross_two(rows[index], previous[index], rows[index], start, breed.inherit, breed.bits)


@njit(cache=True)
def draw_distinct(chosen, start, low, high):  # type: ignore[no-untyped-def]
    """Fill ``chosen`` with distinct row numbers from [low, high), ascending (Floyd's sampling)."""
    count = len(chosen)
    for k in range(count):
        top = high - count + k
        pick = low + np.int64(below(mix(start + np.uint64(k) * GOLDEN), top - low + 1))
        for earlier in range(k):
            if chosen[earlier] == pick:
                pick = top
                break
        chosen[k] = pick
    chosen.sort()


@njit(cache=True)
def hash_row(row):  # type: ignore[no-untyped-def]
    """A 64-bit hash of ``row``, never 0."""
    total = np.uint64(0)
    for k in range(len(row)):
        total += mix(row[k] + np.uint64(k + 1) * GOLDEN)
    return total | ONE


@njit(cache=True)
def is_new(key, slots):  # type: ignore[no-untyped-def]
    """Whether ``key`` is not in the hash table ``slots``, which is then given it; 0 marks an empty slot."""
    mask = np.uint64(len(slots) - 1)
    place = (key >> ONE) & mask
    while slots[place] != 0:
        if slots[place] == key:
            return False
        place = (place + ONE) & mask
    slots[place] = key
    return True


@njit(cache=True, nogil=True)
def replace_duplicates(rows, previous, breed):  # type: ignore[no-untyped-def]
    """Breed again each new row that equals an elite of ``previous`` or an earlier new row; returns how many.

    A row that is a duplicate twice becomes a mutant. Rows are compared by their hashes.
    """
    size = 1
    while size < 2 * len(rows):
        size *= 2
    slots = np.zeros(size, np.uint64)
    for index in range(breed.elites):
        is_new(hash_row(previous[index]), slots)
    replaced = 0
    for index in range(breed.elites, len(rows)):
        if not is_new(hash_row(rows[index]), slots):
            breed_row(rows, previous, index, AGAIN, breed)
            if not is_new(hash_row(rows[index]), slots):
                sample(rows[index], index, AGAIN, breed)
                is_new(hash_row(rows[index]), slots)
            replaced += 1
    return replaced
