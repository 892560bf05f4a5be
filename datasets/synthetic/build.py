"""Find the seeds whose graphs pass the filter of :mod:`regal.synthetic.filter`, and keep them in ``accepted.json``.

``python datasets/synthetic/build.py --workers 2`` tries seed after seed until every split is full. Stopped or killed at
any time, it goes on where it was when it is run again. It ends by writing the table of ``README.md``; ``--card`` does
nothing else. Needs nothing beyond the library, which must be the version that began the list: another search would
accept other seeds.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import regal
from brkga import Parameters
from regal.corpus.topology import topology_hash
from regal.files import write_text
from regal.synthetic import FIRST_SEEDS, SPLIT_COUNTS, generate
from regal.synthetic import filter as room
from regal.synthetic.accepted import Accepted, Tried, read_accepted, write_accepted

FOLDER = Path(__file__).parent
SAVE_SECONDS = 20.0
BATCH = 16
"""Seeds for each worker between two looks at the clock."""
SMALL_FIRST = ("valid", "test", "train")
DUPLICATE = "topology seen before"
MARKS = ("<!-- table -->\n", "<!-- /table -->\n")
SETTINGS = {
    "regal": regal.__version__,
    "evaluations": [room.LOW, room.HIGH],
    "faster": room.FASTER,
    "num_devices": room.NUM_DEVICES,
    "memory_share": room.MEMORY_SHARE,
    "copy_share": room.COPY_SHARE,
    "parameters": {name: getattr(Parameters(), name) for name in ("population", "elites", "mutants", "elite_bias")},
}


class Outcome(NamedTuple):
    """Of one seed; ``seconds`` of one core."""

    index: int
    outcome: str
    accepted: bool
    family: str
    topology: str
    seconds: float


def try_seed(job: tuple[int, int]) -> Outcome:
    """Generate the graph of ``(first seed of the split, index)`` and look for its room."""
    first, index = job
    start = time.process_time()
    graph = generate(first + index)
    found = room.room_to_improve(graph)
    family = graph.meta["source"]["family"]
    return Outcome(index, found.outcome, found.accepted, family, topology_hash(graph), time.process_time() - start)


def main(arguments: list[str] | None = None) -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--workers", type=int, default=1, help="processes, one core each")
    parser.add_argument("--minutes", type=float, help="stop after so long; by default when every split is full")
    parser.add_argument("--output", type=Path, default=FOLDER, help="folder of accepted.json and README.md")
    parser.add_argument("--card", action="store_true", help="only write the table of README.md again")
    options = parser.parse_args(arguments)
    if options.workers < 1:
        parser.error(f"--workers must be at least 1, not {options.workers}")
    options.output.mkdir(parents=True, exist_ok=True)
    path = options.output / "accepted.json"
    accepted = read_accepted(path) if path.exists() else Accepted(SETTINGS, {})
    if accepted.settings != SETTINGS:
        parser.error(f"{path} was made with {accepted.settings}, not {SETTINGS}: remove it to begin anew")
    if not options.card:
        limit = None if options.minutes is None else time.monotonic() + 60.0 * options.minutes
        with mapper(options.workers) as map_jobs:
            fill(accepted, path, map_jobs, BATCH * options.workers, limit)
    write_card(accepted, options.output / "README.md")


def warm_up() -> None:
    """Load or compile the kernels, so that no seed is charged for it."""
    room.room_to_improve(generate(0), low=200, high=200)


@contextmanager
def mapper(workers: int) -> Iterator[Any]:
    """A function like ``map`` that spreads jobs over that many processes and returns outcomes in the jobs' order."""
    if workers == 1:
        warm_up()
        yield map
        return
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")
    with multiprocessing.get_context("spawn").Pool(workers, warm_up) as pool:
        yield pool.map


def fill(accepted: Accepted, path: Path, map_jobs: Any, batch: int, limit: float | None) -> None:
    """Try seeds, a batch at a time, until the splits are full or the time is up, and save now and then."""
    seen = {topology for name in SMALL_FIRST for topology in topologies(accepted, name)}
    for name in SMALL_FIRST:
        tried, wanted = accepted.splits.setdefault(name, Tried()), SPLIT_COUNTS[name]
        saved = time.monotonic()
        while len(tried.accepted) < wanted:
            jobs = [(FIRST_SEEDS[name], tried.tried + ahead) for ahead in range(batch)]
            for outcome in map_jobs(try_seed, jobs):
                if len(tried.accepted) < wanted:
                    enter(tried, outcome, seen)
            now = time.monotonic()
            late = limit is not None and now >= limit
            if late or len(tried.accepted) >= wanted or now - saved >= SAVE_SECONDS:
                write_accepted(path, accepted)
                saved = now
                print(f"{name}: {tried.tried} tried, {len(tried.accepted)} of {wanted} accepted", flush=True)
            if late:
                return


def enter(tried: Tried, outcome: Outcome, seen: set[str]) -> None:
    """Add one outcome to the list; of two graphs of one topology the later is left out."""
    repeated = outcome.accepted and outcome.topology in seen
    if outcome.accepted and not repeated:
        seen.add(outcome.topology)
        tried.accepted.append(outcome.index)
        add_one(tried.accepted_families, outcome.family)
    add_one(tried.outcomes, DUPLICATE if repeated else outcome.outcome)
    add_one(tried.families, outcome.family)
    tried.tried += 1
    tried.seconds = round(tried.seconds + outcome.seconds, 3)


def add_one(counts: dict[str, int], key: str) -> None:
    """One more of ``key``."""
    counts[key] = counts.get(key, 0) + 1


def topologies(accepted: Accepted, name: str) -> Iterator[str]:
    """Topology hashes of the graphs that a split holds so far."""
    for index in accepted.splits.get(name, Tried()).accepted:
        yield topology_hash(generate(FIRST_SEEDS[name] + index))


def write_card(accepted: Accepted, path: Path) -> None:
    """Replace the table between the marks of the card."""
    text = path.read_text() if path.exists() else "".join(MARKS)
    before, _, rest = text.partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    write_text(path, before + MARKS[0] + table(accepted) + MARKS[1] + after)


def table(accepted: Accepted) -> str:
    """What was tried and accepted, why, by family, and what it took."""
    reasons = (room.FITS, room.FIT_FASTER, room.NO_ROOM, room.AT_BOUND, room.NEVER_FITS, DUPLICATE)
    splits = [accepted.splits.get(name, Tried()) for name in SPLIT_COUNTS]
    lines = [
        f"| split | tried | accepted | wanted | {' | '.join(reasons)} | acceptance | core seconds per graph tried "
        "| core hours for all wanted |",
        "|---|" + "---:|" * (len(reasons) + 6),
    ]
    rows = [(name, [tried], SPLIT_COUNTS[name]) for name, tried in zip(SPLIT_COUNTS, splits, strict=True)]
    for name, parts, wanted in (*rows, ("all", splits, sum(SPLIT_COUNTS.values()))):
        number, kept = sum(part.tried for part in parts), sum(len(part.accepted) for part in parts)
        if not kept:
            lines.append(f"| {name} | {number} | {kept} | {wanted}" + " |" * (len(reasons) + 4))
            continue
        counts = " | ".join(str(sum(part.outcomes.get(reason, 0) for part in parts)) for reason in reasons)
        seconds = sum(part.seconds for part in parts)
        hours = seconds / kept * wanted / 3600
        lines.append(
            f"| {name} | {number} | {kept} | {wanted} | {counts} | {kept / number:.1%} | {seconds / number:.3f} "
            f"| {hours:.2f} |"
        )
    families = sum((Counter(tried.families) for tried in splits), Counter[str]())
    kept_families = sum((Counter(tried.accepted_families) for tried in splits), Counter[str]())
    lines += ["", "| family | tried | accepted | acceptance |", "|---|---:|---:|---:|"]
    for family, number in sorted(families.items()):
        lines.append(f"| {family} | {number} | {kept_families[family]} | {kept_families[family] / number:.1%} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main(sys.argv[1:])
