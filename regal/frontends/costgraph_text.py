"""The text format of protocol buffers, for ``CostGraphDef`` alone: fields by name, within bounded memory.

A field is written ``name: value``, ``name { ... }``, ``name < ... >`` or, where it may come again, ``name: [a, b]``. A
comma or semicolon may end it, ``#`` begins a comment. A string stands in either quotes with the escapes of C, and goes
on in the next string.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, NoReturn

from regal.files import ParseError, short
from regal.files.read import MAX_PARSED

MAX_STRING = 2**16
"""Longest string in bytes, escapes as written."""
MESSAGE_SIZE = 500
"""Upper estimate in bytes of one parsed message, its share of the lists that hold it included."""
SCALAR_SIZE = 150
"""Likewise of one parsed value of another kind."""

SKIPPED = re.compile(rb"(?:[ \t\r\n\v\f]++|#[^\n]*+)*+")
TOKEN = re.compile(
    rb"""(?P<word>[A-Za-z_]\w*+)
    | (?P<number>\.?\d(?:[eE][+-]?|[\w.]){0,60}+)
    | (?P<string>"(?:[^"\\\n]|\\.){0,%d}+" | '(?:[^'\\\n]|\\.){0,%d}+')
    | (?P<mark>[\[\]{}<>:,;-])"""
    % (MAX_STRING, MAX_STRING),
    re.VERBOSE,
)
ESCAPE = re.compile(rb"\\(?:[xX]([0-9a-fA-F]{1,2})|([0-7]{1,3})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))")
ESCAPED = dict(zip(b"abfnrtv\\'\"?", b"\a\b\f\n\r\t\v\\'\"?", strict=True))
INTEGER = re.compile(rb"0[xX][0-9a-fA-F]{1,16}|0[0-7]{0,22}|[1-9]\d{0,18}")
PLAIN_INTEGER = re.compile(rb"[ ]*+:[ ]*+(0|-?[1-9]\d{0,17})(?=\s++[a-z}])")
"""Behind a field's name: how nearly all integers are written. Read in one step, for most of a file is these."""
BITS = {"int32": 31, "int64": 63}
DECIMAL = re.compile(rb"(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d+)?[fF]?|inf|infinity|nan")
BOOLEANS = {b"true": True, b"True": True, b"t": True, b"1": True}
BOOLEANS |= {b"false": False, b"False": False, b"f": False, b"0": False}
CLOSING = {b"{": b"}", b"<": b">"}


class Kind(NamedTuple):
    """What a field holds: a kind of value or a message's name, and whether it may come again."""

    of: str
    repeated: bool = False


def _kinds(of: str, *names: str) -> dict[str, Kind]:
    return dict.fromkeys(names, Kind(of))


MESSAGES: dict[str, dict[str, Kind]] = {
    "CostGraphDef": {"node": Kind("Node", True), "cost": Kind("AggregatedCost", True)},
    "Node": {
        **_kinds("string", "name", "device"),
        **_kinds("int32", "id"),
        "input_info": Kind("InputInfo", True),
        "output_info": Kind("OutputInfo", True),
        "control_input": Kind("int32", True),
        **_kinds("int64", "temporary_memory_size", "persistent_memory_size", "compute_cost"),
        **_kinds("int64", "compute_time", "memory_time", "host_temp_memory_size", "device_temp_memory_size"),
        **_kinds("int64", "host_persistent_memory_size", "device_persistent_memory_size"),
        **_kinds("bool", "is_final", "inaccurate"),
    },
    "InputInfo": _kinds("int32", "preceding_node", "preceding_port"),
    "OutputInfo": {
        **_kinds("int64", "size", "alias_input_port"),
        **_kinds("TensorShapeProto", "shape"),
        **_kinds("enum", "dtype"),
    },
    "TensorShapeProto": {"dim": Kind("Dim", True), **_kinds("bool", "unknown_rank")},
    "Dim": {**_kinds("int64", "size"), **_kinds("string", "name")},
    "AggregatedCost": {**_kinds("float", "cost"), **_kinds("string", "dimension")},
}
"""Message -> field -> what it holds, over the versions of TensorFlow that have written the format."""


def parse_nodes(data: bytes, where: str) -> Iterator[dict[str, Any]]:
    """Yield the nodes of a ``CostGraphDef`` one by one as dicts of the fields that are set, plus ``line``.

    Repeated fields are lists, messages are dicts.

    Raises
    ------
    ParseError
        For text that is no ``CostGraphDef``, or would need more than ``MAX_PARSED`` bytes of memory; the message
        starts with ``where`` and names the line.

    Examples
    --------
    >>> list(parse_nodes(b'node { name: "a" control_input: [3, 4] }', "text"))
    [{'line': 1, 'name': 'a', 'control_input': [3, 4]}]
    """
    messages = data.count(b"{") + data.count(b"<")
    scalars = data.count(b":") + data.count(b",") + data.count(b"[")
    if messages * MESSAGE_SIZE + scalars * SCALAR_SIZE > MAX_PARSED:
        what = f"{messages} messages with {scalars} values"
        raise ParseError(f"{where}: {what} could take more than {MAX_PARSED} bytes of memory")
    return _Parser(data, where).nodes()


class _Parser:
    """Reads token after token; calls nest no deeper than the messages of ``CostGraphDef`` do."""

    def __init__(self, data: bytes, where: str) -> None:
        self.data, self.where = data, where
        self.at = 0  # where the next token is looked for
        self.start = 0  # where the last one began
        self.counted = (0, 1)  # a place in the text and its line
        self.read_value: dict[str, Callable[[], Any]] = {
            **{type_: partial(self._integer, bits) for type_, bits in BITS.items()},
            "bool": self._bool,
            "enum": self._enum,
            "float": self._float,
            "string": self._string,
        }

    def nodes(self) -> Iterator[dict[str, Any]]:
        """The messages in the outermost field ``node``."""
        while (kind_and_token := self._next())[0] != "end":
            name, _, values = self._field("CostGraphDef", *kind_and_token)
            if name == "node":
                yield from values

    def _message(self, type_: str) -> dict[str, Any]:
        _, brace = self._next()
        if brace not in CLOSING:
            self._refuse(f"{type_} must stand here in braces, not {_shown(brace)}")
        values: dict[str, Any] = {"line": self._line()} if type_ == "Node" else {}
        while (kind_and_token := self._next())[1] != CLOSING[brace]:
            name, repeated, found = self._field(type_, *kind_and_token)
            if repeated:
                values.setdefault(name, []).extend(found)
            elif name in values:
                self._refuse(f"{type_} has a second {name}")
            else:
                values[name] = found[0]
        return values

    def _field(self, message: str, kind: str, token: bytes) -> tuple[str, bool, list[Any]]:
        """Name, whether it may come again, and the values of the field that begins with ``token``."""
        name = token.decode("latin-1")
        if kind == "end":
            self._refuse(f"the text ends inside {message}")
        if kind != "word":
            self._refuse(f"a field of {message} must stand here, not {_shown(token)}")
        if name not in MESSAGES[message]:
            self._refuse(f"{message} has no field {name[:60]!r}")
        type_, repeated = MESSAGES[message][name]
        plain = PLAIN_INTEGER.match(self.data, self.at) if type_ in BITS else None
        if plain is not None:
            self.start, self.at = plain.span(1)
            return name, repeated, [self._within(int(plain[1]), BITS[type_])]
        colon = self._skip(b":")
        if type_ not in MESSAGES and not colon:
            self._refuse(f"a colon must follow {name}")
        values = self._list(type_) if colon and repeated and self._skip(b"[") else [self._value(type_)]
        self._skip(b",", b";")
        return name, repeated, values

    def _list(self, type_: str) -> list[Any]:
        values: list[Any] = []
        while not self._skip(b"]"):
            if values and not self._skip(b","):
                self._refuse(f"a comma or ] must stand here, not {_shown(self._next()[1])}")
            values.append(self._value(type_))
        return values

    def _value(self, type_: str) -> Any:
        return self._message(type_) if type_ in MESSAGES else self.read_value[type_]()

    def _integer(self, bits: int) -> int:
        negative = self._skip(b"-")
        kind, token = self._next()
        if kind != "number" or not INTEGER.fullmatch(token):
            self._refuse(f"an integer must stand here, not {_shown(token)}")
        value = int(token, 16 if token[:2] in (b"0x", b"0X") else 8 if token[:1] == b"0" else 10)
        return self._within(-value if negative else value, bits)

    def _within(self, value: int, bits: int) -> int:
        if not -(2**bits) <= value < 2**bits:
            self._refuse(f"an integer of {bits + 1} bits must stand here, not {value}")
        return value

    def _bool(self) -> bool:
        _, token = self._next()
        if token not in BOOLEANS:
            self._refuse(f"true or false must stand here, not {_shown(token)}")
        return BOOLEANS[token]

    def _enum(self) -> str:
        self._skip(b"-")
        kind, token = self._next()
        if kind not in ("word", "number"):
            self._refuse(f"a name or number must stand here, not {_shown(token)}")
        return token.decode("latin-1")

    def _float(self) -> float:
        negative = self._skip(b"-")
        _, token = self._next()
        if not DECIMAL.fullmatch(token.lower()):
            self._refuse(f"a number must stand here, not {_shown(token)}")
        value = float(token.lower().rstrip(b"f") if token[:1] not in b"iI" else token)
        return -value if negative else value

    def _string(self) -> str:
        parts = []
        kind, token = self._next()
        while kind == "string":
            parts.append(ESCAPE.sub(self._unescaped, token[1:-1]))
            before = self.at, self.start
            kind, token = self._next()
        if not parts:
            self._refuse(f"a string must stand here, not {_shown(token)}")
        self.at, self.start = before
        try:
            return b"".join(parts).decode()
        except UnicodeDecodeError:
            self._refuse("the string is not UTF-8 text")

    def _unescaped(self, found: re.Match[bytes]) -> bytes:
        hexadecimal, octal, short_code, long_code, letter = found.groups()
        if letter is not None:
            if letter[0] not in ESCAPED:
                self._refuse(f"no escape of a string: {_shown(found.group())}")
            return bytes([ESCAPED[letter[0]]])
        if hexadecimal or octal:
            return bytes([int(hexadecimal, 16) if hexadecimal else int(octal, 8) % 256])
        code = int(short_code or long_code, 16)
        if code >= 0x110000 or 0xD800 <= code < 0xE000:
            self._refuse(f"no character: {_shown(found.group())}")
        return chr(code).encode()

    def _next(self) -> tuple[str, bytes]:
        """Kind and text of the next token; ``("end", b"")`` behind the last one."""
        self.start = SKIPPED.match(self.data, self.at).end()  # type: ignore[union-attr]
        found = TOKEN.match(self.data, self.start)
        if found is None:
            if self.start < len(self.data):
                self._refuse(f"no token of the text format: {_shown(self.data[self.start : self.start + 20])}")
            return "end", b""
        self.at = found.end()
        return found.lastgroup or "", found.group()

    def _skip(self, *marks: bytes) -> bool:
        """Whether one of ``marks`` comes next; then it is passed over."""
        start = SKIPPED.match(self.data, self.at).end()  # type: ignore[union-attr]
        if self.data[start : start + 1] not in marks:
            return False
        self.start, self.at = start, start + 1
        return True

    def _line(self) -> int:
        place, line = self.counted
        line += self.data.count(b"\n", place, self.start) if self.start >= place else 0
        self.counted = (self.start, line)
        return line

    def _refuse(self, text: str) -> NoReturn:
        raise ParseError(f"{self.where}: line {self._line()}: {text}")


def _shown(token: bytes) -> str:
    """A token as messages show it."""
    return short(token.decode("utf-8", "backslashreplace")) if token else "the end of the text"
