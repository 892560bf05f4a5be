"""``python -m tests.fuzz --count 50000``: mutated graph and plan files through the command line.

Each seed is one mutant, always the same. A graph that loads is optimized with a tiny budget and its plan verified; a
plan is verified, and the oracle asked for a second opinion. The exit code is 1 when a mutant ended in a traceback, a
hang, more than 1 GB of memory, a file left behind, or a message that is not one line with the file and the place.
"""

import argparse
import re
import sys
import time

from tests.fuzz.campaign import Summary, campaign
from tests.fuzz.families import FAMILIES

STEP = 500


def main() -> int:
    """Run the campaign and print what came out of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=5000, help="mutants to judge")
    parser.add_argument("--start", type=int, default=0, help="first seed")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--family", choices=FAMILIES, default="files", help="what to mutate")
    arguments = parser.parse_args()
    begin = time.perf_counter()

    def progress(summary: Summary) -> None:
        seed, text = next(reversed(summary.wrong.items()), (-1, ""))
        if seed == summary.last:
            print(f"seed {seed}: {text}\n", flush=True)
        if summary.count % STEP == 0:
            seconds = time.perf_counter() - begin
            print(f"{summary.count} mutants, {len(summary.wrong)} wrong, {seconds:.0f} s", flush=True)

    summary = campaign(arguments.start, arguments.count, arguments.jobs, arguments.family, progress)
    print_summary(summary, time.perf_counter() - begin)
    return 1 if summary.wrong else 0


def print_summary(summary: Summary, seconds: float) -> None:
    """Outcomes, kinds of messages with an example each, mutations, and what was wrong."""
    print(f"\n{summary.count} mutants in {seconds:.0f} s, {summary.well_formed} of them well-formed JSON")
    print(f"peak memory {summary.peak / 1e6:.0f} MB; slowest: seed {summary.slowest[1]}, {summary.slowest[0]:.2f} s")
    for (kind, outcome), number in sorted(summary.outcomes.items()):
        print(f"{number:8} {kind}: {outcome}")
    print("\nmutations: " + ", ".join(f"{name} {number}" for name, number in sorted(summary.mutations.items())))
    print(f"\n{len(summary.kinds)} kinds of messages:")
    for kind, number in summary.kinds.most_common():
        seed, message = summary.examples[kind]
        print(f"{number:8} seed {seed}: {re.sub(r'^regal: (/[^ ]*/files/)?', '', message)}")
    print(f"\n{len(summary.wrong)} wrong" + "".join(f", seed {seed}" for seed in summary.wrong))


if __name__ == "__main__":
    sys.exit(main())
