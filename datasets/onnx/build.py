"""Read the real models that the onnx package ships: ``python datasets/onnx/build.py``.

Their weights are made by constant-filling ops, which the importer folds into persistent tensors of the weights' sizes.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import onnx

from regal.corpus.harvest import Job, main
from regal.frontends.onnx import load
from regal.graph import ComputationGraph

FOLDER = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
FAMILIES = {
    "light_bvlc_alexnet": "alexnet",
    "light_densenet121": "densenet",
    "light_inception_v1": "inception",
    "light_inception_v2": "inception",
    "light_resnet50": "resnet",
    "light_shufflenet": "shufflenet",
    "light_squeezenet": "squeezenet",
    "light_vgg19": "vgg",
    "light_zfnet512": "zfnet",
}
"""File in :data:`FOLDER` without ``.onnx`` -> model family."""
BATCH = 1
"""The files hold no other batch."""


def trace(model: str) -> dict[str, ComputationGraph]:
    """The graph of one file."""
    return {"inference": load(FOLDER / f"{model}.onnx")}


JOBS = [Job(model, "onnx", family, BATCH, partial(trace, model)) for model, family in FAMILIES.items()]

if __name__ == "__main__":
    sys.exit(main(JOBS, __doc__))
