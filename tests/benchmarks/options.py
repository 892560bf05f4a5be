"""What a run of the benchmarks is told."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "datasets" / "examples"


@dataclass(frozen=True)
class Options:
    """How much is measured.

    Attributes
    ----------
    repetitions : int
        Times that each figure is measured; the median counts.
    quick : bool
        Tiny sizes: it shows that everything runs, and its figures mean nothing.
    reference : Path or None
        Another program with the command line of ``yardstick.cpp``, measured beside it.
    plot : Path or None
        Where the plot of the scaling goes.
    """

    repetitions: int = 5
    quick: bool = False
    reference: Path | None = None
    plot: Path | None = None

    def __post_init__(self) -> None:
        if self.repetitions < 1:
            raise ValueError(f"repetitions must be at least 1, got {self.repetitions}")

    @property
    def graphs(self) -> list[Path]:
        """The sample graphs to measure, in order of their names."""
        files = sorted(EXAMPLES.glob("*.json.gz"))
        return [file for file in files if "cpubone" in file.name] if self.quick else files

    @property
    def evaluations(self) -> int:
        """Evaluations of a whole search."""
        return 260 if self.quick else 5000
