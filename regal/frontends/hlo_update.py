"""Ops that nobody needs leave a graph under construction; results written over parameters become in-place updates.

A module may say that a result takes the storage of a parameter (``input_output_alias``). The op that makes the result
then has no output tensor: it reads the persistent tensor and writes into it, after all other readers of the old value
by control inputs; who reads the new value reads the persistent tensor, with the update as a control input; all of them
share a device. Where that cannot be, the result stays a tensor of its own, as XLA would copy: when a reader of the old
value needs the new one, or when the op reads the old value and is not of those that can write over what they read.
"""

from __future__ import annotations

from collections.abc import Sequence

from regal.graph import GraphBuilder

EFFECTS = {
    *("custom-call", "infeed", "outfeed", "send", "send-done", "recv", "recv-done", "after-all", "rng", "while"),
    *("all-gather", "all-reduce", "all-to-all", "collective-permute", "collective-broadcast", "reduce-scatter"),
}
"""Opcodes that do something beside their results, or may."""
IN_PLACE = {
    *("abs", "add", "and", "atan2", "cbrt", "ceil", "clamp", "convert", "copy", "cosine", "divide", "exponential"),
    *("exponential-minus-one", "floor", "fusion", "log", "log-plus-one", "logistic", "maximum", "minimum", "multiply"),
    *("negate", "not", "or", "power", "remainder", "round-nearest-afz", "round-nearest-even", "rsqrt", "select"),
    *("shift-left", "shift-right-arithmetic", "shift-right-logical", "sign", "sine", "sqrt", "subtract", "tan", "tanh"),
    *("xor", "dynamic-update-slice", "scatter", "while"),
}
"""Opcodes that can write over what they read: place by place, or only in places."""

MAX_STEPS = 2**24
"""Most ops that are looked at to find out which results can be written over parameters; others stay tensors."""


def drop_unneeded(builder: GraphBuilder) -> None:
    """Leave out ops that no output of the graph and no effect needs."""
    needed_tensors = {tensor for tensor, output in enumerate(builder.is_output) if output}
    needed: set[int] = set()
    for op in reversed(range(len(builder.names))):
        effect = builder.types[op] in EFFECTS or builder.types[op].endswith(("-start", "-done"))
        if effect or op in needed or not needed_tensors.isdisjoint(builder.outputs[op]):
            needed.add(op)
            needed.update(builder.control_inputs[op])
            needed_tensors.update(builder.inputs[op])
    kept = sorted(needed)
    if len(kept) == len(builder.names):
        return
    place = {op: number for number, op in enumerate(kept)}
    for column in ("names", "types", "runtimes", "workspaces", "groups", "inputs", "outputs", "control_inputs"):
        setattr(builder, column, [getattr(builder, column)[op] for op in kept])
    builder.control_inputs = [[place[op] for op in ops] for ops in builder.control_inputs]


def write_in_place(builder: GraphBuilder, updates: Sequence[tuple[int, int]], *, fixed_order: bool) -> int:
    """Write results over persistent tensors where that can be.

    Parameters
    ----------
    builder : GraphBuilder
        In program order; brought into one again where updates must move.
    updates : sequence of (int, int)
        A tensor with a producer and the persistent tensor that it is written over.
    fixed_order : bool
        Whether ops must stay where they are, as in a scheduled module.

    Returns
    -------
    int
        How many were.
    """
    writer = _Writer(builder, fixed_order)
    written = sum(writer.write(new, old) for new, old in updates)
    writer.colocate()
    if writer.moved:
        builder.sort()
    return written


class _Writer:
    """The graph under construction with readers, producers and successors kept up to date."""

    def __init__(self, builder: GraphBuilder, fixed_order: bool) -> None:
        self.builder, self.fixed_order = builder, fixed_order
        self.steps = 0
        self.moved = False  # whether some op must come before an earlier one
        self.updated: dict[int, set[int]] = {}  # persistent tensor -> the ops that share a device
        self.readers: dict[int, list[int]] = {}
        self.producer = {tensor: op for op, tensors in enumerate(builder.outputs) for tensor in tensors}
        self.after: list[list[int]] = [[] for _ in builder.names]
        for op, (inputs, controls) in enumerate(zip(builder.inputs, builder.control_inputs, strict=True)):
            for tensor in inputs:
                self.readers.setdefault(tensor, []).append(op)
            earlier = {self.producer[tensor] for tensor in inputs if tensor in self.producer} | set(controls)
            for other in earlier:
                self.after[other].append(op)

    def write(self, new: int, old: int) -> bool:
        builder, op = self.builder, self.producer.get(new)
        if op is None or old in self.updated or builder.tensor_bytes[new] != builder.tensor_bytes[old]:
            return False
        if old in builder.inputs[op] and builder.types[op] not in IN_PLACE:
            return False
        earlier = [reader for reader in self.readers.get(old, []) if reader != op]
        if not self._can_follow(op, earlier):
            return False
        later = self.readers.pop(new, [])
        builder.outputs[op].remove(new)
        builder.is_output[new] = False
        if old not in builder.inputs[op]:
            builder.inputs[op].append(old)
        self._order(earlier, op)
        for reader in later:
            builder.inputs[reader] = list(
                dict.fromkeys(old if each == new else each for each in builder.inputs[reader])
            )
            builder.control_inputs[reader] = sorted({*builder.control_inputs[reader], op})
        del self.producer[new]
        self.updated[old] = {op, *earlier, *later}
        return True

    def _order(self, earlier: list[int], op: int) -> None:
        self.builder.control_inputs[op] = sorted({*self.builder.control_inputs[op], *earlier})
        for reader in earlier:
            self.after[reader].append(op)
            self.moved |= reader > op

    def _can_follow(self, op: int, earlier: list[int]) -> bool:
        """Whether ``op`` may come after all of ``earlier``: none of them needs it."""
        last = max(earlier, default=-1)
        if last < op and not self.moved:
            return True
        if self.fixed_order:
            return False
        targets, seen, waiting = set(earlier), {op}, [op]
        while waiting:
            self.steps += 1
            if self.steps > MAX_STEPS:
                return False
            for other in self.after[waiting.pop()]:
                if other in targets:
                    return False
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
        return True

    def colocate(self) -> None:
        """Number the groups of ops that share an updated tensor, or share an op that does."""
        leader: dict[int, int] = {}

        def find(op: int) -> int:
            while leader.setdefault(op, op) != op:
                leader[op] = leader[leader[op]]
                op = leader[op]
            return op

        for ops in self.updated.values():
            roots = sorted({find(op) for op in ops})
            for root in roots[1:]:
                leader[root] = roots[0]
        groups: dict[int, list[int]] = {}
        for op in sorted(leader):
            groups.setdefault(find(op), []).append(op)
        number = 0
        for group in groups.values():
            if len(group) > 1:
                for op in group:
                    self.builder.groups[op] = number
                number += 1


def drop_unused_tensors(builder: GraphBuilder) -> None:
    """Leave out tensors that no op reads or makes, and number the others anew."""
    used = {tensor for column in (builder.inputs, builder.outputs) for tensors in column for tensor in tensors}
    kept = sorted(used)
    place = {tensor: number for number, tensor in enumerate(kept)}
    builder.tensor_bytes = [builder.tensor_bytes[tensor] for tensor in kept]
    builder.is_output = [builder.is_output[tensor] for tensor in kept]
    builder.inputs = [[place[tensor] for tensor in tensors] for tensors in builder.inputs]
    builder.outputs = [[place[tensor] for tensor in tensors] for tensors in builder.outputs]
