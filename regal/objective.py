"""What a search makes as low as it can be."""

from __future__ import annotations

from enum import Enum


class Objective(Enum):
    """The goals by name.

    ``PEAK_MEMORY``: bytes on the fullest device. ``PEAK_UTILISATION``: the fullest device's share of its memory.
    ``RUNNING_TIME``: seconds, where any plan that fits the devices beats one that does not, and of those that do not
    the one with fewer excess bytes wins. ``PARETO``: peak memory and running time at once, a front of plans.
    """

    PEAK_MEMORY = "peak-memory"
    PEAK_UTILISATION = "peak-utilisation"
    RUNNING_TIME = "running-time"
    PARETO = "pareto"

    @classmethod
    def of(cls, value: Objective | str) -> Objective:
        """The objective of that name; raises ``ValueError`` that lists the names."""
        try:
            return cls(value)
        except ValueError:
            names = ", ".join(objective.value for objective in cls)
            raise ValueError(f"objective must be one of {names}, not {value!r}") from None
