"""A computation graph out of a TensorFlow program whose nodes have got their roles."""

from __future__ import annotations

from collections.abc import Iterable

import tensorflow as tf

from regal.files import ParseError
from regal.files.read import short
from regal.frontends import tensorflow_cost
from regal.frontends.roofline import Rates
from regal.frontends.tensorflow_program import Node, Program
from regal.frontends.tensorflow_simplify import OPAQUE, PARAMETER_BYTES, Kind, Source, shared_inputs
from regal.frontends.tensorflow_storage import is_reference, roles_of
from regal.graph import ComputationGraph, GraphBuilder
from regal.graph.checks import MAX_SIZE

MAX_SPREAD = 16
"""More control inputs than this go through an op of their own."""
RESERVE = {("FusedBatchNormV3", 5)}
"""Outputs of unknown size that are empty unless cuDNN wants scratch."""
VALUES = {Kind.CONSTANT, Kind.FOLDED}

Ops = frozenset[int]
NONE: Ops = frozenset()


def build_graph(program: Program, name: str, *, mode: str | None, simplify: bool, rates: Rates) -> ComputationGraph:
    """The graph of a program; see :func:`regal.frontends.tensorflow.load` for the arguments."""
    importer = _Importer(program, simplify, rates)
    importer.run()
    builder = importer.builder
    builder.name = name
    builder.meta["source"] = {
        "framework": "tensorflow",
        "version": tf.__version__,
        "mode": mode,
        "flops": importer.flops,
        "rates": rates.to_json(),
        "nodes": len(program.nodes),
        **importer.counts,
    }
    return builder.build()


class _Importer:
    """Walks the nodes of a program in order and writes tensors and ops.

    ``after`` holds for each node the ops that readers of its values come after, beside the producers of what they
    read; ``done`` those that must have run for the node to count as run. A negative entry ``~node`` stands for all that
    a vanished node waits for: it becomes an op, a NoOp, once an op needs it.
    """

    def __init__(self, program: Program, simplify: bool, rates: Rates) -> None:
        self.program, self.simplify, self.rates = program, simplify, rates
        self.roles = roles_of(program)
        self.builder = GraphBuilder()
        self.sizes: dict[Source, int] = {}
        self.tensors: dict[Source, int] = {}
        self.producer: dict[int, int] = {}  # tensor -> op
        self.after: list[Ops] = []
        self.done: list[Ops] = []
        self.gathered: dict[int, Ops] = {}
        self.barriers: dict[int, int] = {}
        self.readers: dict[Source, list[int]] = {each: [] for each in self.roles.variables}
        self.since: dict[Source, list[int]] = {each: [] for each in self.roles.variables}  # readers since the update
        self.updated: dict[Source, int] = {}  # variable -> the op that updated it last
        self.read = set(self.roles.stored(source for node in program.nodes for source in node.inputs))
        self.read |= set(self.roles.stored(program.results))
        self.parameters: set[Source] = set()
        self.flops = 0
        self.counts = dict.fromkeys(
            ("opaque_ops", "unknown_shapes", "folded_ops", "contracted_views", "copied_reads", "parameter_bytes"), 0
        )

    def run(self) -> None:
        """All nodes, then the results and the groups."""
        for at, node in enumerate(self.program.nodes):
            self._settle_sizes(at, node)
        for at, node in enumerate(self.program.nodes):
            self._add_node(at, node)
        for storage in self.roles.stored(self.program.results):
            tensor = self.tensors.get(storage, -1)
            if tensor in self.producer:
                self.builder.mark_output(tensor)
        self.counts["parameter_bytes"] = sum(self.sizes[storage] for storage in self.parameters)
        self._colocate()

    def _settle_sizes(self, at: int, node: Node) -> None:
        kind, storage = self.roles.kinds[at], self.roles.storage
        for output, value in enumerate(node.outputs):
            size = tensorflow_cost.num_bytes(value)
            if kind is Kind.HANDLE:
                size = tensorflow_cost.variable_bytes(node)
            elif size is None and storage[at, output] != ((at, output),):
                size = sum(self.sizes[part] for part in storage[at, output])
            elif size is None:
                size = self._guess(at, node, output)
            if size >= MAX_SIZE:
                raise ParseError(f"node {short(node.name)}: a size must stay below 2^53 bytes, not {size}")
            self.sizes[at, output] = size
            for part in storage[at, output]:
                if part in self.roles.variables and not is_reference(node, output):  # a handle that does not tell
                    self.sizes[part] = max(self.sizes[part], size)

    def _guess(self, at: int, node: Node, output: int) -> int:
        if self.roles.kinds[at] is Kind.OP:
            self.counts["unknown_shapes"] += 1
        if (node.op, output) in RESERVE:
            return 0
        flows = [s for s in node.inputs if self.roles.kinds[self.roles.storage[s][0][0]] in (Kind.OP, Kind.INPUT)]
        item = tensorflow_cost.item_bytes(node.outputs[output].dtype)
        return max((self._elements(source) for source in flows or node.inputs), default=0) * item

    def _elements(self, source: Source) -> int:
        value = self.program.nodes[source[0]].outputs[source[1]]
        return self.sizes[source] // tensorflow_cost.item_bytes(value.dtype)

    def _add_node(self, at: int, node: Node) -> None:
        kind = Kind.OP if at in self.roles.copied else self.roles.kinds[at]
        before = NONE.union(*(self.done[other] for other in node.controls), *(self.after[a] for a, _ in node.inputs))
        if kind is Kind.OP or not self.simplify:
            op = self._add_op(at, node, kind, before)
            self.done.append(frozenset([op]))
            self.after.append(NONE if kind is Kind.OP else self.done[at])
            return
        self.counts["folded_ops"] += kind is Kind.FOLDED
        self.counts["contracted_views"] += kind is Kind.ALIAS
        if kind is Kind.ALIAS:  # who reads a reshaped value waits for the shape too, and one of several for the others
            shared = shared_inputs(node, 0) if len(node.outputs) == 1 else []
            before |= self._producers(source for source in node.inputs if source not in shared)
        if len(before) > MAX_SPREAD:
            self.gathered[at] = before
            before = frozenset([~at])
        self.after.append(before)
        self.done.append(before | self._producers(node.inputs))

    def _add_op(self, at: int, node: Node, kind: Kind, before: Ops) -> int:
        reads = [] if kind in VALUES and not node.inputs else list(node.inputs)
        storages = self.roles.stored(reads)
        if kind is Kind.CONSTANT:
            storages = [(at, 0)]
        variables = [each for each in storages if each in self.roles.variables]
        inputs = [tensor for each in storages if (tensor := self._tensor(each)) is not None]
        written = self.roles.writes.get(at, [])
        controls = set(map(self._op, before)) | {self.updated[each] for each in variables if each in self.updated}
        controls |= {op for each in written for op in self.since[each]}
        controls -= {self.producer.get(tensor, -1) for tensor in inputs}
        computes = kind in (Kind.OP, Kind.FOLDED)
        made = [(at, output) for output in range(len(node.outputs)) if computes and self._allocates(at, output)]
        outputs = list(map(self._new_tensor, made))
        op = self.builder.add_op(
            node.op,
            name=node.name,
            inputs=inputs,
            outputs=outputs,
            control_inputs=sorted(controls),
            runtime=self._runtime(node, written) if computes else 0.0,
        )
        self.producer |= dict.fromkeys(outputs, op)
        for each in variables:
            self.readers[each].append(op)
            self.since[each].append(op)
        for each in written:
            self.since[each], self.updated[each] = [], op
        self.counts["opaque_ops"] += node.op in OPAQUE
        self.counts["copied_reads"] += at in self.roles.copied
        return op

    def _producers(self, sources: Iterable[Source]) -> Ops:
        """The ops that made what values are stored in now: producers, and the last updates of variables."""
        storages = self.roles.stored(sources)
        tensors = (self.tensors.get(storage, -1) for storage in storages)
        made = [self.producer[tensor] for tensor in tensors if tensor in self.producer]
        return frozenset(made + [self.updated[storage] for storage in storages if storage in self.updated])

    def _op(self, entry: int) -> int:
        """The op of an entry of ``after``; what a vanished node waits for becomes one here."""
        todo = [entry]
        while todo:
            at = ~todo[-1]
            if at < 0 or at in self.barriers:
                todo.pop()
                continue
            inner = [other for other in self.gathered[at] if other < 0 and ~other not in self.barriers]
            todo += inner
            if not inner:
                controls = sorted(self.barriers[~other] if other < 0 else other for other in self.gathered[at])
                name = self.program.nodes[at].name
                self.barriers[at] = self.builder.add_op("NoOp", name=name, control_inputs=controls)
        return entry if entry >= 0 else self.barriers[~entry]

    def _allocates(self, at: int, output: int) -> bool:
        """Whether an output is a tensor of its own; empty ones that nobody reads are none."""
        own = self.roles.storage[at, output] == ((at, output),)
        return own and (self.sizes[at, output] > 0 or (at, output) in self.read)

    def _new_tensor(self, storage: Source) -> int:
        self.tensors[storage] = self.builder.add_tensor(self.sizes[storage])
        return self.tensors[storage]

    def _tensor(self, storage: Source) -> int | None:
        """The tensor of a storage, added here where it is persistent; None for a parameter."""
        if storage not in self.tensors:
            kind, size = self.roles.kinds[storage[0]], self.sizes[storage]
            if size == 0 or (self.simplify and kind in VALUES and size <= PARAMETER_BYTES):
                self.parameters.add(storage)
                return None
            self._new_tensor(storage)
        return self.tensors[storage]

    def _runtime(self, node: Node, written: Iterable[Source]) -> float:
        shapes = [self.program.nodes[at].outputs[output].shape for at, output in node.inputs]
        count = tensorflow_cost.flops(node, shapes)
        self.flops += count
        made = sum(tensorflow_cost.num_bytes(value) or 0 for value in node.outputs)
        read = dict.fromkeys(self.roles.storage[source] for source in node.inputs)
        sizes = [sum(self.sizes[part] for part in parts) for parts in read]
        updated = sum(self.sizes[each] for each in written)
        return self.rates.runtime(count, tensorflow_cost.moved_bytes(node.op, sizes, made, updated))

    def _colocate(self) -> None:
        """One group for the readers of each variable that is updated; groups that share an op are one."""
        parent = list(range(len(self.builder.names)))

        def root(op: int) -> int:
            while parent[op] != op:
                parent[op] = parent[parent[op]]
                op = parent[op]
            return op

        grouped = sorted({op for each in self.updated for op in self.readers[each]})
        for each in self.updated:
            for op in self.readers[each][1:]:
                parent[root(op)] = root(self.readers[each][0])
        numbers: dict[int, int] = {}
        for op in grouped:
            self.builder.groups[op] = numbers.setdefault(root(op), len(numbers))
