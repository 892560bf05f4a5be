"""The plot of the scaling, as a small SVG file with logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

WIDTH, HEIGHT, MARGIN = 640, 400, 64
INK, LINE, DOT = "#333333", "#bbbbbb", "#1f6fb4"


def scaling_svg(points: Sequence[dict[str, Any]], exponent: float) -> str:
    """Microseconds of an evaluation over ops, with the fitted power law through the mean of the points."""
    x = [math.log10(point["ops"]) for point in points]
    y = [math.log10(point["microseconds_per_evaluation"]) for point in points]
    low_x, high_x = math.floor(min(x)), math.ceil(max(x))
    low_y, high_y = math.floor(min(y)), math.ceil(max(y))

    def across(value: float) -> float:
        return round(MARGIN + (value - low_x) / (high_x - low_x) * (WIDTH - 2 * MARGIN), 1)

    def down(value: float) -> float:
        return round(HEIGHT - MARGIN - (value - low_y) / (high_y - low_y) * (HEIGHT - 2 * MARGIN), 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        f'font-size="13" fill="{INK}">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{WIDTH / 2}" y="28" text-anchor="middle" font-size="15">'
        f"Time of an evaluation grows as ops^{exponent:.2f}</text>",
        f'<text x="{WIDTH / 2}" y="{HEIGHT - 16}" text-anchor="middle">ops of the graph</text>',
        f'<text transform="translate(18 {HEIGHT / 2}) rotate(-90)" text-anchor="middle">microseconds</text>',
    ]
    for decade in range(low_x, high_x + 1):
        parts.append(_line(across(decade), down(low_y), across(decade), down(high_y), LINE, 1))
        parts.append(f'<text x="{across(decade)}" y="{down(low_y) + 20}" text-anchor="middle">{10**decade:,}</text>')
    for decade in range(low_y, high_y + 1):
        parts.append(_line(across(low_x), down(decade), across(high_x), down(decade), LINE, 1))
        parts.append(f'<text x="{across(low_x) - 8}" y="{down(decade) + 4}" text-anchor="end">{10**decade:,}</text>')
    shift = sum(y) / len(y) - exponent * sum(x) / len(x)
    ends = (min(x), max(x))
    left, right = (down(shift + exponent * end) for end in ends)
    parts.append(_line(across(ends[0]), left, across(ends[1]), right, DOT, 2))
    parts += [
        f'<circle cx="{across(a)}" cy="{down(b)}" r="5" fill="{DOT}"><title>{point["ops"]:,} ops: '
        f"{point['microseconds_per_evaluation']:,} microseconds</title></circle>"
        for a, b, point in zip(x, y, points, strict=True)
    ]
    return "\n".join([*parts, "</svg>\n"])


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, width: int) -> str:
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{colour}" stroke-width="{width}"/>'
