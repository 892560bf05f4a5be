"""Lower models of the JAX zoos again, and compare: ``python datasets/xla/check.py haiku_vision --only 'haiku.vqvae*'``.

Every module is also read by XLA, whose instruction counts must be ours, and every graph must be the one that the
harvest left in ``build/corpora/xla``. A job whose module differs fails with the computation's name; the graphs go to
``build/corpora/xla-check``, and those that differ from the harvest are listed at the end.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import Any

from build import ENVIRONMENT

from regal.corpus import harvest
from regal.frontends import hlo
from regal.graph import ComputationGraph, read_graph

HARVESTED, AGAIN = Path("build/corpora/xla"), Path("build/corpora/xla-check")


def compare_counts(text: str) -> None:
    """Raise ``ValueError`` unless XLA counts as many instructions in every computation as we do."""
    from jaxlib import _hlo

    ours = hlo.instruction_counts(text)
    theirs = {each.name: len(each.instructions()) for each in _hlo.hlo_module_from_text(text).computations()}
    wrong = [name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)]
    if wrong:
        raise ValueError(f"computation {min(wrong)!r}: {ours.get(min(wrong))} instructions, XLA counts differ")


def checked(text: str, **options: Any) -> ComputationGraph:
    """``hlo.load`` after :func:`compare_counts`."""
    compare_counts(text)
    return hlo.load(text, **options)


def main(zoo: str) -> int:
    """Harvest one zoo into ``AGAIN``; the exit code is 1 where a job failed or a graph differs."""
    from regal.frontends import jax as frontend

    frontend.load = checked  # type: ignore[assignment]
    harvest.main(importlib.import_module(f"{zoo}_zoo").jobs(), f"Check the {zoo} zoo.")
    graphs = sorted(AGAIN.glob("*.json.gz"))
    differing = [
        path.name for path in graphs if (HARVESTED / path.name).exists() and not _same(path, HARVESTED / path.name)
    ]
    failed = [path.name for path in AGAIN.glob("*.outcome.json") if '"ok"' not in path.read_text()]
    print(f"{len(graphs)} graphs; differing from the harvest: {differing}; failed: {failed}")
    return int(bool(differing or failed))


def _same(one: Path, other: Path) -> bool:
    return read_graph(one).sha256 == read_graph(other).sha256


if __name__ == "__main__":
    os.environ.update(ENVIRONMENT)
    chosen = sys.argv.pop(1)
    sys.argv += ["--output", str(AGAIN)]
    sys.exit(main(chosen))
