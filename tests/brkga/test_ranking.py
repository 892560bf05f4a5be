import numpy as np
import pytest

from brkga import ranking, reference

BACKENDS = {"reference": reference, "numba": ranking}


def ranked(backend, old, new, first, population, elites):
    """Rows that hold their own number (old ones negative), after ranking; the fitness of the elites; the status."""
    old, new = np.array(old, float), np.array(new, float)
    columns = new.shape[2]
    rows = np.broadcast_to(np.arange(population, dtype=np.int64)[None, :, None], (len(new), population, 2)).copy()
    previous = rows[:, :elites].copy()
    previous[:, : old.shape[1]] = -1 - previous[:, : old.shape[1]]
    fitness = np.full((len(new), elites, columns), np.nan)
    rows, previous = rows.view(np.uint64), previous.view(np.uint64)
    status = BACKENDS[backend].rank(rows, previous, old, new, first, fitness)
    assert np.array_equal(rows[..., 0], rows[..., 1])
    return rows[..., 0].view(np.int64).tolist(), fitness.tolist(), status


@pytest.mark.parametrize("backend", BACKENDS)
def test_worked_example(backend):
    """Elites 1, 3, 5 (rows -1, -2, -3); the new rows 3 to 6 have 4, 9, 0 and 3.

    Rows 5 and, tying, 6 come in; the elite with 3 stays ahead of row 6, for it is older. The evicted one takes the
    lower place left, behind the front.
    """
    old, new = [[[1.0], [3.0], [5.0]]], [[[4.0], [9.0], [0.0], [3.0]]]
    rows, fitness, status = ranked(backend, old, new, first=3, population=7, elites=3)
    assert fitness == [[[0.0], [1.0], [3.0]]]
    assert rows == [[5, -1, -2, 3, 4, -3, 6]]
    assert status == -1


@pytest.mark.parametrize("backend", BACKENDS)
def test_first_generation_has_no_elites_yet(backend):
    rows, fitness, _ = ranked(backend, np.empty((1, 0, 1)), [[[4.0], [2.0], [3.0], [1.0]]], 0, 4, 2)
    assert fitness == [[[1.0], [2.0]]]
    assert rows == [[3, 1, 2, 0]]


@pytest.mark.parametrize("backend", BACKENDS)
def test_row_that_ties_with_the_worst_elite_stays_out(backend):
    rows, _, _ = ranked(backend, [[[1.0], [2.0]]], [[[2.0], [2.0]]], 2, 4, 2)
    assert rows == [[-1, -2, 2, 3]]


@pytest.mark.parametrize("backend", BACKENDS)
def test_columns_count_in_order(backend):
    old, new = [[[0.0, 5.0], [1.0, 0.0]]], [[[0.0, 6.0], [0.0, np.inf], [2.0, 0.0]]]
    rows, fitness, _ = ranked(backend, old, new, 2, 5, 2)
    assert fitness == [[[0.0, 5.0], [0.0, 6.0]]]
    assert rows == [[-1, 2, -2, 3, 4]]


@pytest.mark.parametrize("backend", BACKENDS)
def test_number_that_cannot_be_ranked_is_found_and_nothing_changes(backend):
    for wrong in (np.nan, -np.inf):
        old, new = [[[1.0]]] * 2, [[[0.0], [2.0]], [[0.0], [wrong]]]
        rows, fitness, status = ranked(backend, old, new, 1, 3, 1)
        assert status == 3
        assert rows == [[0, 1, 2]] * 2
        assert np.isnan(fitness).all()


@pytest.mark.parametrize("seed", range(30))
def test_backends_are_equal(seed):
    random = np.random.default_rng(seed)
    elites, new_rows = random.integers(1, 6, 2).tolist()
    islands, columns = random.integers(1, 4, 2).tolist()
    known = random.choice([0, 1, elites])
    first = known + (0 if known < elites else random.integers(0, 4))
    if known < elites:
        new_rows += elites
    old = np.sort(random.integers(0, 4, (islands, known, 1)) + np.zeros(columns), axis=1)
    new = random.integers(0, 4, (islands, new_rows, columns)).astype(float)
    new[random.random(new.shape) < 0.1] = np.inf
    found = [ranked(name, old, new, int(first), int(first) + new_rows, elites) for name in BACKENDS]
    assert found[0] == found[1]
