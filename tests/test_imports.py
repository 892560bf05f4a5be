"""The arrows between the rooms of the house, read from the sources: who may import whom."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted([*ROOT.glob("regal/**/*.py"), *ROOT.glob("brkga/**/*.py")])

LOW = {"files", "graph", "cluster"}
MIDDLE = {*LOW, "plan", "cost", "objective", "problem", "decode"}
HIGH = {
    *MIDDLE, "bounds", "search", "brkga", "plot", "verification", "frontends", "corpus", "augmentation", "synthetic",
    "policy", "train",
}  # fmt: skip
ROOMS: dict[str, set[str]] = {
    "brkga": set(),
    "files": set(),
    "objective": set(),
    "graph": {"files"},
    "cluster": {"files"},
    "plan": LOW,
    "cost": {*LOW, "plan"},
    "problem": {*LOW, "plan", "cost", "objective"},
    "decode": {*LOW, "plan", "cost", "objective", "problem"},
    "bounds": LOW,
    "frontends": LOW,
    "synthetic": {*MIDDLE, "bounds", "corpus", "brkga"},
    "augmentation": {"graph"},
    "corpus": {*MIDDLE, "bounds", "search"},
    "search": {*MIDDLE, "bounds", "brkga"},
    "verification": {*MIDDLE, "bounds", "search"},
    "plot": {*MIDDLE, "bounds", "search", "corpus"},
    "policy": {"graph", "decode", "brkga"},
    "train": {*MIDDLE, "search", "brkga", "policy"},
    "cli": HIGH,
    "__init__": HIGH,
}
"""Room -> the rooms that it may import. ``regal.graph`` is the room ``graph``."""

DOORS = {
    ("regal/graph/computation_graph.py", "plot"),  # graph in a notebook
    ("regal/plan/plan.py", "plot"),  # plan.plot(), plan in a notebook
    ("regal/corpus/corpus.py", "plot"),  # corpus in a notebook
    ("regal/search/result.py", "plot"),  # result.plot()
}
"""Function-level imports that go up: loaded by those who ask for a figure, and by nobody else."""

THIRD_PARTIES: dict[str, set[str]] = {
    "brkga": {"numpy", "numba"},
    "graph": {"numpy"},
    "cluster": {"numpy"},
    "plan": {"numpy", "plotly"},
    "cost": {"numpy", "numba"},
    "problem": {"numpy"},
    "decode": {"numpy", "numba"},
    "bounds": {"numpy", "scipy", "ortools"},
    "frontends": {
        "numpy",
        "torch",
        "onnx",
        "google",
        "jax",
        "tensorflow",
        "networkx",
        "transformers",
        "huggingface_hub",
        "timm",
        "torchvision",
    },
    "corpus": {"numpy", "rich"},
    "synthetic": {"numpy"},
    "augmentation": {"numpy"},
    "search": {"numpy", "numba", "scipy", "deap", "ortools", "plotly"},
    "verification": {"numpy"},
    "plot": {"numpy", "plotly"},
    "policy": {"numpy", "torch"},
    "train": {"numpy", "torch"},
    "cli": {"numpy", "typer", "rich", "click"},
}


class Import(NamedTuple):
    """``path`` imports ``module``; lazily where a function does."""

    path: str
    module: str
    lazy: bool

    def __str__(self) -> str:
        return f"{self.path} imports {self.module}"


def room_of(module: str) -> str:
    top, _, rest = module.partition(".")
    return (rest.partition(".")[0] or "__init__") if top == "regal" else top


def imports_of(path: Path) -> Iterator[Import]:
    name = path.relative_to(ROOT).as_posix()

    def visit(node: ast.AST, lazy: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                yield from (Import(name, alias.name, lazy) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                assert child.level == 0, f"{name}: a relative import"
                modules = [child.module or ""]
                if modules == ["regal"]:  # from regal import graph
                    modules = [f"regal.{alias.name}" for alias in child.names]
                yield from (Import(name, module, lazy) for module in modules)
            else:
                yield from visit(child, lazy or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda))

    return visit(ast.parse(path.read_text()), False)


def room_of_path(path: str) -> str:
    return room_of(path.removesuffix(".py").replace("/", "."))


IMPORTS = [found for path in SOURCES for found in imports_of(path)]


def test_every_room_is_in_the_table():
    rooms = {room_of_path(path.relative_to(ROOT).as_posix()) for path in SOURCES}
    assert {"graph", "plan", "cost", "decode", "search", "brkga"} <= rooms <= set(ROOMS)


def test_the_table_has_no_circle():
    done: set[str] = set()
    while len(done) < len(ROOMS):
        free = {room for room, below in ROOMS.items() if room not in done and below <= done}
        assert free, f"a circle among {set(ROOMS) - done}"
        done |= free


def test_rooms_import_only_rooms_below():
    wrong = []
    for found in IMPORTS:
        own, other = room_of_path(found.path), room_of(found.module)
        ours = found.module.partition(".")[0] in ("regal", "brkga")
        through_a_door = found.lazy and (found.path, other) in DOORS
        if ours and own != other and other not in ROOMS[own] and not through_a_door:
            wrong.append(str(found))
    assert wrong == []


def test_every_door_is_used():
    lazy = {(found.path, room_of(found.module)) for found in IMPORTS if found.lazy}
    assert lazy >= DOORS


def test_third_parties_stay_in_their_rooms():
    wrong = []
    for found in IMPORTS:
        top = found.module.partition(".")[0]
        if top in ("regal", "brkga") or top in sys.stdlib_module_names:
            continue
        if top not in THIRD_PARTIES.get(room_of_path(found.path), set()):
            wrong.append(str(found))
    assert wrong == []


def test_nobody_imports_what_is_not_installed():
    assert [
        str(found) for found in IMPORTS if found.module.partition(".")[0] in ("tests", "datasets", "experiments")
    ] == []


HEAVY = (
    "torch",
    "numba",
    "plotly",
    "onnx",
    "ortools",
    "scipy",
    "deap",
    "typer",
    "tensorflow",
    "jax",
    "networkx",
    "rich",
)


@pytest.mark.parametrize(
    "package",
    [
        "regal",
        "brkga",
        "regal.graph",
        "regal.plan",
        "regal.problem",
        "regal.frontends",
        "regal.corpus",
        "regal.synthetic",
    ],
)
def test_importing_loads_nothing_heavy(package):
    code = f"import sys, {package}; print([name for name in {HEAVY} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
