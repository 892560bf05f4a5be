"""How long a search may go on."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Budget:
    """Evaluations, seconds, or both: the search stops at whichever comes first.

    Raises
    ------
    ValueError
        When neither is given or one is not positive.
    """

    evaluations: int | None = 5000
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.evaluations is None and self.seconds is None:
            raise ValueError("a budget needs evaluations, seconds, or both")
        count, seconds = self.evaluations, self.seconds
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or not 1 <= count < 2**53):
            raise ValueError(f"evaluations must be a positive integer, not {count!r}")
        if seconds is not None and (
            isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds < math.inf
        ):
            raise ValueError(f"seconds must be positive and finite, not {seconds!r}")

    def reason_to_stop(self, evaluations: int, seconds: float) -> str | None:
        """``"evaluations"`` or ``"seconds"`` where that many of them use the budget up, else None."""
        if self.evaluations is not None and evaluations >= self.evaluations:
            return "evaluations"
        return "seconds" if self.seconds is not None and seconds >= self.seconds else None
