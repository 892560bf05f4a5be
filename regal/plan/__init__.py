"""Plans: placement and schedule, whether they are valid, and their files."""

from regal.plan.build import plan_from_order
from regal.plan.plan import RUN, Plan
from regal.plan.validate import InvalidPlan, check_plan

__all__ = ["RUN", "InvalidPlan", "Plan", "check_plan", "plan_from_order"]
