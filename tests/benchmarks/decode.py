"""Decoding as a multiple of one linear pass over the same events."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from regal.cost.arrays import DEVICE_BITS, END, OUTPUT_BIT
from regal.decode import Decoder
from regal.graph import ComputationGraph, read_graph
from regal.plan import RUN
from regal.problem import Problem
from tests.benchmarks.options import Options
from tests.benchmarks.stack import training_stack
from tests.benchmarks.timing import cpu_seconds, interleaved

LAST = np.uint32(END)
ACTIVATION = np.uint32((1 << OUTPUT_BIT) - 1)
DEVICE = np.uint64((1 << DEVICE_BITS) - 1)
ONE = np.uint64(1)
ROUNDS = 5


@njit(cache=True)
def walk_orders(graph, keys, placements, orders, lengths):  # type: ignore[no-untyped-def]
    """Touch what decoding touches, once and in the recorded order of events, without choosing anything.

    Parameters
    ----------
    graph : GraphArrays
    keys : uint16 or uint32, shape (m, num_padded_keys)
    placements : uint64, shape (m, num_ops)
    orders : uint32, shape (m, events), and lengths : int64, shape (m,)
        Events of each row: an op, or num_ops + 2 · activation + device for a copy to a device.

    Returns
    -------
    int
        A sum over everything that was read.
    """
    num_ops, links = np.uint64(len(graph.waiting)), graph.links
    state = np.empty(num_ops, np.uint64)
    remaining = np.zeros(2 * len(graph.producer), np.int32)
    total = np.int64(0)
    for row in range(len(keys)):
        event_keys = keys[row, 2 * num_ops :]
        for op in range(num_ops):
            state[op] = graph.waiting[op] | placements[row, op]
        for index in range(lengths[row]):
            event = np.uint64(orders[row, index])
            total += event_keys[event]
            if event < num_ops:
                device = state[event] & DEVICE
                total += graph.running_bytes[event] + graph.output_bytes[event]
                at = np.uint64(graph.op_links[event])
                while links[at] != LAST:
                    activation = np.uint64(links[at])
                    remaining[activation + activation + device] -= np.int32(1)
                    total += graph.activation_bytes[activation]
                    at += ONE
                at += ONE
                while links[at] != LAST:
                    activation = np.uint64(links[at] & ACTIVATION)
                    total += graph.activation_bytes[activation]
                    at += ONE
                    while links[at] != LAST:
                        state[links[at]] += ONE << np.uint64(DEVICE_BITS)
                        at += ONE
                    remaining[activation + activation] = at
                    remaining[activation + activation + ONE] = at
                    at += ONE
                at += ONE
                while links[at] != LAST:
                    state[links[at]] += ONE << np.uint64(DEVICE_BITS)
                    at += ONE
            else:
                slot = event - num_ops
                remaining[slot] -= np.int32(1)
                activation = slot >> ONE
                total += graph.activation_bytes[activation]
                at = np.uint64(graph.consumer_links[activation])
                while links[at] != LAST:
                    state[links[at]] += ONE << np.uint64(DEVICE_BITS)
                    at += ONE
    return total + remaining.sum() + np.int64(state.sum())


def measure(options: Options) -> list[dict[str, Any]]:
    """For each graph, microseconds of decoding a random row to its end and of the linear pass, two devices."""
    graphs = [read_graph(file) for file in options.graphs]
    graphs += [training_stack(size) for size in ((300,) if options.quick else (10_000, 80_000))]
    return [_measure_graph(graph, options) for graph in graphs]


def _measure_graph(graph: ComputationGraph, options: Options) -> dict[str, Any]:
    problem = Problem(graph)
    decoder = Decoder(problem)
    layout = decoder.layout
    rows = 4 if options.quick else max(8, min(100, 200_000 // graph.num_ops))
    top = np.iinfo(layout.key_dtype).max
    shape = (rows, layout.num_padded_keys)
    keys = np.random.default_rng(0).integers(0, top, shape, layout.key_dtype, endpoint=True)
    placements, orders, lengths = _record(decoder, keys)

    def decode() -> None:
        decoder(keys)

    def walk() -> None:
        walk_orders(problem.graph_arrays, keys, placements, orders, lengths)

    decode()
    walk()
    jobs = {
        name: lambda repetition, job=job: min(cpu_seconds(job) for _ in range(ROUNDS))
        for name, job in (("decode", decode), ("pass", walk))
    }
    seconds = interleaved(jobs, options.repetitions)
    return {
        "graph": graph.name,
        "ops": graph.num_ops,
        "events": round(float(lengths.mean())),
        "decode_microseconds": round(1e6 * seconds["decode"] / rows, 2),
        "pass_microseconds": round(1e6 * seconds["pass"] / rows, 2),
    }


def _record(decoder: Decoder, keys: NDArray) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.int64]]:
    """Placement, events and number of events of each row."""
    graph = decoder.problem.graph
    activation_of = np.zeros(graph.num_tensors, np.int64)
    activation_of[graph.activations] = np.arange(graph.num_activations)
    placements = np.empty((len(keys), graph.num_ops), np.uint64)
    orders = np.zeros((len(keys), decoder.layout.max_events), np.uint32)
    lengths = np.empty(len(keys), np.int64)
    for row, chromosome in enumerate(keys):
        plan = decoder.plan(chromosome)
        what, device = plan.schedule.astype(np.int64).T
        runs = device == RUN
        events = what.copy()
        events[~runs] = graph.num_ops + 2 * activation_of[what[~runs]] + device[~runs]
        placements[row], lengths[row] = plan.placement, len(events)
        orders[row, : len(events)] = events
    return placements, orders, lengths
