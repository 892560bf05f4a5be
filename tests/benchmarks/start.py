"""How long a fresh process takes until it can be used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.benchmarks.options import Options
from tests.benchmarks.timing import Job, interleaved, wall_seconds

COMMANDS = {
    "import regal": ("-c", "import regal"),
    "regal --help": ("-m", "regal.cli.main", "--help"),
    "python alone": ("-c", "pass"),
}
REPETITIONS = 9


def measure(options: Options) -> dict[str, float]:
    """Median seconds on the clock of fresh processes, the start of Python included."""

    def job(arguments: tuple[str, ...]) -> Job:
        command = [sys.executable, *arguments]
        root = Path(__file__).parents[2]
        return lambda repetition: wall_seconds(
            lambda: subprocess.run(command, cwd=root, check=True, capture_output=True)
        )

    jobs = {name: job(arguments) for name, arguments in COMMANDS.items()}
    seconds = interleaved(jobs, 1 if options.quick else REPETITIONS)
    return {name: round(value, 4) for name, value in seconds.items()}
