"""A folder of graphs: what is in it is known at once, the graphs are read when they are asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regal.corpus.record import Record
from regal.corpus.shard import Shard, read_index
from regal.corpus.splits import SPLITS
from regal.corpus.write import FORMAT, INDEX, SPLIT_FILE, VOCABULARY
from regal.files import ParseError, parse_json, read_bytes, short
from regal.graph import ComputationGraph

Splits = dict[str, frozenset[str]]


def load_corpus(source: str | Path, split: str | None = None) -> Corpus:
    """Open a corpus.

    Parameters
    ----------
    source : str or path
        A name in ``datasets/`` of a clone of the project, such as ``"pytorch"``, or a folder or ``.npz`` file anywhere.
    split : {"train", "valid", "test"}, optional
        Only these graphs.

    Raises
    ------
    ValueError
        When there is no such corpus or split, or a file of it is not what it should be.

    Examples
    --------
    >>> corpus = load_corpus("onnx", split="test")  # doctest: +SKIP
    >>> for graph in corpus:  # doctest: +SKIP
    ...     print(graph.name, graph.num_ops)
    """
    corpus = _open_file(Path(source)) if str(source).endswith(".npz") else _open_folder(_folder(str(source)))
    return corpus if split is None else corpus.split(split)


@dataclass(frozen=True, eq=False, repr=False)
class Corpus:
    """Graphs, ordered by split and name, with a :class:`Record` each.

    A corpus is a sequence: ``len(corpus)``, ``corpus[3]``, ``corpus["timm.resnet18.training"]`` and a loop each give
    :class:`regal.ComputationGraph` objects, read from disk when they are asked for; the file read last is kept.

    Attributes
    ----------
    name : str
    folder : path
    records : tuple of Record
    splits : dict of str to frozenset
        ``"train"``, ``"valid"`` and ``"test"`` to graph names of the whole corpus.
    vocabulary : tuple of str
        Op types.
    """

    name: str
    folder: Path
    records: tuple[Record, ...]
    splits: Splits
    vocabulary: tuple[str, ...]
    _places: dict[str, tuple[str, int]]
    _open: dict[str, Shard] = field(default_factory=dict)

    def split(self, name: str) -> Corpus:
        """The graphs of ``"train"``, ``"valid"`` or ``"test"``; ``ValueError`` for another name."""
        if name not in self.splits:
            raise ValueError(f"corpus {self.name!r} has the splits {', '.join(self.splits)}, not {name!r}")
        return self.filter(lambda record: record.name in self.splits[name])

    def filter(self, wanted: Callable[[Record], bool]) -> Corpus:
        """The graphs whose record ``wanted`` says yes to, such as ``lambda record: record.headroom > 0.02``."""
        records = tuple(filter(wanted, self.records))
        return Corpus(self.name, self.folder, records, self.splits, self.vocabulary, self._places, self._open)

    def __repr__(self) -> str:
        return f"Corpus({self.name!r}, graphs={len(self)}, ops={sum(record.ops for record in self.records)})"

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[ComputationGraph]:
        return map(self._graph, self.records)

    def __getitem__(self, key: int | str) -> ComputationGraph:
        if isinstance(key, int):
            return self._graph(self.records[key])
        record = next((record for record in self.records if record.name == key), None)
        if record is None:
            raise KeyError(f"corpus {self.name!r} has no graph {key!r}")
        return self._graph(record)

    def _graph(self, record: Record) -> ComputationGraph:
        file, index = self._places[record.name]
        if file not in self._open:
            self._open.clear()
            self._open[file] = Shard(self.folder / file, self.vocabulary)
        shard = self._open[file]
        if index >= len(shard):
            raise ParseError(f"{self.folder / file}: it holds {len(shard)} graphs, but {INDEX} names graph {index}")
        return shard.graph(index, record.name, {"record": record.to_json()})

    def _repr_html_(self) -> str:
        from regal.plot.corpus import corpus_to_html

        return corpus_to_html(self)


def _folder(source: str) -> Path:
    if (Path(source) / INDEX).is_file():
        return Path(source)
    datasets = Path(__file__).parents[2] / "datasets"
    if (datasets / source / INDEX).is_file():
        return datasets / source
    known = sorted(path.parent.name for path in datasets.glob(f"*/{INDEX}"))
    hint = f"a name of {', '.join(known)}, or " if known else ""
    raise ValueError(f"{source!r} is no corpus: give {hint}a folder that holds {INDEX}")


def _open_folder(folder: Path) -> Corpus:
    value = _read(folder / INDEX)
    vocabulary = _texts(_read(folder / VOCABULARY), f"{folder / VOCABULARY}")
    splits = _splits(_read(folder / SPLIT_FILE), f"{folder / SPLIT_FILE}")
    return _corpus(value, folder, vocabulary, splits, f"{folder / INDEX}")


def _open_file(path: Path) -> Corpus:
    value = read_index(path)
    keys = value if isinstance(value, dict) else {}
    vocabulary = _texts(keys.get("vocabulary"), f"{path}: vocabulary")
    return _corpus(value, path.parent, vocabulary, _splits(keys.get("splits"), f"{path}: splits"), str(path))


def _corpus(value: Any, folder: Path, vocabulary: tuple[str, ...], splits: Splits, where: str) -> Corpus:
    if not isinstance(value, dict) or value.get("format") != FORMAT or not isinstance(value.get("graphs"), list):
        raise ParseError(f"{where}: not a corpus of the format {FORMAT!r}")
    name = value.get("name")
    if not isinstance(name, str):
        raise ParseError(f"{where}: name must be text, not {short(name)}")
    records: list[Record] = []
    places: dict[str, tuple[str, int]] = {}
    for number, entry in enumerate(value["graphs"]):
        here = f"{where}: graph {number}"
        if not isinstance(entry, dict):
            raise ParseError(f"{here}: must be an object, not {short(entry)}")
        shard, index = _place(entry, here)
        record = Record.from_json({key: entry[key] for key in entry if key not in ("shard", "index")}, here)
        if record.name in places:
            raise ParseError(f"{here}: the name {short(record.name)} appears twice")
        records.append(record)
        places[record.name] = shard, index
    odd = set(places) ^ {name for names in splits.values() for name in names}
    if odd:
        raise ParseError(f"{where}: every graph belongs to one split, but {short(min(odd))} does not")
    return Corpus(name, folder, tuple(records), splits, vocabulary, places)


def _place(entry: dict[str, Any], where: str) -> tuple[str, int]:
    shard, index = entry.get("shard"), entry.get("index")
    if not isinstance(shard, str) or not shard.endswith(".npz") or Path(shard).name != shard:
        raise ParseError(f"{where}: shard must name a .npz file beside {INDEX}, not {short(shard)}")
    if isinstance(index, bool) or not isinstance(index, int) or index < 0:
        raise ParseError(f"{where}: index must be a place in the shard from 0 on, not {short(index)}")
    return shard, index


def _splits(value: Any, where: str) -> Splits:
    if not isinstance(value, dict) or set(value) != set(SPLITS):
        raise ParseError(f"{where}: must be an object of the keys {', '.join(SPLITS)}")
    splits = {name: _texts(value[name], f"{where}: {name}") for name in SPLITS}
    counts = Counter(name for names in splits.values() for name in names)
    twice = [name for name, count in counts.items() if count > 1]
    if twice:
        raise ParseError(f"{where}: every graph belongs to one split, but {short(min(twice))} does not")
    return {name: frozenset(names) for name, names in splits.items()}


def _read(path: Path) -> Any:
    return parse_json(read_bytes(path), str(path))


def _texts(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise ParseError(f"{where}: must be a list of texts")
    return tuple(value)
