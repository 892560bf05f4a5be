"""Many mutants, each judged in a process that may die of it."""

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz.judge import kind_of

MOST_MEMORY = 10**9
"""Bytes that judging may take, the worker's own code included."""
ROOT = Path(__file__).parents[2]


@dataclass
class Summary:
    """What came out of a campaign.

    Attributes
    ----------
    last : the seed that was judged last
    outcomes : counts of (kind of file, outcome)
    kinds : counts of error messages without their numbers and values
    examples : the first message of each kind, with its seed
    wrong : what went wrong, by seed: traceback, hang, too much memory, or what was not as it should be
    """

    count: int = 0
    last: int = -1
    well_formed: int = 0
    peak: int = 0
    slowest: tuple[float, int] = (0.0, -1)
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    mutations: Counter[str] = field(default_factory=Counter)
    examples: dict[str, tuple[int, str]] = field(default_factory=dict)
    wrong: dict[int, str] = field(default_factory=dict)

    def add(self, line: dict[str, Any]) -> None:
        """Count one judged mutant, or one that nothing came of."""
        self.count += 1
        self.last = line["seed"]
        if "wrong" in line:
            self.wrong[line["seed"]] = line["wrong"]
            return
        if line["peak"] > MOST_MEMORY:
            self.wrong[line["seed"]] = f"takes {line['peak']} bytes of memory"
        self.well_formed += line["well_formed"]
        self.outcomes[line["kind"], line["outcome"]] += 1
        self.mutations.update(set(line["mutations"]))
        self.slowest = max(self.slowest, (line["seconds"], line["seed"]))
        self.peak = max(self.peak, line["peak"])
        if line["message"]:
            kind = kind_of(line["message"])
            self.kinds[kind] += 1
            self.examples.setdefault(kind, (line["seed"], line["message"].strip()))


def campaign(
    start: int,
    count: int,
    jobs: int = 1,
    family: str = "files",
    progress: Callable[[Summary], None] = lambda summary: None,
) -> Summary:
    """Judge the mutants of ``count`` seeds from ``start`` on, in ``jobs`` processes side by side."""
    summary = Summary()
    workers = [_judged(family, range(start + job, start + count, jobs)) for job in range(min(jobs, count))]
    while workers:
        for worker in list(workers):
            line = next(worker, None)
            if line is None:
                workers.remove(worker)
            else:
                summary.add(line)
                progress(summary)
    return summary


def _judged(family: str, seeds: range) -> Iterator[dict[str, Any]]:
    """What a worker says of each seed; one that dies is replaced, behind the seed that it died of."""
    hung = -1
    while seeds:
        greedy = False
        with tempfile.TemporaryFile("w+") as errors:
            numbers = map(str, (seeds.start, seeds.stop, seeds.step))
            command = [sys.executable, "-m", "tests.fuzz.worker", family, *numbers]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=ROOT)
            with process:
                for line in map(json.loads, process.stdout or ()):
                    seeds = range(line["seed"], seeds.stop, seeds.step)
                    if "outcome" in line:
                        seeds = seeds[1:]
                        greedy = line["peak"] > MOST_MEMORY
                        yield line
                    if greedy:
                        process.kill()  # the next one starts from little memory
                        break
                code = process.wait()
            errors.seek(0)
            text = errors.read().strip()
        if greedy or not seeds:
            continue
        if text.startswith("Timeout") and hung != seeds.start:
            hung = seeds.start  # once more: the machine itself may have paused
            continue
        yield {"seed": seeds.start, "wrong": f"exit code {code}: {text[-3000:]}"}
        seeds = seeds[1:]
