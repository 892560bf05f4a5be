"""What all pictures share: colours, human units, and names made safe for markup."""

from __future__ import annotations

import html
from typing import Any

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D1F", "#5B4A9C")
"""One colour a device, then again from the first. The first six are those of Okabe and Ito (Color Universal Design,
2008) that stand out from white; they and the last two differ in lightness too."""
NEUTRAL = "#595959"
CAPACITY = "#A00000"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
TIME_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def color_of(device: int) -> str:
    """Colour of a device, as ``#rrggbb``."""
    return PALETTE[device % len(PALETTE)]


def byte_unit(num_bytes: float) -> tuple[int, str]:
    """Size in bytes and name of the largest binary unit that ``num_bytes`` reaches.

    Examples
    --------
    >>> byte_unit(3 * 2**30), byte_unit(12)
    ((1073741824, 'GiB'), (1, 'B'))
    """
    power = 0
    while power + 1 < len(BYTE_UNITS) and num_bytes >= 1024 ** (power + 1):
        power += 1
    return 1024**power, BYTE_UNITS[power]


def format_bytes(num_bytes: int) -> str:
    """Bytes as text in a binary unit, three or four digits.

    Examples
    --------
    >>> format_bytes(17), format_bytes(1536), format_bytes(16 * 2**30)
    ('17 B', '1.50 KiB', '16.0 GiB')
    """
    size, name = byte_unit(num_bytes)
    return f"{num_bytes} B" if size == 1 else f"{_digits(num_bytes / size)} {name}"


def format_seconds(seconds: float) -> str:
    """Seconds as text in s, ms, µs or ns, three or four digits.

    Examples
    --------
    >>> format_seconds(0), format_seconds(0.0125), format_seconds(90.0)
    ('0 s', '12.5 ms', '90.0 s')
    """
    if seconds == 0:
        return "0 s"
    size, name = next(((size, name) for size, name in TIME_UNITS if seconds >= size), TIME_UNITS[-1])
    return f"{_digits(seconds / size)} {name}"


def _digits(value: float) -> str:
    return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f}" if 0.01 <= value < 1e6 else f"{value:.3g}"


def safe(text: str, limit: int = 60, quote: bool = False) -> str:
    """``text`` for markup: escaped, without control characters, its middle left out beyond ``limit`` characters.

    Plotly reads the text of a figure as markup too, but knows no entities of quotes: ``quote`` is for HTML.

    Examples
    --------
    >>> safe("<b>a & b</b>")
    '&lt;b&gt;a &amp; b&lt;/b&gt;'
    """
    if len(text) > limit:
        text = f"{text[: limit // 2 - 1]}…{text[len(text) - limit // 2 :]}"
    return html.escape("".join(char if char.isprintable() else " " for char in text), quote)


def base_layout(title: str, subtitle: str) -> dict[str, Any]:
    """Layout settings of every figure; ``title`` and ``subtitle`` are markup."""
    return {
        "template": "plotly_white",
        "font": {"family": FONT, "size": 13},
        "title": {"text": title, "subtitle": {"text": subtitle}, "x": 0.01, "xanchor": "left"},
        "hoverlabel": {"align": "left"},
        "hovermode": "closest",
    }


def time_axis(title: str) -> dict[str, Any]:
    """Settings of an axis in seconds whose ticks read ``2 ms``, ``500 µs`` at any zoom."""
    return {"title": title, "tickformat": "~s", "ticksuffix": "s", "exponentformat": "SI"}
