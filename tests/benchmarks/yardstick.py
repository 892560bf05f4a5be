"""Build and run ``yardstick.cpp``, the whole job in plain C++."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from regal.graph import ComputationGraph

SOURCE = Path(__file__).with_name("yardstick.cpp")
COMPILER = "g++"


class Outcome(NamedTuple):
    """What the program prints: bytes of the best plan, evaluations, seconds of processor time."""

    peak: int
    evaluations: int
    cpu_seconds: float


def build(folder: Path) -> Path | None:
    """The compiled program in ``folder``; None without a compiler."""
    if shutil.which(COMPILER) is None:
        return None
    binary = folder / "yardstick"
    flags = ["-std=c++17", "-O3", "-march=native"]
    subprocess.run([COMPILER, *flags, str(SOURCE), "-o", str(binary)], check=True)
    return binary


def write_text(graph: ComputationGraph, path: Path) -> Path:
    """Write ``graph`` in the text form that the program reads; it knows no colocation groups."""
    if (graph.colocation >= 0).any():
        raise ValueError(f"{graph.name}: the yardstick knows no colocation groups")
    lists = (graph.inputs.to_lists(), graph.outputs.to_lists(), graph.control_inputs.to_lists())
    lines = [f"{graph.num_ops} {graph.num_tensors}"]
    for runtime, workspace, *rows in zip(graph.runtime.tolist(), graph.workspace.tolist(), *lists, strict=True):
        numbers = [runtime, workspace]
        for row in rows:
            numbers += [len(row), *row]
        lines.append(" ".join(map(str, numbers)))
    sizes = zip(graph.tensor_bytes.tolist(), graph.is_output.tolist(), strict=True)
    lines += [f"{size} {int(is_output)}" for size, is_output in sizes]
    path.write_text("\n".join(lines) + "\n")
    return path


def run(binary: Path, graph: Path, devices: int, evaluations: int, seed: int, keys: Path | None = None) -> Outcome:
    """Run a program with the yardstick's command line; the best chromosome goes to ``keys``."""
    command = [str(binary), str(graph), str(devices), str(evaluations), str(seed)]
    command += [] if keys is None else [str(keys)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return Outcome(**json.loads(printed))
