"""Does the default search find the optimum of tiny graphs, and is it never below it?

``python -m tests.optimality --count 300`` compares with brute force on that many random graphs of at most six ops on
one to three devices; ``--start`` goes on where another run stopped, and a seed alone repeats what fell short.
"""

import argparse
import time
from random import Random
from typing import NamedTuple

from regal.problem import Problem
from regal.search import optimize
from regal.search.brute_force import brute_force
from tests.strategies import SINGLE_OBJECTIVES, random_cluster, random_graph

MAX_OPS = 6
MAX_DEVICES = 3


class Case(NamedTuple):
    """What the search found and the optimum, both as ranks; lower is better."""

    problem: Problem
    found: tuple[float, ...]
    optimum: tuple[float, ...]


def compare(seed: int, evaluations: int = 20_000) -> Case:
    """Search and enumerate one random problem."""
    rng = Random(seed)
    graph = random_graph(rng, MAX_OPS, min_ops=1)
    cluster = random_cluster(rng, graph, MAX_DEVICES)
    problem = Problem(graph, cluster, SINGLE_OBJECTIVES[seed % len(SINGLE_OBJECTIVES)])
    _, cost = brute_force(problem)
    result = optimize(
        graph, cluster=cluster, objective=problem.objective, evaluations=evaluations, seed=seed, threads=1
    )
    return Case(problem, problem.rank(result.cost), problem.rank(cost))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--evaluations", type=int, default=20_000)
    arguments = parser.parse_args()
    begin, equal = time.perf_counter(), 0
    for seed in range(arguments.start, arguments.start + arguments.count):
        case = compare(seed, arguments.evaluations)
        if case.found < case.optimum:
            raise SystemExit(f"seed {seed}: the search found {case.found}, brute force {case.optimum}: one is wrong")
        equal += case.found == case.optimum
        if case.found > case.optimum:
            objective, devices = case.problem.objective.value, case.problem.cluster.num_devices
            print(f"seed {seed}: {objective} on {devices} devices: found {case.found}, optimum {case.optimum}")
    seconds = time.perf_counter() - begin
    print(f"{equal} of {arguments.count} optimal ({equal / arguments.count:.1%}) in {seconds:.0f} s")


if __name__ == "__main__":
    main()
