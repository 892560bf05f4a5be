"""Measure everything: ``python -m tests.benchmarks``."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from pathlib import Path

from tests.benchmarks import machine
from tests.benchmarks.options import Options
from tests.benchmarks.report import README, report, write_readme

HERE = Path(__file__).parent
RESULTS, PLOT = HERE / "results.json", HERE / "scale.svg"
SECTIONS = ("engine", "job", "threads", "decode", "scale", "start", "bounds", "mutants")


def run(sections: list[str], options: Options) -> dict[str, object]:
    """The figures of the named sections with what they were measured on."""
    results: dict[str, object] = {"machine": machine.facts(), "repetitions": options.repetitions}
    for section in sections:
        start = time.perf_counter()
        results[section] = importlib.import_module(f"tests.benchmarks.{section}").measure(options)
        print(f"{section}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
    return results


def main(arguments: list[str] | None = None) -> None:
    """Measure and print the table; a whole run also writes the results, the plot and the README's table."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description="Measure REGAL.")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that everything runs")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, help="measure these sections")
    parser.add_argument("--repetitions", type=int, default=5, help="times that each figure is measured")
    parser.add_argument("--reference", type=Path, help="another program with the command line of yardstick.cpp")
    parser.add_argument("--output", type=Path, help="write the figures there as JSON, and nothing else")
    parser.add_argument("--write-readme", action="store_true", help="measure nothing, write the table of the results")
    chosen = parser.parse_args(arguments)
    if not chosen.write_readme:
        whole = not chosen.quick and chosen.only is None and chosen.output is None
        options = Options(chosen.repetitions, chosen.quick, chosen.reference, PLOT if whole else None)
        results = run(chosen.only or list(SECTIONS), options)
        print(report(results))
        output = RESULTS if whole else chosen.output
        if output is not None:
            output.write_text(json.dumps(results, indent=1) + "\n")
        if not whole:
            return
    write_readme(README, json.loads(RESULTS.read_text()))


if __name__ == "__main__":
    main()
