"""Names within one graph of TensorFlow, or one call of a function, and what they mean outside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tensorflow.core.framework import node_def_pb2, op_def_pb2

from regal.files import ParseError
from regal.files.read import short

MAX_OUTPUTS = 2**16
"""Most outputs of one node."""


def node_of(name: str) -> str:
    """``a`` of the inputs ``a``, ``a:1``, ``a:output:1`` and ``^a``."""
    return name.removeprefix("^").partition(":")[0]


def count_outputs(node: node_def_pb2.NodeDef, arg: op_def_pb2.OpDef.ArgDef) -> int:
    """How many tensors one output argument of ``node`` stands for."""
    attribute = arg.number_attr or arg.type_list_attr
    if not attribute:
        return 1
    if attribute not in node.attr:
        raise ParseError(f"node {short(node.name)}: it lacks the attribute {short(attribute)}")
    value = node.attr[attribute]
    count = value.i if arg.number_attr else len(value.list.type)
    if not 0 <= count <= MAX_OUTPUTS:
        raise ParseError(f"node {short(node.name)}: it has {count} outputs {short(arg.name)}")
    return count


class Scope:
    """Names within one graph or one call of a function.

    ``values`` maps the name of a node to the names of its outputs (arguments included), ``starts`` to where each named
    output begins; ``renamed`` maps what is called otherwise outside.
    """

    def __init__(self, prefix: str, values: dict[str, list[str]], attributes: Mapping[str, Any], start: str) -> None:
        self.prefix, self.values, self.attributes, self.start = prefix, values, attributes, start
        self.starts: dict[str, dict[str, int]] = {}
        self.done: dict[str, str] = {}  # call -> the node that waits for all of it
        self.held: set[str] = set()  # nodes that come after the start of the call
        self.renamed: dict[str, str] = {}

    def value(self, name: str, reader: str) -> str:
        """Outer name of the value that a node of this scope reads as ``name``, ``^`` included."""
        if name.startswith("^"):
            return self._control(name[1:].partition(":")[0], reader)
        node, _, rest = name.partition(":")
        if node not in self.values:
            raise ParseError(f"node {short(reader)}: its input {short(name)} names no node")
        output, _, index = rest.rpartition(":")
        if not index.isdecimal() and rest:
            output, index = rest, "0"
        if output and output not in self.starts.get(node, {}):
            raise ParseError(f"node {short(reader)}: its input {short(name)} names no output of {short(node)}")
        at = int(index[:9] or 0) + (self.starts[node][output] if output else 0)
        if at >= len(self.values[node]):
            raise ParseError(f"node {short(reader)}: its input {short(name)} names no output of {short(node)}")
        return self.values[node][at]

    def _control(self, node: str, reader: str) -> str:
        if node in self.done:
            return f"^{self.done[node]}"
        if node in self.starts:
            return f"^{self.prefix}{node}"
        if self.values.get(node):  # an argument: what gives it
            return f"^{node_of(self.values[node][0])}"
        raise ParseError(f"node {short(reader)}: its control input {short(node)} names no node")
