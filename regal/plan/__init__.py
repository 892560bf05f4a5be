"""Plans: placement and schedule, and whether they are valid."""

from regal.plan.plan import RUN, Plan
from regal.plan.validate import InvalidPlan, check_plan

__all__ = ["RUN", "InvalidPlan", "Plan", "check_plan"]
