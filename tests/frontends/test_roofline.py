import math

import pytest

from regal.frontends.roofline import Rates


def test_the_slower_of_arithmetic_and_memory_decides():
    rates = Rates(flops=100.0, bandwidth=10.0, overhead=0.25)
    assert rates.runtime(200, 10) == 0.25 + 2.0
    assert rates.runtime(200, 30) == 0.25 + 3.0
    assert rates.runtime(0, 0) == 0.25


def test_an_infinite_rate_leaves_the_other_bound():
    assert Rates(flops=math.inf, bandwidth=2.0, overhead=0).runtime(1e30, 4) == 2.0
    assert Rates(flops=2.0, bandwidth=math.inf, overhead=0).runtime(4, 1e30) == 2.0
    assert Rates(bandwidth=math.inf).to_json() == {"flops": 19.5e12, "bandwidth": None, "overhead": 5e-6}


def test_integers_become_floats():
    assert Rates(flops=2, bandwidth=3, overhead=0) == Rates(2.0, 3.0, 0.0)
    assert isinstance(Rates(flops=2).flops, float)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("flops", 0),
        ("flops", -1.0),
        ("flops", math.nan),
        ("flops", "fast"),
        ("flops", True),
        ("bandwidth", 0.0),
        ("bandwidth", 10**400),
        ("overhead", -1e-9),
        ("overhead", math.inf),
        ("overhead", math.nan),
    ],
)
def test_a_wrong_rate_is_refused_by_name(field, value):
    with pytest.raises(ValueError, match=rf"^rates: {field} must .*[^\n]*$"):
        Rates(**{field: value})
