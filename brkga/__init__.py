"""Biased random-key genetic algorithms on NumPy and Numba.

The library knows keys and fitness only: a decoder of yours turns rows of keys into fitness values, lower is better.
The algorithm is the one of Gonçalves and Resende, *Biased random-key genetic algorithms for combinatorial
optimization*, Journal of Heuristics 17 (2011).

Examples
--------
>>> import brkga
>>> result = brkga.minimize(
...     lambda keys, cutoff: keys.sum(axis=1), num_keys=20, seed=1, stop=brkga.MaxGenerations(60)
... )
>>> result.stop_reason, result.evaluations, bool(result.best_fitness < 3.0)
('generations', 4900, True)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brkga.params import Parameters
from brkga.proposal import Beta, Proposal, QuantizedBeta, Uniform
from brkga.result import History, Result
from brkga.stop import MaxEvaluations, MaxGenerations, MaxSeconds, Stall, State, StopRule, Target

if TYPE_CHECKING:
    from brkga.engine import BRKGA, minimize

__all__ = [
    "BRKGA",
    "Beta",
    "History",
    "MaxEvaluations",
    "MaxGenerations",
    "MaxSeconds",
    "Parameters",
    "Proposal",
    "QuantizedBeta",
    "Result",
    "Stall",
    "State",
    "StopRule",
    "Target",
    "Uniform",
    "minimize",
]


def __getattr__(name: str) -> Any:
    """Load the engine, and with it Numba, on first use."""
    if name in ("BRKGA", "minimize"):
        import brkga.engine

        return getattr(brkga.engine, name)
    raise AttributeError(f"module 'brkga' has no attribute {name!r}")
