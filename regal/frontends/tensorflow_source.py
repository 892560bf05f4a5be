"""What users have of TensorFlow, as a flat program: functions, graphs, GraphDefs, and files, which are only read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import tensorflow as tf
from google.protobuf.message import DecodeError, EncodeError
from tensorflow.core.framework import graph_pb2
from tensorflow.core.protobuf import saved_model_pb2

from regal.files import ParseError, read_bytes
from regal.files.read import short
from regal.frontends.tensorflow_program import Program, Variable, flatten

MAX_FILE = 512 * 2**20
"""Longest file in bytes that is parsed."""
SAVED_MODEL = "saved_model.pb"


def read_source(
    source: Any, outputs: list[str] | None, default_dimension: int | None, signature: str | None
) -> tuple[Program, str]:
    """The program of a source and a name for it; see :func:`regal.frontends.tensorflow.load` for the arguments."""
    if isinstance(source, (str, Path)):
        try:
            return _read_path(Path(source), outputs, default_dimension, signature), Path(source).stem
        except ParseError as error:
            raise error if str(error).startswith(str(source)) else ParseError(f"{source}: {error}") from error
    if isinstance(source, graph_pb2.GraphDef):
        return flatten(source, results=outputs, default_dimension=default_dimension), "tensorflow"
    if hasattr(source, "get_concrete_function"):
        source = _concrete(source)
    if hasattr(source, "structured_outputs") and isinstance(getattr(source, "graph", None), tf.Graph):
        return _read_function(source.graph, outputs, default_dimension), _plain_name(source.graph.name)
    if isinstance(source, tf.Graph):
        return _read_function(source, outputs, default_dimension), getattr(source, "name", "tensorflow")
    raise ValueError(f"a TensorFlow source is a function, a graph, a GraphDef or a path, not {type(source).__name__}")


def _concrete(function: Any) -> Any:
    if hasattr(function, "structured_outputs"):
        return function
    try:
        return function.get_concrete_function()
    except (TypeError, ValueError) as error:
        raise ValueError("a tf.function needs an input_signature, or use trace(function, *specs)") from error


def _plain_name(name: str) -> str:
    """``layer`` of ``__inference_layer_12``."""
    parts = name.removeprefix("__inference_").split("_")
    return "_".join(parts[:-1] if len(parts) > 1 and parts[-1].isdecimal() else parts) or "tensorflow"


def _read_function(graph: tf.Graph, outputs: list[str] | None, default_dimension: int | None) -> Program:
    """A graph, and what a function's graph says beside it: captured variables, results, effects."""
    try:
        graph_def = graph.as_graph_def(add_shapes=True)
    except (EncodeError, ValueError) as error:
        raise ValueError("the graph has more than 2 GB of constants: pass them as variables") from error
    variables: dict[str, Variable] = {}
    keep: list[str] = []
    if hasattr(graph, "captures"):
        for outer, inner in graph.captures:
            if inner.dtype == tf.resource:
                variables.update(_variable(outer, inner, len(variables)))
        if outputs is None:
            outputs = [tensor.name for tensor in graph.outputs if tensor is not None]
            keep = [op.name for op in graph.control_outputs]
    return flatten(graph_def, results=outputs, keep=keep, variables=variables, default_dimension=default_dimension)


def _variable(outer: Any, inner: Any, number: int) -> dict[str, Variable]:
    """Placeholder -> variable, where the handle says what it stands for."""
    data = getattr(inner, "_handle_data", None) or getattr(outer, "_handle_data", None)
    if data is None or not data.is_set or len(data.shape_and_type) != 1:
        return {}
    content = data.shape_and_type[0]
    shape = tf.TensorShape(content.shape)
    return {
        inner.op.name: Variable(
            f"captured variable {number}",
            None if shape.rank is None else tuple(shape.as_list()),
            tf.as_dtype(content.dtype),
        )
    }


def _read_path(path: Path, outputs: list[str] | None, default_dimension: int | None, signature: str | None) -> Program:
    if os.path.isdir(path):
        graph_def, outputs = _read_saved_model(path, outputs, signature)
    else:
        graph_def = graph_pb2.GraphDef()
        _parse(graph_def, path, "GraphDef")
        if not graph_def.node:
            raise ParseError("not a GraphDef: there is no node in it")
    return flatten(graph_def, results=outputs, default_dimension=default_dimension)


def _parse(message: Any, path: Path, what: str) -> None:
    try:
        message.ParseFromString(read_bytes(path, MAX_FILE))
    except DecodeError as error:
        raise ParseError(f"{path}: not a {what}: the protobuf data are broken or end too early") from error


def _read_saved_model(
    path: Path, outputs: list[str] | None, signature: str | None
) -> tuple[graph_pb2.GraphDef, list[str] | None]:
    """The graph of a SavedModel that serves, and the values of a signature; no other file is opened."""
    model = saved_model_pb2.SavedModel()
    _parse(model, path / SAVED_MODEL, "SavedModel")
    served = [meta for meta in model.meta_graphs if "serve" in meta.meta_info_def.tags] or list(model.meta_graphs)
    if not served:
        raise ParseError("not a SavedModel: there is no graph in it")
    meta = served[0]
    if outputs is not None:
        return meta.graph_def, outputs
    names = [name for name in meta.signature_def if not name.startswith("__saved_model")]
    if signature is None:
        signature = "serving_default" if "serving_default" in names or len(names) != 1 else names[0]
    if signature not in names:
        raise ParseError(
            f"no signature {short(signature)}; there are: {', '.join(map(short, sorted(names))) or 'none'}"
        )
    values = meta.signature_def[signature].outputs
    return meta.graph_def, [values[key].name for key in sorted(values)]
