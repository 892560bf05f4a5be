"""Files that would take gigabytes, or for ever, if they were taken at their word."""

import gzip
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

MIB = 2**20
HEAD, TAIL = b'{"format":"regal-graph/1","name":"', b'","ops":[],"tensors":[]}'
ADDRESS_SPACE = 4 * 2**30
PROGRAM = f"""
import resource, sys
from regal.cli.main import main
from tests.fuzz.memory import peak_memory
resource.setrlimit(resource.RLIMIT_AS, ({ADDRESS_SPACE}, {ADDRESS_SPACE}))
code = main(sys.argv[1:])
print(peak_memory())
sys.exit(code)
"""


@dataclass(frozen=True)
class Measured:
    """How a command ended, the most bytes that it took, its seconds, and what it said on stderr."""

    code: int
    peak: int
    seconds: float
    error: str


def measure(*arguments: str) -> Measured:
    """Run ``regal`` with ``arguments`` in a process of limited address space."""
    begin = time.perf_counter()
    command = [sys.executable, "-c", PROGRAM, *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, cwd=Path(__file__).parents[2], check=False
    )
    last = done.stdout.strip().rpartition("\n")[2]
    peak = int(last) if last.isdigit() else -1
    return Measured(done.returncode, peak, time.perf_counter() - begin, done.stderr)


def _meta(item: bytes, count: int) -> bytes:
    return HEAD + TAIL[:-1] + b',"meta":{"x":[' + b",".join([item] * count) + b"]}}"


def _tensors(count: int) -> bytes:
    return HEAD + TAIL.replace(b"[]}", b"[" + b",".join([b'{"bytes":1}'] * count) + b"]}")


def _chain(count: int) -> bytes:
    op = b'{"name":"o","type":"x","runtime":0,"inputs":[%s],"outputs":[%d]}'
    ops = b",".join(op % (b"%d" % (at - 1) if at else b"", at) for at in range(count))
    return _tensors(count).replace(b'"ops":[]', b'"ops":[' + ops + b"]")


def _keys(count: int) -> bytes:
    return HEAD + TAIL[:-1] + b',"meta":{' + b",".join(b'"%d":1' % key for key in range(count)) + b"}}"


GRAPHS: dict[str, tuple[Callable[[], bytes], str]] = {
    "200 MB of empty lists": (lambda: b"[" + b"[]," * (66 * MIB) + b"[]]", "could take more than"),
    "200 MB of open brackets": (lambda: b"[" * (200 * MIB), "could take more than"),
    "a million open brackets": (lambda: b"[" * MIB, "nested too deeply"),
    "a number of 100 MB": (lambda: b"7" * (100 * MIB), "an integer of more than 4300 digits"),
    "2 GB in gzip members": (lambda: gzip.compress(bytes(32 * MIB), 1) * 64, "bytes of text"),
    "a million empty gzip members": (lambda: gzip.compress(b"") * MIB, "gzip members"),
    "a gzip name of 100 MB": (lambda: b"\x1f\x8b\x08\x08" + bytes(6) + b"a" * (100 * MIB), "end too early"),
    "wide text by an escape": (lambda: HEAD + b"a" * (200 * MIB) + b"\\ud83d\\ude00" + TAIL, "could take more than"),
    "the widest text": (lambda: HEAD + b"a" * (50 * MIB) + b"\\ud83d\\ude00" + TAIL, ""),
    "the longest name": (lambda: HEAD + b"a" * (140 * MIB) + TAIL, ""),
    "the most empty lists": (lambda: _meta(b"[]", 2_500_000), ""),
    "the most small objects": (lambda: _meta(b'{"a":0}', 1_200_000), ""),
    "too many tensors": (lambda: _tensors(2_500_000), "could take more than"),
    "the most tensors": (lambda: _tensors(1_500_000), ""),
    "a long chain of ops": (lambda: _chain(250_000), ""),
    "an object of two million keys": (lambda: _keys(2_000_000), "keys, more than"),
}
"""Name -> (file, what the message says; nothing where it is a graph)."""

CLUSTERS: dict[str, tuple[Callable[[], bytes], str]] = {
    "a dotted key": (lambda: b".".join([b"a"] * 400_000) + b" = 1", "nested too deeply"),
    "a dotted key in quotes": (lambda: b".".join([b'"\\""'] * 100_000) + b" = 1", "nested too deeply"),
    "nested arrays": (lambda: b"devices = " + b"[" * 500_000, "nested too deeply"),
    "a hexadecimal number": (lambda: b"[[devices]]\nspeed = 0x" + b"f" * 1_000_000, "bits"),
    "a decimal number": (lambda: b"[[devices]]\nspeed = " + b"9" * 1_000_000, "digits"),
    "80,000 devices": (lambda: b"[[devices]]\n" * 80_000, "from 1 to 1024 devices"),
    "a million links": (lambda: b"[[devices]]\ncount = 1024\n[default_link]\nlatency = 1", "at most 262144 links"),
    "the most links": (lambda: b"[[devices]]\ncount = 512\n[default_link]\nlatency = 1", ""),
}
"""The same for cluster files."""
