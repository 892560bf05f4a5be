"""What it costs to draw mutants from Beta distributions instead of uniformly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import brkga
from brkga.kernels import sample_rows
from brkga.keys import KeyLayout
from brkga.population import breed_arrays
from tests.benchmarks.options import Options
from tests.benchmarks.timing import cpu_seconds, interleaved

MEANS, SPREADS = 16, 16
MUTANTS = 15
ROUNDS, DRAWS = 5, 10


def measure(options: Options) -> dict[str, Any]:
    """Milliseconds of 15 rows of 16-bit keys: uniform, from 16 x 16 shared tables, and exact Beta variates."""
    num_keys = 100 if options.quick else 10_000
    mean, spread = np.meshgrid((np.arange(MEANS) + 0.5) / MEANS, np.geomspace(1.0, 64.0, SPREADS))
    a, b = (mean * spread).ravel(), ((1.0 - mean) * spread).ravel()
    table_of = np.random.default_rng(0).integers(0, len(a), num_keys)
    proposals: dict[str, brkga.Proposal] = {
        "uniform": brkga.Uniform(),
        "shared tables": brkga.QuantizedBeta.from_grid(a, b, table_of),
        "exact": brkga.Beta(a[table_of], b[table_of]),
    }
    draws = {name: _drawing(proposal, num_keys) for name, proposal in proposals.items()}
    jobs = {
        name: lambda repetition, draw=draw: min(cpu_seconds(draw) for _ in range(ROUNDS))
        for name, draw in draws.items()
    }
    seconds = interleaved(jobs, options.repetitions)
    milliseconds = {name: round(1e3 * value / DRAWS, 4) for name, value in seconds.items()}
    return {"keys": num_keys, "mutants": MUTANTS, "milliseconds": milliseconds}


def _drawing(proposal: brkga.Proposal, num_keys: int) -> Callable[[], None]:
    layout = KeyLayout(num_keys, np.uint16)
    breed = breed_arrays(layout, brkga.Parameters(), proposal, 0)
    rows = np.zeros((MUTANTS, layout.words), np.uint64)

    def draw() -> None:
        for _ in range(DRAWS):
            sample_rows(rows, 0, MUTANTS, breed)

    draw()
    return draw
