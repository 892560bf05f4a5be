"""Importers: each turns a model or a file into a ``ComputationGraph``; its framework is imported inside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from regal.frontends.roofline import Rates
from regal.graph import ComputationGraph, example_graph, read_graph

__all__ = ["Rates", "load", "trace"]

EXAMPLE = "example:"


def load(source: str | Path, **options: Any) -> ComputationGraph:
    """Read a graph from a file, whatever its format.

    Parameters
    ----------
    source : path
        ``.json`` or ``.json.gz`` in the format ``regal-graph/1``, or ``.onnx``, which is read in a process of its own;
        ``example:NAME`` is a tiny named graph.
    options
        Passed to the format's importer: for ONNX ``dimensions={"batch": 4}`` and others of
        :func:`regal.frontends.onnx.load`.

    Raises
    ------
    ValueError
        For a file that cannot be read, or is not what its name says.

    Examples
    --------
    >>> load("example:chain").num_ops
    3
    """
    name = str(source)
    if name.endswith((".onnx", ".onnx.gz")):
        try:
            from regal.frontends.onnx_process import load_file

            return load_file(source, **options)
        except ModuleNotFoundError as error:
            raise _missing(error, "onnx") from error
    if options:
        raise ValueError(f"{name}: options {', '.join(sorted(options))} are for ONNX files")
    if name.startswith(EXAMPLE):
        return example_graph(name[len(EXAMPLE) :])
    if name.endswith((".json", ".json.gz")):
        return read_graph(source)
    raise ValueError(f"{name}: a graph file ends in .json, .json.gz or .onnx")


def trace(model: Any, example_inputs: Any, **options: Any) -> ComputationGraph:
    """Trace a PyTorch model; see :func:`regal.frontends.torch.trace` for the options.

    Raises
    ------
    ValueError
        When PyTorch is not installed, or the model cannot be traced.
    """
    try:
        from regal.frontends.torch import trace as trace_torch
    except ModuleNotFoundError as error:
        raise _missing(error, "torch") from error
    return trace_torch(model, example_inputs, **options)


def _missing(error: ModuleNotFoundError, extra: str) -> ValueError:
    return ValueError(f"{error.name} is not installed: pip install 'regal-optimizer[{extra}]'")
