"""What can be mutated: how a case is made from a seed, and how it is judged."""

from collections.abc import Callable
from pathlib import Path

from tests.fuzz import cases, clusters, judge, onnx_models, options
from tests.fuzz.cases import Case

FAMILIES: dict[str, tuple[Callable[[int], Case], Callable[[Case, Path], tuple[str, str]]]] = {
    "files": (cases.make_case, judge.judge),
    "clusters": (clusters.make_case, clusters.judge),
    "options": (options.make_case, options.judge),
    "onnx": (onnx_models.make_case, onnx_models.judge),
}
