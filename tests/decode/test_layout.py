from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regal.decode import Layout
from regal.graph import example_graph


@given(st.integers(0, 20), st.integers(0, 20), st.integers(1, 5))
def test_the_slices_follow_one_another(num_ops, num_activations, num_devices):
    layout = Layout(num_ops, num_activations, num_devices)
    ends = [0, num_ops * num_devices, num_ops * num_devices + num_ops, layout.num_keys]
    assert [layout.affinities, layout.priorities, layout.transfers] == [slice(a, b) for a, b in pairwise(ends)]
    assert layout.num_keys == num_ops * num_devices + num_ops + num_activations * num_devices
    assert layout.num_padded_keys >= max(layout.num_keys, 1)
    assert layout.num_padded_keys % 4 == 0
    assert layout.num_padded_keys - layout.num_keys <= 4


def test_of_a_graph():
    assert Layout.of(example_graph("chain"), 3) == Layout(num_ops=3, num_activations=3, num_devices=3)


@pytest.mark.parametrize(
    ("layout", "dtype"),
    [
        (Layout(2**16, 2**16, 1), np.uint16),
        (Layout(2**16 + 1, 0, 1), np.uint32),
        (Layout(2**15, 2**15, 2), np.uint16),
        (Layout(2**15, 2**15 + 1, 2), np.uint32),
        (Layout(2**15, 2**15, 3), np.uint32),
    ],
)
def test_keys_are_wide_enough_for_all_events(layout, dtype):
    assert layout.key_dtype == dtype


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32])
@pytest.mark.parametrize("width", [47, 48])
def test_accepts_rows_with_and_without_padding(dtype, width):
    layout = Layout(num_ops=5, num_activations=16, num_devices=2)
    assert (layout.num_keys, layout.num_padded_keys) == (47, 48)
    layout.check(np.zeros((3, width), dtype))
    layout.check(np.zeros(width, dtype))


def test_refuses_other_rows():
    layout = Layout(num_ops=5, num_activations=16, num_devices=2)
    for width in (0, 46, 49):
        with pytest.raises(ValueError, match=f"a chromosome has 47 keys, not {width}"):
            layout.check(np.zeros((1, width), np.uint16))
    for dtype in (np.float64, np.int32, np.uint64, np.uint8):
        with pytest.raises(ValueError, match=f"keys are uint16 or uint32, not {np.dtype(dtype)}"):
            layout.check(np.zeros((1, 47), dtype))
