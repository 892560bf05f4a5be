import numpy as np
import pytest
from scipy import stats

from brkga import BRKGA, Beta, Parameters, QuantizedBeta, Uniform
from brkga.proposal import KNOTS

SHAPES = [(1.0, 1.0), (2.0, 5.0), (0.5, 0.5), (0.1, 0.1), (0.3, 4.0), (7.0, 0.6), (1.0, 10.0), (40.0, 60.0)]
ROWS = 4000
SHARP = 1.95 / np.sqrt(ROWS)
"""Kolmogorov's statistic of 4,000 draws exceeds this once in a thousand times."""


def drawn(proposal, num_keys, dtype=np.float64, seed=5):
    parameters = Parameters.from_fractions(ROWS)
    return BRKGA(num_keys, parameters, proposal=proposal, seed=seed, key_dtype=dtype).ask()


@pytest.mark.parametrize("dtype", [np.float64, np.uint32, np.uint16])
def test_exact_beta_keys_have_the_distribution(dtype):
    a, b = np.array(SHAPES).T
    keys = drawn(Beta(a, b), len(SHAPES), dtype)
    size = 1.0 if dtype == np.float64 else float(np.iinfo(dtype).max) + 1.0
    for key, shape in enumerate(SHAPES):
        # a 16-bit key is cut to a multiple of 2^-16: compare on that grid, where Beta(0.1, 0.1) has atoms
        grid = np.linspace(0.0, 1.0, 2**10 + 1)[1:]
        found = np.searchsorted(np.sort(keys[:, key] / size), grid) / ROWS
        assert np.abs(found - stats.beta(*shape).cdf(grid)).max() < SHARP, shape


@pytest.mark.parametrize("dtype", [np.float64, np.uint32, np.uint16])
def test_quantized_beta_keys_have_the_distribution(dtype):
    a, b = np.array(SHAPES).T
    keys = drawn(QuantizedBeta.from_grid(a, b, np.arange(len(SHAPES))), len(SHAPES), dtype)
    size = 1.0 if dtype == np.float64 else float(np.iinfo(dtype).max) + 1.0
    for key, shape in enumerate(SHAPES):
        grid = np.linspace(0.0, 1.0, 2**10 + 1)[1:]
        found = np.searchsorted(np.sort(keys[:, key] / size), grid) / ROWS
        assert np.abs(found - stats.beta(*shape).cdf(grid)).max() < SHARP + 1 / 256, shape


def test_table_differs_from_the_exact_distribution_by_less_than_an_interval():
    a, b = np.array(SHAPES).T
    tables = QuantizedBeta.from_grid(a, b, [0]).tables / 2.0**32
    levels = np.linspace(0.0, 1.0, KNOTS)
    # quantiles below 2^-32 are stored as 0, as every key is: compare away from both ends
    grid = np.linspace(0.0, 1.0, 2**14 + 1)[1:-1]
    for table, shape in zip(tables, SHAPES, strict=True):
        rises = np.concatenate([[True], np.diff(table) > 0])
        found = np.interp(grid, table[rises], levels[rises])
        inside = (grid > table[rises][1]) & (grid < table[rises][-2])
        assert np.abs(found - stats.beta(*shape).cdf(grid))[inside].max() < 1 / 256, shape


def test_uniform_table_gives_the_uniform_keys_bit_for_bit():
    table_of = np.zeros(21, int)
    for dtype in (np.uint16, np.uint32, np.float64):
        table = drawn(QuantizedBeta.from_grid([1.0], [1.0], table_of), 21, dtype)
        assert np.array_equal(table, drawn(Uniform(), 21, dtype))


def test_keys_are_independent_of_each_other_and_of_their_row():
    for proposal in (Uniform(), Beta(np.full(12, 2.0), np.full(12, 3.0))):
        keys = drawn(proposal, 12)
        between_keys = np.corrcoef(keys.T) - np.eye(12)
        between_rows = np.corrcoef(keys[:-1, 0], keys[1:, 0])[0, 1]
        assert np.abs(between_keys).max() < 5 / np.sqrt(ROWS)
        assert abs(between_rows) < 5 / np.sqrt(ROWS)


def test_share_of_uniform_mutants_keeps_a_sharp_proposal_from_taking_all():
    sharp = Beta(np.full(8, 1000.0), np.full(8, 1000.0))
    engine = BRKGA(8, Parameters.from_fractions(ROWS, uniform_mutants=0.25), proposal=sharp, seed=2)
    far = (np.abs(engine.ask() - 0.5) > 0.1).any(axis=1).mean()
    assert far == pytest.approx(0.25, abs=4 * np.sqrt(0.25 * 0.75 / ROWS))


def test_grid_is_broadcast_and_read_in_c_order():
    grid = QuantizedBeta.from_grid([[1.0], [2.0]], [[1.0, 3.0, 5.0]], [5, 0])
    assert grid.tables.shape == (6, KNOTS)
    assert np.array_equal(grid.tables[5], QuantizedBeta.from_grid([2.0], [5.0], [0]).tables[0])


def test_arrays_are_copied_and_frozen():
    a = np.ones(2)
    proposal = Beta(a, a)
    a[0] = 9.0
    assert proposal.a.tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="read-only"):
        proposal.b[0] = 2.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Beta([1.0, 0.0], [1.0, 1.0]), "a must be finite and above 0, got 0.0"),
        (lambda: Beta([1.0], [np.nan]), "b must be finite and above 0, got nan"),
        (lambda: Beta([1.0], [np.inf]), "b must be finite and above 0, got inf"),
        (lambda: Beta([1.0, 2.0], [1.0, 2.0, 3.0]), "a and b must have matching shapes"),
        (lambda: Beta([[1.0]], [[1.0]]), "a and b must be 1-D, got 2"),
        (lambda: QuantizedBeta(np.zeros((2, 256), int), [0]), r"tables must be integers of shape \(\*, 257\)"),
        (lambda: QuantizedBeta(np.zeros((1, KNOTS)), [0]), "tables must be integers"),
        (lambda: QuantizedBeta(np.arange(KNOTS)[None, ::-1], [0]), "tables must ascend"),
        (lambda: QuantizedBeta(np.arange(KNOTS)[None] + 2**32, [0]), "at most 2"),
        (lambda: QuantizedBeta(np.zeros((2, KNOTS), int), [0, 2]), r"table_of must be in \[0, 2\), got 0 to 2"),
        (lambda: QuantizedBeta(np.zeros((2, KNOTS), int), [-1]), r"table_of must be in \[0, 2\), got -1"),
        (lambda: QuantizedBeta(np.zeros((2, KNOTS), int), [0.5]), "table_of must be 1-D integers"),
        (lambda: BRKGA(3, proposal=Beta([1.0], [1.0])), "the proposal must be for 3 keys, got 1"),
    ],
)
def test_wrong_proposal_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
