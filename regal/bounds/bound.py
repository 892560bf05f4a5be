"""What every certified lower bound looks like, and the jobs that a placement cannot take apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regal.graph import NO_GROUP, ComputationGraph


@dataclass(frozen=True)
class Bound:
    """A value that no valid plan can go below.

    Attributes
    ----------
    value : int or float
        Bytes (int), seconds or utilisation (float).
    certificate : str
        The argument that gives the value; the function that computes the bound lists and proves its certificates.
    op : int or None
        The op that proves it, where the certificate speaks about one op.
    complete : bool
        Whether more time cannot raise the value.
    seconds : float
        Wall time spent on the bound.
    """

    value: int | float
    certificate: str
    op: int | None
    complete: bool
    seconds: float


def colocation_units(graph: ComputationGraph) -> NDArray[np.int64]:
    """int64 array, shape (num_ops,): a number from 0 on for each colocation group and each free op.

    Ops of one number share a device in every valid plan.

    Examples
    --------
    >>> from regal.graph import example_graph
    >>> colocation_units(example_graph("diamond")).tolist()
    [0, 1, 2, 3]
    """
    group = graph.colocation
    beyond = int(group.max(initial=NO_GROUP)) + 1
    label = np.where(group == NO_GROUP, beyond + np.arange(graph.num_ops), group)
    return np.unique(label, return_inverse=True)[1].astype(np.int64)
