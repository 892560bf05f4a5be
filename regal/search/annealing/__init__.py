"""Simulated annealing: one plan, changed move by move, with costs computed incrementally."""

from regal.search.annealing.solve import Options, solve

__all__ = ["Options", "solve"]
