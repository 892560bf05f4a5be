"""ONNX files that nobody vouches for, and what their parts say.

Only the file itself is read: external data are never opened, because a tensor's size follows from its type alone.
Broken files end in a ``ValueError``. Inlining and shape inference are native code of the ONNX library, which has been
seen to crash on deliberately wrong attributes (an axis out of range): :func:`regal.load` reads files in a process of
their own, see :mod:`regal.frontends.onnx_process`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regal.files import read_bytes

if TYPE_CHECKING:
    import onnx

MAX_FILE = 512 * 2**20
"""Longest file in bytes that is parsed."""
MAX_NODES = 2**20
"""Most nodes of a model, those of bodies and of inlined functions included."""
MAX_KEPT_DATA = 2**14
"""Tensors of more bytes lose their values, which nothing here looks at; shorter ones may hold dimensions."""
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
    count = sum(1 for part in parts for _ in nodes_of(part))
    if count > MAX_NODES:
        raise ValueError(f"the model has {count} nodes, more than {MAX_NODES}")
    for tensor in (tensor for part in parts for tensor in tensors_of(part)):
        _drop_values(tensor)
    opsets = (entry for part in (model, *model.functions) for entry in part.opset_import)
    for named in (*opsets, *(node for part in parts for node in nodes_of(part))):
        if named.domain == "ai.onnx":  # two names of one domain
            named.domain = ""
    _check_text(model)
    return model


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
    for node in nodes_of(graph):
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


def nodes_of(graph: onnx.GraphProto | onnx.FunctionProto) -> Iterator[onnx.NodeProto]:
    """Every node of a graph, those of its bodies included."""
    for node in graph.node:
        yield node
        for body in bodies_of(node):
            yield from nodes_of(body)


def _check_text(model: onnx.ModelProto) -> None:
    """Refuse text that is not UTF-8, which the protobuf library hands out as bytes."""
    texts = [model.producer_name, model.producer_version, *(entry.domain for entry in model.opset_import)]
    for part in (model.graph, *model.functions):
        texts.append(part.name)
        for node in nodes_of(part):
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


def call(step: Any, model: onnx.ModelProto, what: str) -> onnx.ModelProto:
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
