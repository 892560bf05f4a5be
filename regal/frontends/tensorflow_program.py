"""A TensorFlow graph as a flat program: nodes in program order, calls inlined, every value with its shape and dtype.

Nothing is executed: shapes come from TensorFlow's own shape inference, which runs when a GraphDef is imported, and
computes at most the constants that sizes follow from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import tensorflow as tf
from tensorflow.core.framework import function_pb2, graph_pb2, node_def_pb2
from tensorflow.python.framework import op_def_registry

from regal.files import ParseError
from regal.files.read import short
from regal.frontends.tensorflow_inline import inline, topological_order
from regal.frontends.tensorflow_scope import node_of

Shape = tuple[int | None, ...] | None
LOOP_OPS = {"Enter", "RefEnter", "NextIteration", "RefNextIteration", "Exit", "RefExit", "LoopCond"}
INPUTS = ("Placeholder", "PlaceholderV2", "PlaceholderWithDefault")
IMPORT_ERRORS = (ValueError, TypeError, KeyError, RuntimeError, NotImplementedError, tf.errors.OpError)


class Value(NamedTuple):
    """One output of a node: ``shape`` with None for an unknown dimension, or None for an unknown rank."""

    shape: Shape
    dtype: tf.DType


class Variable(NamedTuple):
    """What a handle that comes from outside the graph stands for."""

    key: str
    shape: Shape
    dtype: tf.DType


@dataclass
class Node:
    """One op of the program; ``inputs`` are (node, output) pairs and ``controls`` nodes, by their places."""

    name: str
    op: str
    inputs: list[tuple[int, int]]
    controls: list[int]
    outputs: list[Value]
    attr: Mapping[str, Any]
    is_stateful: bool


@dataclass
class Program:
    """A flat TensorFlow graph.

    Attributes
    ----------
    nodes : list of Node, in program order
    results : list of (node, output)
        What the graph returns.
    functions : dict
        Bodies of what stays one op: loops and branches.
    """

    nodes: list[Node]
    results: list[tuple[int, int]]
    functions: dict[str, function_pb2.FunctionDef] = field(default_factory=dict)


def flatten(
    graph_def: graph_pb2.GraphDef,
    *,
    results: list[str] | None,
    keep: Iterable[str] = (),
    variables: Mapping[str, Variable] | None = None,
    default_dimension: int | None = None,
) -> Program:
    """Inline, prune, infer shapes.

    Parameters
    ----------
    graph_def : GraphDef
    results : list of str, optional
        Names of the values returned; by default every value that nobody reads, and then nothing is pruned.
    keep : names of nodes
        Nodes that have an effect: they run although nobody reads them.
    variables : mapping, optional
        Placeholder -> the variable whose handle it takes.
    default_dimension : int, optional
        Size of the unknown dimensions of inputs.

    Raises
    ------
    ParseError
        For a graph that is not whole, has an op that TensorFlow does not know, loops by ``NextIteration``, has shapes
        that do not fit, or inputs whose shape is not known.
    """
    functions = {function.signature.name: function for function in graph_def.library.function}
    nodes, renamed = inline(graph_def.node, functions)
    for node in nodes:
        _settle_input(node, variables or {}, default_dimension)
    loop = next((node for node in nodes if node.op in LOOP_OPS), None)
    if loop is not None:
        raise ParseError(f"node {short(loop.name)}: {loop.op} belongs to a loop of TensorFlow 1: use tf.while_loop")
    if results is not None:
        results = [renamed.get(name, name.removesuffix(":0")) for name in (_full(name) for name in results)]
        roots = [*results, *(renamed.get(f"^{name}", name) for name in keep)]
        nodes = _reachable(nodes, roots)
    needed = _needed_functions(nodes, functions)
    shapes = _infer(nodes, needed, graph_def.versions)
    program = _program(nodes, shapes, needed)
    _refuse_open(program)
    place = {node.name: at for at, node in enumerate(program.nodes)}
    if results is None:
        read = {value for node in program.nodes for value in node.inputs}
        every = ((at, output) for at, node in enumerate(program.nodes) for output in range(len(node.outputs)))
        program.results = [value for value in every if value not in read]
    else:
        program.results = [(place[name.partition(":")[0]], int(name.partition(":")[2] or 0)) for name in results]
        for (at, output), name in zip(program.results, results, strict=True):
            if output >= len(program.nodes[at].outputs):
                raise ParseError(f"the graph returns {short(name)}, which is no value of it")
    return program


def _refuse_open(program: Program) -> None:
    for node in program.nodes:
        if node.op in INPUTS:
            shape, dtype = node.outputs[0]
            if dtype.base_dtype not in (tf.resource, tf.variant) and (shape is None or None in shape):
                what = "its rank" if shape is None else f"dimensions of its shape {shape}"
                raise ParseError(f"input {short(node.name)} leaves open {what}: give a size, as default_dimension does")


def _full(name: str) -> str:
    return name if ":" in name else f"{name}:0"


def _settle_input(node: node_def_pb2.NodeDef, variables: Mapping[str, Variable], default: int | None) -> None:
    """Turn a placeholder of a variable's handle into the handle, and give unknown dimensions of inputs a size."""
    variable = variables.get(node.name)
    if variable is not None:
        node.op = "VarHandleOp"
        node.attr.clear()
        node.attr["dtype"].type = variable.dtype.as_datatype_enum
        node.attr["shape"].shape.CopyFrom(tf.TensorShape(variable.shape).as_proto())
        node.attr["shared_name"].s = variable.key.encode()
    elif node.op in INPUTS and default is not None:
        for dim in node.attr["shape"].shape.dim:
            if dim.size < 0:
                dim.size = default


def _reachable(nodes: list[node_def_pb2.NodeDef], roots: list[str]) -> list[node_def_pb2.NodeDef]:
    """The nodes that a runtime would run to get ``roots``."""
    by_name = {node.name: node for node in nodes}
    todo, seen = [node_of(name) for name in roots], set()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        if name not in by_name:
            raise ParseError(f"the graph returns {short(name)}, which is no node of it")
        seen.add(name)
        todo.extend(map(node_of, by_name[name].input))
    return [node for node in nodes if node.name in seen]


def called(attr: Mapping[str, Any]) -> Iterable[str]:
    """Names of the functions that a node's attributes name."""
    for value in attr.values():
        kind = value.WhichOneof("value")
        if kind == "func":
            yield value.func.name
        elif kind == "list":
            yield from (func.name for func in value.list.func)


def _needed_functions(
    nodes: Iterable[node_def_pb2.NodeDef], functions: dict[str, function_pb2.FunctionDef]
) -> dict[str, function_pb2.FunctionDef]:
    """The bodies of what stays one op, and all that these call."""
    needed: dict[str, function_pb2.FunctionDef] = {}
    todo = [name for node in nodes for name in called(node.attr)]
    while todo:
        name = todo.pop()
        if name in functions and name not in needed:
            needed[name] = functions[name]
            for node in functions[name].node_def:
                todo.extend(called(node.attr))
                if node.op in functions:
                    todo.append(node.op)
    return needed


def _infer(
    nodes: list[node_def_pb2.NodeDef], functions: dict[str, function_pb2.FunctionDef], versions: Any
) -> tf.Graph:
    """Import into a graph, which infers the shape of every value."""
    graph_def = graph_pb2.GraphDef(node=nodes, versions=versions)
    graph_def.library.function.extend(functions.values())
    graph = tf.Graph()
    try:
        with graph.as_default():
            tf.graph_util.import_graph_def(graph_def, name="")
    except IMPORT_ERRORS as error:
        line = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise ParseError(f"TensorFlow refuses the graph: {line[:300]}") from error
    return graph


def _program(nodes: list[node_def_pb2.NodeDef], graph: tf.Graph, functions: dict[str, Any]) -> Program:
    place = {node.name: at for at, node in enumerate(nodes)}
    pairs = [[_pair(name, place) for name in node.input] for node in nodes]
    order = topological_order([{at for at, _ in row} for row in pairs], [node.name for node in nodes])
    position = {at: rank for rank, at in enumerate(order)}
    flat = []
    for at in order:
        node = nodes[at]
        flat.append(
            Node(
                name=node.name,
                op=node.op,
                inputs=[(position[source], output) for source, output in pairs[at] if output >= 0],
                controls=[position[source] for source, output in pairs[at] if output < 0],
                outputs=[_value(tensor) for tensor in graph.get_operation_by_name(node.name).outputs],
                attr=node.attr,
                is_stateful=op_def_registry.get(node.op).is_stateful,
            )
        )
    return Program(flat, [], functions)


def _pair(name: str, place: dict[str, int]) -> tuple[int, int]:
    """(node, output) of an input; the output of a control input is -1."""
    if name.startswith("^"):
        return place[name[1:]], -1
    node, _, output = name.partition(":")
    return place[node], int(output or 0)


def _value(tensor: tf.Tensor) -> Value:
    shape = tensor.shape
    return Value(None if shape.rank is None else tuple(shape.as_list()), tensor.dtype)
