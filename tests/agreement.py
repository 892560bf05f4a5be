"""Do all ways to a cost agree, to the byte and the last bit?

``python -m tests.agreement --count 100000`` checks that many random graphs, each with several rows of keys; seed by
seed, so that ``--start`` goes on where another run stopped, and a seed alone repeats what failed.
"""

import argparse
import time
from random import Random

import numpy as np
from numpy.typing import NDArray

from regal.cost import Cost, kernels
from regal.cost import reference as cost_reference
from regal.decode import Decoder, encode
from regal.decode import kernels as decode_kernels
from regal.decode import reference as decode_reference
from regal.plan import Plan, check_plan
from regal.problem import Objective, Problem
from tests import oracle
from tests.strategies import SINGLE_OBJECTIVES, random_cluster, random_graph, random_keys

ROWS = 2


def check_seed(seed: int, max_ops: int = 60) -> int:
    """Check one random graph on one random cluster; return how many plans were compared."""
    rng = Random(seed)
    graph = random_graph(rng, max_ops)
    cluster = random_cluster(rng, graph)
    problem = Problem(graph, cluster, SINGLE_OBJECTIVES[seed % len(SINGLE_OBJECTIVES)])
    decoder = Decoder(problem)
    keys = random_keys(rng, decoder.layout, ROWS)
    costs = check_rows(decoder, keys)
    check_kernels(problem, keys, costs)
    check_cutoffs(decoder, keys, costs)
    return len(keys)


def check_rows(decoder: Decoder, keys: NDArray, second_opinion: bool = True) -> list[Cost]:
    """Each row alone: reference and kernels give one plan, the validator accepts it, all give it one cost."""
    graph, cluster = decoder.problem.graph, decoder.problem.cluster
    costs = []
    for row in keys:
        plan = decode_reference.decode(graph, cluster, row)
        check_plan(plan)
        same_plan(plan, decoder.plan(row))
        same_plan(plan, decoder.plan(encode(plan)))
        cost = cost_reference.evaluate(plan)
        assert kernels.evaluate(plan, decoder.problem.graph_arrays) == cost
        if second_opinion:
            assert oracle.is_valid(plan)
            assert oracle.evaluate(plan) == cost
        costs.append(cost)
    return costs


def same_plan(one: Plan, other: Plan) -> None:
    """Same placement, same schedule."""
    assert one.placement.tolist() == other.placement.tolist()
    assert one.schedule.tolist() == other.schedule.tolist()


def check_kernels(problem: Problem, keys: NDArray, costs: list[Cost]) -> None:
    """Every variant of the compiled decoder gives the costs: two devices or any, with and without the clock."""
    num_devices = problem.cluster.num_devices
    limits = decode_kernels.Limits(
        np.full(num_devices, 2**63 - 1, np.int64), np.inf, np.inf, np.zeros(problem.graph.num_ops)
    )
    for pair in (True, None) if num_devices == 2 else (None,):
        for timed in (True, None):
            peaks, seconds = np.full((len(keys), num_devices), -1, np.int64), np.zeros(len(keys))
            finished, order = np.zeros(len(keys), np.bool_), np.empty(0, np.uint32)
            arrays = problem.graph_arrays, problem.cluster_arrays
            decode_kernels.decode(*arrays, keys, limits, peaks, seconds, finished, order, pair, timed, None)
            assert finished.all()
            assert [tuple(row) for row in peaks.tolist()] == [cost.peak_memory for cost in costs], (pair, timed)
            if timed:
                assert seconds.tolist() == [cost.running_time for cost in costs], pair


def check_cutoffs(decoder: Decoder, keys: NDArray, costs: list[Cost]) -> None:
    """Below a cutoff the fitness is exact; from the cutoff on it is the cutoff. Cutoffs at, just below, just above."""
    ranks = [tuple(float(value) for value in decoder.problem.rank(cost)) for cost in costs]
    for cutoff in cutoffs(decoder.problem.objective, ranks):
        wanted = [min(rank, cutoff) for rank in ranks]
        argument = cutoff[0] if len(cutoff) == 1 else np.array(cutoff)
        fitness = decoder(keys, argument).reshape(len(keys), -1)
        assert [tuple(row) for row in fitness.tolist()] == wanted, (cutoff, ranks)


def cutoffs(objective: Objective, ranks: list[tuple[float, ...]]) -> list[tuple[float, ...]]:
    """Cutoffs around each rank."""
    if objective is Objective.RUNNING_TIME:
        result = [(0.0, 0.0), (np.inf, np.inf)]
        for excess, seconds in ranks:
            result += [(excess, s) for s in (*around(seconds), seconds / 2, seconds * 2, np.inf)]
            result += [(excess - 1, seconds), (excess - 1, np.inf), (excess + 1, 0.0), (excess + 1, seconds)]
        return result
    values = {0.0, np.inf}
    for (value,) in ranks:
        values.update((*around(value), value - 1, value + 1, value / 2))
    return [(value,) for value in sorted(values)]


def around(value: float) -> tuple[float, float, float]:
    """The value and its two neighbours among the float64."""
    return float(np.nextafter(value, -np.inf)), value, float(np.nextafter(value, np.inf))


def main() -> None:
    """Check ``count`` seeds from ``start`` on."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5000, help="graphs to check")
    parser.add_argument("--start", type=int, default=0, help="first seed")
    parser.add_argument("--max-ops", type=int, default=60, help="ops of the largest graph")
    arguments = parser.parse_args()
    begin, plans = time.perf_counter(), 0
    for done in range(arguments.count):
        seed = arguments.start + done
        try:
            plans += check_seed(seed, arguments.max_ops)
        except (AssertionError, ValueError, KeyError) as error:
            raise SystemExit(f"seed {seed}: {type(error).__name__}: {error}") from error
        if (done + 1) % 1000 == 0 or done + 1 == arguments.count:
            print(f"{done + 1} graphs, {plans} plans agree, {time.perf_counter() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
