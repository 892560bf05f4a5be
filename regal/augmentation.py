"""Variants of one topology with other sizes and running times, as REGAL makes of each of its training graphs.

Paliwal et al., "Reinforced Genetic Algorithm Learning for Optimizing Computation Graphs" (ICLR 2020) alter the tensor
sizes of every training graph 100 times. Here a variant is the graph at another batch size, with noise on top. What is
connected to what stays, so the topology hash does; another depth of the model is another topology, which only tracing
the model again gives.

What grows with the batch is not written in a graph, so these rules decide:

- A persistent tensor is a parameter and keeps its size, but for the graph's inputs where they are known: those listed
  in ``inputs``, by default in ``meta["source"]["inputs"]``.
- An activation of at most 8 bytes, a loss or a counter, keeps its size. So does one as large as a parameter on its way
  to an update or to the caller, as gradients of parameters are: every op that reads it writes nothing, or works on
  tensors of its size and scalars only and makes what keeps its size. Every other activation, and every workspace,
  grows with the batch. Activations that have a parameter's size by chance can be mistaken.
- A running time is a launch, as long as the shortest running time of the graph, and the rest, which grows as the bytes
  that the op reads and writes do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import exp, log

import numpy as np
from numpy.typing import NDArray

from regal.graph import ComputationGraph
from regal.graph.checks import MAX_SECONDS, MAX_SIZE

SCALAR = 8
"""Activations of so many bytes or fewer hold no examples."""
MAX_BYTES = MAX_SIZE
"""All bytes together stay below this, or below those of the graph where that has more: room for 1,024 devices."""

Floats = NDArray[np.float64]


def augment(
    graph: ComputationGraph,
    seed: int,
    *,
    batch: float | tuple[float, float] = (0.25, 16.0),
    sizes: float = 0.2,
    runtimes: float = 0.2,
    inputs: Sequence[int] | None = None,
) -> ComputationGraph:
    """A variant of ``graph``: the same ops and tensors with other sizes and running times.

    Parameters
    ----------
    graph : ComputationGraph
    seed : int
        From 0 to 2^64 - 1. The same seed gives the same variant.
    batch : float or pair of floats
        Factor of the batch size, or the lowest and the highest of which one is drawn, uniformly in its logarithm.
    sizes : float
        Every size is multiplied by a factor of its own between ``1 - sizes`` and ``1 + sizes``; at least 0, below 1.
        A size of zero stays zero, and no other becomes zero.
    runtimes : float
        The same for running times.
    inputs : sequence of int, optional
        Persistent tensors that hold examples.

    Returns
    -------
    ComputationGraph
        Of the name ``NAME~SEED``. Its ``meta`` is that of ``graph``, which it still describes, and says under
        ``"augmentation"`` what was done.

    Raises
    ------
    ValueError
        For an option out of its range.

    Examples
    --------
    >>> from regal.graph import example_graph
    >>> chain = example_graph("chain")
    >>> double = augment(chain, 0, batch=2.0, sizes=0.0)
    >>> chain.tensor_bytes.tolist(), double.tensor_bytes.tolist()
    ([100, 10, 20, 5], [100, 20, 40, 5])
    """
    _check_whole("seed", seed, 2**64)
    return next(_made(graph, [seed], batch, sizes, runtimes, inputs))


def variants(
    graph: ComputationGraph,
    count: int,
    seed: int,
    *,
    batch: float | tuple[float, float] = (0.25, 16.0),
    sizes: float = 0.2,
    runtimes: float = 0.2,
    inputs: Sequence[int] | None = None,
) -> Iterator[ComputationGraph]:
    """``count`` variants of ``graph``, each made when it is asked for.

    A variant has a seed of its own, drawn from ``seed`` and below 2^53, with which :func:`augment` makes it again; the
    variants of a shorter series are the first of a longer one.

    Examples
    --------
    >>> from regal.graph import example_graph
    >>> [int(graph.tensor_bytes.sum()) for graph in variants(example_graph("chain"), 3, seed=0)]
    [106, 388, 134]
    """
    _check_whole("seed", seed, 2**64)
    _check_whole("count", count, 2**32)
    return _made(graph, _raw(seed, count).tolist(), batch, sizes, runtimes, inputs)


def _made(
    graph: ComputationGraph,
    seeds: Sequence[int],
    batch: float | tuple[float, float],
    sizes: float,
    runtimes: float,
    inputs: Sequence[int] | None,
) -> Iterator[ComputationGraph]:
    """One variant per seed."""
    low, high = _batch_range(batch)
    for name, spread in (("sizes", sizes), ("runtimes", runtimes)):
        if not 0 <= spread < 1:
            raise ValueError(f"{name} must be at least 0 and below 1, not {spread!r}")
    grows = _grows(graph, inputs)
    return (_variant(graph, seed, grows, low, high, sizes, runtimes) for seed in seeds)


def _variant(
    graph: ComputationGraph,
    seed: int,
    grows: NDArray[np.bool_],
    low: float,
    high: float,
    sizes: float,
    runtimes: float,
) -> ComputationGraph:
    n, m = graph.num_ops, graph.num_tensors
    noise = _uniform(seed, 1 + m + 2 * n)
    factor = low if low == high else exp(log(low) + (log(high) - log(low)) * noise[0])
    of_tensors, of_workspaces, of_runtimes = np.split(2 * noise[1:] - 1, [m, m + n])
    tensor_bytes, workspace = _bounded(
        graph, np.where(grows, factor, 1.0) * (1 + sizes * of_tensors), factor * (1 + sizes * of_workspaces)
    )
    return replace(
        graph,
        name=f"{graph.name}~{seed}",
        runtime=_runtime(graph, tensor_bytes, 1 + runtimes * of_runtimes),
        tensor_bytes=tensor_bytes,
        workspace=workspace,
        meta={
            **graph.meta,
            "augmentation": {"of": graph.name, "seed": seed, "batch": factor, "sizes": sizes, "runtimes": runtimes},
        },
    )


def _raw(seed: int, count: int) -> NDArray[np.uint64]:
    """Whole numbers below 2^53; the stream of a bit generator stays the same from one NumPy to the next."""
    return np.asarray(np.random.Philox(key=seed).random_raw(count)) >> np.uint64(11)


def _uniform(seed: int, count: int) -> Floats:
    """float64 array, shape (count,): from 0 to below 1."""
    return _raw(seed, count).astype(np.float64) * 2.0**-53


def _grows(graph: ComputationGraph, inputs: Sequence[int] | None) -> NDArray[np.bool_]:
    """Whether each tensor holds examples: bool array, shape (num_tensors,)."""
    persistent = graph.producer < 0
    listed = _inputs(graph, inputs, persistent)
    parameters = persistent.copy()
    parameters[listed] = False
    size = graph.tensor_bytes
    fixed = parameters | ~persistent & (size <= SCALAR)
    keeps = (fixed | ~persistent & np.isin(size, size[parameters])).tolist()
    sizes, written = np.where(size <= SCALAR, 0, size).tolist(), graph.outputs.to_lists()
    for op, read in reversed(list(enumerate(graph.inputs.to_lists()))):
        if written[op] and not (
            all(keeps[tensor] for tensor in written[op])
            and len({sizes[tensor] for tensor in (*read, *written[op])} - {0}) < 2
        ):
            for tensor in read:
                keeps[tensor] = False
    return ~(np.array(keeps, np.bool_) | fixed)


def _inputs(graph: ComputationGraph, inputs: Sequence[int] | None, persistent: NDArray[np.bool_]) -> list[int]:
    if inputs is None:
        source = graph.meta.get("source")
        found = source.get("inputs", []) if isinstance(source, dict) else []
        inputs = found if isinstance(found, list) else [found]
    for tensor in inputs:
        _check_whole("an input", tensor, graph.num_tensors)
        if not persistent[tensor]:
            raise ValueError(f"an input must be a tensor without a producer, unlike {tensor}")
    return list(inputs)


def _bounded(
    graph: ComputationGraph, of_tensors: Floats, of_workspaces: Floats
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """int64 arrays, tensor sizes and workspaces times their factors, within the bounds of a graph."""
    old = np.concatenate([graph.tensor_bytes, graph.workspace])
    new = np.clip(np.rint(old * np.concatenate([of_tensors, of_workspaces])), np.minimum(old, 1), MAX_SIZE - 1)
    total = float(new.sum())
    if total >= MAX_BYTES:
        limit = max(float(old.sum(dtype=np.float64)), MAX_BYTES) * (1 - 1e-9)
        new = np.maximum(np.floor(new * min(1.0, limit / total)), np.minimum(old, 1))
    whole = new.astype(np.int64)
    return whole[: graph.num_tensors], whole[graph.num_tensors :]


def _runtime(graph: ComputationGraph, tensor_bytes: NDArray[np.int64], noise: Floats) -> Floats:
    """float64 array, shape (num_ops,): seconds with the new sizes."""
    if not graph.num_ops:
        return graph.runtime.copy()
    before, after = _moved(graph, graph.tensor_bytes), _moved(graph, tensor_bytes)
    ratio = np.divide(after, before, out=np.ones(graph.num_ops), where=before > 0)
    launch = graph.runtime.min()
    runtime = (launch + (graph.runtime - launch) * ratio) * noise
    total, limit = float(runtime.sum()), max(float(graph.runtime.sum()), MAX_SECONDS / 2)
    return runtime if total <= limit else runtime * (limit / total)


def _moved(graph: ComputationGraph, sizes: NDArray[np.int64]) -> Floats:
    """float64 array, shape (num_ops,): bytes of what each op reads and writes."""
    moved = np.zeros(graph.num_ops)
    for lists in (graph.inputs, graph.outputs):
        moved += np.bincount(lists.row_of_value, sizes[lists.values], graph.num_ops)
    return moved


def _batch_range(batch: float | tuple[float, float]) -> tuple[float, float]:
    low, high = batch if isinstance(batch, tuple) else (batch, batch)
    if not 0 < low <= high <= MAX_SIZE:
        raise ValueError(f"batch must be one positive factor or a pair of them, lowest first, not {batch!r}")
    return float(low), float(high)


def _check_whole(name: str, value: object, bound: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < bound:
        raise ValueError(f"{name} must be an integer from 0 to {bound - 1}, not {value!r}")
