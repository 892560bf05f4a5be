"""Running times estimated from what an op computes and what it moves (the roofline model).

Williams, Waterman and Patterson, "Roofline: an insightful visual performance model for multicore architectures",
CACM 52(4), 2009: an op is bound by arithmetic or by memory traffic, whichever takes longer.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Rates:
    """What a device of speed 1 achieves.

    The defaults are the data-sheet peaks of an NVIDIA A100 40 GB (float32 without tensor cores: 19.5 TFLOP/s; HBM2:
    1,555 GB/s) and an assumed 5 microseconds to launch an op. They rank ops; they are no measurement.

    Attributes
    ----------
    flops : float
        Floating-point operations per second, positive; a multiply-add counts as two.
    bandwidth : float
        Bytes per second between memory and compute, positive; may be infinite, as may ``flops``.
    overhead : float
        Seconds that every op takes at least; finite and not negative.

    Raises
    ------
    ValueError
        For a rate that is not positive, or an overhead that is negative or not finite.

    Examples
    --------
    >>> rates = Rates(flops=1e12, bandwidth=1e9, overhead=0.5)
    >>> rates.runtime(2e12, 1e6), rates.runtime(0, 3e9)
    (2.5, 3.5)
    """

    flops: float = 19.5e12
    bandwidth: float = 1.555e12
    overhead: float = 5e-6

    def __post_init__(self) -> None:
        for name in ("flops", "bandwidth", "overhead"):
            object.__setattr__(self, name, _number(name, getattr(self, name)))
        for name in ("flops", "bandwidth"):
            if not getattr(self, name) > 0:
                raise ValueError(f"rates: {name} must be positive per second, not {getattr(self, name)!r}")
        if not 0 <= self.overhead < math.inf:
            raise ValueError(f"rates: overhead must be finite seconds, not negative, not {self.overhead!r}")

    def runtime(self, flops: float, num_bytes: float) -> float:
        """Seconds of an op that computes ``flops`` operations and moves ``num_bytes`` bytes.

        ``overhead + max(flops / rate, num_bytes / bandwidth)``.
        """
        return self.overhead + max(flops / self.flops, num_bytes / self.bandwidth)

    def to_json(self) -> dict[str, float | None]:
        """The three figures as JSON values; an infinite one is null."""
        return {name: None if value == math.inf else value for name, value in asdict(self).items()}


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"rates: {name} must be a number, not {value!r}")
    try:
        return float(value)
    except OverflowError as error:
        raise ValueError(f"rates: {name} must be a number that a float64 can hold") from error
