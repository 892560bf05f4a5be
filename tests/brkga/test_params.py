import dataclasses
import warnings

import numpy as np
import pytest

from brkga import Parameters

WRONG = [
    ({"population": 2}, "population must be at least 3 and below 2^31, got 2"),
    ({"population": 100.0}, "population must be an integer, got 100.0"),
    ({"elites": 0}, "elites must be at least 1 and below 2^31, got 0"),
    ({"mutants": -1}, "mutants must be at least 0 and below 2^31, got -1"),
    ({"elites": 50, "mutants": 50}, "elites + mutants must be below population 100 to leave offspring, got 100"),
    ({"elite_bias": 1.7}, "elite_bias must be in [0, 1], got 1.7"),
    ({"elite_bias": -0.1}, "elite_bias must be in [0, 1], got -0.1"),
    ({"elite_bias": float("nan")}, "elite_bias must be in [0, 1], got nan"),
    ({"elite_bias": "high"}, "elite_bias must be a number, got 'high'"),
    ({"elite_bias": [0.7, 1.1]}, "elite_bias must be in [0, 1], got 1.1"),
    ({"elite_bias": [0.7, 0.7], "parents": 3}, "needs two parents and no bias; parents is, got 3"),
    ({"elite_bias": [[0.7, 0.7]]}, "elite_bias must be a number or 1-D, dimensions are, got 2"),
    ({"parents": 1}, "parents must be at least 2 and below 2^31, got 1"),
    ({"elite_parents": 2}, "elite_parents must be below parents 2, got 2"),
    ({"parents": 30, "elite_parents": 21}, "elite_parents must be at most elites 20, got 21"),
    ({"parents": 90, "elite_parents": 9}, "parents - elite_parents must be at most the other rows 80, got 81"),
    ({"bias": (1.0,)}, "bias must have 2 weights, got 1"),
    ({"bias": (0.0, 0.0)}, "bias must hold finite weights >= 0 that are not all 0, got (0.0, 0.0)"),
    ({"bias": (1.0, float("inf"))}, "bias must hold finite weights"),
    ({"uniform_mutants": 1.5}, "uniform_mutants must be in [0, 1], got 1.5"),
    ({"reject_duplicates": "yes"}, "reject_duplicates must be a bool, got 'yes'"),
    ({"islands": 0}, "islands must be at least 1 and below 2^31, got 0"),
    ({"exchange_every": 10}, "exchange_every needs two islands or more, islands is, got 1"),
    ({"islands": 2, "exchange_every": 10, "exchange_count": 21}, "exchange_count must be at most elites 20, got 21"),
    ({"islands": 9, "exchange_every": 10, "exchange_count": 11}, "must be at most 80, got 88"),
]


@pytest.mark.parametrize(("fields", "message"), WRONG, ids=[message for _, message in WRONG])
def test_value_that_no_search_can_use_is_refused_with_the_value(fields, message):
    with pytest.raises(ValueError, match=r".+") as error:
        Parameters(**fields)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"elites": 9}, "elites = 9 is outside the usual 0.10 to 0.25 of population 100"),
        ({"elites": 26}, "elites = 26"),
        ({"mutants": 0}, "mutants = 0 is outside the usual 0.10 to 0.30"),
        ({"mutants": 31}, "mutants = 31"),
        ({"elite_bias": 0.5}, "elite_bias = 0.5 is outside the usual"),
        ({"elite_bias": [0.7, 0.9]}, "elite_bias = 0.9"),
    ],
)
def test_unusual_value_warns(fields, message):
    with pytest.warns(UserWarning, match=message.replace(".", r"\.")):
        Parameters(**fields)


def test_warning_points_at_the_caller():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Parameters(elites=9)
    assert caught[0].filename == __file__


def test_usual_ranges_are_silent():
    for elites, mutants, bias in ((10, 10, 0.51), (25, 30, 0.8)):
        assert Parameters(elites=elites, mutants=mutants, elite_bias=bias).elites == elites


def test_fractions_are_rounded_and_not_cut():
    assert int(0.29 * 100) == 28  # the trap
    assert Parameters.from_fractions(100, elite=0.2, mutant=0.29).mutants == 29
    assert Parameters.from_fractions(1000, elite=0.115, mutant=0.1).elites == 115
    assert Parameters.from_fractions(50).elites == 10
    with pytest.raises(ValueError, match=r"mutant must be in \[0, 1\], got 1.2"):
        Parameters.from_fractions(50, mutant=1.2)


def test_arrays_become_tuples_so_that_parameters_can_be_compared_and_frozen():
    parameters = Parameters(elite_bias=np.array([0.6, 0.7]))
    assert parameters.elite_bias == (0.6, 0.7)
    assert parameters == Parameters(elite_bias=[0.6, 0.7])
    assert parameters != Parameters()
    with pytest.raises(dataclasses.FrozenInstanceError):
        parameters.population = 3


def test_parent_weights():
    assert Parameters().parent_weights == pytest.approx((0.7, 0.3))
    assert Parameters(parents=5, elite_parents=2).parent_weights == pytest.approx((0.35, 0.35, 0.1, 0.1, 0.1))
    assert Parameters(parents=3, bias=[3, 2, 1]).parent_weights == pytest.approx((1 / 2, 1 / 3, 1 / 6))
