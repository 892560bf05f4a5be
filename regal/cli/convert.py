"""``regal convert``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from regal.cli.common import check_folder, load_graph
from regal.frontends.loading import FORMATS, format_of
from regal.graph import ComputationGraph, write_graph


def run(source: str, dimensions: tuple[str, ...], target: Path) -> None:
    """Read the graph and write it; a folder of graph files becomes a corpus."""
    if Path(source).is_dir() and not (Path(source) / "saved_model.pb").is_file():
        _convert_folder(Path(source), dimensions, target)
        return
    check_folder(target, (".json", ".json.gz"), "OUT")
    graph = load_graph(source, dimensions)
    write_graph(graph, target)
    print(f"{target}: {graph!r}")


def _convert_folder(source: Path, dimensions: tuple[str, ...], target: Path) -> None:
    from rich.progress import track

    from regal.corpus.convert import convert

    endings = tuple(ending for known in FORMATS for ending in known.endings)
    paths = sorted(path for path in source.rglob("*") if path.is_file() and path.name.endswith(endings))
    if not paths:
        raise ValueError(f"{source}: the folder holds no graph file")
    if target.suffix == ".npz":
        check_folder(target, (".npz",), "OUT")
    elif target.suffix or target.is_file():
        raise ValueError(f"OUT {target}: a corpus is a folder, or a file whose name ends in .npz")

    def graphs() -> Iterator[tuple[Path, str, ComputationGraph]]:
        for path in track(paths, "reading", transient=True):
            yield path.relative_to(source), format_of(path).what, load_graph(str(path), dimensions)

    count = convert(graphs(), source.name, target)
    print(f"{target}: a corpus of {count} graphs")
