"""Judges one mutant after another and says so on stdout, a JSON line each; dies of the first thing that is wrong."""

import faulthandler
import json
import shutil
import sys
import tempfile
import time
import warnings
from pathlib import Path

from tests.fuzz.families import FAMILIES
from tests.fuzz.judge import run
from tests.fuzz.memory import peak_memory

HANG = 8.0
"""Seconds after which a mutant counts as hung."""


def main(family: str, seeds: range) -> None:
    """Judge the mutants of ``seeds``."""
    make_case, judge = FAMILIES[family]
    warnings.simplefilter("error")
    root = Path(tempfile.mkdtemp(prefix="regal-fuzz-"))
    folder = root / "files"
    try:
        run("optimize", "example:diamond", "--evaluations", "100")  # loads the compiled kernels
        for seed in seeds:
            print(json.dumps({"seed": seed}), flush=True)
            folder.mkdir()
            begin = time.perf_counter()
            case = make_case(seed)
            faulthandler.dump_traceback_later(HANG, exit=True)
            outcome, message = judge(case, folder)
            faulthandler.cancel_dump_traceback_later()
            line = {
                "seed": seed,
                "kind": case.kind,
                "well_formed": case.well_formed,
                "mutations": case.mutations,
                "outcome": outcome,
                "message": message,
                "seconds": time.perf_counter() - begin,
                "peak": peak_memory(),
            }
            print(json.dumps(line), flush=True)
            shutil.rmtree(folder)
    finally:
        shutil.rmtree(root)


if __name__ == "__main__":
    main(sys.argv[1], range(*map(int, sys.argv[2:])))
