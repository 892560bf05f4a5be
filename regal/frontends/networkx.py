"""NetworkX graphs: a directed graph with attributes becomes a computation graph, and back.

Attributes of a node, all of them optional; others are left alone:

``runtime``
    Seconds, default 0.
``bytes``
    Size of the op's output tensor; a list of sizes where it has several. An op without it has no output of its own,
    and an edge from it without ``bytes`` only says what comes first.
``is_output``
    Whether the output is a result of the whole graph; a list beside a list of sizes.
``workspace``, ``type``, ``colocation``, ``name``
    As of an op; ``type`` is ``"op"`` and ``name`` the node itself by default. ``colocation`` is a group number.
``persistent``
    True for a node that is no op but a persistent tensor of ``bytes`` bytes, such as a weight.

An edge from ``a`` to ``b`` says that ``b`` reads the output of ``a``. Attributes of an edge:

``tensor``
    Which output is read: its place in the list ``bytes`` of the producer, default 0.
``bytes``
    The edge carries an output of its own of this size. Edges of one producer with ``bytes`` that agree on ``tensor``,
    a number or text, carry one output between them.
``control``
    True where ``b`` reads nothing of ``a`` and only comes after it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import networkx as nx

from regal.files import short
from regal.graph import NO_GROUP, ComputationGraph, GraphBuilder
from regal.graph.checks import MAX_SIZE


def from_networkx(graph: nx.DiGraph, name: str | None = None) -> ComputationGraph:
    """Turn a directed graph with attributes into a computation graph; see the module's description.

    The program order is that of the nodes with as few moves as needed.

    Parameters
    ----------
    graph : networkx.DiGraph or MultiDiGraph
        Parallel edges are for an op that reads several tensors of another.
    name : str, optional
        Of the graph; by default ``graph.graph["name"]``.

    Raises
    ------
    ValueError
        For an undirected graph, a cycle, or an attribute that makes no sense; the message names the node or edge.

    Examples
    --------
    >>> digraph = nx.DiGraph(name="tiny")
    >>> digraph.add_node("w", persistent=True, bytes=64)
    >>> digraph.add_node("matmul", runtime=1e-3, bytes=16)
    >>> digraph.add_node("sum", runtime=1e-4, bytes=4, is_output=True)
    >>> digraph.add_edges_from([("w", "matmul"), ("matmul", "sum")])
    >>> from_networkx(digraph)
    ComputationGraph('tiny', ops=2, tensors=3, bytes=84)
    """
    if not isinstance(graph, nx.Graph) or not graph.is_directed():
        raise ValueError(f"a networkx.DiGraph must be given, not {type(graph).__name__}")
    return _Importer(graph).run(str(graph.graph.get("name", "") or "networkx") if name is None else name)


def to_networkx(graph: ComputationGraph) -> nx.MultiDiGraph:
    """The computation graph with the attributes that :func:`from_networkx` reads.

    Ops are the nodes ``0`` to ``num_ops - 1`` in program order, persistent tensors the nodes ``"tensor 3"`` behind
    them, numbered as in ``graph``. Attributes that say what is the default anyhow are left out, but for ``name``,
    ``type`` and ``runtime`` of ops. An op that reads two tensors of another has two edges from it.

    Examples
    --------
    >>> from regal.graph import example_graph
    >>> to_networkx(example_graph("diamond")).nodes[2]
    {'name': 'c', 'type': 'widen', 'runtime': 3.0, 'workspace': 16, 'bytes': 64}
    """
    result = nx.MultiDiGraph(name=graph.name)
    place: dict[int, tuple[Hashable, int]] = {}
    for op, outputs in enumerate(graph.outputs.to_lists()):
        place |= {tensor: (op, port) for port, tensor in enumerate(outputs)}
        result.add_node(op, **_attributes(graph, op, outputs))
    for tensor in (graph.producer < 0).nonzero()[0].tolist():
        place[tensor] = f"tensor {tensor}", 0
        result.add_node(place[tensor][0], persistent=True, bytes=int(graph.tensor_bytes[tensor]))
    for op, (tensors, control) in enumerate(zip(graph.inputs.to_lists(), graph.control_inputs.to_lists(), strict=True)):
        for producer, port in (place[tensor] for tensor in tensors):
            result.add_edge(producer, op, **({"tensor": port} if port else {}))
        for before in control:
            result.add_edge(before, op, control=True)
    return result


def _attributes(graph: ComputationGraph, op: int, outputs: list[int]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": graph.op_names[op],
        "type": graph.op_types[op],
        "runtime": float(graph.runtime[op]),
        "workspace": int(graph.workspace[op]),
        "colocation": int(graph.colocation[op]),
    }
    if not found["workspace"]:
        del found["workspace"]
    if found["colocation"] == NO_GROUP:
        del found["colocation"]
    sizes, results = graph.tensor_bytes[outputs].tolist(), graph.is_output[outputs].tolist()
    if sizes:
        found["bytes"] = sizes if len(sizes) > 1 else sizes[0]
    if any(results):
        found["is_output"] = results if len(results) > 1 else results[0]
    return found


class _Importer:
    """Enters the tensors that nodes say, then those that edges say, then the ops."""

    def __init__(self, graph: nx.DiGraph) -> None:
        self.graph = graph
        self.builder = GraphBuilder()
        self.ops: dict[Hashable, int] = {}
        self.outputs: dict[Hashable, list[int]] = {}
        self.carried: dict[tuple[Hashable, int | str], int] = {}

    def run(self, name: str) -> ComputationGraph:
        """The whole graph."""
        self.builder.name = name
        said = {node: self._tensors(node, values) for node, values in self.graph.nodes(data=True)}
        for node, values in self.graph.nodes(data=True):
            if not values.get("persistent", False):
                self.ops[node] = len(self.ops)
            elif len(said[node]) != 1 or self.graph.in_degree(node):
                raise ValueError(f"{_node(node)}: a persistent tensor has one number of bytes and no edge to it")
        self.outputs = {node: list(tensors) for node, tensors in said.items()}
        reads = {node: self._reads(node, said) for node in self.ops}
        for node in self.ops:
            self._add_op(node, self.graph.nodes[node], *reads[node])
        self.builder.meta["source"] = {"framework": "networkx", "version": nx.__version__}
        self.builder.sort()
        return self.builder.build()

    def _tensors(self, node: Hashable, values: dict[str, Any]) -> list[int]:
        """The tensors of the node's ``bytes`` and ``is_output``."""
        sizes, results = values.get("bytes"), values.get("is_output", False)
        if sizes is None:
            return []
        sizes = sizes if isinstance(sizes, (list, tuple)) else [sizes]
        results = results if isinstance(results, (list, tuple)) else [results] * len(sizes)
        if len(results) != len(sizes):
            raise ValueError(f"{_node(node)}: is_output has {len(results)} entries for {len(sizes)} outputs")
        return [
            self.builder.add_tensor(_size(size, _node(node), "bytes"), bool(output))
            for size, output in zip(sizes, results, strict=True)
        ]

    def _reads(self, node: Hashable, said: dict[Hashable, list[int]]) -> tuple[list[int], list[int]]:
        """Tensors read and ops that come before, along the edges to ``node``."""
        inputs, before = [], []
        for producer, _, values in self.graph.in_edges(node, data=True):
            where = f"edge from {short(producer)} to {short(node)}"
            key, control = values.get("tensor"), values.get("control", False)
            if key is not None and (isinstance(key, bool) or not isinstance(key, (int, str))):
                raise ValueError(f"{where}: tensor must be a number or text, not {short(key)}")
            if not control and values.get("bytes") is not None:
                inputs.append(self._carry(producer, key, _size(values["bytes"], where, "bytes"), where))
            elif not control and (said[producer] or key is not None):
                at = 0 if key is None else key
                if isinstance(at, str) or not 0 <= at < len(said[producer]):
                    raise ValueError(f"{where}: the producer has {len(said[producer])} outputs, but not {short(at)}")
                inputs.append(said[producer][at])
            elif producer in self.ops:
                before.append(self.ops[producer])
        return inputs, before

    def _carry(self, producer: Hashable, key: int | str | None, size: int, where: str) -> int:
        """The output of ``producer`` that only edges say: a new one, or that of an earlier edge with the same key."""
        if producer not in self.ops:
            raise ValueError(f"{where}: bytes must not be on an edge from a persistent tensor")
        tensor = None if key is None else self.carried.get((producer, key))
        if tensor is None:
            tensor = self.builder.add_tensor(size)
            self.outputs[producer].append(tensor)
            if key is not None:
                self.carried[producer, key] = tensor
        if self.builder.tensor_bytes[tensor] != size:
            sizes = f"{self.builder.tensor_bytes[tensor]} and {size}"
            raise ValueError(f"{where}: bytes of the tensor {short(key)} are {sizes} on two edges")
        return tensor

    def _add_op(self, node: Hashable, values: dict[str, Any], inputs: list[int], before: list[int]) -> None:
        group = values.get("colocation")
        self.builder.add_op(
            str(values.get("type", "op")),
            name=str(values.get("name", node)),
            inputs=inputs,
            outputs=self.outputs[node],
            control_inputs=before,
            runtime=_seconds(values.get("runtime", 0.0), _node(node)),
            workspace=_size(values.get("workspace", 0), _node(node), "workspace"),
            colocation=None if group is None else _size(group, _node(node), "colocation"),
        )


def _node(node: Hashable) -> str:
    return f"node {short(node)}"


def _size(value: Any, where: str, what: str) -> int:
    """A whole number from 0 to 2^53 - 1, also one that a float or a NumPy scalar holds."""
    try:
        size = -1 if isinstance(value, bool) else int(value) if value == int(value) else -1
    except (TypeError, ValueError, OverflowError):
        size = -1
    if isinstance(value, (str, bytes)) or not 0 <= size < MAX_SIZE:
        raise ValueError(f"{where}: {what} must be an integer from 0 to 2^53 - 1, not {short(value)}")
    return size


def _seconds(value: Any, where: str) -> float:
    try:
        seconds = math.nan if isinstance(value, (bool, str, bytes)) else float(value)
    except (TypeError, ValueError, OverflowError):
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise ValueError(f"{where}: runtime must be finite seconds, not negative, not {short(value)}")
    return seconds
