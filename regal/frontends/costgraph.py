"""TensorFlow's ``CostGraphDef`` as text, in which DeepMind published REGAL's synthetic graphs; read and written.

How a file is read (field names are those of ``tensorflow/core/framework/cost_graph.proto``):

- A node is an op. Its name is the node's; its type is the last part of the name without a number at its end, so that
  ``dense/MatMul_1`` is a ``MatMul``: the format has no other.
- An output whose ``alias_input_port`` is negative is a tensor of ``size`` bytes. From 0 on it is a place in the node's
  list ``input_info``, and the output is that input's storage: no tensor. Fields that are not written are 0, and so is
  an ``alias_input_port`` left out.
- A node of one input and no cost whose outputs all are that input's storage is a view and vanishes: who reads it reads
  the storage. Any other node that hands an input on stays an op; who reads on comes after it by a control input.
- The node ``_SOURCE`` stands for the start of the program. It is no op, for it does nothing and all control inputs from
  it are met when the program starts; its outputs are there from the start, which makes them persistent tensors.
- ``control_input`` are control inputs, ``temporary_memory_size`` is workspace, ``is_final`` makes the outputs, or the
  storage that they are, outputs of the graph. ``persistent_memory_size`` is a persistent tensor that only its op reads.
- ``compute_cost`` is in microseconds, as the format says, unless ``cost_seconds`` says otherwise.
- A size or cost of -1 is unknown: 0, counted in ``meta["source"]["unknown"]``.
- ``device``, shapes, dtypes, ``compute_time``, ``memory_time``, ``inaccurate``, the deprecated memory fields and the
  aggregated costs mean nothing to the graph. Fields of other names are refused.

Nodes may stand in any order and have any ids; the program order is that of the file with as few moves as needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from regal.files import ParseError, read_bytes, short
from regal.frontends.costgraph_text import parse_nodes
from regal.frontends.costgraph_write import COST_SECONDS, SOURCE, check_unit, to_text, write
from regal.graph import ComputationGraph, GraphBuilder
from regal.graph.checks import MAX_SIZE

__all__ = ["iter_folder", "load", "parse", "to_text", "write"]

UNKNOWN = -1
SUFFIXES = (".pbtxt", ".pbtxt.gz")


def load(path: str | Path, *, cost_seconds: float = COST_SECONDS) -> ComputationGraph:
    """Read a ``CostGraphDef`` in text format, plain or gzip; see the module's description for what becomes what.

    Parameters
    ----------
    path : path of a ``.pbtxt`` or ``.pbtxt.gz`` file
    cost_seconds : float
        Seconds of one unit of ``compute_cost``.

    Raises
    ------
    ParseError
        For a file that is no ``CostGraphDef``, names nodes or outputs that are not there, gives two nodes one id, or
        has a cycle; the message names the line or the node.

    Examples
    --------
    >>> load("graph_5bd7.pbtxt")  # doctest: +SKIP
    ComputationGraph('graph_5bd7', ops=93, tensors=91, bytes=4567)
    """
    return parse(read_bytes(path), str(path), _stem(Path(path)), cost_seconds=cost_seconds)


def parse(
    data: bytes, where: str = "text", name: str = "graph", *, cost_seconds: float = COST_SECONDS
) -> ComputationGraph:
    """The graph behind a text; ``where`` begins the messages of what :func:`load` raises.

    Examples
    --------
    >>> parse(b'node { name: "_SOURCE" } node { name: "a_1" id: 1 control_input: 0 compute_cost: 58 }').runtime
    array([5.8e-05])
    """
    check_unit(cost_seconds)
    try:
        nodes = [_node(values) for values in parse_nodes(data, where)]
        return _Importer(nodes, cost_seconds).run(name)
    except ParseError:
        raise
    except ValueError as error:
        raise ParseError(f"{where}: {error}") from error


def iter_folder(folder: str | Path, *, cost_seconds: float = COST_SECONDS) -> Iterator[ComputationGraph]:
    """Read every ``.pbtxt`` and ``.pbtxt.gz`` file in a folder and the folders in it, one by one, sorted by path.

    ``meta["source"]["file"]`` of each graph is its path below ``folder``.

    Raises
    ------
    ValueError
        Where there is no such file, and as :func:`load` does.
    """
    folder = Path(folder)
    paths = sorted(path for path in folder.rglob("*.pbtxt*") if path.name.endswith(SUFFIXES))
    if not paths:
        raise ValueError(f"{folder}: no folder with files that end in .pbtxt or .pbtxt.gz")
    return _read_all(folder, paths, cost_seconds)


class _Node(NamedTuple):
    """What the graph takes from a node; sizes and costs that are unknown stay -1 here."""

    line: int
    id: int
    name: str
    inputs: list[tuple[int, int]]  # node id and port
    sizes: list[int]
    aliases: list[int]
    control_inputs: list[int]
    cost: int
    workspace: int
    persistent: int
    is_final: bool

    @property
    def is_source(self) -> bool:
        """Whether this is the start of the program."""
        return self.name == SOURCE and not self.inputs and not self.control_inputs and not self.cost

    def refusal(self, text: str) -> ValueError:
        """An error that names the node."""
        return ValueError(f"line {self.line}: node {short(self.name)}: {text}")


def _node(values: dict[str, Any]) -> _Node:
    number = values.get("id", 0)
    outputs = values.get("output_info", [])
    node = _Node(
        line=values["line"],
        id=number,
        name=values.get("name") or f"node_{number}",
        inputs=[
            (info.get("preceding_node", 0), info.get("preceding_port", 0)) for info in values.get("input_info", [])
        ],
        sizes=[info.get("size", 0) for info in outputs],
        aliases=[info.get("alias_input_port", 0) for info in outputs],
        control_inputs=values.get("control_input", []),
        cost=values.get("compute_cost", 0),
        workspace=values.get("temporary_memory_size", 0),
        persistent=values.get("persistent_memory_size", 0),
        is_final=values.get("is_final", False),
    )
    if node.cost < UNKNOWN:
        raise node.refusal(f"compute_cost must not be negative, not {node.cost}")
    for size in (node.workspace, node.persistent, *node.sizes):
        if not UNKNOWN <= size < MAX_SIZE:
            raise node.refusal(f"a size must be from 0 to 2^53 - 1 bytes, not {size}")
    for port, alias in enumerate(node.aliases):
        if alias >= len(node.inputs):
            what = f"output {port} has the alias_input_port {alias}, but there are {len(node.inputs)} inputs"
            hint = "; one that is no alias says -1" if alias == 0 else ""
            raise node.refusal(what + hint)
    return node


class _Value(NamedTuple):
    """What reading an output means: a tensor, and an op besides its producer that the reader comes after."""

    tensor: int
    after: int | None


class _Importer:
    """Enters the tensors of all nodes, then the ops."""

    def __init__(self, nodes: list[_Node], cost_seconds: float) -> None:
        self.nodes, self.cost_seconds = nodes, cost_seconds
        self.builder = GraphBuilder()
        self.by_id: dict[int, _Node] = {}
        for node in nodes:
            if node.id in self.by_id:
                raise node.refusal(f"the id {node.id} is that of node {short(self.by_id[node.id].name)}")
            self.by_id[node.id] = node
        self.views = {node.id for node in nodes if self._is_view(node)}
        kept = (node for node in nodes if not node.is_source and node.id not in self.views)
        self.ops: dict[int, int] = {node.id: op for op, node in enumerate(kept)}
        self.values: dict[tuple[int, int], _Value] = {}
        self.producer: dict[int, int] = {}
        self.unknown = 0

    def run(self, name: str) -> ComputationGraph:
        """The whole graph."""
        self._add_tensors()
        for node in self.nodes:
            if node.id in self.ops:
                self._add_op(node)
            for port in range(len(node.sizes) if node.id in self.views else 0):
                self._value(node, (node.id, port))  # refuses views that nobody reads and that lead nowhere
        for node in self.nodes:
            for port in range(len(node.sizes) if node.is_final else 0):
                if (tensor := self._value(node, (node.id, port)).tensor) in self.producer:
                    self.builder.mark_output(tensor)
        self.builder.name = name
        self.builder.meta["source"] = {
            "framework": "costgraph",
            "cost_seconds": self.cost_seconds,
            "contracted_views": len(self.views),
            "unknown": self.unknown,
        }
        self.builder.sort()
        return self.builder.build()

    def _is_view(self, node: _Node) -> bool:
        """One input in, the same storage out, and nothing else."""
        costs = node.cost or node.workspace or node.persistent
        alias = len(node.inputs) == 1 and node.aliases and min(node.aliases) >= 0
        return bool(alias and not costs and all(self._find(node, other).is_source for other in node.control_inputs))

    def _add_tensors(self) -> None:
        """The outputs of the start first, for they are persistent."""
        for node in sorted(self.nodes, key=lambda node: not node.is_source):
            for port, size in enumerate(node.sizes):
                if node.aliases[port] < 0:
                    tensor = self.builder.add_tensor(self._known(size))
                    self.values[node.id, port] = _Value(tensor, None)
                    if node.id in self.ops:
                        self.producer[tensor] = self.ops[node.id]

    def _add_op(self, node: _Node) -> None:
        read = [self._value(node, key) for key in node.inputs]
        inputs = [value.tensor for value in read]
        if node.persistent > 0:
            inputs.append(self.builder.add_tensor(node.persistent))
        before = [value.after for value in read] + [self._op_behind(node, other) for other in node.control_inputs]
        self.builder.add_op(
            _type_of(node.name),
            name=node.name,
            inputs=inputs,
            outputs=[self.values[node.id, port].tensor for port, alias in enumerate(node.aliases) if alias < 0],
            control_inputs=[op for op in before if op is not None],
            runtime=self._known(node.cost) * self.cost_seconds,
            workspace=self._known(node.workspace),
        )
        self.unknown += node.persistent == UNKNOWN

    def _known(self, value: int) -> int:
        self.unknown += value == UNKNOWN
        return max(value, 0)

    def _find(self, node: _Node, other: int) -> _Node:
        if other not in self.by_id:
            raise node.refusal(f"no node has the id {other}")
        return self.by_id[other]

    def _op_behind(self, node: _Node, other: int) -> int | None:
        """The op that a control input waits for; for a view the one that hands it its input."""
        before = self._find(node, other)
        if before.id not in self.views:
            return self.ops.get(before.id)
        value = self._value(before, before.inputs[0])
        return self.producer.get(value.tensor) if value.after is None else value.after

    def _value(self, node: _Node, key: tuple[int, int]) -> _Value:
        """What ``node`` reads where it names ``key``, a node's id and port: aliases are followed to the storage."""
        path: dict[tuple[int, int], _Node] = {}
        while key not in self.values:
            before, port = self._find(node, key[0]), key[1]
            if not 0 <= port < len(before.sizes):
                raise node.refusal(f"node {short(before.name)} has {len(before.sizes)} outputs, but not output {port}")
            if key in path:
                raise node.refusal("its output is an alias of itself")
            path[key] = before
            node, key = before, before.inputs[before.aliases[port]]
        value = self.values[key]
        for key, before in reversed(path.items()):
            value = self.values[key] = _Value(value.tensor, self.ops.get(before.id, value.after))
        return value


def _type_of(name: str) -> str:
    last = name.rpartition("/")[2]
    stem = last.rstrip("0123456789")
    return (last if stem == last else stem.removesuffix("_")) or "op"


def _stem(path: Path) -> str:
    """The file's name without its ending, as text."""
    name = path.name.removesuffix(".gz").removesuffix(".pbtxt")
    return name.encode(errors="replace").decode()


def _read_all(folder: Path, paths: list[Path], cost_seconds: float) -> Iterator[ComputationGraph]:
    for path in paths:
        graph = load(path, cost_seconds=cost_seconds)
        graph.meta["source"]["file"] = path.relative_to(folder).as_posix()
        yield graph
