"""What the annealing kernels work on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regal.plan import RUN, Plan
from regal.problem import Problem
from regal.search.annealing.arrays import Graph
from regal.search.annealing.kernels import BLOCK


class Order(NamedTuple):
    """A plan as the moves see it.

    Attributes
    ----------
    order, position : int64, shape (num_ops,)
        Op of each step, and step of each op.
    device_of : int64, shape (num_ops,)
    eager : bool, shape (num_activations,)
        Whether an activation is sent right after its producer, or right before its first reader elsewhere.
    value, excess : float64, shape (1,)
        Weighted peak or seconds, and the bytes that do not fit; infinite for a plan that was not costed.
    """

    order: NDArray[np.int64]
    position: NDArray[np.int64]
    device_of: NDArray[np.int64]
    eager: NDArray[np.bool_]
    value: NDArray[np.float64]
    excess: NDArray[np.float64]

    def copy(self) -> Order:
        """Arrays of its own."""
        return Order._make(array.copy() for array in self)


class Profiles(NamedTuple):
    """The memory walk of a plan; see :mod:`regal.search.annealing.kernels`.

    Attributes
    ----------
    noted, after : int64, shape (num_devices, num_ops), bytes
    blocks : int64, shape (num_devices, num_blocks)
        Maxima of ``noted``.
    base : int64, shape (num_devices,), bytes of persistent tensors
    reads : int64, shape (num_persistent, num_devices)
        Ops on each device that read each persistent tensor.
    """

    noted: NDArray[np.int64]
    after: NDArray[np.int64]
    blocks: NDArray[np.int64]
    base: NDArray[np.int64]
    reads: NDArray[np.int64]

    @classmethod
    def empty(cls, graph: Graph, num_devices: int) -> Profiles:
        """Room for the profiles."""
        num_ops = len(graph.workspace)
        return cls(
            noted=np.zeros((num_devices, num_ops), np.int64),
            after=np.zeros((num_devices, num_ops), np.int64),
            blocks=np.zeros((num_devices, -(-num_ops // BLOCK)), np.int64),
            base=np.zeros(num_devices, np.int64),
            reads=np.zeros((len(graph.resident), num_devices), np.int64),
        )


class Scratch(NamedTuple):
    """Room for one move."""

    noted: NDArray[np.int64]
    after: NDArray[np.int64]
    across: NDArray[np.int64]
    touched: NDArray[np.int64]
    spans: NDArray[np.int64]
    changed: NDArray[np.int64]
    devices: NDArray[np.int64]
    seen: NDArray[np.int64]
    seen_op: NDArray[np.int64]

    @classmethod
    def empty(cls, graph: Graph, num_devices: int) -> Scratch:
        """Room for moves of ``graph``."""
        num_ops, num_activations = len(graph.workspace), len(graph.size)
        return cls(
            noted=np.zeros((num_devices, num_ops), np.int64),
            after=np.zeros((num_devices, num_ops), np.int64),
            across=np.zeros(num_devices, np.int64),
            touched=np.zeros(num_activations, np.int64),
            spans=np.zeros((num_devices, 3), np.int64),
            changed=np.zeros(num_ops, np.int64),
            devices=np.zeros(num_ops, np.int64),
            seen=np.zeros(num_activations + 1, np.int64),
            seen_op=np.zeros(num_ops + 1, np.int64),
        )


class Clock(NamedTuple):
    """Room for one walk of the clock.

    Attributes
    ----------
    available : float64, shape (num_activations, num_devices), seconds
    sent : int8, shape (num_activations, num_devices)
        1 once sent there, 0 where it must be, -1 where nobody reads it.
    pending : int64, shape (num_activations,)
        What an activation waits for at home before it is released.
    finish : float64, shape (num_ops,), seconds
    device_free : float64, shape (num_devices,), seconds
    link_free : float64, shape (num_devices, num_devices), seconds
    """

    available: NDArray[np.float64]
    sent: NDArray[np.int8]
    pending: NDArray[np.int64]
    finish: NDArray[np.float64]
    device_free: NDArray[np.float64]
    link_free: NDArray[np.float64]

    @classmethod
    def empty(cls, graph: Graph, num_devices: int) -> Clock:
        """Room for walks of ``graph``."""
        shape = (len(graph.size), num_devices)
        return cls(
            available=np.zeros(shape),
            sent=np.zeros(shape, np.int8),
            pending=np.zeros(len(graph.size), np.int64),
            finish=np.zeros(len(graph.workspace)),
            device_free=np.zeros(num_devices),
            link_free=np.zeros((num_devices, num_devices)),
        )


def order_of(plan: Plan) -> Order:
    """A plan's order and placement; its copies all become late ones."""
    graph = plan.graph
    runs = plan.schedule[plan.schedule[:, 1] == RUN, 0].astype(np.int64)
    position = np.empty(graph.num_ops, np.int64)
    position[runs] = np.arange(graph.num_ops)
    eager = np.zeros(graph.num_activations, np.bool_)
    return Order(runs, position, plan.placement.astype(np.int64), eager, np.array([np.inf]), np.array([np.inf]))


def plan_of(problem: Problem, found: Order) -> Plan:
    """The plan that ``found`` stands for."""
    graph = problem.graph
    device_of = found.device_of.tolist()
    eager = np.zeros(graph.num_tensors, np.bool_)
    eager[graph.activations] = found.eager
    producer, inputs, outputs = graph.producer.tolist(), graph.inputs.to_lists(), graph.outputs.to_lists()
    consumers, is_eager = graph.consumers.to_lists(), eager.tolist()
    events: list[tuple[int, int]] = []
    sent: set[tuple[int, int]] = set()
    for op in found.order.tolist():
        device = device_of[op]
        for tensor in inputs[op]:
            if producer[tensor] >= 0 and device_of[producer[tensor]] != device and (tensor, device) not in sent:
                sent.add((tensor, device))
                events.append((tensor, device))
        events.append((op, RUN))
        for tensor in outputs[op]:
            if is_eager[tensor]:
                for other in sorted({device_of[reader] for reader in consumers[tensor]} - {device}):
                    sent.add((tensor, other))
                    events.append((tensor, other))
    schedule = np.array(events, np.int32).reshape(-1, 2)
    return Plan(graph, problem.cluster, found.device_of.astype(np.int32), schedule)
