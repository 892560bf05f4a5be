"""Files appear whole or not at all: written beside their place, then moved into it."""

from __future__ import annotations

import gzip
import json
import os
import tempfile
from pathlib import Path
from typing import Any


def write_bytes(path: str | Path, data: bytes) -> None:
    """Replace ``path`` by ``data`` atomically; a failure leaves what was there.

    Raises
    ------
    ValueError
        When the folder does not exist or the file cannot be written.
    """
    path = Path(path)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name[:40]}.", dir=path.parent)
    except OSError as error:
        raise ValueError(f"cannot write {path}: {error.strerror or error}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)
        os.replace(name, path)
    except OSError as error:
        raise ValueError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        if os.path.exists(name):
            os.unlink(name)


def write_text(path: str | Path, text: str) -> None:
    """Replace ``path`` by UTF-8 ``text`` atomically; a name that ends in ``.gz`` is compressed, always alike."""
    data = text.encode()
    write_bytes(path, gzip.compress(data, mtime=0) if str(path).endswith(".gz") else data)


def write_json(path: str | Path, value: Any) -> None:
    """Replace ``path`` by ``value`` as compact JSON; NaN and infinity are refused with ``ValueError``."""
    write_text(path, json.dumps(value, separators=(",", ":"), allow_nan=False) + "\n")
