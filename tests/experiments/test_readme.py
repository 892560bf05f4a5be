"""The README says what the commands say."""

import re
from pathlib import Path

import regal
from experiments.readme import included

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text()


def test_included_tables_are_those_of_the_results():
    assert included(README) == README


def test_the_example_output_is_what_the_search_finds():
    shown = re.search(r"verified: Plan\('(\S+)', devices=2, .*\): peak memory (\d+) \+ (\d+) bytes", README)
    graph = regal.load(ROOT / "datasets" / "examples" / f"{shown[1]}.json.gz")
    assert regal.optimize(graph, devices=2).peak_memory == (int(shown[2]), int(shown[3]))
