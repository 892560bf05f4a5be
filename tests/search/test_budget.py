import math

import pytest

from regal.search import Budget


@pytest.mark.parametrize("evaluations", [0, -1, 1.0, True, "5", 2**53, math.nan])
def test_evaluations_are_a_positive_integer(evaluations):
    with pytest.raises(ValueError, match="evaluations must be a positive integer, not"):
        Budget(evaluations)


@pytest.mark.parametrize("seconds", [0, 0.0, -1.0, math.nan, math.inf, -math.inf, True, "5"])
def test_seconds_are_positive_and_finite(seconds):
    with pytest.raises(ValueError, match="seconds must be positive and finite, not"):
        Budget(None, seconds)


def test_one_limit_is_needed():
    with pytest.raises(ValueError, match="needs evaluations, seconds, or both"):
        Budget(None, None)


def test_reason_to_stop():
    both = Budget(10, 2.0)
    assert both.reason_to_stop(9, 1.9) is None
    assert both.reason_to_stop(10, 1.9) == "evaluations"
    assert both.reason_to_stop(9, 2.0) == "seconds"
    assert both.reason_to_stop(11, 3.0) == "evaluations"
    assert Budget(None, 2).reason_to_stop(10**9, 1.9) is None
    assert Budget(10).reason_to_stop(9, math.inf) is None
