"""The compiled kernels and the plain ones, one table, bit for bit."""

import numpy as np
import pytest

from brkga import Beta, Parameters, QuantizedBeta, Uniform, kernels, reference
from brkga.keys import KeyLayout
from brkga.population import breed_arrays, thresholds

BACKENDS = {"reference": reference, "numba": kernels}
POPULATION = 20
RANDOM = np.random.default_rng(3)
MATINGS = {
    "two parents": {},
    "bias for each key": {"elite_bias": "per key"},
    "bias 1": {"bias": (1.0, 0.0)},
    "bias 0": {"bias": (0.0, 1.0)},
    "three parents": {"parents": 3},
    "six parents, weights": {"parents": 6, "elite_parents": 3, "bias": (4, 3, 2, 1, 1, 5)},
    "all rows are parents": {"parents": 20, "elite_parents": 4},
    "no mutants": {"mutants": 0},
}
PROPOSALS = {
    "uniform": lambda n: Uniform(),
    "quantized": lambda n: QuantizedBeta.from_grid([0.2, 1.0, 6.0], [3.0, 1.0, 0.4], np.arange(n) % 3),
    "beta": lambda n: Beta(np.geomspace(0.05, 30.0, n), np.geomspace(9.0, 0.2, n)),
}


def setting(num_keys, dtype, proposal="uniform", seed=7, generation=4, island=1, **fields):
    layout = KeyLayout(num_keys, dtype)
    if fields.get("elite_bias") == "per key":
        fields["elite_bias"] = np.linspace(0.51, 0.8, num_keys)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("brkga.params._warn", lambda message: None)
        parameters = Parameters(**{"population": POPULATION, "elites": 4, "mutants": 3, **fields})
    breed = breed_arrays(layout, parameters, PROPOSALS[proposal](num_keys), seed)
    breed = breed._replace(generation=np.uint64(generation), island=np.uint64(island))
    previous = layout.pack(
        RANDOM.random((POPULATION, num_keys))
        if layout.dtype == np.float64
        else RANDOM.integers(0, 2**layout.bits, (POPULATION, num_keys))
    )
    return layout, breed, previous


def both(call, rows):
    """The result of ``call(backend, rows)`` on a copy of ``rows`` for each backend, checked to be equal."""
    made = {}
    for name, backend in BACKENDS.items():
        made[name] = rows.copy()
        call(backend, made[name])
    assert np.array_equal(made["reference"], made["numba"])
    return made["numba"]


@pytest.mark.parametrize("mating", MATINGS)
@pytest.mark.parametrize("dtype", [np.uint16, np.uint32])
@pytest.mark.parametrize("num_keys", [1, 7, 8, 13])
def test_breeding_is_equal(mating, dtype, num_keys):
    layout, breed, previous = setting(num_keys, dtype, **MATINGS[mating])
    rows = both(lambda backend, rows: backend.breed_rows(rows, previous, 4, POPULATION, breed), np.zeros_like(previous))
    assert (rows[:, -1] & ~np.uint64(layout.tail) == 0).all()
    assert not rows[:4].any()


@pytest.mark.parametrize("proposal", PROPOSALS)
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("dtype", [np.uint16, np.float64])
@pytest.mark.parametrize("num_keys", [1, 7, 8])
def test_sampling_is_equal(proposal, share, dtype, num_keys):
    _, breed, previous = setting(num_keys, dtype, proposal, uniform_mutants=share)
    both(lambda backend, rows: backend.sample_rows(rows, 2, POPULATION, breed), np.zeros_like(previous))


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32])
def test_shaking_is_equal_and_redraws_its_share(dtype):
    layout, breed, previous = setting(400, dtype)
    breed = breed._replace(inherit=thresholds(layout, 0.75))
    rows = both(lambda backend, rows: backend.shake_rows(rows, previous, 1, POPULATION, breed), np.zeros_like(previous))
    same = layout.keys(rows) == layout.keys(previous)
    assert same[1:4].mean() == pytest.approx(0.75, abs=4 * np.sqrt(0.75 * 0.25 / 1200))
    assert same[4:].mean() < 0.01


def test_replacing_duplicates_is_equal():
    _, breed, previous = setting(60, np.uint16)
    rows = np.zeros_like(previous)
    kernels.breed_rows(rows, previous, 4, POPULATION, breed)
    rows[6], rows[7], rows[12] = rows[5], previous[2], previous[10]
    replaced = {}

    def call(backend, made):
        replaced[backend] = backend.replace_duplicates(made, previous, breed)

    made = both(call, rows)
    # rows 6 and 7 are duplicates; row 12 equals a row of the last generation that is not elite, which is no duplicate
    assert set(replaced.values()) == {2}
    changed = (made != rows).any(axis=1)
    assert np.flatnonzero(changed).tolist() == [6, 7]


@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_row_that_is_a_duplicate_again_becomes_a_mutant(bias):
    """With a bias of 1 or 0 each child is a parent: an elite, a duplicate, or another row, which is none."""
    layout, breed, previous = setting(60, np.uint16, bias=(bias, 1.0 - bias))
    rows = np.zeros_like(previous)
    kernels.breed_rows(rows, previous, 4, POPULATION, breed)
    made = both(lambda backend, rows: backend.replace_duplicates(rows, previous, breed), rows)
    keys, old = layout.keys(made)[4:], layout.keys(previous)
    assert len(np.unique(keys, axis=0)) == 16
    assert not any((old[:4] == row).all(axis=1).any() for row in keys)
    assert sum((old[4:] == row).all(axis=1).any() for row in keys) == (0 if bias else pytest.approx(10, abs=3))


@pytest.mark.parametrize(("counter", "a", "b"), [(1, 1e-3, 1e-3), (2**63, 0.5, 700.0), (77, 1e4, 1e-2), (5, 3.0, 3.0)])
def test_beta_variates_are_equal(counter, a, b):
    found = kernels.beta_variate(np.uint64(counter), a, b)
    assert 0.0 <= found <= 1.0
    assert found == reference.beta_variate(counter, a, b)


@pytest.mark.parametrize("seed", [0, 1, 2**63, 2**64 - 1])
def test_random_words_are_equal_and_known(seed):
    for purpose in range(8):
        _, breed, _ = setting(1, np.uint16, seed=seed)
        start = kernels.stream(breed.seed, breed.island, breed.generation, 9, np.uint64(purpose))
        words = reference.stream(breed, 9, purpose)
        with np.errstate(over="ignore"):
            found = [int(kernels.mix(start + np.uint64(k) * kernels.GOLDEN)) for k in range(5)]
        assert found == [next(words) for _ in range(5)]
    # the first output of splitmix64 with seed 0
    assert reference.mix(reference.GOLDEN) == 0xE220A8397B1DCDAF


def test_streams_of_neighbours_do_not_overlap():
    """No two of the first words of any seed, island, generation, row and purpose are the same."""
    starts = [
        kernels.stream(np.uint64(seed), np.uint64(island), np.uint64(generation), row, np.uint64(purpose))
        for seed in range(3)
        for island in range(3)
        for generation in range(5)
        for row in range(20)
        for purpose in range(8)
    ]
    words = np.array(starts, np.uint64)[:, None] + np.arange(16, dtype=np.uint64) * kernels.GOLDEN
    assert len(np.unique(words)) == words.size


def rows_of_own_number(population, num_keys):
    layout = KeyLayout(num_keys, np.uint16)
    return layout, layout.pack(np.arange(population)[:, None] * np.ones(num_keys, int))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("fields", "share"), [({}, 0.7), ({"elite_bias": "per key"}, None), ({"parents": 5}, 0.7)])
def test_keys_come_from_elites_with_the_elite_bias(backend, fields, share):
    """Every row is filled with its own number, so that a key tells which parent it is from."""
    num_keys = 40
    layout, previous = rows_of_own_number(POPULATION, num_keys)
    _, breed, _ = setting(num_keys, np.uint16, mutants=0, **fields)
    from_elite = np.zeros(num_keys)
    generations = 25 if backend == "reference" else 500
    for generation in range(generations):
        rows = np.zeros_like(previous)
        BACKENDS[backend].breed_rows(rows, previous, 4, POPULATION, breed._replace(generation=np.uint64(generation)))
        from_elite += (layout.keys(rows[4:]) < 4).sum(axis=0)
    count = generations * 16
    expected = np.full(num_keys, share) if share else np.linspace(0.51, 0.8, num_keys)
    assert np.abs(from_elite / count - expected).max() < 4.5 * np.sqrt(0.25 / count)


@pytest.mark.parametrize("parents", [2, 3])
def test_other_parents_are_all_the_rows_that_are_not_elite(parents):
    """A library that leaves the worst rows out of the parents stalls: each row must be drawn alike often."""
    layout, previous = rows_of_own_number(POPULATION, 4)
    _, breed, _ = setting(4, np.uint16, mutants=3, bias=(0.0,) + (1.0,) * (parents - 1), parents=parents)
    drawn = np.zeros(POPULATION)
    for generation in range(2000):
        rows = np.zeros_like(previous)
        breed = breed._replace(generation=np.uint64(generation))
        kernels.breed_rows(rows, previous, 4, POPULATION, breed)
        offspring = [row for row in range(4, POPULATION) if not kernels.is_mutant(row - 4, 3, 16)]
        drawn += np.bincount(layout.keys(rows)[offspring, 0], minlength=POPULATION)
    assert not drawn[:4].any()
    share = drawn[4:] / drawn.sum()
    assert share == pytest.approx(np.full(16, 1 / 16), abs=4.5 * np.sqrt(1 / 16 / drawn.sum()))


@pytest.mark.parametrize(("mutants", "new_rows"), [(0, 16), (3, 16), (15, 80), (1, 7), (6, 7)])
def test_mutants_are_as_many_as_asked_for_and_spread_evenly(mutants, new_rows):
    where = np.flatnonzero([kernels.is_mutant(index, mutants, new_rows) for index in range(new_rows)])
    assert len(where) == mutants
    for parts in (2, 3):
        counts = np.bincount(where * parts // new_rows, minlength=parts)
        assert counts.max() - counts.min() <= 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_parents_beyond_two_are_distinct(backend):
    layout, previous = rows_of_own_number(6, 400)
    _, breed, _ = setting(400, np.uint16, population=6, elites=2, mutants=0, parents=6, elite_parents=2)
    rows = np.zeros_like(previous)
    BACKENDS[backend].breed_rows(rows, previous, 2, 6, breed)
    # with as many parents as rows, every row gives keys
    assert all(set(keys) == set(range(6)) for keys in layout.keys(rows[2:]).tolist())


def test_rows_in_parts_are_the_rows_in_one_go():
    _, breed, previous = setting(13, np.uint16)
    whole, parts = np.zeros_like(previous), np.zeros_like(previous)
    kernels.breed_rows(whole, previous, 4, POPULATION, breed)
    for low, high in ((11, POPULATION), (4, 5), (5, 11)):
        kernels.breed_rows(parts, previous, low, high, breed)
    assert np.array_equal(whole, parts)


def test_random_bits_are_fair():
    _, breed, _ = setting(256, np.uint16)
    rows = np.zeros((2000, 64), np.uint64)
    kernels.sample_rows(rows, 0, 2000, breed)
    bits = np.unpackbits(rows.view(np.uint8), axis=1).mean(axis=0)
    assert np.abs(bits - 0.5).max() < 5 * 0.5 / np.sqrt(2000)
