"""The instructions of an HLO module become ops, calls inlined and storages shared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from regal.files import ParseError
from regal.frontends.hlo_cost import Costs
from regal.frontends.hlo_module import Array, Computation, Instruction, Module, Shape, Tuple, leaves
from regal.graph import GraphBuilder

PARAMETER_BYTES = 64
"""A constant up to this size is a parameter of its reader."""
MAX_VALUES = 2**21
"""Most instructions, operands and results of a module together, calls inlined."""
MAX_CALLS = 64
"""Deepest nesting of calls."""
MAX_TOKENS = 64
"""Most tensors that one value is read together with."""

SAME = {"bitcast", "domain", "opt-barrier", "reshape", "reshape-dynamic"}
"""Opcodes whose result is their only operand's storage."""
STARTS: dict[str, tuple[int, int]] = {
    "all-gather-start": (0, 1),
    "async-start": (0, 1),
    "collective-permute-start": (0, 1),
    "copy-start": (1, 0),
    "recv": (-1, 0),
    "send": (0, -1),
}
"""Opcode -> which element of its tuple is the operand, and which the result."""


@dataclass(frozen=True)
class Value:
    """What an instruction gives.

    Attributes
    ----------
    shape : Array or Tuple
    reads : tuple of int
        Of an array, the tensors that its readers read: its storage first, none for a small constant.
    items : tuple of Value
        Of a tuple, its elements.
    result : Value, optional
        Of an instruction that only starts something, what will be there once it is done.
    """

    shape: Shape
    reads: tuple[int, ...] = ()
    items: tuple[Value, ...] = ()
    result: Value | None = None

    def tensors(self) -> Iterator[int]:
        """The tensors that a reader of the whole value reads."""
        yield from self.reads
        for item in self.items:
            yield from item.tensors()

    def storages(self) -> Iterator[int]:
        """The storages of the arrays in it."""
        yield from self.reads[:1]
        for item in self.items:
            yield from item.storages()

    def after(self, tensor: int) -> Value:
        """The same storages, to be read together with ``tensor``."""
        reads = (*self.reads, tensor) if isinstance(self.shape, Array) else ()
        return Value(self.shape, reads, tuple(item.after(tensor) for item in self.items))

    def at(self, path: tuple[int, ...]) -> Value | None:
        """The element of an element; None where there is none."""
        value = self
        for index in path:
            if index >= len(value.items):
                return None
            value = value.items[index]
        return value


class Inliner:
    """Walks the entry of a module and, at every call, what is called."""

    def __init__(self, module: Module, costs: Costs, where: str) -> None:
        self.module, self.costs, self.where = module, costs, where
        self.builder = GraphBuilder(module.name)
        self.persistent: dict[int, tuple[int, ...]] = {}  # tensor -> number of the parameter and place in it
        self.parameters: dict[int, Value] = {}
        self.producer: dict[int, int] = {}
        self.flops = 0
        self._check_size()

    def run(self) -> Value:
        """Add all ops; returns what the entry returns."""
        return self._run(self.module.entry, None, "")

    def updates(self, result: Value) -> list[tuple[int, int]]:
        """Pairs of a tensor of the result and the persistent tensor that it is written over."""
        pairs = []
        for place, number, inner in self.module.aliases:
            new = result.at(place)
            old = self.parameters[number].at(inner) if number in self.parameters else None
            if new is None or old is None:
                raise ParseError(f"{self.where}: line 1: input_output_alias names a place that is not there")
            if new.reads and old.reads and new.reads[0] not in self.persistent:
                pairs.append((new.reads[0], old.reads[0]))
        return pairs

    def _check_size(self) -> None:
        """Refuse what would be too long or nest too deeply, before anything is inlined."""
        sizes: dict[str, int] = {}
        depths: dict[str, int] = {}
        for name, computation in self.module.computations.items():
            size = depth = 0
            for instruction in computation.instructions:
                size += 1 + len(instruction.operands) + sum(1 for _ in leaves(instruction.shape))
                if instruction.opcode == "call":
                    callee = self._called(instruction)
                    size += sizes[callee.name]
                    depth = max(depth, 1 + depths[callee.name])
            sizes[name], depths[name] = min(size, MAX_VALUES + 1), depth
        entry = self.module.entry
        if sizes[entry.name] > MAX_VALUES or depths[entry.name] > MAX_CALLS:
            what = f"more than {MAX_VALUES} values with calls inlined, or calls nested deeper than {MAX_CALLS}"
            raise ParseError(f"{self.where}: line {entry.line}: {what}")

    def _called(self, instruction: Instruction) -> Computation:
        name = (instruction.names("to_apply") or [""])[0]
        if name not in self.module.computations:
            self._refuse(instruction, f"calls {name!r}, which is no computation")
        return self.module.computations[name]

    def _run(self, computation: Computation, arguments: list[Value] | None, prefix: str) -> Value:
        """The value of ``computation``; the entry has no ``arguments``."""
        values: list[Value] = []
        places: dict[str, int] = {}
        for instruction in computation.instructions:
            operands = [values[operand] for operand in instruction.operands]
            if instruction.opcode == "parameter":
                value = self._parameter(instruction, arguments)
            elif instruction.opcode == "call":
                value = self._run(self._called(instruction), operands, f"{instruction.name}/")
            elif (contracted := self._contracted(instruction, operands)) is not None:
                value = contracted
            else:
                before = [values[places[name]] for name in _predecessors(instruction) if name in places]
                value = self._op(computation, instruction, operands, before, prefix)
            if value.shape != instruction.shape:
                self._refuse(instruction, "its shape is not that of what it gives")
            places[instruction.name] = len(values)
            values.append(value)
        return values[computation.root]

    def _parameter(self, instruction: Instruction, arguments: list[Value] | None) -> Value:
        number = int(instruction.literal) if instruction.literal.isdecimal() else -1
        if arguments is None:
            if number < 0 or number in self.parameters:
                self._refuse(instruction, "a parameter has a number of its own")
            value = self.parameters[number] = self._fresh(instruction.shape)
            self.persistent |= dict.fromkeys(value.tensors(), (number,))
            return value
        if not 0 <= number < len(arguments):
            self._refuse(instruction, f"the call has {len(arguments)} arguments")
        return arguments[number]

    def _contracted(self, instruction: Instruction, operands: list[Value]) -> Value | None:
        """The value of an instruction that is no op, else None."""
        opcode, shape = instruction.opcode, instruction.shape
        if opcode == "constant":
            constant = Value(shape)
            if isinstance(shape, Array) and shape.num_bytes > PARAMETER_BYTES:
                constant = self._fresh(shape)
                self.persistent |= dict.fromkeys(constant.reads, ())
            return constant
        if opcode == "tuple":
            return Value(Tuple(tuple(operand.shape for operand in operands)), items=tuple(operands))
        if opcode == "get-tuple-element":
            index = (instruction.numbers("index") or (-1,))[0]
            if len(operands) != 1 or not 0 <= index < len(operands[0].items):
                self._refuse(instruction, "an index of its operand's elements must be given")
            return operands[0].items[index]
        if opcode in SAME:
            if len(operands) != 1 or isinstance(operands[0].shape, Tuple) != isinstance(shape, Tuple):
                self._refuse(instruction, "it takes one operand of its own kind")
            if isinstance(shape, Tuple):
                return operands[0]
            return Value(shape, operands[0].reads)
        if opcode == "add-dependency" and len(operands) == 2:
            value = operands[0]
            for tensor in operands[1].tensors():
                value = value.after(tensor)
            if len(value.reads) > MAX_TOKENS:
                self._refuse(instruction, f"a value waits for more than {MAX_TOKENS} others")
            return value
        return None

    def _op(
        self,
        computation: Computation,
        instruction: Instruction,
        operands: list[Value],
        before: list[Value],
        prefix: str,
    ) -> Value:
        value = self._result(instruction, operands)
        done = instruction.opcode.endswith("-done") and len(operands) >= 1 and operands[0].result is not None
        outputs = [self.builder.add_tensor(0)] if done else self._new(value, operands)
        cost = self.costs.cost(computation, instruction)
        self.flops += cost.flops
        waits = {tensor for each in before for tensor in each.tensors()}
        op = self.builder.add_op(
            instruction.opcode,
            name=prefix + instruction.name,
            inputs=(tensor for operand in operands for tensor in operand.tensors()),
            outputs=outputs,
            control_inputs=sorted({self.producer[tensor] for tensor in waits if tensor in self.producer}),
            runtime=max(cost.seconds, self.costs.rates.overhead),
        )
        self.producer |= dict.fromkeys(outputs, op)
        return value.after(outputs[0]) if done else value

    def _new(self, value: Value, operands: list[Value]) -> list[int]:
        """The tensors of ``value`` that are not the operands'."""
        known = {tensor for operand in operands for tensor in operand.tensors()}
        return [tensor for tensor in dict.fromkeys(value.tensors()) if tensor not in known]

    def _result(self, instruction: Instruction, operands: list[Value]) -> Value:
        opcode, shape = instruction.opcode, instruction.shape
        started = operands[0].result if operands else None
        if opcode.endswith("-done") and started is not None:
            return self._done(instruction, started)
        if opcode == "async-update" and len(operands) == 1:
            return operands[0]
        if opcode == "while" and len(operands) == 1:
            return self._loop(instruction, operands[0])
        if opcode in STARTS and isinstance(shape, Tuple):
            given, made = STARTS[opcode]
            operand = Value(Tuple(tuple(each.shape for each in operands)), items=tuple(operands))
            items = [self._fresh(item) for item in shape.items]
            for candidate in (operand, operands[0] if operands else operand):
                if 0 <= given < len(items) and candidate.shape == shape.items[given]:
                    items[given] = candidate
            result = items[made] if 0 <= made < len(items) else items[-1]
            return Value(shape, items=tuple(items), result=result)
        value = self._fresh(shape)
        return Value(value.shape, value.reads, value.items, value) if opcode.endswith("-start") else value

    def _done(self, instruction: Instruction, started: Value) -> Value:
        """What was started, in the shape that the instruction states."""
        shape = instruction.shape
        if started.shape == shape:
            return started
        if isinstance(shape, Tuple):  # recv-done: the data and a token
            fits = [started if item == started.shape else self._fresh(item) for item in shape.items]
            return Value(shape, items=tuple(fits))
        return self._fresh(shape)

    def _loop(self, instruction: Instruction, state: Value) -> Value:
        """The state after a loop: what the body hands on unchanged stays the storage that it was."""
        body = self.module.computations[instruction.names("body")[0]]  # the costs have found it
        root = body.instructions[body.root]
        if root.opcode != "tuple" or not isinstance(instruction.shape, Tuple):
            return self._fresh(instruction.shape)
        kept = []
        for place, (operand, item) in enumerate(zip(root.operands, instruction.shape.items, strict=False)):
            source = body.instructions[operand]
            same = source.opcode == "get-tuple-element" and source.numbers("index") == (place,)
            same = same and [body.instructions[each].opcode for each in source.operands] == ["parameter"]
            same = same and place < len(state.items)
            kept.append(state.items[place] if same else self._fresh(item))
        return Value(Tuple(tuple(item.shape for item in kept)), items=tuple(kept))

    def _fresh(self, shape: Shape) -> Value:
        """New tensors in the form of ``shape``."""
        if isinstance(shape, Array):
            return Value(shape, (self.builder.add_tensor(shape.num_bytes),))
        return Value(shape, items=tuple(self._fresh(item) for item in shape.items))

    def _refuse(self, instruction: Instruction, text: str) -> NoReturn:
        raise ParseError(f"{self.where}: line {instruction.line}: {instruction.opcode} {instruction.name!r}: {text}")


def _predecessors(instruction: Instruction) -> list[str]:
    return instruction.names("control-predecessors") if "control-predecessors" in instruction.attributes else []
