"""Models by name from ``torchvision`` and ``timm``: without weights, with inputs that fit, nothing downloaded."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from inspect import signature
from typing import Any

import torch

from regal.frontends.torch_capture import default_loss, dry_run
from regal.frontends.torch_guards import ASSUME_FALSE, TRACE_ERRORS, TraceError

Model = tuple[torch.nn.Module, Any]

EXAMPLES = {
    "inception_v3": (3, 299, 299),
    "mvit": (3, 16, 224, 224),
    "r3d": (3, 16, 112, 112),
    "mc3": (3, 16, 112, 112),
    "r2plus1d": (3, 16, 112, 112),
    "s3d": (3, 16, 224, 224),
    "swin3d": (3, 16, 224, 224),
}
"""Start of a torchvision model's name -> shape of one example; others take (3, 224, 224)."""
PAIRS = ("raft",)
"""Models of torchvision that compare two images."""
NMS = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"


def import_torchvision() -> None:
    """Import ``torchvision`` even where its compiled part does not load, as that of a CUDA build on a CPU.

    Without that part ``import torchvision`` ends with ``operator torchvision::nms does not exist``, and with it fails
    all of ``timm``. Declaring the two operators is enough for every model but those for detection.

    Raises
    ------
    ModuleNotFoundError
        When it is not installed.
    """
    try:
        import torchvision
    except (RuntimeError, AttributeError):
        for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        _declare_nms()
        import torchvision  # noqa: F401


@cache
def _declare_nms() -> torch.library.Library:
    """The declarations last as long as the library that holds them."""
    library = torch.library.Library("torchvision", "FRAGMENT")
    for name in ("nms", "qnms"):
        library.define(name + NMS)
    return library


def torchvision(name: str, *, batch: int = 4, image_size: int | None = None, **options: Any) -> Model:
    """A model of ``torchvision`` and its inputs, both on the meta device.

    Parameters
    ----------
    name : str
        As ``torchvision.models.get_model`` knows it.
    batch : int
        Examples.
    image_size : int, optional
        Height and width, by default what the model was made for.
    options
        Passed to ``get_model``, such as ``num_classes=10``.

    Returns
    -------
    (torch.nn.Module, tuple of tensors)

    Raises
    ------
    ValueError
        For a name or an option that torchvision does not know.
    """
    check_positive(batch=batch, image_size=image_size)
    import_torchvision()
    from torchvision.models import get_model, get_model_builder

    what = f"torchvision:{name}"
    with _said_in_one_line(what):
        takes_backbone = "weights_backbone" in signature(get_model_builder(name)).parameters
    weights = {"weights": None} | ({"weights_backbone": None} if takes_backbone else {})
    model = weightless(what, lambda: get_model(name, **weights, **options))
    shape = next((shape for start, shape in EXAMPLES.items() if name.startswith(start)), (3, 224, 224))
    shape = shape if image_size is None else (*shape[:-2], image_size, image_size)
    images = 2 if name.startswith(PAIRS) else 1
    return model, tuple(torch.empty((batch, *shape), device="meta") for _ in range(images))


def timm(name: str, *, batch: int = 4, image_size: int | None = None, **options: Any) -> Model:
    """A model of ``timm`` and its input, both on the meta device.

    Parameters
    ----------
    name : str
        As ``timm.create_model`` knows it.
    batch : int
        Examples.
    image_size : int, optional
        Height and width, by default those of the model's configuration.
    options
        Passed to ``create_model``, such as ``depth=6``; ``img_size`` for models that are built for one size.

    Returns
    -------
    (torch.nn.Module, tuple of one tensor)

    Raises
    ------
    ValueError
        For a name or an option that timm does not know.
    """
    check_positive(batch=batch, image_size=image_size)
    import_torchvision()
    from timm import create_model

    model = weightless(f"timm:{name}", lambda: create_model(name, pretrained=False, **options))
    known: Any = model.default_cfg
    channels, *size = known["input_size"]
    if image_size is not None:
        size = [image_size, image_size]
    return model, (torch.empty((batch, channels, *size), device="meta"),)


def check_positive(**sizes: Any) -> None:
    """Refuse sizes that are not whole numbers above zero; None is none."""
    for name, size in sizes.items():
        if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 1):
            raise TraceError(f"{name} must be a whole number above zero, not {size!r}")


def weightless(what: str, build: Callable[[], torch.nn.Module]) -> torch.nn.Module:
    """Call ``build`` with tensors on the meta device; where it needs to compute with them, on the CPU.

    Raises
    ------
    ValueError
        When the model cannot be built; ``what`` names it.
    """
    with _said_in_one_line(what):
        try:
            with torch.device("meta"):
                return build()
        except (RuntimeError, NotImplementedError):
            return build()


@contextmanager
def _said_in_one_line(what: str) -> Iterator[None]:
    try:
        yield
    except (*TRACE_ERRORS, ImportError, OSError) as error:
        line = next((line for line in str(error).splitlines() if line.strip()), "")[:300].strip()
        raise TraceError(f"{what}: {type(error).__name__}: {line}") from error


def loss_for(model: torch.nn.Module, inputs: Any) -> Callable[[Any], torch.Tensor]:
    """Cross-entropy with the first class where the model returns scores, else the frontend's default.

    Scores are what it returns or calls ``logits`` (or ``"out"``), shape (examples, classes) or (examples, places,
    classes). The labels are a constant of the graph.
    """
    scores = _scores(dry_run(model, inputs, data_dependent=ASSUME_FALSE))
    if scores is None:
        return default_loss
    labels = torch.zeros(scores.shape[:-1].numel(), dtype=torch.int64)

    def cross_entropy(output: Any) -> torch.Tensor:
        found = _scores(output)
        if found is None or found.shape[:-1].numel() != len(labels):  # another head in training
            return default_loss(output)
        return torch.nn.functional.cross_entropy(found.flatten(0, -2), labels)

    return cross_entropy


def _scores(output: Any) -> torch.Tensor | None:
    if isinstance(output, Mapping):
        output = output.get("logits", output.get("out"))
    else:
        output = getattr(output, "logits", output)
    if isinstance(output, torch.Tensor) and output.is_floating_point() and output.dim() in (2, 3):
        return output
    return None
