"""Certified lower bounds: what no plan of a graph on a cluster can go below."""

from regal.bounds.bound import Bound
from regal.bounds.liveness import Liveness
from regal.bounds.min_cut import MinCut, largest_min_cut
from regal.bounds.peak_memory import peak_memory_bound, peak_utilisation_bound
from regal.bounds.running_time import running_time_bound

__all__ = [
    "Bound",
    "Liveness",
    "MinCut",
    "largest_min_cut",
    "peak_memory_bound",
    "peak_utilisation_bound",
    "running_time_bound",
]
