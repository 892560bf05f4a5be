"""Workloads of "Efficient Algorithms for Device Placement of DNN Graph Operators" (Tarnawski et al., NeurIPS 2020).

A JSON object of ``nodes`` with ``id``, ``fpgaLatency``, ``cpuLatency``, ``size`` and, where they say so, ``name``,
``isBackwardNode`` and ``colorClass``; of ``edges`` with ``sourceId``, ``destId`` and, in most files, ``size``; and of
``maxSizePerFPGA``, ``maxFPGAs`` and ``maxCPUs``, which stay in ``meta["source"]``. Other keys mean nothing, such as
``supportedOnFpga``, which is true of every node published, and the ``cost`` of an edge, the time that a transfer takes
between the machines of the paper.

How it is read:

- A node is an op of the type ``forward`` or ``backward``, ``latency`` says which of its times is the running time.
- The edges from a node carry its output: one tensor of that size for all edges of one size, since edges of several
  sizes, as the gradients of several inputs, are several tensors. Without sizes on the edges the output has the size of
  the node.
- The ``size`` of a node is the memory that it takes on its accelerator all the time. What of it is more than its
  outputs is a persistent tensor that the node alone reads, such as its weights.
- A node that nothing goes into and that takes no time is a persistent tensor: an input or a weight. Its color says
  nothing then.
- Nodes of one ``colorClass`` are colocated.
- Outputs of the graph are not known: the format does not size what no edge carries.
- Sizes are floats in these files; a fraction of a byte counts as a whole one.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

from regal.files import ParseError, parse_json, read_bytes, short
from regal.graph import ComputationGraph, GraphBuilder
from regal.graph.checks import MAX_SIZE

LATENCY_SECONDS = 1e-3
LATENCIES = ("fpgaLatency", "cpuLatency")
LIMITS = ("maxSizePerFPGA", "maxFPGAs", "maxCPUs")


def load(
    path: str | Path, *, latency: str = "fpgaLatency", latency_seconds: float = LATENCY_SECONDS
) -> ComputationGraph:
    """Read a workload; see the module's description for what becomes what.

    Parameters
    ----------
    path : path of a ``.json`` file, plain or gzip
    latency : str
        ``"fpgaLatency"``, the time on an accelerator, or ``"cpuLatency"``.
    latency_seconds : float
        Seconds of one unit of latency; the published files do not say, their layers fit milliseconds.

    Raises
    ------
    ParseError
        For a file that is no workload; the message names the node or edge.

    Examples
    --------
    >>> load("throughput-inputs/LayerGraphs/bert24_training.json")  # doctest: +SKIP
    ComputationGraph('bert24_training', ops=59, tensors=139, bytes=1234567)
    """
    name = Path(path).name.removesuffix(".gz").removesuffix(".json").encode(errors="replace").decode()
    value = parse_json(read_bytes(path), str(path))
    try:
        return graph_from_workload(value, name, latency=latency, latency_seconds=latency_seconds)
    except ValueError as error:
        raise ParseError(f"{path}: {error}") from error


def graph_from_workload(
    value: Any, name: str = "workload", *, latency: str = "fpgaLatency", latency_seconds: float = LATENCY_SECONDS
) -> ComputationGraph:
    """The graph behind JSON values; raises ``ValueError`` as :func:`load` does.

    Examples
    --------
    >>> layers = [{"id": 4, "fpgaLatency": 2.0, "size": 100}, {"id": 5, "fpgaLatency": 1.0, "size": 0}]
    >>> graph = graph_from_workload({"nodes": layers, "edges": [{"sourceId": 4, "destId": 5, "size": 30}]})
    >>> graph.tensor_bytes.tolist(), graph.runtime.tolist()
    ([30, 70], [0.002, 0.001])
    """
    if latency not in LATENCIES:
        raise ValueError(f"latency must be one of {', '.join(LATENCIES)}, not {latency!r}")
    if not _float({"latency_seconds": latency_seconds}, "latency_seconds", "options") > 0:
        raise ValueError("options: latency_seconds must be positive, not 0")
    nodes = [
        _node(entry, f"node {place}", latency, latency_seconds) for place, entry in enumerate(_list(value, "nodes"))
    ]
    edges = [_edge(entry, f"edge {place}") for place, entry in enumerate(_list(value, "edges"))]
    builder = _build(nodes, edges)
    builder.name = name
    limits = {key: _float(value, key, "workload") for key in LIMITS if key in value}
    backward = any(node.backward for node in nodes)
    builder.meta["source"] = {
        "framework": "dnn-partitioning",
        "mode": "training" if backward else "inference",
        "latency": latency,
        "latency_seconds": float(latency_seconds),
        "limits": limits,
    }
    builder.sort()
    return builder.build()


class _Node(NamedTuple):
    id: int
    name: str
    backward: bool
    runtime: float
    size: int
    color: int | None


class _Edge(NamedTuple):
    source: int
    target: int
    size: int | None


def _build(nodes: list[_Node], edges: list[_Edge]) -> GraphBuilder:
    """Outputs first, then what remains of the nodes' sizes, then the ops."""
    by_id: dict[int, _Node] = {}
    for node in nodes:
        if node.id in by_id:
            raise ValueError(f"node {short(node.name)}: a second node of the id {node.id}")
        by_id[node.id] = node
    into: dict[int, list[_Edge]] = {node.id: [] for node in nodes}
    sizes: dict[tuple[int, int], None] = {}
    for place, edge in enumerate(edges):
        for end in (edge.source, edge.target):
            if end not in by_id:
                raise ValueError(f"edge {place}: no node has the id {short(end)}")
        into[edge.target].append(edge)
        sizes[edge.source, _size_of(edge, by_id)] = None
    builder = GraphBuilder()
    tensors = {key: builder.add_tensor(key[1]) for key in sizes}
    outputs: dict[int, list[int]] = {node.id: [] for node in nodes}
    for (source, _), tensor in tensors.items():
        outputs[source].append(tensor)
    colors = {color: group for group, color in enumerate(sorted({n.color for n in nodes if n.color is not None}))}
    for node in nodes:
        if not into[node.id] and not node.runtime:
            continue
        inputs = [tensors[edge.source, _size_of(edge, by_id)] for edge in into[node.id]]
        rest = node.size - sum(builder.tensor_bytes[tensor] for tensor in outputs[node.id])
        builder.add_op(
            "backward" if node.backward else "forward",
            name=node.name,
            inputs=[*inputs, builder.add_tensor(rest)] if rest > 0 else inputs,
            outputs=outputs[node.id],
            runtime=node.runtime,
            colocation=None if node.color is None else colors[node.color],
        )
    return builder


def _size_of(edge: _Edge, by_id: dict[int, _Node]) -> int:
    return by_id[edge.source].size if edge.size is None else edge.size


def _node(entry: Any, where: str, latency: str, latency_seconds: float) -> _Node:
    number = _integer(entry, "id", where)
    name = entry.get("name", "")
    if not isinstance(name, str):
        raise ValueError(f"{where}: name must be text, not {short(name)}")
    backward = entry.get("isBackwardNode", False)
    if backward not in (False, True):  # which 0 and 1 are equal to
        raise ValueError(f"{where}: isBackwardNode must be true or false, not {short(backward)}")
    return _Node(
        number,
        (name or f"node{number}").encode(errors="replace").decode(),
        bool(backward),
        _float(entry, latency, where) * latency_seconds,
        _size(entry, where),
        None if entry.get("colorClass") is None else _integer(entry, "colorClass", where),
    )


def _edge(entry: Any, where: str) -> _Edge:
    source, target = _integer(entry, "sourceId", where), _integer(entry, "destId", where)
    return _Edge(source, target, _size(entry, where) if "size" in entry else None)


def _list(value: Any, key: str) -> list[Any]:
    found = value.get(key) if isinstance(value, dict) else None
    if not isinstance(found, list):
        raise ValueError(f"a workload is an object with a list of {key}")
    return found


def _value(entry: Any, key: str, where: str) -> Any:
    if not isinstance(entry, dict):
        raise ValueError(f"{where}: must be an object, not {short(entry)}")
    if key not in entry:
        raise ValueError(f"{where}: {key} is missing")
    return entry[key]


def _integer(entry: Any, key: str, where: str) -> int:
    value = _value(entry, key, where)
    if type(value) is not int:
        raise ValueError(f"{where}: {key} must be an integer, not {short(value)}")
    return value


def _float(entry: Any, key: str, where: str) -> float:
    value = _value(entry, key, where)
    try:
        number = float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan
    except OverflowError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise ValueError(f"{where}: {key} must be a finite number, not negative, not {short(value)}")
    return number


def _size(entry: Any, where: str) -> int:
    size = _float(entry, "size", where)
    if size >= MAX_SIZE:
        raise ValueError(f"{where}: size must be below 2^53 bytes, not {short(entry['size'])}")
    return math.ceil(size)
