"""JSON text out of files that nobody vouches for: bounded memory, no duplicate keys, no NaN, one-line errors."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any, NoReturn

MAX_TEXT = 256 * 2**20
"""Longest text in bytes, after decompression, that is read."""
MAX_PARSED = 600 * 2**20
"""Most bytes that the parsed values of a text may take, by a safe estimate made before parsing."""
VALUE_SIZE = 80
"""Upper estimate in bytes of one parsed JSON value together with its place in a list or dict."""


class ParseError(ValueError):
    """A file that is not what it should be; the message is one line and names the place."""


def read_bytes(path: str | Path, limit: int = MAX_TEXT) -> bytes:
    """The content of ``path``, decompressed where it is gzip, at most ``limit`` bytes.

    Raises
    ------
    ParseError
        When the file cannot be read, is a broken or truncated gzip, or is longer than ``limit``.
    """
    try:
        with open(path, "rb") as file:
            magic = file.read(2)
            file.seek(0)
            if magic == b"\x1f\x8b":
                with gzip.open(file) as unpacked:
                    data = _read_bounded(unpacked, limit)
            else:
                data = _read_bounded(file, limit)
    except EOFError as error:
        raise ParseError(f"{path}: the gzip data end too early") from error
    except (zlib.error, gzip.BadGzipFile) as error:
        raise ParseError(f"{path}: broken gzip data: {error}") from error
    except OSError as error:
        raise ParseError(f"{path}: {error.strerror or error}") from error
    if len(data) > limit:
        raise ParseError(f"{path}: more than {limit} bytes of text")
    return data


def _read_bounded(source: Any, limit: int) -> bytes:
    blocks, total = [], 0
    while total <= limit:
        block = source.read(2**20)
        if not block:
            break
        blocks.append(block)
        total += len(block)
    return b"".join(blocks)


def parse_json(data: bytes, where: str) -> Any:
    """Parse UTF-8 JSON text within bounded memory.

    Raises
    ------
    ParseError
        For text that is not JSON, repeats a key, holds NaN or infinity, nests too deeply, or would need more than
        ``MAX_PARSED`` bytes of memory; the message starts with ``where``.
    """
    values = data.count(b",") + data.count(b"[") + data.count(b"{") + data.count(b":") + 1
    width = 1 if data.isascii() else 4
    if values * VALUE_SIZE + len(data) * (1 + width) > MAX_PARSED:
        raise ParseError(f"{where}: {values} values in {len(data)} bytes are more than fits {MAX_PARSED} bytes")
    try:
        text = data.decode("utf-8-sig")
        return json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise ParseError(f"{where}: not UTF-8 text at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise ParseError(f"{where}: not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from error
    except RecursionError as error:
        raise ParseError(f"{where}: nested too deeply") from error
    except ValueError as error:
        raise ParseError(f"{where}: {error}") from error


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"the key {key[:80]!r} appears twice in one object")
            seen.add(key)
    return result


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON number")
