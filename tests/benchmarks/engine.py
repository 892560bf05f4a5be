"""Milliseconds of a generation, for decoders that cost nothing or one sort."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.benchmarks.engine_yardsticks import Decode, Generations, with_deap, with_numpy, with_pymoo
from tests.benchmarks.options import Options
from tests.benchmarks.timing import cpu_seconds, interleaved


def first_key(keys: NDArray[Any]) -> NDArray[np.float64]:
    """A decoder that costs nothing."""
    return keys[:, 0].astype(np.float64)


def first_of_order(keys: NDArray[Any]) -> NDArray[np.float64]:
    """A decoder that sorts each row, 16-bit keys by radix and floats by NumPy's default, and costs nothing beside."""
    order = np.argsort(keys, axis=1, kind="stable" if keys.dtype == np.uint16 else None)
    return order[:, 0].astype(np.float64)


DECODERS: dict[str, Decode] = {"first key": first_key, "sort": first_of_order}


def with_ours(key_dtype: type) -> Callable[[int, Decode, int], Generations]:
    """This repository's engine on keys of a dtype."""

    def make(num_keys: int, decode: Decode, seed: int) -> Generations:
        import brkga

        engine = brkga.BRKGA(num_keys, brkga.Parameters(), seed=seed, key_dtype=key_dtype)

        def generations(count: int) -> None:
            stop = brkga.MaxGenerations(engine.state.generation + count)
            engine.run(lambda keys, cutoff: decode(keys), stop=stop)

        generations(0)
        return generations

    return make


IMPLEMENTATIONS: dict[str, Callable[[int, Decode, int], Generations]] = {
    "brkga, uint16 keys": with_ours(np.uint16),
    "brkga, float64 keys": with_ours(np.float64),
    "NumPy": with_numpy,
    "DEAP": with_deap,
    "pymoo": with_pymoo,
}
PACKAGE_OF = {"DEAP": "deap", "pymoo": "pymoo"}


def measure(options: Options) -> list[dict[str, Any]]:
    """For each number of keys and decoder, milliseconds of a generation with each implementation."""
    makers = {
        name: make
        for name, make in IMPLEMENTATIONS.items()
        if importlib.util.find_spec(PACKAGE_OF.get(name, "numpy")) is not None
    }
    rows = []
    for num_keys in (50, 100) if options.quick else (1000, 10_000):
        for decoder, decode in DECODERS.items():
            count = 5 if options.quick else 100_000 // num_keys
            jobs = {}
            for name, make in makers.items():
                generations = make(num_keys, decode, 1)
                slow = name == "pymoo" and not options.quick
                jobs[name] = _job(generations, max(count // 5, 5) if slow else count)
            seconds = interleaved(jobs, options.repetitions)
            milliseconds = {name: round(1e3 * value, 4) for name, value in seconds.items()}
            rows.append({"keys": num_keys, "decoder": decoder, "milliseconds": milliseconds})
    return rows


def _job(generations: Generations, count: int) -> Callable[[int], float]:
    generations(2)
    return lambda repetition: cpu_seconds(lambda: generations(count)) / count
