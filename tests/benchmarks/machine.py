"""What the figures were measured on: processor, versions and commit, and nothing that names the machine."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

PACKAGES = ("numpy", "numba", "scipy", "ortools", "deap", "pymoo")


def facts() -> dict[str, object]:
    """Processor, cores, operating system, versions, commit and date."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: version for name in PACKAGES if (version := _version(name)) is not None},
        "compiler": _first_line("g++", "--version"),
        "commit": _first_line("git", "describe", "--always", "--abbrev=12", "--dirty"),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


def _processor() -> str:
    """The processor's name."""
    info = Path("/proc/cpuinfo")
    if not info.exists():
        return platform.processor() or platform.machine()
    named = (line.partition(":")[2].strip() for line in info.read_text().splitlines() if line.startswith("model name"))
    return next(named, platform.machine())


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _first_line(*command: str) -> str | None:
    """First line that a command prints, None where it cannot run."""
    try:
        done = subprocess.run(command, cwd=Path(__file__).parent, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.splitlines()[0] if done.stdout else None
