"""How many bytes of activations are live while each op runs, for a given order on one device."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from regal.graph import ComputationGraph


class Liveness:
    """The activations of a graph as arrays from which live bytes are computed.

    Kept are the activations that have bytes and outlive their producer, being read by an op or an output of the graph.
    Persistent tensors are left out everywhere.

    Attributes
    ----------
    made : int64 array, shape (num_ops,)
        Bytes that appear when an op runs: its outputs, read or not, and its workspace.
    own : int64 array, shape (num_ops,)
        Bytes that an op cannot run without: ``made`` and the activations that it reads.
    size, producer : int64 arrays, shape (num_kept,)
    is_output : bool array, shape (num_kept,)
    read_tensor, reader : int64 arrays, shape (num_reads,)
        The reads of kept activations as pairs (number of the kept activation, op), ascending in the first.

    Examples
    --------
    >>> from regal.graph import example_graph
    >>> live = Liveness(example_graph("diamond"))
    >>> live.while_running(np.arange(4)).tolist()
    [8, 12, 92, 70]
    """

    def __init__(self, graph: ComputationGraph) -> None:
        self.graph = graph
        producer, consumers = graph.producer.astype(np.int64), graph.consumers
        kept = (producer >= 0) & (graph.tensor_bytes > 0) & (graph.is_output | (consumers.counts > 0))
        self.size, self.producer = graph.tensor_bytes[kept], producer[kept]
        self.is_output = graph.is_output[kept]
        reads = kept[consumers.row_of_value]
        self.read_tensor = (np.cumsum(kept) - 1)[consumers.row_of_value[reads]]
        self.reader = consumers.values[reads].astype(np.int64)
        self.made = graph.workspace.copy()
        np.add.at(self.made, graph.outputs.row_of_value, graph.tensor_bytes[graph.outputs.values])
        self.own = self.made.copy()
        np.add.at(self.own, self.reader, self.size[self.read_tensor])

    def while_running(self, position: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64 array, shape (num_ops,): live bytes while each op runs, workspace included.

        Parameters
        ----------
        position : int64 array, shape (num_ops,)
            The place of each op in an order that respects the graph.
        """
        n = len(position)
        last = np.where(self.is_output, n - 1, 0)
        np.maximum.at(last, self.read_tensor, position[self.reader])
        change = np.zeros(n + 1, np.int64)
        np.add.at(change, position[self.producer] + 1, self.size)  # while the producer runs, `made` counts it
        np.subtract.at(change, last + 1, self.size)
        return np.cumsum(change)[position] + self.made
