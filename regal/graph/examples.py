"""Tiny named graphs for examples, tests and first steps."""

from __future__ import annotations

from collections.abc import Callable

from regal.graph.builder import GraphBuilder
from regal.graph.computation_graph import ComputationGraph


def chain() -> ComputationGraph:
    """Three ops in a row that all read one parameter: ``a -> b -> c``."""
    builder = GraphBuilder("chain")
    weight, *hidden = (builder.add_tensor(size) for size in (100, 10, 20, 5))
    builder.mark_output(hidden[-1])
    previous: list[int] = []
    for name, tensor in zip("abc", hidden, strict=True):
        builder.add_op("matmul", name=name, inputs=[weight, *previous], outputs=[tensor], runtime=1.0)
        previous = [tensor]
    return builder.build()


def diamond() -> ComputationGraph:
    """Two branches of unequal size that meet: ``a -> (b, c) -> d``."""
    builder = GraphBuilder("diamond")
    start, small, large, end = (builder.add_tensor(size) for size in (8, 4, 64, 2))
    builder.mark_output(end)
    builder.add_op("split", name="a", outputs=[start], runtime=1.0)
    builder.add_op("narrow", name="b", inputs=[start], outputs=[small], runtime=2.0)
    builder.add_op("widen", name="c", inputs=[start], outputs=[large], runtime=3.0, workspace=16)
    builder.add_op("join", name="d", inputs=[small, large], outputs=[end], runtime=1.0)
    return builder.build()


def branches(width: int = 6) -> ComputationGraph:
    """``width`` independent pairs of a large and a small op, joined at the end: the order decides the peak."""
    builder = GraphBuilder("branches")
    results = []
    for branch in range(width):
        large, small = builder.add_tensor(100), builder.add_tensor(1)
        builder.add_op("expand", name=f"expand{branch}", outputs=[large], runtime=1.0)
        results.append((large, small))
    for branch, (large, small) in enumerate(results):
        builder.add_op("reduce", name=f"reduce{branch}", inputs=[large], outputs=[small], runtime=1.0)
    total = builder.add_tensor(1, is_output=True)
    builder.add_op("sum", name="sum", inputs=[small for _, small in results], outputs=[total], runtime=1.0)
    return builder.build()


EXAMPLES: dict[str, Callable[[], ComputationGraph]] = {"chain": chain, "diamond": diamond, "branches": branches}


def example_graph(name: str) -> ComputationGraph:
    """One of the tiny graphs by name.

    Raises
    ------
    ValueError
        For a name that is not there; the message lists those that are.

    Examples
    --------
    >>> example_graph("diamond").num_ops
    4
    """
    if name not in EXAMPLES:
        raise ValueError(f"no example graph {name!r}; there are {', '.join(sorted(EXAMPLES))}")
    return EXAMPLES[name]()
