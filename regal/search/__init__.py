"""Searches for plans: one contract, ``solve(problem, budget, seed) -> Result``."""

from regal.search.budget import Budget
from regal.search.optimize import lower_bound, optimize
from regal.search.result import Candidate, Front, Progress, Result

__all__ = ["Budget", "Candidate", "Front", "Progress", "Result", "lower_bound", "optimize"]
