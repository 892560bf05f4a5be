"""What several commands share."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regal.cluster import Cluster
    from regal.graph import ComputationGraph


LONGEST_LINE = 500
"""Most characters of a message."""
CORPUS = "corpus:"


def one_line(text: str) -> str:
    r"""A message as one printable line; where it is long, its beginning and its end.

    Examples
    --------
    >>> one_line("no such file:\n  a\x1b.json")
    'no such file: a\\x1b.json'
    """
    words = " ".join(text.split())
    line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in words)
    half = LONGEST_LINE // 2
    return line if len(line) <= LONGEST_LINE else f"{line[: half - 5]} ... {line[-half:]}"


def load_graph(source: str, dimensions: tuple[str, ...]) -> ComputationGraph:
    """The graph of ``source``; ``dimensions`` are the ``--dim`` options."""
    from regal.frontends import load

    if source.startswith(CORPUS) and not dimensions:
        return _graph_of_corpus(source)
    options: dict[str, Any] = {}
    for text in dimensions:
        name, equals, size = text.rpartition("=")
        if not size.isascii() or not size.isdigit() or len(size) > 9 or (equals and not name):
            raise ValueError(f"--dim takes NAME=SIZE or SIZE with a whole number, not {text!r}")
        if equals:
            options.setdefault("dimensions", {})[name] = int(size)
        else:
            options["default_dimension"] = int(size)
    return load(source, **options)


def _graph_of_corpus(source: str) -> ComputationGraph:
    from regal.corpus import load_corpus

    folder, colon, name = source[len(CORPUS) :].rpartition(":")
    if not colon:
        raise ValueError(f"{source}: a graph of a corpus reads corpus:NAME:GRAPH")
    try:
        return load_corpus(folder)[name]
    except KeyError as error:
        raise ValueError(error.args[0]) from error


def load_cluster(path: Path | None, devices: int) -> Cluster:
    """The cluster of a TOML file, or equal devices."""
    from regal.cluster import Cluster

    return Cluster.uniform(devices) if path is None else Cluster.load(path)


def check_folder(path: Path | None, suffixes: tuple[str, ...], option: str) -> None:
    """Refuse an output file before the work is done: its folder must take files and its name end as it should."""
    if path is None:
        return
    if not str(path).endswith(suffixes):
        raise ValueError(f"{option} {path}: the name must end in {' or '.join(suffixes)}")
    if not path.parent.is_dir():
        raise ValueError(f"{option} {path}: there is no folder {path.parent}")
    if path.is_dir():
        raise ValueError(f"{option} {path}: is a folder")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise ValueError(f"{option} {path}: cannot write there: {error.strerror or error}") from error
