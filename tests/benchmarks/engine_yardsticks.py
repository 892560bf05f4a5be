"""The same genetic algorithm with other tools, each ready to breed generation after generation.

Population 100, 20 elites, 15 mutants, elite bias 0.7. A ``decode`` takes rows of keys, float64, and returns their
fitness.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

POPULATION, ELITES, MUTANTS, ELITE_BIAS = 100, 20, 15, 0.7
OFFSPRING = POPULATION - ELITES - MUTANTS

Decode = Callable[[NDArray[Any]], NDArray[np.float64]]
Generations = Callable[[int], Any]
"""Breeds and decodes that many more generations."""


def with_numpy(num_keys: int, decode: Decode, seed: int) -> Generations:
    """The algorithm in a few lines of NumPy on a population matrix."""
    rng = np.random.default_rng(seed)
    population = rng.random((POPULATION, num_keys))
    fitness = decode(population)

    def generations(count: int) -> None:
        nonlocal population, fitness
        for _ in range(count):
            order = np.argsort(fitness, kind="stable")
            population, fitness = population[order], fitness[order]
            elite = population[rng.integers(0, ELITES, OFFSPRING)]
            other = population[rng.integers(ELITES, POPULATION, OFFSPRING)]
            inherited = rng.random((OFFSPRING, num_keys)) < ELITE_BIAS
            population[ELITES : ELITES + OFFSPRING] = np.where(inherited, elite, other)
            population[ELITES + OFFSPRING :] = rng.random((MUTANTS, num_keys))
            fitness[ELITES:] = decode(population[ELITES:])

    return generations


def with_deap(num_keys: int, decode: Decode, seed: int) -> Generations:
    """The algorithm on DEAP's toolbox, individuals being NumPy arrays."""
    from deap import base, tools

    class Fitness(base.Fitness):
        weights = (-1.0,)

    class Individual(np.ndarray):
        fitness: Fitness

    rng = np.random.default_rng(seed)
    pick = random.Random(seed)

    def wrap(keys: NDArray[np.float64]) -> Individual:
        individual = keys.view(Individual)
        individual.fitness = Fitness()
        return individual

    def mate(elite: Individual, other: Individual) -> Individual:
        return wrap(np.where(rng.random(num_keys) < ELITE_BIAS, elite, other))

    toolbox = base.Toolbox()
    toolbox.register("individual", lambda: wrap(rng.random(num_keys)))
    toolbox.register("population", tools.initRepeat, list, toolbox.individual)
    toolbox.register("mate", mate)
    toolbox.register("evaluate", lambda individual: (float(decode(individual.view(np.ndarray)[None])[0]),))

    def evaluate(rows: list[Individual]) -> None:
        for row, value in zip(rows, toolbox.map(toolbox.evaluate, rows), strict=True):
            row.fitness.values = value

    population = toolbox.population(n=POPULATION)
    evaluate(population)

    def generations(count: int) -> None:
        nonlocal population
        for _ in range(count):
            population = tools.selBest(population, POPULATION)
            elites, others = population[:ELITES], population[ELITES:]
            new = [toolbox.mate(pick.choice(elites), pick.choice(others)) for _ in range(OFFSPRING)]
            new += toolbox.population(n=MUTANTS)
            evaluate(new)
            population = elites + new

    return generations


def with_pymoo(num_keys: int, decode: Decode, seed: int) -> Generations:
    """pymoo's own BRKGA, which also removes duplicates."""
    from pymoo.algorithms.soo.nonconvex.brkga import BRKGA
    from pymoo.core.problem import Problem

    class Keys(Problem):
        def __init__(self) -> None:
            super().__init__(n_var=num_keys, n_obj=1, xl=0.0, xu=1.0)

        def _evaluate(self, x: NDArray, out: dict[str, Any], *args: Any, **kwargs: Any) -> None:
            out["F"] = decode(x)[:, None]

    algorithm = BRKGA(n_elites=ELITES, n_offsprings=OFFSPRING, n_mutants=MUTANTS, bias=ELITE_BIAS)
    algorithm.setup(Keys(), termination=("n_gen", 10**9), seed=seed, verbose=False)
    algorithm.next()

    def generations(count: int) -> None:
        for _ in range(count):
            algorithm.next()

    return generations
