"""Mutations of a file's text and bytes: damage, other encodings, broken compression."""

import gzip
import json
import re
from collections.abc import Callable
from random import Random

TOKENS = (
    *(b"1e999", b"-1e999", b"1e-999", b"-0", b"-0.0", b"9" * 4300, b"9" * 4301, b"0." + b"1" * 5000, b"1E5", b"01"),
    *(b"+1", b".5", b"1.", b"0x10", b"'x'", b"True", b"None", b"undefined", b"NaN", b"-Infinity", b"", b"[", b"}"),
    *(b"[" * 5000, b'{"a":' * 3000, b'"\\ud800"', b'"\\u12"', b'"\\x41"', b'"\t"', b'"\x00"', b'"a', b"//x\n1", b"1 2"),
)
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
KEY = re.compile(rb'"[^"\\]*" ?:')


def token(data: bytes, rng: Random) -> bytes:
    """A token that is no JSON, or only just, in the place of a number."""
    found = list(NUMBER.finditer(data))
    if not found:
        return rng.choice(TOKENS)
    at = rng.choice(found)
    return data[: at.start()] + rng.choice(TOKENS) + data[at.end() :]


def truncate(data: bytes, rng: Random) -> bytes:
    """The beginning alone."""
    return data[: rng.randint(0, len(data))]


def flip(data: bytes, rng: Random) -> bytes:
    """A few bits the other way round."""
    result = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 10)) if result else 0):
        result[rng.randrange(len(result))] ^= 1 << rng.randrange(8)
    return bytes(result)


def insert(data: bytes, rng: Random) -> bytes:
    """A byte or more that do not belong there."""
    at = rng.randint(0, len(data))
    extra = rng.choice(
        (rng.randbytes(1), rng.randbytes(8), b"\x00", b",", b'"', b"]", b"\\", b"\xff\xfe", b"\xed\xa0\x80")
    )
    return data[:at] + extra + data[at:]


def cut(data: bytes, rng: Random) -> bytes:
    """A slice less."""
    at = rng.randint(0, len(data))
    return data[:at] + data[at + rng.choice((1, 1, 5, 50)) :]


def again(data: bytes, rng: Random) -> bytes:
    """A slice once more."""
    at = rng.randint(0, len(data))
    return data[: at + rng.choice((1, 10, 100))] + data[at:]


def twice_a_key(data: bytes, rng: Random) -> bytes:
    """An object that says a key twice."""
    found = list(KEY.finditer(data))
    if not found:
        return data
    at = rng.choice(found)
    return data[: at.start()] + at.group() + rng.choice((b"0,", b"null,", b"[],")) + data[at.start() :]


def concatenate(data: bytes, rng: Random) -> bytes:
    """Two files in one."""
    return data + rng.choice((b"", b"\n", b",", b"\x00")) + data[rng.choice((0, 0, len(data) // 2)) :]


def encode(data: bytes, rng: Random) -> bytes:
    """Byte order marks, other encodings, other line ends."""
    text = data.decode("utf-8", "surrogatepass")
    ways: tuple[Callable[[], bytes], ...] = (
        lambda: b"\xef\xbb\xbf" + data,
        lambda: b"\xef\xbb\xbf" * 2 + data,
        lambda: text.encode("utf-16", "surrogatepass"),
        lambda: text.encode("utf-32-le", "surrogatepass"),
        lambda: text.encode("latin-1", "replace"),
        lambda: text.replace(",", ",\r\n").encode("utf-8", "surrogatepass"),
        lambda: text.replace(",", "\u00a0,").encode("utf-8", "surrogatepass"),
        lambda: b" \t\r\n" * 100 + data + b"\r\n" * 100,
        lambda: data + b"\x1a",
        lambda: b"\x00" * 4096,
        lambda: rng.randbytes(200),
    )
    return rng.choice(ways)()


def unescape(data: bytes, rng: Random) -> bytes:
    """Escapes written out as UTF-8; half a surrogate pair then is no text at all."""
    try:
        return json.dumps(json.loads(data), ensure_ascii=False).encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError):
        return data


def compress(data: bytes, rng: Random) -> bytes:
    """Gzip as it should be, twice, in members, with a tail, cut, or damaged."""
    packed = gzip.compress(data, 1, mtime=0)
    half = len(data) // 2
    ways: tuple[Callable[[], bytes], ...] = (
        lambda: packed,
        lambda: gzip.compress(packed, 1, mtime=0),
        lambda: gzip.compress(data[:half], 1, mtime=0) + gzip.compress(data[half:], 1, mtime=0),
        lambda: packed + b"\x00" * 100,
        lambda: packed + b"tail",
        lambda: packed + packed[:5],
        lambda: truncate(packed, rng),
        lambda: flip(packed, rng),
        lambda: cut(packed, rng),
        lambda: b"\x1f\x8b" + data,
        lambda: packed[:3] + bytes([rng.randrange(256)]) + packed[4:],
    )
    return rng.choice(ways)()


ANY_TEXT = (token, token, truncate, flip, insert, cut, again, twice_a_key, concatenate, encode, unescape, compress)


def damage(data: bytes, rng: Random) -> tuple[bytes, list[str]]:
    """One or two of these mutations, and their names."""
    names = []
    for _ in range(rng.choice((1, 1, 1, 2))):
        change = rng.choice(ANY_TEXT)
        names.append(change.__name__)
        try:
            data = change(data, rng)
        except UnicodeDecodeError:  # the last change left no text
            continue
    return data, names
