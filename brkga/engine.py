"""The genetic algorithm: ask for rows and tell their fitness, or run with a decoder until a stop rule says so."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brkga.decode import Decoder, decode_new_rows
from brkga.keys import KeyLayout
from brkga.params import Parameters
from brkga.population import Population
from brkga.proposal import Proposal, Uniform
from brkga.result import History, Result
from brkga.stop import Fitness, MaxEvaluations, State, StopRule, check_rules, first_reason

Callback = Callable[[State], None]


class BRKGA:
    """A biased random-key genetic algorithm (Gonçalves and Resende, 2011).

    In each generation the elites survive; mutants are drawn from the proposal; every offspring takes each key from an
    elite parent with the chance ``elite_bias``, else from a parent among all the other rows. Only new rows are
    decoded. All random numbers are functions of the seed and of where they are used, so that the same seed gives the
    same search for any number of threads and after :meth:`load`.

    Parameters
    ----------
    num_keys : int
        Keys of a row.
    parameters : Parameters, optional
    proposal : Uniform, Beta or QuantizedBeta
        What the initial population and the mutants are drawn from.
    seed : int
        In [0, 2^64).
    key_dtype : numpy dtype
        float64: keys are multiples of 2^-32 in [0, 1). uint16 or uint32: keys are the stored integers over their
        whole range; a decoder must not write into them.
    warm_start : array of shape (rows, num_keys), optional
        First rows of the initial population, the rest is drawn. With islands, row ``i`` goes to island
        ``i % islands``.
    threads : int
        Threads of :meth:`run`. They breed and decode parts of a generation; a decoder that releases the global
        interpreter lock gains from it, and must be safe to call from several threads at a time.

    Raises
    ------
    ValueError
        For a value that fits no search; the message holds it.

    Examples
    --------
    >>> engine = BRKGA(num_keys=10, seed=3)
    >>> for _ in range(40):
    ...     keys = engine.ask()
    ...     engine.tell(keys.sum(axis=1))
    >>> engine.state.generation, bool(engine.best_fitness < 1.5)
    (39, True)
    """

    def __init__(
        self,
        num_keys: int,
        parameters: Parameters | None = None,
        *,
        proposal: Proposal = Uniform(),  # noqa: B008
        seed: int = 0,
        key_dtype: Any = np.float64,
        warm_start: ArrayLike | None = None,
        threads: int = 1,
    ) -> None:
        self.parameters = Parameters() if parameters is None else parameters
        self.proposal = proposal
        self.layout = KeyLayout(num_keys, key_dtype)
        if not 0 <= seed < 2**64:
            raise ValueError(f"seed must be in [0, 2^64), got {seed}")
        self.seed = int(seed)
        if threads < 1:
            raise ValueError(f"threads must be at least 1, got {threads}")
        self.threads = int(threads)
        self.history = History()
        self._population = Population(self.layout, self.parameters, proposal, self.seed)
        empty = np.empty((0, self.layout.words), np.uint64)
        self._population.start(empty if warm_start is None else self.layout.pack(warm_start))
        self._best: tuple[list[float], NDArray[np.uint64]] | None = None
        self._evaluations = self._stalled = 0
        self._seconds = 0.0
        self._mark = perf_counter()

    # ------------------------------------------------------------------------------------------ what the search knows

    @property
    def best_keys(self) -> NDArray[Any]:
        """Array of the key dtype, shape (num_keys,): the best row so far, as the decoder saw it.

        Raises
        ------
        ValueError
            Before the first tell.
        """
        if self._best is None:
            raise ValueError("there is no best row before the first tell")
        return self.layout.keys(self._best[1][None].copy())[0]

    @property
    def best_fitness(self) -> Fitness:
        """Float, or float64 of shape (columns,): the best fitness so far; infinite before the first tell."""
        return np.inf if self._best is None else self._population.as_told(self._best[0])

    @property
    def cutoff(self) -> Fitness:
        """Float, or float64 of shape (columns,): fitness of the worst elite; infinite before the first tell.

        Of several islands it is the highest; :meth:`run` hands the decoder that of the rows' island. A row whose
        fitness reaches the cutoff cannot become elite: its fitness may be told as the cutoff itself, without any
        change to the search.
        """
        return self._population.as_told(max(self._population.cutoff(island) for island in self._islands))

    @property
    def state(self) -> State:
        """Where the search stands."""
        population = self._population
        return State(
            max(population.round - 1, 0),
            self._evaluations,
            population.num_new * len(self._islands),
            self._seconds,
            self.best_fitness,
            self.cutoff,
            self._stalled,
        )

    def elites(self, island: int = 0) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Keys (rows, num_keys) and fitness (rows,) or (rows, columns) of an island's elites, best first."""
        population = self._population
        keys = self.layout.keys(population.rows[island, : population.known].copy())
        return keys, population.fitness[island].reshape(-1, *population.columns).copy()

    # --------------------------------------------------------------------------------------------------- ask and tell

    def ask(self) -> NDArray[Any]:
        """Array of the key dtype, shape (rows, num_keys): the whole initial population first, later the new rows.

        The rows of all islands stand one behind the other. Asking again before telling gives the same rows.
        """
        self._mark = perf_counter()
        self._population.fill()
        new = self._population.next[:, self._population.known :]
        return self.layout.keys(new[0] if len(new) == 1 else new.reshape(-1, self.layout.words))

    def tell(self, fitness: ArrayLike) -> None:
        """Rank the asked rows.

        Parameters
        ----------
        fitness : float64, shape (rows,) or (rows, columns)
            Lower is better; columns are compared lexicographically. Plus infinity is allowed.

        Raises
        ------
        ValueError
            If no rows were asked for, the shape is wrong, or a row is NaN or minus infinity.
        """
        population = self._population
        if not population.filled:
            raise ValueError("tell needs rows that were asked for")
        rows = population.num_new * len(self._islands)
        population.rank(np.ascontiguousarray(fitness, np.float64))
        self._evaluations += rows
        self._stalled = 0 if self._update_best() else self._stalled + 1
        every = self.parameters.exchange_every
        if every and population.round > 1 and (population.round - 1) % every == 0:
            population.exchange(self.parameters.exchange_count)
        now = perf_counter()
        self._seconds += now - self._mark
        self._mark = now
        self.history.append(self.state)

    # -------------------------------------------------------------------------------------------- between generations

    def inject(self, keys: ArrayLike, fitness: ArrayLike, island: int = 0) -> None:
        """Let decoded rows replace the last ones of an island, and rank them; they are not counted as evaluations.

        Parameters
        ----------
        keys : array of shape (rows, num_keys)
            At most population − elites rows.
        fitness : float64, shape (rows,) or (rows, columns)
        island : int

        Raises
        ------
        ValueError
            If rows wait for their fitness, or a shape or value is wrong.
        """
        self._require_told("inject")
        words = self.layout.pack(keys)
        if island not in self._islands:
            raise ValueError(f"island must be in [0, {len(self._islands)}), got {island}")
        room = self.parameters.population - self.parameters.elites
        if len(words) > room:
            raise ValueError(f"inject takes at most {room} rows, got {len(words)}")
        self._population.insert(island, words, np.ascontiguousarray(fitness, np.float64))
        if self._update_best():
            self._stalled = 0

    def reset(self, keep_best: bool = True) -> None:
        """Draw a new population, all of it or all but the best row of every island.

        The best row so far is remembered in any case; the stall counter starts again.

        Raises
        ------
        ValueError
            If rows wait for their fitness.
        """
        self._require_told("reset")
        self._population.redraw(1 if keep_best else 0, stay=None)
        self._stalled = 0

    def shake(self, intensity: float) -> None:
        """Keep the best row of every island, draw that share of the keys of its other elites anew, and all other rows.

        Parameters
        ----------
        intensity : float
            In (0, 1].

        Raises
        ------
        ValueError
            If rows wait for their fitness, or for another intensity.
        """
        self._require_told("shake")
        if not 0.0 < intensity <= 1.0:
            raise ValueError(f"intensity must be in (0, 1], got {intensity}")
        self._population.redraw(1, stay=1.0 - intensity)
        self._stalled = 0

    # ------------------------------------------------------------------------------------------------------------ run

    def run(
        self,
        decoder: Decoder,
        *,
        stop: StopRule | Iterable[StopRule],
        callbacks: Iterable[Callback] = (),
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: float | None = 60.0,
    ) -> Result:
        """Search until a stop rule gives a reason; called again, it goes on where it stopped.

        Parameters
        ----------
        decoder : callable
            ``decoder(keys, cutoff) -> fitness``: keys (rows, num_keys), fitness float64 of (rows,) or (rows, columns).
            ``cutoff`` has the form of one row's fitness (before the first one is known, a float): a row that reaches
            it may be given the cutoff instead of its fitness. With several threads it gets a part of the new rows.
        stop : stop rule, or several
            They are asked after each generation, the initial population included; the first reason counts.
        callbacks : callables
            Called with the :class:`State` after each generation.
        checkpoint : path, optional
            File to :meth:`save` to at the end, and along the way.
        checkpoint_every : float or None
            Seconds between two saves along the way; None for none.

        Returns
        -------
        Result
            After a ``KeyboardInterrupt``, the best so far with the reason ``"interrupted"``.

        Raises
        ------
        ValueError
            Without a stop rule, if the evaluations do not reach for the initial population, or for a fitness that
            cannot be ranked.
        """
        rules, callbacks = check_rules(stop), tuple(callbacks)
        if self._best is None:
            self._require_start(rules)
        self._mark = saved = perf_counter()
        every = np.inf if checkpoint_every is None else checkpoint_every
        reason: str | None = None
        whole = True  # not amid a change that an interruption would leave half done
        with ThreadPoolExecutor(self.threads) as pool:
            try:
                while True:
                    if self._best is not None:
                        reason = first_reason(rules, self.state)
                        if reason is not None:
                            break
                    fitness = decode_new_rows(self._population, decoder, pool, self.threads)
                    whole = False
                    self.tell(fitness)
                    whole = True
                    for callback in callbacks:
                        callback(self.state)
                    if checkpoint and self._mark - saved >= every:
                        self.save(checkpoint)
                        saved = self._mark
            except KeyboardInterrupt:
                if self._best is None:
                    raise
                reason = "interrupted"
        if checkpoint and whole:
            self.save(checkpoint)
        return self.result(reason)

    def result(self, stop_reason: str) -> Result:
        """What the search found so far."""
        state = self.state
        return Result(
            self.best_keys,
            state.best_fitness,
            state.generation,
            state.evaluations,
            state.seconds,
            stop_reason,
            self.history,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole search to a file; see :func:`brkga.checkpoint.save`."""
        from brkga.checkpoint import save

        save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], threads: int = 1) -> BRKGA:
        """The search that :meth:`save` wrote, to be continued; see :func:`brkga.checkpoint.load`."""
        from brkga.checkpoint import load

        return load(path, threads)

    # --------------------------------------------------------------------------------------------------------- checks

    @property
    def _islands(self) -> range:
        return range(self.parameters.islands)

    def _update_best(self) -> bool:
        """Remember the best row if it is new."""
        fitness, words = self._population.best()
        if self._best is not None and fitness >= self._best[0]:
            return False
        self._best = (fitness, words.copy())
        return True

    def _require_told(self, action: str) -> None:
        if self._population.filled:
            raise ValueError(f"{action} must come between generations, but rows wait for their fitness")

    def _require_start(self, rules: Iterable[StopRule]) -> None:
        rows = self.state.next_evaluations
        for rule in rules:
            if isinstance(rule, MaxEvaluations) and rule.limit < rows:
                raise ValueError(f"MaxEvaluations must reach for the initial population of {rows}, got {rule.limit}")


def minimize(
    decoder: Decoder,
    num_keys: int,
    parameters: Parameters | None = None,
    *,
    stop: StopRule | Iterable[StopRule],
    proposal: Proposal = Uniform(),  # noqa: B008
    seed: int = 0,
    key_dtype: Any = np.float64,
    warm_start: ArrayLike | None = None,
    threads: int = 1,
    callbacks: Iterable[Callback] = (),
) -> Result:
    """Search for the row of keys with the lowest fitness; the arguments are those of :class:`BRKGA` and its ``run``.

    Examples
    --------
    >>> from brkga import MaxGenerations
    >>> result = minimize(lambda keys, cutoff: abs(keys - 0.25).sum(axis=1), 5, seed=1, stop=MaxGenerations(60))
    >>> bool(result.best_fitness < 0.1)
    True
    """
    engine = BRKGA(
        num_keys,
        parameters,
        proposal=proposal,
        seed=seed,
        key_dtype=key_dtype,
        warm_start=warm_start,
        threads=threads,
    )
    return engine.run(decoder, stop=stop, callbacks=callbacks)
