import numpy as np
import pytest
from scipy import special, stats

from brkga.beta import beta_distribution, beta_quantile, quantile_tables
from brkga.proposal import KNOTS

VALUES = [0.02, 0.1, 0.5, 1.0, 1.5, 3.0, 20.0, 300.0, 5000.0]


@pytest.mark.parametrize("a", VALUES)
@pytest.mark.parametrize("b", VALUES)
def test_distribution_and_density_agree_with_scipy(a, b):
    x = np.concatenate([[0.0, 1.0], np.linspace(0.01, 0.99, 25), [a / (a + b)]])
    found = np.array([beta_distribution(a, b, value) for value in x])
    assert found[:, 0] == pytest.approx(special.betainc(a, b, x), rel=1e-9, abs=1e-13)
    assert found[2:, 1] == pytest.approx(stats.beta(a, b).pdf(x[2:]), rel=1e-9)


@pytest.mark.parametrize("a", VALUES)
@pytest.mark.parametrize("b", VALUES)
def test_quantiles_agree_with_scipy(a, b):
    levels = np.linspace(0.0, 1.0, 65)[1:-1]
    found = [beta_quantile(a, b, level, 0.0) for level in levels]
    assert found == pytest.approx(special.betaincinv(a, b, levels), rel=0, abs=1e-12)


def test_tables_hold_rounded_quantiles():
    a, b = np.array(VALUES), np.array(VALUES[::-1])
    tables = quantile_tables(a, b)
    levels = np.linspace(0.0, 1.0, KNOTS)
    exact = special.betaincinv(a[:, None], b[:, None], levels) * 2.0**32
    assert tables.dtype == np.uint64
    assert np.abs(tables - exact)[:, 1:-1].max() <= 0.51
    assert (np.diff(tables.astype(np.int64)) >= 0).all()
    assert tables.max() <= 2**32


@pytest.mark.parametrize(("a", "b"), [(2.0, 5.0), (0.5, 0.5), (0.3, 4.0), (7.0, 0.6), (1.0, 10.0), (40.0, 60.0)])
def test_outer_entries_keep_mean_and_spread(a, b):
    table = quantile_tables(np.array([a]), np.array([b]))[0] / 2.0**32
    # a linear piece from x to y has mean (x + y) / 2 and mean square (x x + x y + y y) / 3
    x, y = table[:-1], table[1:]
    mean = ((x + y) / 2).mean()
    spread = np.sqrt(((x * x + x * y + y * y) / 3).mean() - mean**2)
    assert mean == pytest.approx(stats.beta(a, b).mean(), abs=5e-5)
    assert spread == pytest.approx(stats.beta(a, b).std(), rel=1e-3)


def test_uniform_table_is_exact():
    assert np.array_equal(quantile_tables(np.ones(1), np.ones(1))[0], np.arange(KNOTS) * 2**24)
