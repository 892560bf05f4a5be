"""A whole search in one file: arrays and numbers in NumPy's npz format, without pickle."""

from __future__ import annotations

import dataclasses
import json
import os
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from brkga.params import Parameters
from brkga.proposal import Beta, Proposal, QuantizedBeta, Uniform
from brkga.result import History

if TYPE_CHECKING:
    from brkga.engine import BRKGA

FORMAT = "brkga search 1"
"""Written into every file; changes whenever an older file could not be continued bit for bit."""

PROPOSALS: dict[str, tuple[type, tuple[str, ...]]] = {
    "uniform": (Uniform, ()),
    "beta": (Beta, ("a", "b")),
    "quantized": (QuantizedBeta, ("tables", "table_of")),
}


def save(engine: BRKGA, path: str | os.PathLike[str]) -> None:
    """Write a search to ``path``; an older file there is replaced in one step, or left as it is.

    Rows that were asked for and not told yet are bred again after :func:`load`, the same ones.
    """
    population = engine._population
    kind = next(name for name, (cls, _) in PROPOSALS.items() if isinstance(engine.proposal, cls))
    numbers = {
        "parameters": dataclasses.asdict(engine.parameters),
        "proposal": kind,
        "seed": engine.seed,
        "num_keys": engine.layout.num_keys,
        "key_dtype": engine.layout.dtype.name,
        "columns": population.columns,
        "known": population.known,
        "drawn": population.drawn,
        "round": population.round,
        "evaluations": engine._evaluations,
        "stalled": engine._stalled,
        "seconds": engine._seconds,
    }
    best, words = engine._best or ([], np.empty(0, np.uint64))
    arrays = {
        "format": np.array(FORMAT),
        "numbers": np.array(json.dumps(numbers)),
        "rows": population.rows[:, : population.known] if population.drawn else population.rows,
        "next": population.next[:, population.known :] if population.drawn else population.next[:, :0],
        "fitness": population.fitness,
        "best_fitness": np.array(best, np.float64),
        "best_words": words,
    }
    arrays |= {f"proposal_{name}": getattr(engine.proposal, name) for name in PROPOSALS[kind][1]}
    arrays |= {f"history_{name}": values for name, values in engine.history.to_arrays().items()}
    _write(Path(path), arrays)


def load(path: str | os.PathLike[str], threads: int = 1) -> BRKGA:
    """The search of a file, which goes on exactly as if it had not been interrupted.

    Raises
    ------
    FileNotFoundError
        If there is no file.
    ValueError
        If the file is damaged or is not a search of this version.
    """
    arrays = _read(Path(path))
    try:
        numbers = json.loads(str(arrays["numbers"]))
        return _restore(arrays, numbers, threads)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: the file holds no consistent search: {error}") from None


def _restore(arrays: dict[str, NDArray[Any]], numbers: dict[str, Any], threads: int) -> BRKGA:
    from brkga.engine import BRKGA

    cls, names = PROPOSALS[numbers["proposal"]]
    proposal: Proposal = cls(*(arrays[f"proposal_{name}"] for name in names))
    engine = BRKGA(
        numbers["num_keys"],
        Parameters(**numbers["parameters"]),
        proposal=proposal,
        seed=numbers["seed"],
        key_dtype=numbers["key_dtype"],
        threads=threads,
    )
    population = engine._population
    known = population.known = numbers["known"]
    population.filled = population.drawn = numbers["drawn"]
    population.round, population.columns = numbers["round"], tuple(numbers["columns"])
    if population.drawn:
        _fill(population.rows[:, :known], arrays["rows"], "rows")
        _fill(population.next[:, :known], arrays["rows"], "rows")
        _fill(population.next[:, known:], arrays["next"], "next")
    else:
        _fill(population.rows, arrays["rows"], "rows")
    columns = max(population.columns, default=1)
    population.fitness = np.empty((len(population.rows), known, columns))
    _fill(population.fitness, arrays["fitness"], "fitness")
    engine._evaluations, engine._stalled = numbers["evaluations"], numbers["stalled"]
    engine._seconds = numbers["seconds"]
    if population.round:
        words = np.empty(engine.layout.words, np.uint64)
        _fill(words, arrays["best_words"], "best_words")
        engine._best = (arrays["best_fitness"].tolist(), words)
    named = {name.removeprefix("history_"): values for name, values in arrays.items() if name.startswith("history_")}
    engine.history = History.from_arrays(named)
    return engine


def _fill(target: NDArray[Any], source: NDArray[Any], name: str) -> None:
    if source.shape != target.shape or source.dtype != target.dtype:
        raise ValueError(f"{name} must be {target.dtype} {target.shape}, got {source.dtype} {source.shape}")
    target[...] = source


def _write(path: Path, arrays: dict[str, NDArray[Any]]) -> None:
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with unfinished.open("wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _read(path: Path) -> dict[str, NDArray[Any]]:
    try:
        with zipfile.ZipFile(path) as entries:
            damaged = entries.testzip()
        if damaged is not None:
            raise ValueError(f"{path}: the file is damaged in {damaged}")
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise ValueError(f"{path}: the file is damaged or not a search: {error}") from None
    if str(arrays.get("format")) != FORMAT:
        raise ValueError(f"{path}: the file must be a {FORMAT!r}, got {arrays.get('format')}")
    return arrays
