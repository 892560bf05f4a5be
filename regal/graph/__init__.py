"""Computation graphs: the data, its rules, its builder and its files."""

from regal.graph.builder import GraphBuilder
from regal.graph.computation_graph import NO_GROUP, NO_PRODUCER, ComputationGraph
from regal.graph.csr import CSR
from regal.graph.examples import example_graph
from regal.graph.json_io import read_graph, write_graph

__all__ = [
    "CSR",
    "NO_GROUP",
    "NO_PRODUCER",
    "ComputationGraph",
    "GraphBuilder",
    "example_graph",
    "read_graph",
    "write_graph",
]
