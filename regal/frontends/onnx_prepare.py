"""From an ONNX model to a flat one in program order whose values carry shapes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from regal.frontends.onnx_model import MAX_NODES, call, initializers_of, nodes_of, reads_of, tensor_type_of
from regal.frontends.onnx_shapes import infer_shapes
from regal.graph import GraphBuilder

if TYPE_CHECKING:
    import onnx

MAX_CALL_DEPTH = 64
"""Deepest chain of functions that call one another."""


def prepare(model: onnx.ModelProto, dimensions: Mapping[str, int], default: int | None) -> onnx.ModelProto:
    """The model with its functions inlined, its dimensions bound, its nodes in program order and its shapes inferred.

    Raises
    ------
    ValueError
        For recursive functions, a dynamic dimension of an input without a size, a value that is produced twice or
        never, a cycle, and a model that shape inference refuses.
    """
    model = _inline(model)
    _bind(model.graph, dimensions, default)
    _order(model.graph)
    return infer_shapes(model)


def check_dimensions(dimensions: Mapping[str, int], default: int | None) -> None:
    """Raise ``ValueError`` for a dimension that is no size."""
    for key, given in (*dimensions.items(), ("default_dimension", 0 if default is None else default)):
        if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given < 2**53:
            raise ValueError(f"dimension {key!r} must be an integer from 0 to 2^53 - 1, not {given!r}")


def _inline(model: onnx.ModelProto) -> onnx.ModelProto:
    """Replace calls of model-local functions by their nodes; one written for another opset stays a single node."""
    import onnx.inliner

    if not model.functions:
        return model
    functions = {(each.domain, each.name, each.overload): each for each in model.functions}
    done: dict[tuple[str, str, str], tuple[int, int]] = {}

    def measure(graph: Any, callers: tuple[Any, ...]) -> tuple[int, int]:
        """How many nodes the graph has once inlined, and how deep its calls nest."""
        total = depth = 0
        for node in nodes_of(graph):
            key = (node.domain, node.op_type, node.overload)
            if key in callers:
                raise ValueError(f"function {node.op_type!r} calls itself")
            if key in functions and key not in done and len(callers) <= MAX_CALL_DEPTH:
                done[key] = measure(functions[key], (*callers, key))
            nodes, below = done.get(key, (1, 0 if key not in functions else MAX_CALL_DEPTH))
            total, depth = total + nodes, max(depth, below + (key in functions))
        return total, depth

    sizes = [measure(function, (key,)) for key, function in functions.items()] + [measure(model.graph, ())]
    if max(depth for _, depth in sizes) > MAX_CALL_DEPTH:
        raise ValueError(f"calls of functions nest deeper than {MAX_CALL_DEPTH}")
    if sizes[-1][0] > MAX_NODES:
        raise ValueError(f"the model has {sizes[-1][0]} nodes once its functions are inlined, more than {MAX_NODES}")
    return call(onnx.inliner.inline_local_functions, model, "inlining its functions")


def _bind(graph: onnx.GraphProto, dimensions: Mapping[str, int], default: int | None) -> None:
    """Give every dynamic dimension of the inputs a size, and the same size wherever its name stands."""
    check_dimensions(dimensions, default)
    bound, seen, fixed = dict(dimensions), set(), set(initializers_of(graph))
    for value in graph.input:
        tensor_type = None if value.name in fixed else tensor_type_of(value.type)
        if tensor_type is None:
            continue
        if not tensor_type.HasField("shape"):
            raise ValueError(f"input {value.name!r} has no shape; set one in the model")
        for axis, dim in enumerate(tensor_type.shape.dim):
            if dim.HasField("dim_value") and dim.dim_value >= 0:
                continue
            name = dim.dim_param
            size = bound.get(name, default) if name else default
            if size is None:
                ways = f"dimensions={{{name!r}: ...}} or default_dimension" if name else "default_dimension"
                raise ValueError(f"input {value.name!r}: dimension {axis} {name!r} is dynamic; pass {ways}")
            if name:
                seen.add(name)
                bound[name] = size
            dim.dim_value = size
    for value in (*graph.output, *graph.value_info):
        tensor_type = tensor_type_of(value.type)
        for dim in () if tensor_type is None else tensor_type.shape.dim:
            name = dim.dim_param
            seen.add(name)
            if name in bound:
                dim.dim_value = bound[name]
    for name in dimensions:
        if name not in seen:
            known = ", ".join(sorted(map(repr, seen - {""}))) or "none"
            raise ValueError(f"dimensions name {name!r}, but the dynamic dimensions of the model are: {known}")


def _order(graph: onnx.GraphProto) -> None:
    """Check that every value has one source and bring the nodes into program order, moving as few as needed."""
    builder, values = GraphBuilder(), {}
    for name in dict.fromkeys((*initializers_of(graph), *(value.name for value in graph.input))):
        values[name] = builder.add_tensor(0)
    if len(set(initializers_of(graph))) < len(initializers_of(graph)):
        raise ValueError("two initializers have the same name")
    for index, node in enumerate(graph.node):
        for name in filter(None, node.output):
            if name in values:
                raise ValueError(f"op {index} {node.name!r}: the value {name!r} has another source already")
            values[name] = builder.add_tensor(0)
    for index, node in enumerate(graph.node):
        reads = reads_of(node)
        for name in reads:
            if name not in values:
                raise ValueError(f"op {index} {node.name!r}: nothing produces its input {name!r}")
        outputs = [values[name] for name in node.output if name]
        builder.add_op(str(index), name=node.name, inputs=[values[name] for name in reads], outputs=outputs)
    for value in graph.output:
        if value.name not in values:
            raise ValueError(f"nothing produces the output {value.name!r}")
    builder.sort()
    order = [int(index) for index in builder.types]
    if order != sorted(order):
        nodes = [graph.node[index] for index in order]
        del graph.node[:]
        graph.node.extend(nodes)
