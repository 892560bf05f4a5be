"""One door for all file formats: the name says which importer reads the file."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from regal.graph import ComputationGraph, example_graph

EXAMPLE = "example:"


class Format(NamedTuple):
    """A kind of graph file.

    Attributes
    ----------
    what : str
        Its name in messages.
    endings : tuple of str
        How the names of such files end.
    module, function : str
        The importer, imported when it is needed.
    extra : str
        What to install for it, empty where nothing is needed.
    """

    what: str
    endings: tuple[str, ...]
    module: str
    function: str
    extra: str = ""


FORMATS = (
    Format("regal-graph/1", (".json", ".json.gz"), "regal.graph", "read_graph"),
    Format("ONNX", (".onnx", ".onnx.gz"), "regal.frontends.onnx_process", "load_file", "onnx"),
    Format("HLO", (".hlo", ".hlo.gz", ".hlo.txt", ".hlo.txt.gz"), "regal.frontends.hlo", "load"),
    Format("CostGraphDef", (".pbtxt", ".pbtxt.gz"), "regal.frontends.costgraph", "load"),
    Format("PipeDream", ("graph.txt", ".graph.txt"), "regal.frontends.pipedream", "load"),
    Format("dnn-partitioning", (".workload.json",), "regal.frontends.dnn_partitioning", "load"),
    Format("TensorFlow", (".pb", "saved_model.pb"), "regal.frontends.tensorflow_process", "load_file", "tensorflow"),
)
"""Of the endings that fit a name, the longest counts."""


def load(source: str | Path, **options: Any) -> ComputationGraph:
    """Read a graph from a file, whatever its format.

    Parameters
    ----------
    source : path
        ``.json`` or ``.json.gz`` in the format ``regal-graph/1``; ``.onnx``; HLO text in ``.hlo`` or ``.hlo.txt``; a
        TensorFlow ``.pb`` (frozen GraphDef) or the folder of a SavedModel; a CostGraphDef in ``.pbtxt``; a PipeDream
        profile ``graph.txt``; a dnn-partitioning ``.workload.json``. ``example:NAME`` is a tiny named graph.
    options
        Passed to the format's importer: for ONNX ``dimensions={"batch": 4}`` and others of
        :func:`regal.frontends.onnx.load`.

    Raises
    ------
    ValueError
        For a file that cannot be read, or is not what its name says, and for an option that its importer lacks.

    Examples
    --------
    >>> load("example:chain").num_ops
    3
    """
    name = str(source)
    if name.startswith(EXAMPLE):
        _check_options(name, "an example", options, ())
        return example_graph(name[len(EXAMPLE) :])
    known = format_of(source)
    try:
        function = getattr(import_module(known.module), known.function)
        _check_options(name, known.what, options, tuple(inspect.signature(function).parameters)[1:])
        return function(source, **options)
    except ModuleNotFoundError as error:
        raise missing(error, known.extra) from error


def format_of(source: str | Path) -> Format:
    """The format that the name of a file or folder tells.

    Raises
    ------
    ValueError
        When it tells none.
    """
    name = str(source)
    if "\0" not in name and (Path(name) / "saved_model.pb").is_file():
        name = f"{name}/saved_model.pb"
    fitting = [(ending, known) for known in FORMATS for ending in known.endings if name.endswith(ending)]
    if not fitting:
        endings = [ending for known in FORMATS for ending in known.endings if not ending.endswith(".gz")]
        raise ValueError(f"{name}: a graph file ends in {', '.join(endings[:-1])} or {endings[-1]}")
    return max(fitting, key=lambda pair: len(pair[0]))[1]


def missing(error: ModuleNotFoundError, extra: str) -> ValueError:
    """How to install what an importer lacks."""
    return ValueError(f"{error.name} is not installed: pip install 'regal-optimizer[{extra}]'")


def _check_options(name: str, what: str, options: dict[str, Any], known: tuple[str, ...]) -> None:
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise ValueError(f"{name}: {what} takes no option {', '.join(unknown)}")
