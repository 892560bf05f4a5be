"""TensorFlow files read in a process of their own, with bounded memory and time.

Parsing and shape inference are native code, which computes the constants that sizes follow from; hostile files make it
crash or greedy. Here that ends in a ``ValueError`` of one line. It costs the start of TensorFlow, some seconds.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from regal.files import ParseError, parse_json
from regal.frontends.roofline import Rates
from regal.graph import ComputationGraph
from regal.graph.json_io import graph_from_json, graph_to_json

BASE_MEMORY, MEMORY_PER_BYTE, MAX_MEMORY = 2 * 2**30, 8, 6 * 2**30
"""Bytes that the process may take beside its code: some, some for each byte of the file, and at most so many."""
MAX_SECONDS = 600.0
"""Seconds that reading may take."""
START = "from regal.frontends.tensorflow_process import _child; _child()"
ENVIRONMENT = {"CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3", "OPENBLAS_NUM_THREADS": "1"}
DEFAULT_RATES = Rates()


def load_file(
    path: str | Path,
    *,
    outputs: list[str] | None = None,
    default_dimension: int | None = None,
    signature: str | None = None,
    simplify: bool = True,
    rates: Rates = DEFAULT_RATES,
) -> ComputationGraph:
    """Read a frozen GraphDef or a SavedModel as :func:`regal.frontends.tensorflow.load` does, in a process of its own.

    Raises
    ------
    ModuleNotFoundError
        When TensorFlow is not installed.
    ValueError
        As :func:`regal.frontends.tensorflow.load`, and when reading crashes, takes too much memory (on Linux) or more
        than ``MAX_SECONDS`` seconds.
    """
    if importlib.util.find_spec("tensorflow") is None:
        raise ModuleNotFoundError("No module named 'tensorflow'", name="tensorflow")
    try:
        memory = _allowed(Path(path))
    except OSError as error:
        raise ParseError(f"{path}: {error.strerror or error}") from error
    options = {
        "outputs": outputs,
        "default_dimension": default_dimension,
        "signature": signature,
        "simplify": bool(simplify),
    }
    request = json.dumps({"path": str(path), "memory": memory, "rates": rates.to_json(), "options": options})
    reply = parse_json(_ask(request, path), str(path))
    if "error" in reply:
        raise ParseError(reply["error"])
    return graph_from_json(reply["graph"])


def _ask(request: str, path: str | Path) -> bytes:
    """What the process answers; ``-P`` keeps a module of the current folder from standing in for one of ours."""
    paths = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    try:
        child = subprocess.run(
            [sys.executable or "python", "-P", "-c", START],
            input=request.encode(),
            capture_output=True,
            env=os.environ | ENVIRONMENT | {"PYTHONPATH": paths},
            timeout=MAX_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ParseError(f"{path}: reading it takes more than {MAX_SECONDS:g} seconds") from error
    except OSError as error:
        raise ParseError(f"{path}: the process that reads it cannot start: {error.strerror or error}") from error
    if child.returncode < 0:
        name = signal.Signals(-child.returncode).name
        raise ParseError(f"{path}: TensorFlow crashed on it, or takes too much memory ({name})")
    if child.returncode > 0:
        last = child.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise ParseError(f"{path}: the process that reads it failed with exit code {child.returncode}: {last[:300]}")
    return child.stdout


def _child() -> None:
    """Read a request from stdin, the file that it names, and write the graph or what is wrong to stdout."""
    from regal.frontends.tensorflow import load  # loaded before memory is limited

    request = json.loads(sys.stdin.buffer.read())
    path = Path(request["path"])
    rates = Rates(**{name: math.inf if value is None else value for name, value in request["rates"].items()})
    reply: dict[str, Any]
    try:
        _limit_memory(request["memory"])
        reply = {"graph": graph_to_json(load(path, rates=rates, **request["options"]))}
    except ValueError as error:
        reply = {"error": str(error)}
    except MemoryError:
        reply = {"error": f"{path}: reading it takes more than {request['memory']} bytes of memory"}
    sys.stdout.write(json.dumps(reply))


def _allowed(path: Path) -> int:
    """Bytes of memory that reading may take."""
    size = sum(entry.stat().st_size for entry in path.glob("*.pb")) if path.is_dir() else path.stat().st_size
    return min(BASE_MEMORY + MEMORY_PER_BYTE * size, MAX_MEMORY)


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
