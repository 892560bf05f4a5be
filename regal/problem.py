"""What every search is asked: a graph, a cluster and an objective."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from regal.cluster import Cluster
from regal.cost.cost import Cost
from regal.graph import ComputationGraph
from regal.graph.checks import MAX_SECONDS, check_total
from regal.objective import Objective

__all__ = ["Objective", "Problem"]

if TYPE_CHECKING:
    from regal.cost.arrays import ClusterArrays, GraphArrays


@dataclass(frozen=True)
class Problem:
    """A graph, a cluster and an objective.

    Raises
    ------
    ValueError
        When all bytes of the graph times the number of devices do not stay below 2^63, or the running time of
        its slowest plan does not stay below 10^280 seconds.
    """

    graph: ComputationGraph
    cluster: Cluster = field(default_factory=Cluster.uniform)
    objective: Objective = Objective.PEAK_MEMORY

    def __post_init__(self) -> None:
        object.__setattr__(self, "objective", Objective.of(self.objective))
        check_total(self.graph, self.cluster.num_devices)
        self._check_seconds()

    def _check_seconds(self) -> None:
        """All ops on the slowest device, all activations over the slowest link to all others: still below the limit."""
        graph, cluster = self.graph, self.cluster
        work = sum(graph.runtime.tolist()) / min(device.speed for device in cluster.devices)
        latency, bandwidth = float(cluster.latency.max()), float(cluster.bandwidth.min())
        sent = graph.tensor_bytes[graph.activations].tolist()
        copies = (cluster.num_devices - 1) * (len(sent) * latency + sum(size / bandwidth for size in sent))
        if not work + copies < MAX_SECONDS:
            what = "with the cluster's speeds and links, all running times together"
            raise ValueError(f"{what} must stay below {MAX_SECONDS:g} seconds, not {work + copies:g}")

    @cached_property
    def graph_arrays(self) -> GraphArrays:
        """The graph as the kernels read it."""
        from regal.cost.arrays import graph_arrays

        return graph_arrays(self.graph)

    @cached_property
    def cluster_arrays(self) -> ClusterArrays:
        """The cluster as the kernels read it."""
        from regal.cost.arrays import cluster_arrays

        return cluster_arrays(self.cluster)

    def objective_value(self, cost: Cost) -> float:
        """Bytes, share or seconds; for ``PARETO`` the bytes."""
        if self.objective is Objective.RUNNING_TIME:
            return cost.running_time
        if self.objective is Objective.PEAK_UTILISATION:
            return cost.peak_utilisation(self.cluster)
        return cost.max_peak_memory

    def rank(self, cost: Cost) -> tuple[float, ...]:
        """What plans are ordered by, lexicographically; lower is better."""
        if self.objective is Objective.RUNNING_TIME:
            return (cost.excess_bytes(self.cluster), cost.running_time)
        return (self.objective_value(cost),)
