"""Computation graphs written as TensorFlow's ``CostGraphDef`` in text format."""

from __future__ import annotations

import math
from pathlib import Path

from regal.files import write_text
from regal.graph import NO_GROUP, ComputationGraph

COST_SECONDS = 1e-6
"""Seconds of one unit of ``compute_cost``, which the format calls microseconds."""
SOURCE = "_SOURCE"
"""Name of the node that stands for the start of the program."""


def write(graph: ComputationGraph, path: str | Path, *, cost_seconds: float = COST_SECONDS) -> None:
    """Replace the file at ``path`` by :func:`to_text`, compressed where the name ends in ``.gz``."""
    write_text(path, to_text(graph, cost_seconds=cost_seconds))


def to_text(graph: ComputationGraph, *, cost_seconds: float = COST_SECONDS) -> str:
    """The graph as a ``CostGraphDef`` in text format, as :func:`regal.frontends.costgraph.parse` reads it.

    Op ``i`` is the node of id ``i + 1``; ``_SOURCE`` has the id 0, all ops as control successors, and the persistent
    tensors as outputs. Where only some outputs of an op are outputs of the graph, a view of each is a final node of its
    own behind the last op. What the format cannot hold is lost: the name and ``meta`` of the graph, op types that are
    not the end of the op's name, and fractions of ``cost_seconds`` in running times, which are rounded.

    Raises
    ------
    ValueError
        For ops that share a colocation group, an op that would be taken for ``_SOURCE``, and a running time of more
        than 2^63 units.

    Examples
    --------
    >>> from regal.graph import example_graph
    >>> to_text(example_graph("diamond")).split()[:9]
    ['node', '{', 'name:', '"_SOURCE"', '}', 'node', '{', 'name:', '"a"']
    """
    check_unit(cost_seconds)
    return _Exporter(graph, cost_seconds).run()


def check_unit(cost_seconds: float) -> None:
    """Refuse what is no unit of time with ``ValueError``."""
    if isinstance(cost_seconds, bool) or not isinstance(cost_seconds, (int, float)) or not 0 < cost_seconds < math.inf:
        raise ValueError(f"cost_seconds must be positive and finite seconds, not {cost_seconds!r}")


class _Exporter:
    """Writes the start, the ops, and the views that mark single outputs as final."""

    def __init__(self, graph: ComputationGraph, cost_seconds: float) -> None:
        self.graph, self.cost_seconds = graph, cost_seconds
        self.lines: list[str] = []
        self.place: dict[int, tuple[int, int]] = {}  # tensor -> node id and port

    def run(self) -> str:
        """The whole text."""
        graph = self.graph
        _check_groups(graph)
        persistent = [tensor for tensor, producer in enumerate(graph.producer.tolist()) if producer < 0]
        self.place = {tensor: (0, port) for port, tensor in enumerate(persistent)}
        for op, outputs in enumerate(graph.outputs.to_lists()):
            self.place |= {tensor: (op + 1, port) for port, tensor in enumerate(outputs)}
        self._write(SOURCE, 0, outputs=persistent)
        columns = (graph.inputs.to_lists(), graph.outputs.to_lists(), graph.control_inputs.to_lists())
        single: list[int] = []
        for op, (inputs, outputs, control_inputs) in enumerate(zip(*columns, strict=True)):
            final = [tensor for tensor in outputs if graph.is_output[tensor]]
            single += final if len(final) < len(outputs) else []
            self._write(
                graph.op_names[op],
                op + 1,
                inputs=inputs,
                outputs=outputs,
                workspace=int(graph.workspace[op]),
                is_final=bool(final) and len(final) == len(outputs),
                control_inputs=[0, *(before + 1 for before in control_inputs)],
                cost=self._units(op),
            )
        for index, tensor in enumerate(single, start=graph.num_ops + 1):
            op, port = self.place[tensor]
            name = f"{graph.op_names[op - 1]}/output_{port}"
            self._write(name, index, inputs=[tensor], outputs=[tensor], alias=0, is_final=True)
        return "\n".join([*self.lines, ""])

    def _units(self, op: int) -> int:
        units = float(self.graph.runtime[op]) / self.cost_seconds
        if not units < 2**63:
            raise ValueError(f"{self.graph.describe_op(op)}: runtime must be below 2^63 units of {self.cost_seconds} s")
        return round(units)

    def _write(
        self,
        name: str,
        id: int,
        *,
        inputs: list[int] | None = None,
        outputs: list[int] | None = None,
        alias: int = -1,
        workspace: int = 0,
        is_final: bool = False,
        control_inputs: list[int] | None = None,
        cost: int = 0,
    ) -> None:
        """One node with its fields in the order of their numbers; those that are 0 are left out."""
        lines = ["node {", f'  name: "{_escaped(name)}"', *_fields("  ", id=id)]
        for tensor in inputs or []:
            node, port = self.place[tensor]
            lines += ["  input_info {", *_fields("    ", preceding_node=node, preceding_port=port), "  }"]
        for tensor in outputs or []:
            size = int(self.graph.tensor_bytes[tensor])
            lines += ["  output_info {", *_fields("    ", size=size, alias_input_port=alias), "  }"]
        lines += _fields("  ", temporary_memory_size=workspace)
        lines += ["  is_final: true"] if is_final else []
        lines += [f"  control_input: {before}" for before in control_inputs or []]
        self.lines += [*lines, *_fields("  ", compute_cost=cost), "}"]


def _fields(indent: str, **values: int) -> list[str]:
    return [f"{indent}{name}: {value}" for name, value in values.items() if value]


def _escaped(name: str) -> str:
    """The name between double quotes, in ASCII: bytes of other characters in octal."""
    special = {ord(char): f"\\{letter}" for char, letter in zip('\n\r\t"\\', 'nrt"\\', strict=True)}
    return "".join(special.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}") for byte in name.encode())


def _check_groups(graph: ComputationGraph) -> None:
    first: dict[int, int] = {}
    for op, group in enumerate(graph.colocation.tolist()):
        if group != NO_GROUP and first.setdefault(group, op) != op:
            ops = f"{graph.describe_op(first[group])} and {graph.describe_op(op)}"
            raise ValueError(f"{ops} share a colocation group, which a CostGraphDef cannot say")
