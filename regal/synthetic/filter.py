"""The REGAL paper's filter: a graph stays where the genetic algorithm has room to improve.

The card of the paper's data set (github.com/google-deepmind/deepmind-research, ``regal/README.md``) keeps a graph where
BRKGA with a high limit of evaluations fits the hardware and with a low one does not, or is 20 % faster in running time.
It tells neither the limits nor the hardware. Here they are:

- limits of 2,000 and 20,000 evaluations of one search, with the default parameters of :class:`brkga.Parameters` and
  without warm starts, read off at both;
- two devices, each with 55 % of the memory that the program order needs on a single device, so that a fast plan has to
  be a thrifty one too;
- links of such a bandwidth that a tensor of mean size takes half as long as an op of mean running time, without
  latency, so that placement matters.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

import brkga
from regal.bounds import running_time_bound
from regal.cluster import Cluster
from regal.cost.kernels import evaluate
from regal.decode import Decoder
from regal.graph import ComputationGraph
from regal.plan import plan_from_order
from regal.problem import Objective, Problem

LOW, HIGH = 2_000, 20_000
"""Evaluations."""
FASTER = 0.2
"""Share of the running time that the longer search must save."""
NUM_DEVICES = 2
MEMORY_SHARE = 0.55
"""Memory of a device as a share of the peak of the program order on a single device."""
COPY_SHARE = 0.5
"""Time to copy a tensor of mean size as a share of the mean running time."""
FITS, FIT_FASTER = "fits", "faster"
NEVER_FITS, NO_ROOM, AT_BOUND = "never fits", "no room", "at the bound"


class Room(NamedTuple):
    """What two limits of evaluations make of a graph.

    Attributes
    ----------
    outcome : str
        ``"fits"`` and ``"faster"`` are the paper's two conditions. Else ``"never fits"``, ``"no room"``, or ``"at the
        bound"`` where a lower bound on the running time leaves no room, so that the longer search is spared.
    low, high : tuple of float
        Bytes too many and seconds of the best plan at either limit; a search ends as soon as a condition is met.
    evaluations : int
    """

    outcome: str
    low: tuple[float, float]
    high: tuple[float, float]
    evaluations: int

    @property
    def accepted(self) -> bool:
        """Whether the graph stays."""
        return self.outcome in (FITS, FIT_FASTER)


def cluster_for(graph: ComputationGraph) -> Cluster:
    """The devices and links that the filter sees ``graph`` on; see the module's description.

    Examples
    --------
    >>> from regal.synthetic.generator import generate
    >>> cluster = cluster_for(generate(0))
    >>> cluster.memory.tolist(), round(float(cluster.bandwidth[0, 1]))
    ([2242, 2242], 1976099)
    """
    one = Cluster.uniform(1)
    plan = plan_from_order(graph, one, np.zeros(graph.num_ops, np.int32), range(graph.num_ops))
    memory = math.ceil(MEMORY_SHARE * evaluate(plan).max_peak_memory)
    sent = graph.tensor_bytes[graph.activations]
    seconds = COPY_SHARE * float(graph.runtime.mean()) if graph.num_ops else 0.0
    bandwidth = float(sent.mean()) / seconds if len(sent) and seconds and sent.any() else math.inf
    return Cluster.uniform(NUM_DEVICES, memory=memory, bandwidth=bandwidth)


def room_to_improve(
    graph: ComputationGraph, cluster: Cluster | None = None, *, low: int = LOW, high: int = HIGH, seed: int = 0
) -> Room:
    """Search for a fast plan that fits, and compare what ``low`` and ``high`` evaluations find.

    Parameters
    ----------
    cluster : Cluster, optional
        By default :func:`cluster_for`.
    low, high : int
        Evaluations, the population of 100 at least.
    seed : int
        Of the search.

    Examples
    --------
    >>> from regal.synthetic.generator import generate
    >>> room_to_improve(generate(0), low=500, high=5000).outcome
    'faster'
    """
    cluster = cluster_for(graph) if cluster is None else cluster
    if not 0 < low <= high:
        raise ValueError(f"evaluations must be positive and low at most high, not {low} and {high}")
    decoder = Decoder(Problem(graph, cluster, Objective.RUNNING_TIME))
    layout = decoder.layout
    engine = brkga.BRKGA(layout.num_padded_keys, seed=seed, key_dtype=layout.key_dtype.type)
    engine.run(decoder, stop=brkga.MaxEvaluations(low))
    before = _best(engine)
    goal = (0.0, math.inf if before[0] else (1.0 - FASTER) * before[1])
    if running_time_bound(graph, cluster).value > goal[1]:
        return Room(AT_BOUND, before, before, engine.state.evaluations)
    engine.run(decoder, stop=[brkga.MaxEvaluations(high), brkga.Target(goal)])
    after = _best(engine)
    if after <= goal:
        outcome = FITS if before[0] else FIT_FASTER
    else:
        outcome = NEVER_FITS if after[0] else NO_ROOM
    return Room(outcome, before, after, engine.state.evaluations)


def _best(engine: brkga.BRKGA) -> tuple[float, float]:
    excess, seconds = np.asarray(engine.best_fitness).tolist()
    return excess, seconds
