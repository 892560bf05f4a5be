"""Trace the models of the tensorflow corpus: ``python datasets/tensorflow/build.py [--zoo NAME] [harvest options]``.

Each zoo is harvested in a process of its own, since kecam needs the Keras 2 of ``tf_keras`` and the others Keras 3.
Without ``--zoo`` all are, one after another. The options of the harvest are those of ``regal.corpus.harvest``.
"""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
from collections.abc import Sequence

from regal.corpus import harvest

ENVIRONMENT = {
    "CUDA_VISIBLE_DEVICES": "-1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TF_NUM_INTRAOP_THREADS": "1",
    "TF_NUM_INTEROP_THREADS": "1",
    "KERAS_BACKEND": "tensorflow",
}
ZOOS: dict[str, dict[str, str]] = {
    "keras": {},
    "hub": {},
    "kecam": {"TF_USE_LEGACY_KERAS": "1"},
    "sonnet": {},
}
"""Zoo, whose module is ``NAME_zoo``, -> what it needs in the environment before TensorFlow is imported."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Harvest one zoo, or each in turn; the exit code is the worst."""
    parser = argparse.ArgumentParser(description=__doc__, add_help=False)
    parser.add_argument("--zoo", choices=ZOOS)
    chosen, options = parser.parse_known_args(arguments)
    if chosen.zoo is None:
        return max(subprocess.run([sys.executable, __file__, "--zoo", zoo, *options]).returncode for zoo in ZOOS)
    os.environ.update(ENVIRONMENT | ZOOS[chosen.zoo])
    sys.argv[1:] = options
    return harvest.main(importlib.import_module(f"{chosen.zoo}_zoo").jobs(), f"Trace the {chosen.zoo} zoo.")


if __name__ == "__main__":
    sys.exit(main())
