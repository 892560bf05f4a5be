"""From an ONNX file that nobody vouches for to a flat model in program order whose values carry shapes.

Only the file itself is read: external data are never opened, because a tensor's size follows from its type alone.
Broken files end in a ``ValueError``. Inlining and shape inference are native code of the ONNX library, which has been
seen to crash on deliberately wrong attributes (an axis out of range): :func:`regal.load` reads files in a process of
their own, see :mod:`regal.frontends.onnx_process`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regal.files import read_bytes
from regal.graph import GraphBuilder

if TYPE_CHECKING:
    import onnx

MAX_FILE = 512 * 2**20
"""Longest file in bytes that is parsed."""
MAX_NODES = 2**20
"""Most nodes of a model, those of bodies and of inlined functions included."""
MAX_CALL_DEPTH = 64
"""Deepest chain of functions that call one another."""
MAX_KEPT_DATA = 2**14
"""Tensors of more bytes lose their values, which nothing here looks at; shorter ones may hold dimensions."""
MAX_VECTOR = 2**18
"""Longest vector in a model through which the values of shapes are followed."""
DATA_FIELDS = ("raw_data", "float_data", "int32_data", "string_data", "int64_data", "double_data", "uint64_data")


def read_model(source: str | Path | onnx.ModelProto) -> onnx.ModelProto:
    """A private copy of the model, without the values of its larger tensors.

    Raises
    ------
    ValueError
        For a file that cannot be read, is longer than ``MAX_FILE`` bytes, or is no ONNX model, and for a model of
        more than ``MAX_NODES`` nodes.
    """
    import onnx
    from google.protobuf.message import DecodeError, EncodeError

    if isinstance(source, (str, Path)):
        data = read_bytes(source, MAX_FILE)
    elif isinstance(source, onnx.ModelProto):
        try:
            data = source.SerializeToString()
        except (EncodeError, ValueError) as error:
            raise ValueError("the model is too large; load it with load_external_data=False") from error
    else:
        raise ValueError(f"an ONNX source is a path or a ModelProto, not {type(source).__name__}")
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError as error:
        raise ValueError("not an ONNX model: the protobuf data are broken or end too early") from error
    if not model.HasField("graph"):
        raise ValueError("not an ONNX model: there is no graph in it")
    parts = (model.graph, *model.functions)
    count = sum(1 for part in parts for _ in _nodes_of(part))
    if count > MAX_NODES:
        raise ValueError(f"the model has {count} nodes, more than {MAX_NODES}")
    for tensor in (tensor for part in parts for tensor in tensors_of(part)):
        _drop_values(tensor)
    opsets = (entry for part in (model, *model.functions) for entry in part.opset_import)
    for named in (*opsets, *(node for part in parts for node in _nodes_of(part))):
        if named.domain == "ai.onnx":  # two names of one domain
            named.domain = ""
    _check_text(model)
    return model


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
    return _infer(model)


def check_dimensions(dimensions: Mapping[str, int], default: int | None) -> None:
    """Raise ``ValueError`` for a dimension that is no size."""
    for key, given in (*dimensions.items(), ("default_dimension", 0 if default is None else default)):
        if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given < 2**53:
            raise ValueError(f"dimension {key!r} must be an integer from 0 to 2^53 - 1, not {given!r}")


def bodies_of(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    """The graphs that a node carries as attributes: branches of If, bodies of Loop and Scan."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def reads_of(node: onnx.NodeProto) -> list[str]:
    """Names of the values that a node reads, once each: its inputs, then what its bodies read from outside."""
    names = dict.fromkeys(name for name in node.input if name)
    for body in bodies_of(node):
        inside = {value.name for value in body.input} | {name for part in body.node for name in part.output}
        inside |= set(initializers_of(body))
        read = [name for part in body.node for name in reads_of(part)] + [value.name for value in body.output]
        names |= dict.fromkeys(name for name in read if name and name not in inside)
    return list(names)


def initializers_of(graph: onnx.GraphProto) -> list[str]:
    """Names of a graph's initializers, the sparse ones last."""
    return [tensor.name for tensor in graph.initializer] + [each.values.name for each in graph.sparse_initializer]


def tensors_of(graph: onnx.GraphProto | onnx.FunctionProto) -> Iterator[onnx.TensorProto]:
    """Every tensor stored in a graph: initializers and attributes, those of its bodies included."""
    sparse: list[Any] = list(getattr(graph, "sparse_initializer", ()))
    yield from getattr(graph, "initializer", ())
    for node in _nodes_of(graph):
        for body in bodies_of(node):
            yield from body.initializer
            sparse.extend(body.sparse_initializer)
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            if attribute.HasField("sparse_tensor"):
                sparse.append(attribute.sparse_tensor)
            yield from attribute.tensors
            sparse.extend(attribute.sparse_tensors)
    for each in sparse:
        yield from (each.values, each.indices)


def tensor_type_of(type_proto: onnx.TypeProto) -> Any:
    """The (sparse) tensor type behind a type, seen through ``optional``; None for sequences, maps and the like."""
    kind = type_proto.WhichOneof("value")
    if kind == "optional_type":
        return tensor_type_of(type_proto.optional_type.elem_type)
    return getattr(type_proto, kind) if kind in ("tensor_type", "sparse_tensor_type") else None


def dims_of(type_proto: onnx.TypeProto) -> list[int] | None:
    """Dimensions of a tensor type, -1 for each unknown one; None where not even their number is known."""
    tensor_type = tensor_type_of(type_proto)
    if tensor_type is None or not tensor_type.HasField("shape"):
        return None
    return [max(dim.dim_value, -1) if dim.HasField("dim_value") else -1 for dim in tensor_type.shape.dim]


def _nodes_of(graph: onnx.GraphProto | onnx.FunctionProto) -> Iterator[onnx.NodeProto]:
    for node in graph.node:
        yield node
        for body in bodies_of(node):
            yield from _nodes_of(body)


def _check_text(model: onnx.ModelProto) -> None:
    """Refuse text that is not UTF-8, which the protobuf library hands out as bytes."""
    texts = [model.producer_name, model.producer_version, *(entry.domain for entry in model.opset_import)]
    for part in (model.graph, *model.functions):
        texts.append(part.name)
        for node in _nodes_of(part):
            texts += (node.name, node.op_type, node.domain, node.overload, *node.input, *node.output)
            for body in bodies_of(node):
                texts += [value.name for value in (*body.input, *body.output)] + initializers_of(body)
    texts += initializers_of(model.graph)
    for value in (*model.graph.input, *model.graph.output, *model.graph.value_info):
        tensor_type = tensor_type_of(value.type)
        texts += [value.name, *(() if tensor_type is None else (dim.dim_param for dim in tensor_type.shape.dim))]
    for text in texts:
        if not isinstance(text, str):
            raise ValueError(f"not an ONNX model: the name {text[:60]!r} is not UTF-8 text")


def _drop_values(tensor: onnx.TensorProto) -> None:
    for field in ("external_data", "data_location"):
        tensor.ClearField(field)
    if tensor.ByteSize() > MAX_KEPT_DATA:
        for field in DATA_FIELDS:
            tensor.ClearField(field)


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
        for node in _nodes_of(graph):
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
    return _call(onnx.inliner.inline_local_functions, model, "inlining its functions")


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


def _infer(model: onnx.ModelProto) -> onnx.ModelProto:
    """Infer shapes; a second time, following the values of shapes through the graph, where that can help.

    The second pass treats every vector as a possible shape and makes one object per element, so long vectors forbid it.
    """
    import onnx.shape_inference

    model = _call(onnx.shape_inference.infer_shapes, model, "shape inference")
    dims = {value.name: dims_of(value.type) for value in (*model.graph.value_info, *model.graph.output)}
    inputs = [dims_of(value.type) for value in model.graph.input] + [
        list(each.dims) for each in model.graph.initializer
    ]
    longest = max((sizes[0] for sizes in (*dims.values(), *inputs) if sizes is not None and len(sizes) == 1), default=0)
    outputs = [dims.get(name) for node in model.graph.node for name in node.output if name]
    if longest > MAX_VECTOR or all(sizes is not None and min(sizes, default=0) >= 0 for sizes in outputs):
        return model
    return _call(lambda model: onnx.shape_inference.infer_shapes(model, data_prop=True), model, "shape inference")


def _call(step: Any, model: onnx.ModelProto, what: str) -> onnx.ModelProto:
    """Run one of the ONNX library's own steps; whatever it objects to becomes a ``ValueError`` of one line."""
    from google.protobuf.message import Error
    from onnx.checker import ValidationError
    from onnx.shape_inference import InferenceError

    try:
        return step(model)
    except (
        Error,
        ValidationError,
        InferenceError,
        RuntimeError,
        ValueError,
        TypeError,
        LookupError,
        MemoryError,
    ) as error:
        text = " ".join(str(error).split())
        raise ValueError(f"{what} failed: {text[:300]}") from error
