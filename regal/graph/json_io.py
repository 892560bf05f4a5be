"""The file format ``regal-graph/1``: JSON, or JSON.gz.

``{"format": "regal-graph/1", "name": ..., "ops": [...], "tensors": [...], "meta": {...}}`` where an op is
``{"name", "type", "runtime", "workspace", "inputs": [tensor...], "outputs": [tensor...], "control_inputs": [op...],
"colocation": group}`` and a tensor is ``{"bytes", "is_output"}``. Indices are positions. ``runtime`` is in seconds,
sizes are integers in bytes. ``workspace``, ``control_inputs``, ``colocation``, ``is_output`` and ``meta`` may be left
out; any other key is refused, except inside ``meta``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from regal.files import ParseError, parse_json, read_bytes, short, write_json
from regal.graph.builder import GraphBuilder
from regal.graph.checks import MAX_SIZE
from regal.graph.computation_graph import NO_GROUP, ComputationGraph

FORMAT = "regal-graph/1"
OP_KEYS = {"name", "type", "runtime", "workspace", "inputs", "outputs", "control_inputs", "colocation"}
REQUIRED_OP_KEYS = ("name", "type", "runtime", "inputs", "outputs")
TENSOR_KEYS = {"bytes", "is_output"}


def read_graph(path: str | Path) -> ComputationGraph:
    """Read a ``regal-graph/1`` file.

    Raises
    ------
    ValueError
        For a file that breaks the format or a rule of the graph; the message names the op, the rule and the value.
    """
    value = parse_json(read_bytes(path), str(path))
    try:
        return graph_from_json(value)
    except ValueError as error:
        raise ParseError(f"{path}: {error}") from error


def write_graph(graph: ComputationGraph, path: str | Path) -> None:
    """Write a ``regal-graph/1`` file, compressed where the name ends in ``.gz``; the file is replaced atomically."""
    write_json(path, graph_to_json(graph))


def graph_to_json(graph: ComputationGraph) -> dict[str, Any]:
    """The graph as JSON values; optional entries that say nothing are left out."""
    ops = []
    columns = (
        graph.op_names,
        graph.op_types,
        graph.runtime.tolist(),
        graph.workspace.tolist(),
        graph.inputs.to_lists(),
        graph.outputs.to_lists(),
        graph.control_inputs.to_lists(),
        graph.colocation.tolist(),
    )
    for name, type_, runtime, workspace, inputs, outputs, control_inputs, group in zip(*columns, strict=True):
        op: dict[str, Any] = {"name": name, "type": type_, "runtime": runtime}
        if workspace:
            op["workspace"] = workspace
        op |= {"inputs": inputs, "outputs": outputs}
        if control_inputs:
            op["control_inputs"] = control_inputs
        if group != NO_GROUP:
            op["colocation"] = group
        ops.append(op)
    tensors = [
        {"bytes": size, "is_output": True} if output else {"bytes": size}
        for size, output in zip(graph.tensor_bytes.tolist(), graph.is_output.tolist(), strict=True)
    ]
    result: dict[str, Any] = {"format": FORMAT, "name": graph.name, "ops": ops, "tensors": tensors}
    if graph.meta:
        result["meta"] = graph.meta
    return result


def graph_from_json(value: Any) -> ComputationGraph:
    """The graph behind JSON values; raises ``ValueError`` as :func:`read_graph` does."""
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        found = value.get("format") if isinstance(value, dict) else value
        raise ValueError(f"format must be {FORMAT!r}, not {short(found)}")
    _check_keys(value, {"format", "name", "ops", "tensors", "meta"}, ("name", "ops", "tensors"), "graph")
    meta = value.get("meta", {})
    if not isinstance(meta, dict):
        raise ValueError(f"graph: meta must be an object, not {short(meta)}")
    ops, tensors = _list(value["ops"], "graph", "ops"), _list(value["tensors"], "graph", "tensors")
    builder = GraphBuilder(_text(value["name"], "graph", "name"), meta)
    for index, tensor in enumerate(tensors):
        _read_tensor(builder, index, tensor)
    for index, op in enumerate(ops):
        _read_op(builder, index, op, len(ops), len(tensors))
    return builder.build()


def _read_tensor(builder: GraphBuilder, index: int, tensor: Any) -> None:
    where = f"tensor {index}"
    if not isinstance(tensor, dict):
        raise ValueError(f"{where}: must be an object, not {short(tensor)}")
    _check_keys(tensor, TENSOR_KEYS, ("bytes",), where)
    is_output = tensor.get("is_output", False)
    if not isinstance(is_output, bool):
        raise ValueError(f"{where}: is_output must be true or false, not {short(is_output)}")
    builder.add_tensor(_integer(tensor["bytes"], where, "bytes", MAX_SIZE), is_output)


def _read_op(builder: GraphBuilder, index: int, op: Any, num_ops: int, num_tensors: int) -> None:
    where = f"op {index}"
    if not isinstance(op, dict):
        raise ValueError(f"{where}: must be an object, not {short(op)}")
    if isinstance(op.get("name"), str):
        where = f"op {index} {short(op['name'])}"
    _check_keys(op, OP_KEYS, REQUIRED_OP_KEYS, where)
    runtime = op["runtime"]
    if isinstance(runtime, bool) or not isinstance(runtime, (int, float)) or not 0 <= runtime < float("inf"):
        raise ValueError(f"{where}: runtime must be finite seconds, not negative, not {short(runtime)}")
    try:
        runtime = float(runtime)
    except OverflowError as error:
        raise ValueError(f"{where}: runtime must be finite seconds, not {short(runtime)}") from error
    group = op.get("colocation")
    builder.names.append(_text(op["name"], where, "name"))
    builder.types.append(_text(op["type"], where, "type"))
    builder.runtimes.append(runtime)
    builder.workspaces.append(_integer(op.get("workspace", 0), where, "workspace", MAX_SIZE))
    builder.groups.append(NO_GROUP if group is None else _integer(group, where, "colocation", MAX_SIZE))
    builder.inputs.append(_indices(op["inputs"], where, "inputs", "tensor", num_tensors))
    builder.outputs.append(_indices(op["outputs"], where, "outputs", "tensor", num_tensors))
    builder.control_inputs.append(_indices(op.get("control_inputs", []), where, "control_inputs", "op", num_ops))


def _check_keys(value: dict[str, Any], known: set[str], required: tuple[str, ...], where: str) -> None:
    for key in required:
        if key not in value:
            raise ValueError(f"{where}: {key} is missing")
    for key in value:
        if key not in known:
            raise ValueError(f"{where}: unknown key {short(key)}")


def _text(value: Any, where: str, key: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{where}: {key} must be text, not {short(value)}")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"{where}: {key} holds half of a surrogate pair") from error
    return value


def _list(value: Any, where: str, key: str) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{where}: {key} must be a list, not {short(value)}")
    return value


def _integer(value: Any, where: str, key: str, bound: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < bound:
        raise ValueError(f"{where}: {key} must be an integer from 0 to {bound - 1}, not {short(value)}")
    return value


def _indices(value: Any, where: str, key: str, kind: str, size: int) -> list[int]:
    for index in _list(value, where, key):
        if type(index) is not int:
            raise ValueError(f"{where}: {key} must hold numbers of {kind}s, not {short(index)}")
        if not 0 <= index < size:
            raise ValueError(f"{where}: {key} name {kind} {short(index)}, but the graph has {size} {kind}s")
    return value
