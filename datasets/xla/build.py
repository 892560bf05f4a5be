"""Lower the models of the xla corpus: ``python datasets/xla/build.py [--zoo NAME] [harvest options]``.

Each zoo is harvested in a process of its own; ``tensorflow``, whose models go through TensorFlow's compiler, needs the
environment of the tensorflow corpus. Without ``--zoo`` those of JAX are, one after another. The options of
the harvest are those of ``regal.corpus.harvest``.
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
    "JAX_PLATFORMS": "cpu",
    "KERAS_BACKEND": "jax",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TF_NUM_INTRAOP_THREADS": "1",
    "TF_NUM_INTEROP_THREADS": "1",
}
JAX_ZOOS = ("haiku_vision", "haiku_text", "haiku_recurrent", "haiku_other", "flax", "jax", "keras")
ZOOS = (*JAX_ZOOS, "tensorflow")
"""Modules are called ``NAME_zoo``."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Harvest one zoo, or each of JAX in turn; the exit code is the worst."""
    parser = argparse.ArgumentParser(description=__doc__, add_help=False)
    parser.add_argument("--zoo", choices=ZOOS)
    chosen, options = parser.parse_known_args(arguments)
    if chosen.zoo is None:
        return max(subprocess.run([sys.executable, __file__, "--zoo", zoo, *options]).returncode for zoo in JAX_ZOOS)
    os.environ.update(ENVIRONMENT | ({"KERAS_BACKEND": "tensorflow"} if chosen.zoo == "tensorflow" else {}))
    sys.argv[1:] = options
    return harvest.main(importlib.import_module(f"{chosen.zoo}_zoo").jobs(), f"Lower the {chosen.zoo} zoo.")


if __name__ == "__main__":
    sys.exit(main())
