"""The performance model: what a plan costs in memory and time."""

from regal.cost.cost import Cost

__all__ = ["Cost"]
