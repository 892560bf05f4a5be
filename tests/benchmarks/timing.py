"""Seconds of jobs that take turns, so that whatever else the machine does meets all of them alike."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

Job = Callable[[int], float]
"""Does the job for the repetition of that number and returns its seconds."""


def cpu_seconds(function: Callable[[], Any]) -> float:
    """Seconds of processor time that ``function`` takes, those of all threads together."""
    start = time.process_time()
    function()
    return time.process_time() - start


def wall_seconds(function: Callable[[], Any]) -> float:
    """Seconds on the clock that ``function`` takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def interleaved(
    jobs: Mapping[str, Job], repetitions: int, pick: Callable[[Iterable[float]], float] = statistics.median
) -> dict[str, float]:
    """Seconds of each job, the median of all repetitions or what ``pick`` takes; in each one every job runs once.

    Examples
    --------
    >>> interleaved({"short": lambda repetition: 1.0, "long": lambda repetition: 5.0 + repetition}, 3)
    {'short': 1.0, 'long': 6.0}
    """
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for repetition in range(repetitions):
        for name, job in jobs.items():
            seconds[name].append(job(repetition))
    return {name: pick(values) for name, values in seconds.items()}


def run_module(*arguments: str) -> str:
    """Standard output of ``python -m`` with ``arguments``, in a fresh process in the repository's root."""
    command = [sys.executable, "-m", *arguments]
    root = Path(__file__).parents[2]
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout


def peak_bytes() -> int:
    """Most memory that this process had resident so far."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
