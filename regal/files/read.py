"""JSON text out of files that nobody vouches for: bounded memory, no duplicate keys, no NaN, one-line errors."""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

MAX_TEXT = 256 * 2**20
"""Longest text in bytes, after decompression, that is read."""
MAX_PARSED = 600 * 2**20
"""Most bytes that the parsed values of a text may take, by a safe estimate made before parsing."""
MAX_MEMBERS = 2**12
"""Most members of a gzip file; each costs time, even an empty one."""
MAX_KEYS = 2**20
"""Most keys of one object."""
VALUE_SIZE = 100
"""Upper estimate in bytes of one parsed JSON value together with its place in a list or dict."""
GZIP = b"\x1f\x8b"
BLOCK = 2**20


class ParseError(ValueError):
    """A file that is not what it should be; the message is one line and names the place."""


def read_bytes(path: str | Path, limit: int = MAX_TEXT) -> bytes:
    """The content of ``path``, decompressed where it is gzip, at most ``limit`` bytes.

    Raises
    ------
    ParseError
        When the file cannot be read, is a broken or truncated gzip, or is longer than ``limit``, packed or unpacked.
    """
    try:
        with open(path, "rb") as file:
            blocks = _bounded(iter(lambda: file.read(BLOCK), b""), limit)
            return b"".join(_bounded(_unpacked(blocks), limit))
    except EOFError as error:
        raise ParseError(f"{path}: the gzip data end too early") from error
    except zlib.error as error:
        raise ParseError(f"{path}: broken gzip data: {str(error).rpartition(': ')[2]}") from error
    except OSError as error:
        raise ParseError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise ParseError(f"{path}: {error}") from error


def _bounded(blocks: Iterator[bytes], limit: int) -> Iterator[bytes]:
    total = 0
    for block in blocks:
        total += len(block)
        if total > limit:
            raise ValueError(f"more than {limit} bytes of text")
        yield block


def _unpacked(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """The blocks, or the content of the gzip members in them, of which zeros may stand between or behind."""
    first = next(blocks, b"")
    blocks = chain([first], blocks)
    if not first.startswith(GZIP):
        yield from blocks
        return
    unpacker, members = None, 0
    for packed in blocks:
        while packed:
            if unpacker is None:
                packed = packed.lstrip(b"\0")
                if not packed:
                    break
                unpacker, members = zlib.decompressobj(wbits=31), members + 1
                if members > MAX_MEMBERS:
                    raise ValueError(f"more than {MAX_MEMBERS} gzip members")
            yield unpacker.decompress(packed, BLOCK)
            packed = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
            unpacker = None if unpacker.eof else unpacker
    while unpacker is not None and not unpacker.eof:
        rest = unpacker.decompress(b"", BLOCK)
        if not rest and not unpacker.eof:
            raise EOFError
        yield rest


def parse_json(data: bytes, where: str) -> Any:
    """Parse UTF-8 JSON text within bounded memory.

    Raises
    ------
    ParseError
        For text that is not JSON, repeats a key, holds NaN or infinity, nests too deeply, has an object of more than
        ``MAX_KEYS`` keys, or would need more than ``MAX_PARSED`` bytes of memory; the message starts with ``where``.
    """
    values = data.count(b",") + data.count(b"[") + data.count(b"{") + data.count(b":") + 1
    if values * VALUE_SIZE + _text_size(data) > MAX_PARSED:
        what = f"{values} values in {len(data)} bytes of text"
        raise ParseError(f"{where}: {what} could take more than {MAX_PARSED} bytes of memory")
    try:
        text = data.decode("utf-8-sig")
        return json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise ParseError(f"{where}: not UTF-8 text at byte {error.start}") from error
    except json.JSONDecodeError as error:
        what = error.msg.partition(" (")[0].removesuffix(" at")
        raise ParseError(f"{where}: not JSON: {what} at line {error.lineno}, column {error.colno}") from error
    except RecursionError as error:
        raise ParseError(f"{where}: nested too deeply") from error
    except ValueError as error:
        text = str(error)
        if text.startswith("Exceeds the limit"):
            text = f"an integer of more than {sys.get_int_max_str_digits()} digits"
        raise ParseError(f"{where}: {text}") from error


def _text_size(data: bytes) -> int:
    """The bytes, their text, and twice the longest string: its pieces and the whole; 4 bytes a character if need be."""
    width = 1 if data.isascii() else 4
    return len(data) * (1 + width + 2 * (4 if b"\\u" in data else width))


def short(value: Any) -> str:
    """A value out of a file as messages show it: one line of at most 60 characters.

    Examples
    --------
    >>> short("Tina"), short([1, 2, 3]), short(10**300)
    ("'Tina'", 'list of 3', 'an integer of 997 bits')
    """
    if isinstance(value, (dict, list)):
        return f"{type(value).__name__} of {len(value)}"
    if isinstance(value, int) and value.bit_length() > 190:
        return f"an integer of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) > MAX_KEYS:
        raise ValueError(f"an object of {len(pairs)} keys, more than {MAX_KEYS}")
    result = dict(pairs)
    if len(result) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"the key {short(key)} appears twice in one object")
            seen.add(key)
    return result


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON number")
