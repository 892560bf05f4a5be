"""Random computation graphs from seeds, one by one or as the splits of a data set.

The generator follows what the REGAL paper (Paliwal et al., ICLR 2020) and the card of its data set say: graphs of four
classical random models with 50 to 200 ops, running times and tensor sizes from a normal distribution of mean 50 and
standard deviation 10, no two graphs of one topology, and 10,000, 1,000 and 1,000 graphs to train, validate and test. It
is a generator of this library: the paper's own and its parameters are not public, nor are the graphs the paper's.

Every op has one output. Running times are whole microseconds, sizes whole bytes, both at least 1, as the published
graphs' ``compute_cost`` and ``size`` are whole numbers. What no op reads is an output of the graph. There are no
persistent tensors, as there are none in the published graphs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count as count_from
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regal.corpus.topology import topology_hash
from regal.graph import CSR, ComputationGraph
from regal.synthetic.accepted import MAX_TRIED, Tried, read_accepted
from regal.synthetic.families import Family, draw

MIN_OPS, MAX_OPS = 50, 200
MEAN, DEVIATION = 50.0, 10.0
SECONDS = 1e-6
SPLIT_COUNTS = {"train": 10_000, "valid": 1_000, "test": 1_000}
FIRST_SEEDS = {"train": 0, "valid": MAX_TRIED, "test": 2 * MAX_TRIED}
"""Where the seeds of a split begin. Filtered or not, no seed is ever in two splits."""


def generate(seed: int, family: Family | str | None = None, num_ops: int | None = None) -> ComputationGraph:
    """One random graph; the same arguments give the same graph.

    Parameters
    ----------
    seed : int
        From 0 to 2^64 - 1.
    family : Family or str, optional
        By default one of the four, each with the same chance.
    num_ops : int, optional
        By default from 50 to 200, each with the same chance.

    Raises
    ------
    ValueError
        For a seed out of range, an unknown family, or less than one op.

    Examples
    --------
    >>> graph = generate(3)
    >>> graph.num_ops, graph.meta["source"]["family"]
    (62, 'stochastic-block')
    """
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**64:
        raise ValueError(f"seed must be an integer from 0 to 2^64 - 1, not {seed!r}")
    if num_ops is not None and (isinstance(num_ops, bool) or not isinstance(num_ops, int) or num_ops < 1):
        raise ValueError(f"num_ops must be a positive integer, not {num_ops!r}")
    rng = np.random.default_rng(seed)
    drawn_family = list(Family)[int(rng.integers(len(Family)))]
    drawn_ops = int(rng.integers(MIN_OPS, MAX_OPS + 1))
    family = drawn_family if family is None else Family.of(family)
    num_ops = drawn_ops if num_ops is None else num_ops
    before, parameters = draw(family, num_ops, rng)
    tensors, readers = np.nonzero(before)
    no_ops = np.zeros(num_ops, np.int64)
    return ComputationGraph(
        name=f"synthetic.{family.value}.{seed}",
        op_names=tuple(f"node_{op}" for op in range(num_ops)),
        op_types=("node",) * num_ops,
        runtime=np.multiply(_normal(num_ops, rng), SECONDS, dtype=np.float64),
        workspace=no_ops,
        colocation=no_ops - 1,
        inputs=CSR.from_pairs(readers, tensors, num_ops),
        outputs=CSR.from_pairs(np.arange(num_ops), np.arange(num_ops), num_ops),
        control_inputs=CSR.from_pairs(no_ops[:0], no_ops[:0], num_ops),
        tensor_bytes=_normal(num_ops, rng),
        is_output=np.bincount(tensors, minlength=num_ops) == 0,
        meta={
            "source": {"framework": "synthetic", "family": family.value, "seed": seed, "parameters": parameters},
        },
    )


def generate_many(count: int, seed: int = 0) -> Iterator[ComputationGraph]:
    """``count`` graphs of different topologies: those of ``seed``, ``seed + 1`` and so on without repeats.

    Examples
    --------
    >>> [graph.num_ops for graph in generate_many(3, seed=5)]
    [171, 131, 144]
    """
    seen: set[str] = set()
    for number in count_from(seed):
        if len(seen) >= count:
            return
        graph = generate(number)
        topology = topology_hash(graph)
        if topology not in seen:
            seen.add(topology)
            yield graph


def split(name: str, accepted: str | Path | None = None) -> Iterator[ComputationGraph]:
    """The graphs of a split, lazily: ``"train"`` 10,000, ``"valid"`` and ``"test"`` 1,000 each.

    Graph ``i`` is that of the seed ``FIRST_SEEDS[name] + i`` and needs no other graph; that all 12,000 topologies
    differ is a property of these seeds which the tests check.

    Parameters
    ----------
    name : str
    accepted : path, optional
        A list of seeds that ``datasets/synthetic/build.py`` made: only graphs that pass the filter, as many of the
        split as the list holds.

    Raises
    ------
    ValueError
        For another name, or a file that is no such list.

    Examples
    --------
    >>> next(split("valid")).name
    'synthetic.stochastic-block.1099511627776'
    """
    if name not in SPLIT_COUNTS:
        raise ValueError(f"split must be one of {', '.join(SPLIT_COUNTS)}, not {name!r}")
    indices: Iterable[int] = range(SPLIT_COUNTS[name])
    if accepted is not None:
        indices = read_accepted(accepted).splits.get(name, Tried()).accepted[: SPLIT_COUNTS[name]]
    return (generate(FIRST_SEEDS[name] + index) for index in indices)


def _normal(size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """int64 array, shape (size,): whole numbers around 50, at least 1."""
    return np.maximum(np.rint(rng.normal(MEAN, DEVIATION, size)), 1.0).astype(np.int64)
