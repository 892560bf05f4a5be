"""What a search hands back: the best row, why it stopped, and a history of scalars."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brkga.stop import Fitness, State


class History:
    """Scalars of every generation, from the initial population on; no keys are kept.

    Examples
    --------
    >>> history = History()
    >>> history.append(State(0, 100, 80, 0.5, 3.0, 4.0, 0))
    >>> history.best, history.worst_elite, history.evaluations
    (array([3.]), array([4.]), array([100]))
    """

    def __init__(self) -> None:
        self._generation = array("q")
        self._evaluations = array("q")
        self._seconds = array("d")
        self._best = array("d")
        self._worst_elite = array("d")
        self._shape: tuple[int, ...] = ()

    def append(self, state: State) -> None:
        """Add a generation."""
        self._generation.append(state.generation)
        self._evaluations.append(state.evaluations)
        self._seconds.append(state.seconds)
        if isinstance(state.best_fitness, np.ndarray):
            self._shape = state.best_fitness.shape
            self._best.extend(state.best_fitness.tolist())
            self._worst_elite.extend(state.cutoff.tolist())  # type: ignore[union-attr]
        else:
            self._best.append(state.best_fitness)
            self._worst_elite.append(state.cutoff)  # type: ignore[arg-type]

    @property
    def generation(self) -> NDArray[np.int64]:
        """int64, shape (entries,)."""
        return np.array(self._generation, np.int64)

    @property
    def evaluations(self) -> NDArray[np.int64]:
        """int64, shape (entries,): rows decoded so far."""
        return np.array(self._evaluations, np.int64)

    @property
    def seconds(self) -> NDArray[np.float64]:
        """float64, shape (entries,): seconds searched so far."""
        return np.array(self._seconds, np.float64)

    @property
    def best(self) -> NDArray[np.float64]:
        """float64, shape (entries,) or (entries, columns): best fitness so far."""
        return np.array(self._best, np.float64).reshape(-1, *self._shape)

    @property
    def worst_elite(self) -> NDArray[np.float64]:
        """float64, shape (entries,) or (entries, columns): fitness of the worst elite."""
        return np.array(self._worst_elite, np.float64).reshape(-1, *self._shape)

    def __len__(self) -> int:
        return len(self._generation)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The five arrays by name."""
        return {name: getattr(self, name) for name in ("generation", "evaluations", "seconds", "best", "worst_elite")}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> History:
        """The history that :meth:`to_arrays` came from."""
        history = cls()
        history._generation.extend(arrays["generation"].tolist())
        history._evaluations.extend(arrays["evaluations"].tolist())
        history._seconds.extend(arrays["seconds"].tolist())
        history._best.extend(arrays["best"].ravel().tolist())
        history._worst_elite.extend(arrays["worst_elite"].ravel().tolist())
        history._shape = arrays["best"].shape[1:]
        return history


@dataclass(frozen=True, eq=False)
class Result:
    """The outcome of a search.

    Attributes
    ----------
    best_keys : array of the key dtype, shape (num_keys,)
        The best row, as the decoder saw it.
    best_fitness : float, or float64 of shape (columns,)
        Its fitness.
    generations : int
        Generations bred after the initial population.
    evaluations : int
        Rows decoded: population + generations · (population − elites), for each island.
    seconds : float
        Seconds searched, earlier runs of a resumed search included.
    stop_reason : str
        ``"generations"``, ``"evaluations"``, ``"seconds"``, ``"target"``, ``"stall"``, ``"interrupted"``, or what a
        rule of your own returned.
    history : History
    """

    best_keys: NDArray[Any]
    best_fitness: Fitness
    generations: int
    evaluations: int
    seconds: float
    stop_reason: str
    history: History

    def __repr__(self) -> str:
        return (
            f"Result(best_fitness={self.best_fitness}, generations={self.generations}, "
            f"evaluations={self.evaluations}, stop_reason={self.stop_reason!r})"
        )
