"""The storages of a PyTorch program become the tensors of a graph, and writes into storages become order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import torch

from regal.frontends.torch_capture import Program, tensors_in
from regal.graph import GraphBuilder

aten = torch.ops.aten

UNREAD = {aten.native_batch_norm_backward.default: slice(3, 5)}
"""Arguments that an op takes and does not look at: in training no gradient depends on running statistics."""


class WritingBuilder:
    """A :class:`GraphBuilder` whose ops may also write into tensors that are there already.

    Whoever reads a written tensor comes after the op that wrote it, and who writes comes after all who read the old
    value, by control inputs. All of them, and the producer of the tensor, share a device.
    """

    def __init__(self) -> None:
        self.builder = GraphBuilder()
        self.writer: dict[int, int] = {}  # tensor -> the last op that wrote into it
        self.readers: dict[int, list[int]] = {}  # tensor -> the ops that read it since then
        self.together: list[tuple[int, int]] = []  # pairs of ops that are to share a device, whatever they read

    def add_op(
        self,
        type: str,
        name: str,
        runtime: float,
        *,
        inputs: Iterable[int],
        outputs: Iterable[int] = (),
        writes: Sequence[int] = (),
        workspace: int = 0,
    ) -> int:
        """Add an op that also writes into the tensors ``writes``, which count as read."""
        read = dict.fromkeys([*inputs, *writes])
        before = [self.writer[tensor] for tensor in read if tensor in self.writer]
        before += [reader for tensor in writes for reader in self.readers.get(tensor, ())]
        op = self.builder.add_op(
            type,
            inputs=read,
            outputs=outputs,
            control_inputs=sorted(set(before)),
            name=name,
            runtime=runtime,
            workspace=workspace,
        )
        for tensor in read:
            self.readers.setdefault(tensor, []).append(op)
        for tensor in writes:
            self.writer[tensor] = op
            self.readers[tensor] = []
        return op

    def colocate(self) -> None:
        """Give one group to ops that share a written tensor or stand together, and to what these share one with."""
        leader = list(range(len(self.builder.names)))

        def find(op: int) -> int:
            while leader[op] != op:
                leader[op] = leader[leader[op]]
                op = leader[op]
            return op

        def unite(*pair: int) -> None:
            one, other = sorted(map(find, pair))
            leader[other] = one

        for pair in self.together:
            unite(*pair)
        first: dict[int, int] = {}
        for op, (inputs, outputs) in enumerate(zip(self.builder.inputs, self.builder.outputs, strict=True)):
            for tensor in (*inputs, *outputs):
                if tensor in self.writer:
                    unite(first.setdefault(tensor, op), op)
        sizes: dict[int, int] = {}
        for op in range(len(leader)):
            sizes[find(op)] = sizes.get(find(op), 0) + 1
        numbers = {op: number for number, op in enumerate(op for op, size in sizes.items() if size > 1)}
        for op in range(len(leader)):
            if find(op) in numbers:
                self.builder.groups[op] = numbers[find(op)]


class Storages:
    """Which tensor of the graph under construction each storage of the program is.

    Fake values share a storage where the real ones do, which is how views are known (``_unsafe_view`` too, whose schema
    does not say so). Views of a constant are the exception, since PyTorch fakes it anew at every use: there the alias
    annotation of the op's schema tells.
    """

    def __init__(self, program: Program) -> None:
        self.ops = WritingBuilder()
        self.program = program
        self.tensor_of: dict[int, int] = {}
        self.persistent: dict[int, int] = {}  # the caller's storage -> tensor
        self.written = _written_in_place(program)

    def add_persistent(self, node: torch.fx.Node) -> None:
        """Enter a parameter, buffer, input or constant; those that share a storage are one tensor."""
        for value in tensors_in(node.meta.get("val")):
            source = self.program.sources.get(node.name, value)
            if node.op == "get_attr":
                source = getattr(self.program.module, str(node.target))
            storage = source.untyped_storage()
            if storage._cdata not in self.persistent:
                self.persistent[storage._cdata] = self.ops.builder.add_tensor(storage.nbytes())
            self.tensor_of[value.untyped_storage()._cdata] = self.persistent[storage._cdata]

    def add_fresh(self, node: torch.fx.Node) -> tuple[list[int], list[int]]:
        """Tensors that ``node`` makes and tensors that it writes into; none and none for a view."""
        outputs: list[int] = []
        writes: list[int] = []
        for value in tensors_in(node.meta.get("val")):
            storage = value.untyped_storage()
            if storage._cdata in self.tensor_of:
                continue
            if _is_view(node):
                tensor = self.read(node.all_input_nodes[0])[0]
            elif storage._cdata in self.written:
                tensor = self.tensor_of[self.written[storage._cdata]]
                writes.append(tensor)
            else:
                tensor = self.ops.builder.add_tensor(storage.nbytes())
                outputs.append(tensor)
            self.tensor_of[storage._cdata] = tensor
        return outputs, writes

    def read(self, node: torch.fx.Node) -> list[int]:
        """Tensors that a reader of ``node`` reads."""
        return [self.tensor_of[storage] for storage in _storages_of(node)]


def sources_of(node: torch.fx.Node) -> Iterator[torch.fx.Node]:
    """The nodes whose values ``node`` looks at, each once, in the order of its arguments."""
    if node.target not in UNREAD:
        yield from node.all_input_nodes
        return
    skipped = set(node.args[UNREAD[node.target]])
    used = [argument for argument in node.args if argument not in skipped]
    yield from dict.fromkeys(argument for argument in used if isinstance(argument, torch.fx.Node))


def _written_in_place(program: Program) -> dict[int, int]:
    """Storages of new values that can be written straight into the old ones': new -> old.

    Recording turns ``buffer.add_(1)`` into a new tensor that is returned. It is the old storage again where the new
    value has a storage of its own, as large as the old one, and nobody looks at the old value any more once it exists.
    """
    born: dict[int, int] = {}
    read: dict[int, int] = {}
    for at, node in enumerate(program.module.graph.nodes):
        fresh = [storage for storage in _storages_of(node) if storage not in born]
        born.update(dict.fromkeys(fresh, at))
        if fresh:
            read.update(dict.fromkeys((storage for source in sources_of(node) for storage in _storages_of(source)), at))
    owners = Counter(source.untyped_storage()._cdata for source in program.sources.values())
    values = {node.name: node.meta["val"] for node in program.module.graph.nodes if node.op == "placeholder"}
    found: dict[int, int] = {}
    for place, node in program.mutations.items():
        new, old = node.meta["val"].untyped_storage(), values[place].untyped_storage()
        alone = owners[program.sources[place].untyped_storage()._cdata] == 1 and new._cdata != old._cdata
        if alone and new.nbytes() == old.nbytes() and read.get(old._cdata, -1) <= born[new._cdata]:
            found.setdefault(new._cdata, old._cdata)
    return found


def _storages_of(node: torch.fx.Node) -> list[int]:
    return [value.untyped_storage()._cdata for value in tensors_in(node.meta.get("val"))]


def _is_view(node: torch.fx.Node) -> bool:
    """Whether the schema says that the op returns its first argument's storage."""
    schema = getattr(node.target, "_schema", None)
    return schema is not None and any(result.alias_info is not None for result in schema.returns)
