"""Trace models of ``timm``, ``torchvision`` and ``transformers``: ``python datasets/pytorch/build.py``."""

from __future__ import annotations

import gc
import hashlib
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping

import timm_models
import torch
import torchvision_models
from family import family_of

from regal.corpus.harvest import Job, main
from regal.frontends import huggingface, zoo
from regal.frontends.torch import trace_modes
from regal.graph import ComputationGraph

BATCH, TOKENS = 4, 64
MODES = ("inference", "training", "step", "step-sgd")


def prepare() -> None:
    """Import here what every job needs, and make this process and those forked from it trace quickly and quietly."""
    warnings.simplefilter("ignore")
    zoo.import_torchvision()
    import timm  # noqa: F401
    import transformers

    transformers.logging.set_verbosity_error()
    gc.disable()  # a child would look through all that its parent imported, again and again
    torch.fx.config.do_not_emit_stack_traces = True  # they are for people who debug, and slow


def jobs() -> list[Job]:
    """All models, in rounds of families."""
    found = [timm_job(module, name) for module, names in timm_models.MODELS.items() for name in names.split()]
    for family, names in torchvision_models.MODELS.items():
        found += [torchvision_job(family, name) for name in names.split()]
    return in_rounds([*found, *map(transformers_job, huggingface.model_types())])


def in_rounds(jobs: Iterable[Job]) -> list[Job]:
    """First one job of every family, then a second, and so on, each round in an arbitrary fixed order."""
    seen: Counter[str] = Counter()
    rounds = []
    for place, job in enumerate(sorted(jobs, key=lambda job: hashlib.sha256(job.name.encode()).digest())):
        rounds.append((seen[job.family], place, job))
        seen[job.family] += 1
    return [job for _, _, job in sorted(rounds, key=lambda entry: entry[:2])]


def timm_job(module: str, name: str) -> Job:
    """Trace a model of a module of ``timm``."""
    options = {"depth": timm_models.DEPTHS[module]} if module in timm_models.DEPTHS else {}

    def trace() -> Mapping[str, ComputationGraph]:
        return graphs(*zoo.timm(name, batch=BATCH, **options), name, "momentum")

    return Job(name, "timm", family_of(module), BATCH, trace)


def torchvision_job(family: str, name: str) -> Job:
    """Trace a model of ``torchvision``."""

    def trace() -> Mapping[str, ComputationGraph]:
        return graphs(*zoo.torchvision(name, batch=BATCH), name, "momentum")

    return Job(name, "torchvision", family, BATCH, trace)


def transformers_job(model_type: str) -> Job:
    """Trace a model type of ``transformers``: shallow, or as deep as its configuration if that cannot be cut."""

    def trace() -> Mapping[str, ComputationGraph]:
        try:
            built = huggingface.build(model_type, batch=BATCH, sequence=TOKENS, layers=depth_of(model_type))
        except ValueError:
            built = huggingface.build(model_type, batch=BATCH, sequence=TOKENS)
        return graphs(*built, model_type, "adam")

    return Job(model_type, "transformers", family_of(model_type), BATCH, trace)


def depth_of(model_type: str) -> int:
    """Layers at most, from 3 to 6: relatives of one architecture differ in it, so that their graphs differ."""
    return 3 + hashlib.sha256(model_type.encode()).digest()[0] % 4


def graphs(model: torch.nn.Module, inputs: object, name: str, optimizer: str) -> dict[str, ComputationGraph]:
    """Mode -> graph; ``step`` is that with ``optimizer``."""
    modes = ("inference", "training", f"step-{optimizer}", "step-sgd")
    loss = zoo.loss_for(model, inputs)
    found = trace_modes(model, inputs, modes, loss=loss, keep_outputs=False, data_dependent="assume-false", name=name)
    return dict(zip(MODES, found.values(), strict=True))


if __name__ == "__main__":
    prepare()
    sys.exit(main(jobs(), "Trace models of timm, torchvision and transformers."))
