"""ONNX files read in a process of their own, with bounded memory and time.

Parsing, inlining and shape inference are native code, which hostile files crash or make greedy. Here that ends in a
``ValueError`` of one line. It costs the start of a Python process, about half a second.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regal.files import ParseError, parse_json
from regal.frontends.onnx import DEFAULT_RATES, load
from regal.frontends.onnx_prepare import check_dimensions
from regal.frontends.roofline import Rates
from regal.graph import ComputationGraph
from regal.graph.json_io import graph_from_json, graph_to_json

BASE_MEMORY, MEMORY_PER_BYTE, MAX_MEMORY = 768 * 2**20, 4, 3 * 2**30
"""Bytes that the process may take beside its code: some, some for each byte of the file, and at most so many."""
MAX_SECONDS = 600.0
"""Seconds that reading may take."""
START = "from regal.frontends.onnx_process import _child; _child()"


def load_file(
    path: str | Path,
    *,
    dimensions: Mapping[str, int] | None = None,
    default_dimension: int | None = None,
    contract_views: bool = True,
    fold_constants: bool = True,
    rates: Rates = DEFAULT_RATES,
) -> ComputationGraph:
    """Read an ONNX file as :func:`regal.frontends.onnx.load` does, in a process of its own.

    Raises
    ------
    ModuleNotFoundError
        When onnx is not installed.
    ValueError
        As :func:`regal.frontends.onnx.load`, and when reading crashes, takes too much memory (on Linux) or more than
        ``MAX_SECONDS`` seconds.
    """
    if importlib.util.find_spec("onnx") is None:
        raise ModuleNotFoundError("No module named 'onnx'", name="onnx")
    try:
        check_dimensions(dimensions or {}, default_dimension)
        size = os.path.getsize(path)
    except OSError as error:
        raise ParseError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    request = {
        "path": str(path),
        "memory": min(BASE_MEMORY + MEMORY_PER_BYTE * size, MAX_MEMORY),
        "rates": rates.to_json(),
        "options": {
            "dimensions": dict(dimensions or {}),
            "default_dimension": default_dimension,
            "contract_views": bool(contract_views),
            "fold_constants": bool(fold_constants),
        },
    }
    reply = parse_json(_ask(json.dumps(request), path), str(path))
    if "error" in reply:
        raise ParseError(reply["error"])
    return graph_from_json(reply["graph"])


def _ask(request: str, path: str | Path) -> bytes:
    """What the process answers; ``-P`` keeps a module of the current folder from standing in for one of ours."""
    paths = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    environment = os.environ | {"PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"}
    try:
        child = subprocess.run(
            [sys.executable or "python", "-P", "-c", START],
            input=request.encode(),
            capture_output=True,
            env=environment,
            timeout=MAX_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ParseError(f"{path}: reading it takes more than {MAX_SECONDS:g} seconds") from error
    except OSError as error:
        raise ParseError(f"{path}: the process that reads it cannot start: {error.strerror or error}") from error
    if child.returncode < 0:
        name = signal.Signals(-child.returncode).name
        raise ParseError(f"{path}: the ONNX library crashed on it, or takes too much memory ({name})")
    if child.returncode > 0:
        last = child.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise ParseError(f"{path}: the process that reads it failed with exit code {child.returncode}: {last[:300]}")
    return child.stdout


def _child() -> None:
    """Read a request from stdin, the model from its file, and write the graph or what is wrong to stdout."""
    import onnx.inliner
    import onnx.shape_inference  # noqa: F401  loaded before memory is limited

    request = json.loads(sys.stdin.buffer.read())
    _limit_memory(request["memory"])
    rates = Rates(**{name: math.inf if value is None else value for name, value in request["rates"].items()})
    reply: dict[str, Any]
    try:
        reply = {"graph": graph_to_json(load(request["path"], rates=rates, **request["options"]))}
    except ValueError as error:
        reply = {"error": str(error)}
    except MemoryError:
        reply = {"error": f"{request['path']}: reading it takes more than {request['memory']} bytes of memory"}
    sys.stdout.write(json.dumps(reply))


def _limit_memory(num_bytes: int) -> None:
    """Let this process take ``num_bytes`` more bytes of address space; where there is no such limit, do nothing."""
    if sys.platform != "linux":
        return
    import resource

    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = used + num_bytes if hard == resource.RLIM_INFINITY else min(used + num_bytes, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
