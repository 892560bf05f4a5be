"""Trace many models into graphs: each in a forked process with a CPU limit, logged, resumable.

A build script imports its framework, lists jobs and calls :func:`main`. What it leaves in its output folder, outside
version control, is one ``regal-graph/1`` file per graph and one outcome per job; ``datasets/pack.py`` makes a corpus
of them.
"""

from __future__ import annotations

import argparse
import fnmatch
import importlib.metadata
import json
import multiprocessing
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from regal.files import write_json
from regal.graph import ComputationGraph, write_graph

WALL_FACTOR = 6
"""A child may take this many times its CPU limit by the clock on the wall before it is stopped."""
REASON_LENGTH = 200


@dataclass(frozen=True)
class Job:
    """One model to trace.

    Attributes
    ----------
    model : str
        Such as ``"resnet50"``.
    package : str
        Import name of the package that defines the model; its version is recorded.
    family : str
        Relatives share it, over packages and frameworks: ``"resnet"``.
    batch : int
        Examples per step, 0 where the model has no such thing.
    trace : callable
        Takes nothing and returns mode -> graph, such as ``{"inference": graph}``; may raise whatever it likes.
    cpu_seconds : float, optional
        Its own limit in place of the common one.
    """

    model: str
    package: str
    family: str
    batch: int
    trace: Callable[[], Mapping[str, ComputationGraph]]
    cpu_seconds: float | None = None

    @property
    def name(self) -> str:
        """``package.model``."""
        return f"{self.package}.{self.model}"


def main(jobs: Sequence[Job], description: str) -> int:
    """Harvest ``jobs`` as the command line says; the exit code is 0 when every job ran, with whatever outcome."""
    parser = argparse.ArgumentParser(description=description)
    corpus = Path(sys.argv[0]).resolve().parent.name
    parser.add_argument("--output", type=Path, default=Path("build/corpora") / corpus, help="folder of the graphs")
    parser.add_argument("--workers", type=int, default=1, help="processes at a time")
    parser.add_argument("--cpu-seconds", type=float, default=90.0, help="CPU limit of a job")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="jobs whose package.model matches, as timm.vit*")
    parser.add_argument("--limit", type=int, help="at most so many jobs")
    parser.add_argument("--retry", action="store_true", help="run jobs again that failed before")
    parser.add_argument("--list", action="store_true", help="print the jobs and stop")
    arguments = parser.parse_args()
    chosen = [job for job in jobs if fnmatch.fnmatch(job.name, arguments.only)][: arguments.limit]
    if arguments.list:
        print("\n".join(f"{job.name}\t{job.family}" for job in chosen))
        return 0
    harvest(
        chosen,
        arguments.output,
        workers=arguments.workers,
        cpu_seconds=arguments.cpu_seconds,
        retry=arguments.retry,
    )
    return 0


def harvest(
    jobs: Sequence[Job], folder: Path, *, workers: int = 1, cpu_seconds: float = 90.0, retry: bool = False
) -> None:
    """Run every job that has no outcome in ``folder`` yet.

    Parameters
    ----------
    jobs : sequence of Job
        Of distinct names.
    folder : path
        Made where it is missing. Gets ``NAME.MODE.json.gz`` per graph and ``NAME.outcome.json`` per job.
    workers : int
        Processes at a time.
    cpu_seconds : float
        CPU time that a job may take.
    retry : bool
        Whether jobs that failed before run again.

    Raises
    ------
    ValueError
        When two jobs share a name.
    """
    names = [job.name for job in jobs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"two jobs have the name {twice!r}")
    folder.mkdir(parents=True, exist_ok=True)
    waiting = [job for job in jobs if not _done(folder, job, retry)][::-1]
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn()) as progress:
        task = progress.add_task(folder.name, total=len(jobs), completed=len(jobs) - len(waiting))
        running: list[_Child] = []
        while waiting or running:
            while waiting and len(running) < workers:
                running.append(_Child(waiting.pop(), folder, cpu_seconds))
            time.sleep(0.05)
            for child in [child for child in running if child.ended()]:
                running.remove(child)
                outcome = child.outcome()
                write_json(_outcome_path(folder, child.job), outcome)
                progress.console.print(f"{child.job.name}: {outcome['outcome']} {outcome['reason']}", highlight=False)
                progress.advance(task)


class _Child:
    """One job in a process of its own."""

    def __init__(self, job: Job, folder: Path, cpu_seconds: float) -> None:
        self.job, self.folder = job, folder
        self.limit = job.cpu_seconds or cpu_seconds
        self.log = folder / f"{job.name}.log"
        self.start = time.perf_counter()
        self.process: BaseProcess = multiprocessing.get_context("fork").Process(target=self._run)
        self.process.start()

    def _run(self) -> None:
        """In the child: what goes wrong ends in the log, for the parent to read."""
        with open(self.log, "wb") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        sys.stdout = sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
        resource.setrlimit(resource.RLIMIT_CPU, (int(self.limit), int(self.limit) + 5))
        graphs = self.job.trace()
        for mode, graph in graphs.items():
            write_graph(graph, self.folder / f"{self.job.name}.{mode}.json.gz")
        usage = resource.getrusage(resource.RUSAGE_SELF)
        report = {
            "graphs": {mode: graph.num_ops for mode, graph in graphs.items()},
            "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 2),
            "peak_rss_bytes": usage.ru_maxrss * 1024,
        }
        write_json(self.folder / f"{self.job.name}.report.json", report)

    def ended(self) -> bool:
        if self.process.is_alive() and time.perf_counter() - self.start > WALL_FACTOR * self.limit:
            self.process.kill()
            self.process.join()
        return not self.process.is_alive()

    def outcome(self) -> dict[str, Any]:
        """What the log of the corpus says about the job."""
        self.process.join()
        report_path = self.folder / f"{self.job.name}.report.json"
        code = self.process.exitcode
        report: dict[str, Any] = {"graphs": {}, "cpu_seconds": None, "peak_rss_bytes": None}
        if code == 0:
            report = json.loads(report_path.read_text())
            report_path.unlink()
            outcome, reason = "ok", ""
            self.log.unlink()
        elif code in (-signal.SIGXCPU, -signal.SIGKILL):
            outcome, reason = "timeout", f"stopped after {self.limit:g} s of CPU time or as many times that on the wall"
        else:
            outcome, reason = "error", _last_line(self.log) or f"exit code {code}"
        return {
            "model": self.job.model,
            "package": self.job.package,
            "package_version": version_of(self.job.package),
            "family": self.job.family,
            "batch": self.job.batch,
            "outcome": outcome,
            "reason": reason,
            **report,
        }


def version_of(package: str) -> str | None:
    """Version of the distribution that holds the import package, None where there is none."""
    names = importlib.metadata.packages_distributions().get(package, [package])
    try:
        return importlib.metadata.version(names[0])
    except importlib.metadata.PackageNotFoundError:
        return None


def _outcome_path(folder: Path, job: Job) -> Path:
    return folder / f"{job.name}.outcome.json"


def _done(folder: Path, job: Job, retry: bool) -> bool:
    path = _outcome_path(folder, job)
    if not path.exists():
        return False
    return not retry or json.loads(path.read_text())["outcome"] == "ok"


def _last_line(path: Path) -> str:
    """The last line of a traceback that is not empty, cut short."""
    lines = [line.strip() for line in path.read_text(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if line.partition(":")[0].rpartition(".")[2].endswith(("Error", "Exception"))]
    return (errors or lines or [""])[-1][:REASON_LENGTH]
