"""Function calls of a TensorFlow graph replaced by the bodies of what they call.

A call node ``f`` becomes the nodes of its function, named ``f/NODE``; who reads its outputs reads what the function
returns. A control edge into the call holds back every node of the body that nothing else in the body holds back; a
control edge out of it waits for all that the function returns and for its control outputs, as the call would.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from typing import Any

from tensorflow.core.framework import function_pb2, node_def_pb2
from tensorflow.python.framework import op_def_registry

from regal.files import ParseError
from regal.files.read import short
from regal.frontends.tensorflow_scope import Scope, count_outputs, node_of

CALLS = ("PartitionedCall", "StatefulPartitionedCall")
MAX_NODES = 2**20
"""Most nodes of a graph whose calls are inlined."""
MAX_CALL_DEPTH = 64
"""Deepest chain of functions that call one another."""
MAX_KEPT_DATA = 2**16
"""Constants of more bytes lose their values, which nothing here looks at; shorter ones may hold dimensions."""
DROPPED = ("_class", "_user_specified_name")
"""Attributes that speak of names, which inlining changes."""


def inline(
    nodes: Iterable[node_def_pb2.NodeDef], functions: Mapping[str, function_pb2.FunctionDef]
) -> tuple[list[node_def_pb2.NodeDef], dict[str, str]]:
    """The nodes without calls, and how names of values of calls read now.

    Parameters
    ----------
    nodes : of a GraphDef, in any order
    functions : function name -> its definition

    Returns
    -------
    list of NodeDef
        The body of a call stands where the call stood.
    dict
        ``"f:0"`` and ``"^f"``, for each call ``f`` among ``nodes``, to the names of now.

    Raises
    ------
    ParseError
        For an input that names no node, a function that is not there, functions that call one another without end, and
        a graph of more than ``MAX_NODES`` nodes.
    """
    inliner = _Inliner(functions)
    scope = Scope("", {}, {}, "")
    inliner.add(list(nodes), scope, 0)
    return inliner.nodes, scope.renamed


class _Inliner:
    """Collects the nodes of a graph and of what it calls."""

    def __init__(self, functions: Mapping[str, function_pb2.FunctionDef]) -> None:
        self.functions = functions
        self.nodes: list[node_def_pb2.NodeDef] = []
        self.names: set[str] = set()

    def add(self, nodes: list[node_def_pb2.NodeDef], scope: Scope, depth: int) -> None:
        """Add ``nodes``, all of one scope, sorted so that a call's outputs are known before they are read."""
        if len(self.nodes) + len(nodes) > MAX_NODES:
            raise ParseError(f"the graph has more than {MAX_NODES} nodes")
        for node in nodes:
            if node.name in scope.values:
                raise ParseError(f"node {short(node.name)}: two nodes have this name")
            self._declare(node, scope)
        for node in _sorted(nodes):
            function = self._callee(node)
            if function is None:
                self._add_node(node, scope)
            else:
                self._add_call(node, function, scope, depth)

    def _callee(self, node: node_def_pb2.NodeDef) -> str | None:
        if node.op in self.functions:
            return node.op
        if node.op in CALLS:
            return node.attr["f"].func.name if "f" in node.attr else ""
        return None

    def _declare(self, node: node_def_pb2.NodeDef, scope: Scope) -> None:
        name = f"{scope.prefix}{node.name}"
        function = self.functions.get(node.op)
        op_def = function.signature if function is not None else op_def_registry.get(node.op)
        if op_def is None:
            raise ParseError(f"node {short(node.name)}: TensorFlow has no op {short(node.op)}")
        total, starts = 0, {}
        known = _substituted(node, scope.attributes) if scope.attributes else node
        for arg in op_def.output_arg:
            starts[arg.name] = total
            total += count_outputs(known, arg)
        scope.starts[node.name] = starts
        scope.values[node.name] = [name if at == 0 else f"{name}:{at}" for at in range(total)]

    def _add_node(self, node: node_def_pb2.NodeDef, scope: Scope) -> None:
        new = _substituted(node, scope.attributes)
        new.name = f"{scope.prefix}{node.name}"
        self._append(new, [scope.value(name, node.name) for name in node.input], scope, node)

    def _append(
        self, new: node_def_pb2.NodeDef, inputs: list[str], scope: Scope, original: node_def_pb2.NodeDef
    ) -> None:
        if new.name in self.names:
            raise ParseError(f"node {short(new.name)}: two nodes have this name once calls are inlined")
        if len(self.nodes) >= MAX_NODES:
            raise ParseError(f"the graph has more than {MAX_NODES} nodes")
        self.names.add(new.name)
        if scope.start and new.op != "Const":
            if not any(node_of(name) in scope.held for name in original.input):
                inputs.append(scope.start)
            scope.held.add(original.name)
        del new.input[:]
        new.input.extend(dict.fromkeys(inputs) if new.op == "NoOp" else _controls_once(inputs))
        new.device = ""
        for key in DROPPED:
            new.attr.pop(key, None)
        self.nodes.append(new)

    def _add_call(self, node: node_def_pb2.NodeDef, name: str, scope: Scope, depth: int) -> None:
        function = self.functions.get(name)
        if function is None:
            raise ParseError(f"node {short(node.name)}: it calls {short(name)}, which is no function of the graph")
        if depth >= MAX_CALL_DEPTH:
            raise ParseError(f"node {short(node.name)}: calls nest deeper than {MAX_CALL_DEPTH}, or without end")
        call = f"{scope.prefix}{node.name}"
        read = [scope.value(each, node.name) for each in node.input]
        if scope.start and not any(node_of(each) in scope.held for each in node.input):
            read.append(scope.start)
        scope.held.add(node.name)
        data = [each for each in read if not each.startswith("^")]
        controls = [each for each in read if each.startswith("^")]
        inner = Scope(f"{call}/", _arguments(node, function, data), node.attr, "")
        if controls:
            inner.start = f"^{self._add_barrier(f'{call}/_start', controls)}"
        self.add(list(function.node_def), inner, depth + 1)
        returned = [inner.value(function.ret.get(arg.name, ""), node.name) for arg in function.signature.output_arg]
        waited = [f"^{node_of(each)}" for each in returned]
        waited += [inner.value(f"^{each}", node.name) for each in function.control_ret.values()]
        done = self._add_barrier(f"{call}/_done", [*waited, *([inner.start] if inner.start else [])])
        scope.done[node.name] = done
        scope.renamed |= {f"{node.name}:{at}": value for at, value in enumerate(returned)} | {
            f"^{node.name}": f"^{done}"
        }
        if len(returned) != len(scope.values[node.name]):
            what = f"it has {len(scope.values[node.name])} outputs, but its function returns {len(returned)}"
            raise ParseError(f"node {short(node.name)}: {what}")
        scope.values[node.name] = returned

    def _add_barrier(self, name: str, controls: list[str]) -> str:
        barrier = node_def_pb2.NodeDef(name=name, op="NoOp")
        self._append(barrier, controls, Scope("", {}, {}, ""), barrier)
        return name


def _arguments(node: node_def_pb2.NodeDef, function: function_pb2.FunctionDef, data: list[str]) -> dict[str, list[str]]:
    """Argument name -> the values given for it."""
    values, at = {}, 0
    for arg in function.signature.input_arg:
        count = count_outputs(node, arg)
        values[arg.name] = data[at : at + count]
        at += count
    if at != len(data):
        raise ParseError(f"node {short(node.name)}: it gives {len(data)} inputs to a function of {at} arguments")
    return values


def _substituted(node: node_def_pb2.NodeDef, attributes: Mapping[str, Any]) -> node_def_pb2.NodeDef:
    """A copy in which attributes of the function stand where the body names them."""
    new = _copied(node)
    for value in new.attr.values():
        if value.WhichOneof("value") == "placeholder":
            if value.placeholder not in attributes:
                raise ParseError(f"node {short(node.name)}: the call gives no attribute {short(value.placeholder)}")
            value.CopyFrom(attributes[value.placeholder])
    return new


def _copied(node: node_def_pb2.NodeDef) -> node_def_pb2.NodeDef:
    """A copy, without the values of a large constant."""
    new = node_def_pb2.NodeDef()
    if node.op != "Const" or node.ByteSize() <= MAX_KEPT_DATA:
        new.CopyFrom(node)
        return new
    new.name, new.op = node.name, node.op
    new.input.extend(node.input)
    new.attr["dtype"].type = node.attr["dtype"].type
    new.attr["value"].tensor.dtype = node.attr["value"].tensor.dtype
    new.attr["value"].tensor.tensor_shape.CopyFrom(node.attr["value"].tensor.tensor_shape)
    return new


def _controls_once(inputs: list[str]) -> list[str]:
    """Data inputs first, as they are; then control inputs without repeats."""
    data = [name for name in inputs if not name.startswith("^")]
    return data + list(dict.fromkeys(name for name in inputs if name.startswith("^")))


def _sorted(nodes: list[node_def_pb2.NodeDef]) -> list[node_def_pb2.NodeDef]:
    """The nodes of one scope in program order, moved as little as needed."""
    place = {node.name: at for at, node in enumerate(nodes)}
    before = [
        {place[name] for name in map(node_of, node.input) if name in place and nodes[place[name]].op != "NextIteration"}
        for node in nodes
    ]
    if all(at > max(others, default=-1) for at, others in enumerate(before)):
        return nodes
    return [nodes[at] for at in topological_order(before, [node.name for node in nodes])]


def topological_order(before: list[set[int]], names: list[str]) -> list[int]:
    """Of the nodes whose predecessors are done the first comes next; ``ParseError`` for a cycle."""
    after: list[list[int]] = [[] for _ in before]
    waiting = [len(others) for others in before]
    for at, others in enumerate(before):
        for other in others:
            after[other].append(at)
    ready = [at for at, count in enumerate(waiting) if count == 0]
    order = []
    while ready:
        at = heapq.heappop(ready)
        order.append(at)
        for other in after[at]:
            waiting[other] -= 1
            if waiting[other] == 0:
                heapq.heappush(ready, other)
    if len(order) < len(before):
        stuck = next(names[at] for at, count in enumerate(waiting) if count)
        raise ParseError(f"node {short(stuck)}: the graph has a cycle through it or before it")
    return order
