import numpy as np
import pytest

from brkga.keys import KeyLayout

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize(("dtype", "bits", "lanes"), [(np.uint16, 16, 4), (np.uint32, 32, 2), (np.float64, 32, 2)])
@pytest.mark.parametrize("num_keys", [1, 2, 3, 4, 5, 8, 13])
def test_pack_and_keys_are_inverse_and_the_tail_is_empty(dtype, bits, lanes, num_keys):
    layout = KeyLayout(num_keys, dtype)
    assert (layout.bits, layout.lanes, layout.words) == (bits, lanes, -(-num_keys // lanes))
    stored = RANDOM.integers(0, 2**bits, (6, num_keys))
    keys = stored * 2.0**-32 if dtype == np.float64 else stored.astype(dtype)
    words = layout.pack(keys)
    found = layout.keys(words)
    assert found.dtype == dtype
    assert found.flags.c_contiguous
    assert np.array_equal(found, keys)
    assert (words[:, -1] & ~np.uint64(layout.tail) == 0).all()
    first = [sum(int(key) << (bits * lane) for lane, key in enumerate(row[:lanes])) for row in stored]
    assert words[:, 0].tolist() == first


def test_integer_keys_that_fill_their_words_are_not_copied():
    layout = KeyLayout(8, np.uint16)
    words = np.zeros((3, layout.words), np.uint64)
    assert np.shares_memory(layout.keys(words), words)
    assert not np.shares_memory(KeyLayout(7, np.uint16).keys(words), words)


def test_float_keys_are_below_1_and_round_down():
    layout = KeyLayout(2, np.float64)
    assert layout.keys(layout.pack([[np.nextafter(1.0, 0.0), 0.1]])).tolist() == [
        [1 - 2.0**-32, np.floor(0.1 * 2**32) / 2**32]
    ]


@pytest.mark.parametrize(
    ("dtype", "keys", "message"),
    [
        (np.float64, [[0.5, 1.0]], r"keys must be in \[0, 1\), got 1.0"),
        (np.float64, [[np.nan, 0.5]], r"keys must be in \[0, 1\), got nan"),
        (np.float64, [[-0.1, 0.5]], r"got -0.1"),
        (np.uint16, [[1, 65536]], r"keys must be in \[0, 2\^16\), got 65536"),
        (np.uint16, [[-1, 1]], r"got -1"),
        (np.uint32, [[0.5, 1]], "keys must be integers for key_dtype uint32, got float64"),
        (np.float64, [[0.5]], r"keys must have shape \(rows, 2\), got \(1, 1\)"),
        (np.float64, [0.5, 0.5], r"keys must have shape \(rows, 2\), got \(2,\)"),
    ],
)
def test_wrong_keys_are_refused(dtype, keys, message):
    with pytest.raises(ValueError, match=message):
        KeyLayout(2, dtype).pack(keys)


def test_wrong_layouts_are_refused():
    with pytest.raises(ValueError, match="num_keys must be at least 1, got 0"):
        KeyLayout(0, np.float64)
    with pytest.raises(ValueError, match="key_dtype must be uint16, uint32 or float64, got float32"):
        KeyLayout(2, np.float32)
