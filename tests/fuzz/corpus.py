"""The good files that mutants are made from; the same in every run."""

import json
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from regal.cluster import Cluster
from regal.cost.reference import evaluate
from regal.graph import ComputationGraph, example_graph, read_graph
from regal.graph.json_io import graph_to_json
from regal.plan import Plan, plan_from_order
from regal.plan.json_io import front_to_json, plan_to_json
from tests.strategies import random_cluster, random_graph, random_plan

EXAMPLES = ("chain", "diamond", "branches")
RANDOM_GRAPHS = 40
SAMPLE = Path(__file__).parents[2] / "datasets/examples/torch.hf.distilbert.train.json.gz"
SAMPLE_SHARE = 0.01
PLANS_PER_GRAPH = 3


@cache
def small_graphs() -> tuple[ComputationGraph, ...]:
    """Tiny named graphs and random ones of up to 25 ops."""
    named = [example_graph(name) for name in EXAMPLES]
    return (*named, *(random_graph(Random(seed), 25) for seed in range(RANDOM_GRAPHS)))


@cache
def sample() -> ComputationGraph:
    """A traced model."""
    return read_graph(SAMPLE)


@cache
def graph_text(index: int) -> str:
    """The file of a small graph, or of the sample where ``index`` is -1."""
    return json.dumps(graph_to_json(sample() if index < 0 else small_graphs()[index]))


@cache
def plan_text(index: int, number: int) -> str:
    """A plan or front file of a small graph, of the sample where ``index`` is -1."""
    graph = sample() if index < 0 else small_graphs()[index]
    rng = Random(1000 * index + number)
    if index < 0:
        one = plan_from_order(graph, Cluster.uniform(2), [0] * graph.num_ops, range(graph.num_ops))
        return json.dumps(_plan_json(one, 0))
    plans = [random_plan(rng, graph, random_cluster(rng, graph)) for _ in range(rng.randint(1, 4))]
    if number % PLANS_PER_GRAPH == PLANS_PER_GRAPH - 1:
        return json.dumps(front_to_json(graph, [_plan_json(plan, number) for plan in plans], {"hypervolume": 0.5}))
    return json.dumps(_plan_json(plans[0], number))


def _plan_json(plan: Plan, number: int) -> dict[str, Any]:
    cost = evaluate(plan)
    objective, bound = (("peak-memory", cost.max_peak_memory), ("running-time", None))[number % 2]
    figures = {
        "objective": objective,
        "peak_memory": list(cost.peak_memory),
        "running_time": cost.running_time,
        "feasible": cost.feasible(plan.cluster),
        "lower_bound": bound,
        "search": {"method": "random", "seed": number},
    }
    return plan_to_json(plan, figures)
