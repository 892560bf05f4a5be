import numpy as np
import pytest

from brkga import Parameters


@pytest.fixture
def small():
    """A population of 20 with 4 elites and 3 mutants: 16 new rows in a generation."""
    return Parameters(population=20, elites=4, mutants=3)


class Recorder:
    """The decoder ``keys -> sum of keys``, which remembers what it was given."""

    def __init__(self):
        self.calls = []

    def __call__(self, keys, cutoff):
        self.calls.append((keys.copy(), cutoff))
        return keys.sum(axis=1, dtype=np.float64)

    @property
    def rows(self):
        return np.concatenate([keys for keys, _ in self.calls])


@pytest.fixture
def recorder():
    return Recorder()
