"""Trace the workloads of GO (Zhou et al., NeurIPS 2020): ``python datasets/go/build.py [harvest options]``.

Each graph is one training step with the optimizer's update. The networks are ours in Sonnet, but for Inception-v3,
which is Keras'. What makes graphs of Sonnet networks is shared with the tensorflow corpus, in its folder.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

ENVIRONMENT = {
    "CUDA_VISIBLE_DEVICES": "-1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TF_NUM_INTRAOP_THREADS": "1",
    "TF_NUM_INTEROP_THREADS": "1",
    "KERAS_BACKEND": "tensorflow",
}
os.environ.update(ENVIRONMENT)
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tensorflow"))

from sonnet_steps import Network, graphs  # noqa: E402
from workloads_attention import transformer_xl  # noqa: E402
from workloads_convolution import amoebanet, inception, wavenet  # noqa: E402
from workloads_recurrent import gnmt, rnnlm  # noqa: E402

from regal.corpus.harvest import Job, main  # noqa: E402
from regal.graph import ComputationGraph  # noqa: E402

LAYERS = (2, 4, 8)
LARGE_LENGTH = 121
"""Tokens a sentence that give GNMT-8 about 80,000 ops."""


def jobs() -> list[Job]:
    """One job a workload; RNNLM, GNMT and Transformer-XL with 2, 4 and 8 layers."""
    found = [_job(f"rnnlm_{n}", "rnnlm", 64, rnnlm, n) for n in LAYERS]
    found += [_job(f"gnmt_{n}", "gnmt", 32, gnmt, n) for n in LAYERS]
    found += [_job(f"transformer_xl_{n}", "transformer-xl", 8, transformer_xl, n) for n in LAYERS]
    return [
        *found,
        _job("transformer_xl_8_segments_4", "transformer-xl", 8, transformer_xl, 8, segments=4),
        _job("wavenet_2_stacks_18_layers", "wavenet", 4, wavenet, 2, 9, optimizer="adam"),
        _job("wavenet_4_stacks_36_layers", "wavenet", 4, wavenet, 4, 9, optimizer="adam"),
        _job("wavenet_4_stacks_of_36_layers", "wavenet", 4, wavenet, 4, 36, optimizer="adam"),
        _job("amoebanet_d", "amoebanet", 16, amoebanet, 6, 128, optimizer="momentum"),
        Job("inception_v3", "keras", "inception", 32, lambda: {"step-momentum": inception(32)}),
        _job(f"gnmt_8_length_{LARGE_LENGTH}", "gnmt", 32, gnmt, 8, length=LARGE_LENGTH, cpu_seconds=600.0),
    ]


def _job(
    model: str,
    family: str,
    batch: int,
    build: Callable[..., Network],
    *arguments: Any,
    optimizer: str = "adam",
    cpu_seconds: float | None = 300.0,
    **options: Any,
) -> Job:
    def trace() -> Mapping[str, ComputationGraph]:
        return graphs(build(*arguments, batch=batch, **options), [f"step-{optimizer}"])

    return Job(model, "sonnet", family, batch, trace, cpu_seconds)


if __name__ == "__main__":
    sys.exit(main(jobs(), "Trace the workloads of GO."))
