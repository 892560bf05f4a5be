"""Shapes of the values of an ONNX model: what the ONNX library infers, carried on by the values of shapes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from regal.frontends.onnx_model import bodies_of, call, dims_of, initializers_of, nodes_of
from regal.frontends.onnx_values import known_values

if TYPE_CHECKING:
    import onnx

MAX_VECTOR = 2**18
"""Longest vector in a model through which the values of shapes are followed."""
MAX_ROUNDS = 16
"""Rounds of inferring shapes, computing the values that follow from them, and taking branches."""


def infer_shapes(model: onnx.ModelProto) -> onnx.ModelProto:
    """Infer shapes; where some stay unknown, or a branch is to be chosen, with the help of the values of shapes.

    Each round computes the values that are known, lets every If whose condition is known take its branch, and infers
    the shapes from the start, with the values in place of the nodes that compute them.
    """
    import onnx.shape_inference

    given = onnx.GraphProto(value_info=model.graph.value_info, output=model.graph.output)
    model = call(onnx.shape_inference.infer_shapes, model, "shape inference")
    known = -1
    for _ in range(MAX_ROUNDS):
        dims = _dims(model.graph)
        names = [name for node in model.graph.node for name in node.output if name]
        if all(name in dims for name in names) and all(node.op_type != "If" for node in model.graph.node):
            break
        values = known_values(model.graph, dims)
        if not _take_branches(model.graph, values) and len(values) == known:
            break
        known = len(values)
        _infer_with(model, given, values)
    return model


def _dims(graph: onnx.GraphProto) -> dict[str, list[int]]:
    """Dimensions of every value where all of them are known."""
    dims = {value.name: dims_of(value.type) for value in (*graph.value_info, *graph.output, *graph.input)}
    dims |= {tensor.name: list(tensor.dims) for tensor in graph.initializer}
    return {name: sizes for name, sizes in dims.items() if sizes is not None and min(sizes, default=0) >= 0}


def _infer_with(model: onnx.ModelProto, given: onnx.GraphProto, values: Mapping[str, Any]) -> None:
    """Infer shapes on a copy in which the nodes behind ``values`` are initializers, and write them into the model.

    The copy starts with what the file gave, for inference does not improve on unknown dimensions that it has named.
    Inference follows the elements of shapes too, treats every vector as a possible shape then and makes one object per
    element, so long vectors forbid that.
    """
    import onnx.shape_inference
    from onnx.helper import make_tensor_value_info
    from onnx.numpy_helper import from_array

    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    copy.ir_version = max(copy.ir_version, 4)  # before, initializers have to be inputs too
    graph = copy.graph
    found = {name: from_array(values[name], name) for node in graph.node for name in node.output if name in values}
    nodes = [
        node for node in graph.node if not any(node.output) or any(name and name not in found for name in node.output)
    ]
    made = {name for node in nodes for name in node.output}
    del graph.node[:]
    graph.node.extend(nodes)
    graph.initializer.extend(tensor for name, tensor in found.items() if name not in made)
    infos = {name: make_tensor_value_info(name, tensor.data_type, tensor.dims) for name, tensor in found.items()}
    del graph.value_info[:], graph.output[:]
    graph.value_info.extend(value for value in given.value_info if value.name not in found)
    graph.output.extend(infos.get(value.name, value) for value in given.output)
    longest = max((sizes[0] for sizes in _dims(graph).values() if len(sizes) == 1), default=0)
    follow = longest <= MAX_VECTOR
    copy = call(lambda each: onnx.shape_inference.infer_shapes(each, data_prop=follow), copy, "shape inference")
    del model.graph.value_info[:], model.graph.output[:]
    model.graph.value_info.extend([*copy.graph.value_info, *infos.values()])
    model.graph.output.extend(copy.graph.output)


def _take_branches(graph: onnx.GraphProto, values: Mapping[str, Any]) -> bool:
    """Put the branch that an If takes in its place wherever that is known; whether there was such an If."""
    nodes: list[onnx.NodeProto] = []
    prefix = "branch"
    taken = 0
    for node in graph.node:
        branch = _branch(node, values)
        if branch is None:
            nodes.append(node)
            continue
        if not taken:
            names = {name for each in nodes_of(graph) for name in (*each.input, *each.output)}
            while any(name.startswith(prefix) for name in names):
                prefix += "_"
        taken += 1
        nodes += _spliced(graph, node, branch, f"{prefix}{taken}/")
    if taken:
        del graph.node[:]
        graph.node.extend(nodes)
    return taken > 0


def _branch(node: onnx.NodeProto, values: Mapping[str, Any]) -> onnx.GraphProto | None:
    """The body that an If runs, None where that is not known."""
    if node.op_type != "If" or node.domain or len(node.input) != 1 or node.input[0] not in values:
        return None
    condition = values[node.input[0]]
    name = "then_branch" if condition.size == 1 and condition.item() else "else_branch"
    body = next((attribute.g for attribute in node.attribute if attribute.name == name), None)
    if condition.size != 1 or body is None or body.input or len(body.output) < len(node.output):
        return None
    return body


def _spliced(
    graph: onnx.GraphProto, node: onnx.NodeProto, body: onnx.GraphProto, prefix: str
) -> Iterator[onnx.NodeProto]:
    """The nodes of ``body``, its values called otherwise, then the outputs of ``node``; its weights go to ``graph``."""
    from onnx.helper import make_node

    inside = {name for each in body.node for name in each.output if name} | set(initializers_of(body))
    names = {name: prefix + name for name in inside}
    for tensor in body.initializer:
        graph.initializer.add().CopyFrom(tensor)
        graph.initializer[-1].name = names[tensor.name]
    for sparse in body.sparse_initializer:
        graph.sparse_initializer.add().CopyFrom(sparse)
        graph.sparse_initializer[-1].values.name = names[sparse.values.name]
    for each in body.node:
        yield _renamed(each, names)
    for name, value in zip(node.output, body.output, strict=False):
        if name:
            yield make_node("Identity", [names.get(value.name, value.name)], [name])


def _renamed(node: onnx.NodeProto, names: Mapping[str, str]) -> onnx.NodeProto:
    """A copy of ``node`` that reads and writes the values of the new names, in its bodies too."""
    copy = type(node)()
    copy.CopyFrom(node)
    copy.input[:] = [names.get(name, name) for name in node.input]
    copy.output[:] = [names.get(name, name) for name in node.output]
    for body in bodies_of(copy):
        own = {value.name for value in body.input} | {name for each in body.node for name in each.output}
        outer = {name: new for name, new in names.items() if name not in own and name not in initializers_of(body)}
        nodes = [_renamed(each, outer) for each in body.node]
        del body.node[:]
        body.node.extend(nodes)
        for value in body.output:
            value.name = outer.get(value.name, value.name)
    return copy
