import pytest

from regal.plot.style import PALETTE, byte_unit, color_of, format_bytes, format_seconds, safe


@pytest.mark.parametrize(
    ("num_bytes", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.00 KiB"),
        (12 * 2**20, "12.0 MiB"),
        (2**40 - 1, "1024 GiB"),
        (2**62, "4.00 EiB"),
        (2**70, "1024 EiB"),
    ],
)
def test_bytes(num_bytes: int, text: str) -> None:
    assert format_bytes(num_bytes) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0 s"), (2e-7, "200 ns"), (1e-3, "1.00 ms"), (3600.0, "3600 s"), (1e-12, "0.001 ns"), (1e300, "1e+300 s")],
)
def test_seconds(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text


def test_the_unit_of_an_axis_is_a_power_of_two_so_that_scaling_is_exact() -> None:
    size, name = byte_unit(5 * 2**30 + 1)
    assert (size, name) == (2**30, "GiB")
    assert (5 * 2**30 + 1) / size * size == 5 * 2**30 + 1


def test_safe_text_holds_no_markup_and_keeps_both_ends() -> None:
    assert safe("a<b>&\n\x00\ud800") == "a&lt;b&gt;&amp;   "
    assert safe("'\"", quote=True) == "&#x27;&quot;"
    assert safe("start" + "x" * 100 + "end", limit=20) == "startxxxx…xxxxxxxend"
    assert len(safe("x" * 100, limit=20)) == 20
    assert safe("<" * 100, limit=20).count("&lt;") == 19


def test_colours_repeat() -> None:
    assert color_of(0) == color_of(len(PALETTE)) != color_of(1)
    assert len(set(PALETTE)) == len(PALETTE)
