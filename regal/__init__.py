"""Decide where and when the ops of a neural network's computation graph run.

>>> import regal
>>> graph = regal.example_graph("branches")
>>> result = regal.optimize(graph, devices=1, evaluations=500)
>>> result.peak_memory
(106,)

Everything named here loads on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regal.augmentation import augment
    from regal.cluster import Cluster, Device, Link
    from regal.corpus import Corpus, load_corpus, topology_hash
    from regal.cost import Cost
    from regal.frontends import Rates, load, trace, trace_jax
    from regal.graph import ComputationGraph, GraphBuilder, example_graph, write_graph
    from regal.plan import Plan, check_plan
    from regal.problem import Objective, Problem
    from regal.search import Front, Result, lower_bound, optimize
    from regal.verification import verify

__version__ = "0.1.0"

_HOME = {
    "Cluster": "regal.cluster",
    "ComputationGraph": "regal.graph",
    "Corpus": "regal.corpus",
    "Cost": "regal.cost",
    "Device": "regal.cluster",
    "Front": "regal.search",
    "GraphBuilder": "regal.graph",
    "Link": "regal.cluster",
    "Objective": "regal.problem",
    "Plan": "regal.plan",
    "Problem": "regal.problem",
    "Rates": "regal.frontends",
    "Result": "regal.search",
    "augment": "regal.augmentation",
    "check_plan": "regal.plan",
    "example_graph": "regal.graph",
    "load": "regal.frontends",
    "load_corpus": "regal.corpus",
    "lower_bound": "regal.search",
    "optimize": "regal.search",
    "topology_hash": "regal.corpus",
    "trace": "regal.frontends",
    "trace_jax": "regal.frontends",
    "verify": "regal.verification",
    "write_graph": "regal.graph",
}

__all__ = [
    "Cluster",
    "ComputationGraph",
    "Corpus",
    "Cost",
    "Device",
    "Front",
    "GraphBuilder",
    "Link",
    "Objective",
    "Plan",
    "Problem",
    "Rates",
    "Result",
    "augment",
    "check_plan",
    "example_graph",
    "load",
    "load_corpus",
    "lower_bound",
    "optimize",
    "topology_hash",
    "trace",
    "trace_jax",
    "verify",
    "write_graph",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'regal' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
