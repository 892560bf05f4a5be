"""``regal verify``."""

from __future__ import annotations

import sys
from pathlib import Path

from regal.cli.common import load_graph, one_line
from regal.verification import VerificationError
from regal.verification import verify as verify_file


def run(graph_source: str, dimensions: tuple[str, ...], path: Path) -> int:
    """Print what was verified; the exit code is 1 when something is wrong."""
    graph = load_graph(graph_source, dimensions)
    try:
        plans = verify_file(graph, path)
    except VerificationError as error:
        print(one_line(f"regal: {error}"), file=sys.stderr)
        return 1
    for claim in plans:
        peaks = " + ".join(str(peak) for peak in claim.peak_memory)
        print(f"verified: {claim.plan!r}: peak memory {peaks} bytes, running time {claim.running_time!r} s")
    return 0
