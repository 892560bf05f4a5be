"""The rows of all islands as words, their elites' fitness, and what happens to them from generation to generation."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brkga import kernels, ranking
from brkga.keys import KeyLayout
from brkga.params import Parameters
from brkga.proposal import BETA, QUANTIZED, UNIFORM, Beta, Proposal, QuantizedBeta
from brkga.stop import Fitness


class Population:
    """Islands of ranked rows, and the next rows in the making.

    Attributes
    ----------
    rows : uint64, shape (islands, population, words)
        The ranked rows; the elites are the first ones, best first, the others stand in the order they were made.
    next : uint64, shape (islands, population, words)
        The new rows, from ``known`` on. What stands before them is of no use.
    fitness : float64, shape (islands, known, columns)
        Fitness of the first rows, ascending.
    columns : tuple of int
        Shape of the fitness of one row, as it was told: () or (columns,).
    known : int
        Rows with a fitness: 0 at the start, the number of elites later, 1 or 0 after a reset.
    filled : bool
        Whether the new rows are written.
    drawn : bool
        Whether the new rows are of a start, reset or shake, and were not bred.
    round : int
        How often rows were ranked: the counter of the random numbers of the new rows.
    """

    def __init__(self, layout: KeyLayout, parameters: Parameters, proposal: Proposal, seed: int) -> None:
        self.parameters = parameters
        self.layout = layout
        self.breed = breed_arrays(layout, parameters, proposal, seed)
        shape = (parameters.islands, parameters.population, layout.words)
        self.rows = np.zeros(shape, np.uint64)
        self.next = np.zeros(shape, np.uint64)
        self.fitness = np.zeros((parameters.islands, 0, 1))
        self.columns: tuple[int, ...] = ()
        self.known = self.round = 0
        self.filled = self.drawn = True

    @property
    def num_new(self) -> int:
        """New rows of an island."""
        return self.parameters.population - self.known

    def start(self, warm: NDArray[np.uint64]) -> None:
        """Make the initial rows: ``warm`` is dealt to the islands, the rest is drawn from the proposal."""
        islands, population = self.next.shape[:2]
        if len(warm) > islands * population:
            raise ValueError(f"warm_start must have at most {islands * population} rows, got {len(warm)}")
        for island in range(islands):
            mine = warm[island::islands]
            self.next[island, : len(mine)] = mine
            kernels.sample_rows(self.next[island], len(mine), population, self._breed_of(island))

    def fill(self) -> None:
        """Write the new rows of all islands, unless they are."""
        if self.filled:
            return
        for island in range(len(self.rows)):
            self.breed_part(island, 0, self.num_new)
            if self.parameters.reject_duplicates:
                kernels.replace_duplicates(self.next[island], self.rows[island], self._breed_of(island))
        self.filled = True

    def breed_part(self, island: int, low: int, high: int) -> None:
        """Write the new rows ``low`` to ``high`` of an island; safe to call for several parts at a time."""
        first = self.parameters.elites
        kernels.breed_rows(self.next[island], self.rows[island], first + low, first + high, self._breed_of(island))

    def rank(self, fitness: NDArray[np.float64]) -> None:
        """Rank the new rows by their ``fitness`` of shape (rows,) or (rows, columns), all islands in turn.

        Raises
        ------
        ValueError
            For a wrong shape, NaN or minus infinity.
        """
        islands, elites = len(self.rows), self.parameters.elites
        self._check_shape(fitness, islands * self.num_new)
        new = fitness.reshape(islands, self.num_new, -1)
        known = self.fitness if self.known else np.empty((islands, 0, new.shape[2]))
        ranked = np.empty((islands, elites, new.shape[2]))
        if self.drawn:
            self.rows[:, self.known : elites] = self.next[:, self.known : elites]
        _require_ranked(ranking.rank(self.next, self.rows, known, new, self.known, ranked), fitness)
        self.rows, self.next = self.next, self.rows
        self.fitness, self.known, self.columns = ranked, elites, fitness.shape[1:]
        self.filled = self.drawn = False
        self.round += 1

    def insert(self, island: int, words: NDArray[np.uint64], fitness: NDArray[np.float64]) -> None:
        """Let the rows ``words`` replace the last ones of an island, and rank them by their ``fitness``.

        Raises
        ------
        ValueError
            For a wrong shape, NaN or minus infinity.
        """
        self._check_shape(fitness, len(words))
        first = self.parameters.population - len(words)
        rows, known = self.rows[island : island + 1].copy(), self.fitness[island : island + 1].copy()
        rows[0, first:] = words
        ranked = np.empty_like(known)
        new = fitness.reshape(1, len(words), self.fitness.shape[2])
        _require_ranked(ranking.rank(rows, self.rows[island : island + 1], known, new, first, ranked), fitness)
        self.rows[island], self.fitness[island] = rows[0], ranked[0]

    def redraw(self, known: int, stay: float | None) -> None:
        """Keep the first ``known`` rows of every island and draw the others again.

        With a number ``stay``, each key of the other elites stays with that chance.
        """
        for island in range(len(self.rows)):
            breed, rows, new = self._breed_of(island), self.rows[island], self.next[island]
            if stay is None:
                kernels.sample_rows(new, known, len(new), breed)
            else:
                breed = breed._replace(inherit=thresholds(self.layout, stay))
                kernels.shake_rows(new, rows, known, len(new), breed)
        self.fitness = self.fitness[:, :known].copy()
        self.known = known
        self.filled = self.drawn = True

    def exchange(self, count: int) -> None:
        """Send the ``count`` best rows of every island to each other one that does not hold them among its elites."""
        elites = self.parameters.elites
        best, fitness = self.rows[:, :count].copy(), self.fitness[:, :count].copy()
        for island in range(len(self.rows)):
            others = [other for other in range(len(self.rows)) if other != island]
            sent, told = np.concatenate(best[others]), np.concatenate(fitness[others])
            held = (sent[:, None] == self.rows[island, None, :elites]).all(axis=2).any(axis=1)
            self.insert(island, sent[~held], told[~held].reshape(-1, *self.columns))

    def best(self) -> tuple[list[float], NDArray[np.uint64]]:
        """Fitness and words of the best known row; on a tie the first island's."""
        island = min(range(len(self.rows)), key=lambda i: self.fitness[i, 0].tolist())
        return self.fitness[island, 0].tolist(), self.rows[island, 0]

    def cutoff(self, island: int) -> list[float]:
        """Fitness of an island's worst elite, column by column; infinite if not all of them are known."""
        if self.known < self.parameters.elites:
            return [np.inf] * self.fitness.shape[2]
        return self.fitness[island, -1].tolist()

    def as_told(self, fitness: list[float]) -> Fitness:
        """The fitness of one row in the form it was told in: a float, or float64 of shape (columns,)."""
        return np.array(fitness) if self.columns else fitness[0]

    def _check_shape(self, fitness: NDArray[np.float64], rows: int) -> None:
        columns = fitness.shape[1:]
        right = columns == self.columns if self.round else columns == () or (fitness.ndim == 2 and columns > (0,))
        if fitness.shape[:1] != (rows,) or not right:
            wanted = (rows, *self.columns) if self.round else f"({rows},) or ({rows}, columns)"
            raise ValueError(f"fitness must have shape {wanted}, got {fitness.shape}")

    def _breed_of(self, island: int) -> kernels.BreedArrays:
        return self.breed._replace(island=np.uint64(island), generation=np.uint64(self.round))


def breed_arrays(layout: KeyLayout, parameters: Parameters, proposal: Proposal, seed: int) -> kernels.BreedArrays:
    """What the kernels need to know, for island 0 and generation 0.

    Raises
    ------
    ValueError
        If the proposal or the elite bias is for another number of keys.
    """
    if proposal.num_keys not in (None, layout.num_keys):
        raise ValueError(f"the proposal must be for {layout.num_keys} keys, got {proposal.num_keys}")
    kind, tables, table_of, shapes = UNIFORM, np.empty((0, 257), np.uint64), np.empty(0, np.uint16), np.empty((2, 0))
    if isinstance(proposal, QuantizedBeta):
        kind, tables, table_of = QUANTIZED, proposal.tables.copy(), proposal.table_of.copy()
    elif isinstance(proposal, Beta):
        kind, shapes = BETA, np.stack([proposal.a, proposal.b])
    simple = parameters.parents == 2
    shares = np.empty(0) if simple else np.cumsum(parameters.parent_weights) * 2.0**32
    per_key = parameters.elite_bias if isinstance(parameters.elite_bias, tuple) else None
    return kernels.BreedArrays(
        bits=layout.bits,
        tail=np.uint64(layout.tail),
        seed=np.uint64(seed),
        island=np.uint64(0),
        generation=np.uint64(0),
        mutants=parameters.mutants,
        elites=parameters.elites,
        inherit=thresholds(layout, (parameters.parent_weights[0] if simple else 0.0) if per_key is None else per_key),
        parents=parameters.parents,
        elite_parents=parameters.elite_parents,
        shares=np.rint(shares).astype(np.uint64),
        kind=kind,
        uniform_share=np.uint64(round(parameters.uniform_mutants * 2.0**32)),
        tables=tables,
        table_of=table_of,
        shapes=shapes,
    )


def _require_ranked(status: int, fitness: NDArray[np.float64]) -> None:
    if status != ranking.FINE:
        value = fitness[status].tolist()
        raise ValueError(f"fitness of row {status} must be a number above minus infinity, got {value}")


def thresholds(layout: KeyLayout, shares: ArrayLike) -> NDArray[np.uint64]:
    """uint64, shape (1,) or (words,): chances times 2^(bits − 1) in lanes, of all keys alike or of each key."""
    values = np.rint(np.asarray(shares, np.float64) * 2.0 ** (layout.bits - 1))
    if values.ndim == 0:
        return np.full(layout.lanes, values, layout.stored).view(np.uint64)
    if len(values) != layout.num_keys:
        raise ValueError(f"elite_bias must have {layout.num_keys} entries, got {len(values)}")
    return layout.lay(values[None])[0]
