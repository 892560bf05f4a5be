"""HLO text, XLA's own notation of its programs, read into computations of instructions.

Each computation is a list of instructions, one a line unless a literal goes on over several, in which operands come
before their users and called computations before their callers, as XLA prints them. Layouts, metadata, comments and the
contents of strings are passed over. Reading takes time and memory in proportion to the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NoReturn

from regal.files import ParseError, short
from regal.files.read import MAX_PARSED
from regal.frontends.hlo_module import BITS, NAME, Array, Computation, Instruction, Module, Shape, Tuple
from regal.graph.checks import MAX_SIZE

MAX_RANK = 64
MAX_DEPTH = 32
"""Deepest nesting of tuples."""
INSTRUCTION_SIZE = 1200
"""Upper estimate in bytes of a parsed instruction without its operands and attributes."""
TEXT_FACTOR = 8
"""Upper estimate of the parsed bytes that one byte of text becomes otherwise."""

ITEM = r"(?:\w+\[[^\]]*+\](?:\{[^{}]*+\})?+)"
SIMPLE = re.compile(
    rf"\s*+(ROOT )?%?({NAME}) = ({ITEM}|\([^()]*+\)) ([a-z][a-z0-9\-]*+)\(([^()\"]*+)\)(.*+)", re.DOTALL
)
"""An instruction whose operands hold no parentheses and whose shape holds no nested tuple: nearly all."""
START = re.compile(rf"\s*+(ROOT )?%?({NAME}) = ", re.DOTALL)
OPCODE = re.compile(r"\s*+([a-z][a-z0-9\-]*+)\(")
HEADER = re.compile(rf"(ENTRY )?%?({NAME})(?: \(.*)? \{{")
MODULE = re.compile(rf"HloModule ({NAME})(.*+)", re.DOTALL)
ALIAS = re.compile(r"\{([\d, ]*+)\}: ?\((\d++), ?\{([\d, ]*+)\}")
STRING_OR_COMMENT = re.compile(r'"(?:[^"\\]|\\.?)*+(?:"|\Z)|/\*.*?(?:\*/|\Z)')
SHAPE_TOKEN = re.compile(r"\s*+(?:(\w++)\[([^\]]*+)\]|([(),]))")
BRACKETS = re.compile(r"[(){}\[\]]")
DIMENSION = re.compile(r"(?:<=)?(\d{1,18})")
TABLES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")


def parse(text: str, where: str = "HLO text") -> Module:
    """Read a module.

    Parameters
    ----------
    text : str
        What ``jax.jit(f).lower(x).as_text(dialect="hlo")`` or ``.compile().as_text()`` returns.
    where : str
        How messages name the text.

    Raises
    ------
    ParseError
        For text that is no HLO module, or would need more than ``MAX_PARSED`` bytes of memory; the message starts with
        ``where`` and names the line.

    Examples
    --------
    >>> module = parse('''HloModule twice
    ... ENTRY main {
    ...   x = f32[4,8]{1,0} parameter(0)
    ...   ROOT sum = f32[4,8]{1,0} add(x, x)
    ... }''')
    >>> module.entry.instructions[1].operands, module.instruction_counts()
    ((0, 0), {'main': 2})
    """
    size = text.count(" = ") * INSTRUCTION_SIZE + len(text) * TEXT_FACTOR
    if size > MAX_PARSED:
        what = f"{text.count(' = ')} instructions in {len(text)} characters"
        raise ParseError(f"{where}: {what} could take more than {MAX_PARSED} bytes of memory")
    return _Parser(text, where).module()


class _Parser:
    """Walks the lines once."""

    def __init__(self, text: str, where: str) -> None:
        self.lines, self.where = text.split("\n"), where
        self.at = 0  # the next line, from 0
        self.line = 0  # where the statement at hand began, from 1
        self.shapes: dict[str, Shape] = {}
        self.computations: dict[str, Computation] = {}

    def module(self) -> Module:
        found = MODULE.fullmatch(self._next_line() or "")
        if found is None:
            self._refuse("a module begins with HloModule and its name")
        name, attributes = found[1], _without_strings(found[2])
        entry, in_table = None, False
        while (text := self._next_line()) is not None:
            header = HEADER.fullmatch(_without_strings(text).rstrip())
            if header is not None:
                computation = self._computation(header[2])
                in_table = False
                if header[1] and entry is not None:
                    self._refuse("a second ENTRY", computation.line)
                entry = computation if header[1] else entry
            elif text.strip() in TABLES:
                in_table = True
            elif not (in_table and text[:1].isdigit()):
                self._refuse(f"a computation must begin here, not {short(text.strip())}")
        if entry is None:
            self._refuse("no computation is marked ENTRY")
        return Module(name, "is_scheduled=true" in attributes, self._aliases(attributes), self.computations, entry)

    def _aliases(self, attributes: str) -> list[tuple[tuple[int, ...], int, tuple[int, ...]]]:
        start = attributes.find("input_output_alias={")
        if start < 0:
            return []
        text = attributes[start : _closing(attributes, attributes.index("{", start)) + 1]
        return [(_numbers(place), int(number[:9]), _numbers(inner)) for place, number, inner in ALIAS.findall(text)]

    def _computation(self, name: str) -> Computation:
        if name in self.computations:
            self._refuse(f"a second computation {name!r}")
        computation = Computation(name, self.line)
        places: dict[str, int] = {}
        while True:
            text = self._next_line()
            if text is None:
                self._refuse(f"the text ends inside computation {name!r}")
            if text.lstrip().startswith("}"):
                break
            self._instruction(text, computation, places)
        if not computation.instructions:
            self._refuse(f"computation {name!r} is empty")
        if computation.root < 0:
            computation.root = len(computation.instructions) - 1
        self.computations[name] = computation
        return computation

    def _instruction(self, text: str, computation: Computation, places: dict[str, int]) -> None:
        text = self._whole(_without_strings(text) if '"' in text or "/*" in text else text)
        root, name, shape, opcode, inside, rest = self._parts(text)
        if name in places:
            self._refuse(f"a second instruction {name!r}")
        if opcode in ("parameter", "constant"):
            operands: tuple[int, ...] = ()
        else:
            operands, inside = self._operands(inside, places), ""
        if root:
            if computation.root >= 0:
                self._refuse(f"a second ROOT in computation {computation.name!r}")
            computation.root = len(computation.instructions)
        places[name] = len(computation.instructions)
        computation.instructions.append(
            Instruction(self.line, name, opcode, self._shape(shape), operands, inside[:40].strip(), rest.rstrip())
        )

    def _parts(self, text: str) -> tuple[str | None, str, str, str, str, str]:
        """ROOT or None, name, shape, opcode, what is in the parentheses, and what is behind them."""
        found = SIMPLE.fullmatch(text)
        if found is not None:
            return found[1], found[2], found[3], found[4], found[5], found[6]
        begin = START.match(text)
        if begin is None:
            self._refuse(f"an instruction must stand here, not {short(text.strip())}")
        at = begin.end()
        if text[at : at + 1] == "(":
            end = _closing(text, at) + 1
        else:
            end = text.find(" ", at)
        opcode = OPCODE.match(text, end) if end > 0 else None
        if opcode is None:
            self._refuse(f"a shape and an opcode must follow {begin[2]!r}")
        close = _closing(text, opcode.end() - 1)
        if close < 0:
            self._refuse(f"the parentheses of {begin[2]!r} do not close")
        return begin[1], begin[2], text[at:end], opcode[1], text[opcode.end() : close], text[close + 1 :]

    def _operands(self, text: str, places: dict[str, int]) -> tuple[int, ...]:
        if not text or text.isspace():
            return ()
        found = []
        for part in text.split(",") if "[" not in text else _split(text):
            name = part.split()[-1].lstrip("%") if not part.isspace() and part else ""
            if name not in places:
                self._refuse(f"no earlier instruction of the computation is named {short(name)}")
            found.append(places[name])
        return tuple(found)

    def _whole(self, text: str) -> str:
        """The instruction that begins with ``text``: lines are joined until all brackets are closed."""
        open_ = _open(text)
        if open_ <= 0:
            return text
        parts, start = [text], self.line
        while open_ > 0:
            if self.at == len(self.lines) or len(parts) > 2**20:
                self._refuse("the brackets of an instruction do not close", start)
            more = _without_strings(self.lines[self.at])
            self.at += 1
            parts.append(more)
            open_ += _open(more)
        return "\n".join(parts)

    def _shape(self, text: str) -> Shape:
        shape = self.shapes.get(text)
        if shape is None:
            shape = self.shapes[text] = self._parsed_shape(text)
        return shape

    def _parsed_shape(self, text: str) -> Shape:
        stack: list[list[Shape]] = [[]]
        at, text = 0, _without_layouts(text).rstrip()
        while at < len(text):
            found = SHAPE_TOKEN.match(text, at)
            if found is None:
                self._refuse(f"a shape must stand here, not {short(text[at : at + 60])}")
            at = found.end()
            if found[1]:
                stack[-1].append(self._array(found[1], found[2]))
            elif found[3] == "(":
                stack.append([])
                if len(stack) > MAX_DEPTH:
                    self._refuse(f"tuples nest deeper than {MAX_DEPTH}")
            elif found[3] == ")":
                if len(stack) == 1:
                    self._refuse("a tuple's shape closes twice")
                items = tuple(stack.pop())
                stack[-1].append(Tuple(items))
        if len(stack) != 1 or len(stack[0]) != 1:
            self._refuse(f"one shape must stand here, not {short(text)}")
        return stack[0][0]

    def _array(self, dtype: str, dims: str) -> Array:
        if dtype not in BITS:
            self._refuse(f"no element type {short(dtype)}")
        sizes = [DIMENSION.fullmatch(size.strip()) for size in dims.split(",")] if dims else []
        if len(sizes) > MAX_RANK:
            self._refuse(f"an array of {len(sizes)} dimensions, more than {MAX_RANK}")
        if None in sizes:
            self._refuse(f"dimensions must be numbers, not {short(dims)}")
        array = Array(dtype, tuple(int(size[1]) for size in sizes if size is not None))
        if max(array.num_bytes, array.num_elements) >= MAX_SIZE:
            self._refuse(f"a size must stay below 2^53 bytes, not that of {short(f'{dtype}[{dims}]')}")
        return array

    def _next_line(self) -> str | None:
        """The next line that says something."""
        while self.at < len(self.lines):
            text = self.lines[self.at]
            self.at += 1
            if text and not text.isspace() and not text.lstrip().startswith("//"):
                self.line = self.at
                return text
        self.line = len(self.lines)
        return None

    def _refuse(self, text: str, line: int | None = None) -> NoReturn:
        raise ParseError(f"{self.where}: line {self.line if line is None else line}: {text}")


def _without_strings(text: str) -> str:
    """Strings emptied, comments dropped."""
    return STRING_OR_COMMENT.sub(lambda found: '""' if found[0][0] == '"' else "", text)


def _without_layouts(text: str) -> str:
    return re.sub(r"\{[^{}]*+\}", "", text)


def _open(text: str) -> int:
    """How many more brackets open than close."""
    return sum(map(text.count, "({")) - sum(map(text.count, ")}"))


def _closing(text: str, start: int) -> int:
    """Where the bracket at ``start`` closes, -1 where it does not."""
    depth = 0
    for found in BRACKETS.finditer(text, start):
        depth += 1 if found[0] in "({[" else -1
        if depth == 0:
            return found.start()
    return -1


def _split(text: str) -> Iterator[str]:
    """Parts between commas that stand in no brackets."""
    depth = start = 0
    for found in re.finditer(r"[(){}\[\],]", text):
        if found[0] == ",":
            if depth == 0:
                yield text[start : found.start()]
                start = found.end()
        else:
            depth += 1 if found[0] in "({[" else -1
    yield text[start:]


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d{1,9}", text))
