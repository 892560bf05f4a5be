"""The performance model in plain Python: obvious, slow, and the judge of every fast kernel.

:func:`walk` replays a schedule event by event; :func:`evaluate` keeps the figures, :func:`trace` keeps every step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from regal.cost.cost import Cost
from regal.plan import RUN, Plan


@dataclass(frozen=True)
class Step:
    """One event of a schedule as the model replays it.

    Attributes
    ----------
    what : int
        Op of a run, tensor of a copy.
    target : int
        -1 for a run, the receiving device for a copy.
    device : int
        Where memory is taken: the op's device, or the receiving one.
    during : int
        Bytes on ``device`` at the event's highest moment.
    memory : tuple of int, length num_devices
        Bytes on every device after the event and its releases.
    released : tuple of (tensor, device)
        Activations that the event releases.
    start, finish : float
        Seconds. A copy finishes when its tensor is available on the target.
    """

    what: int
    target: int
    device: int
    during: int
    memory: tuple[int, ...]
    released: tuple[tuple[int, int], ...]
    start: float
    finish: float


def start_memory(plan: Plan) -> list[int]:
    """Bytes of persistent tensors on each device: where at least one consumer runs."""
    graph, memory = plan.graph, [0] * plan.cluster.num_devices
    consumers = graph.consumers.to_lists()
    for tensor, producer in enumerate(graph.producer.tolist()):
        if producer < 0:
            for device in {int(plan.placement[op]) for op in consumers[tensor]}:
                memory[device] += int(graph.tensor_bytes[tensor])
    return memory


def walk(plan: Plan) -> Iterator[Step]:
    """Replay the schedule of a valid plan and yield a :class:`Step` per event.

    Memory: a run adds its outputs and workspace, the peak is noted, the workspace goes, then every activation among
    its inputs and outputs that nobody on the device still waits for is released. A copy adds its tensor on the target;
    the home device releases it once no consumer there and no other copy waits for it. An output of the graph is never
    released on its home device.

    Time: an op starts when its device is free, its inputs are available and its control inputs have finished. A copy
    starts when its tensor is there, the link is free and the target is free; a home device that thereby releases the
    tensor is held up until the copy has arrived.
    """
    graph, cluster = plan.graph, plan.cluster
    place, producer, sizes = plan.placement.tolist(), graph.producer.tolist(), graph.tensor_bytes.tolist()
    inputs, outputs = graph.inputs.to_lists(), graph.outputs.to_lists()
    controls, is_output = graph.control_inputs.to_lists(), graph.is_output.tolist()
    memory = start_memory(plan)
    remaining: dict[tuple[int, int], int] = {}  # (tensor, device) -> reads and copies still to come
    for tensor, consumers in enumerate(graph.consumers.to_lists()):
        if producer[tensor] >= 0:
            home = place[producer[tensor]]
            for op in consumers:
                remaining[tensor, place[op]] = remaining.get((tensor, place[op]), 0) + 1
            copies = len({place[op] for op in consumers} - {home})
            remaining[tensor, home] = remaining.get((tensor, home), 0) + copies
    device_free = [0.0] * cluster.num_devices
    link_free: dict[tuple[int, int], float] = {}
    available: dict[tuple[int, int], float] = {}  # (tensor, device) -> seconds
    finish_of = [0.0] * graph.num_ops

    def release(tensor: int, device: int) -> bool:
        home = place[producer[tensor]]
        if remaining[tensor, device] or (is_output[tensor] and device == home):
            return False
        memory[device] -= sizes[tensor]
        return True

    for what, target in plan.schedule.tolist():
        released = []
        if target == RUN:
            device = place[what]
            activations = [tensor for tensor in inputs[what] if producer[tensor] >= 0]
            memory[device] += sum(sizes[tensor] for tensor in outputs[what])
            during = memory[device] + int(graph.workspace[what])
            for tensor in activations:
                remaining[tensor, device] -= 1
            for tensor in activations + outputs[what]:
                if release(tensor, device):
                    released.append((tensor, device))
            start = max(
                [device_free[device]]
                + [available[tensor, device] for tensor in activations]
                + [finish_of[op] for op in controls[what]]
            )
            finish = start + float(graph.runtime[what]) / cluster.devices[device].speed
            device_free[device] = finish_of[what] = finish
            for tensor in outputs[what]:
                available[tensor, device] = finish
        else:
            device, home = target, place[producer[what]]
            memory[device] += sizes[what]
            during = memory[device]
            remaining[what, home] -= 1
            send = sizes[what] / float(cluster.bandwidth[home, device])
            start = max(finish_of[producer[what]], link_free.get((home, device), 0.0), device_free[device])
            link_free[home, device] = start + send
            finish = available[what, device] = (start + float(cluster.latency[home, device])) + send
            if release(what, home):
                released.append((what, home))
                device_free[home] = max(device_free[home], finish)
        yield Step(what, target, device, during, tuple(memory), tuple(released), start, finish)


def trace(plan: Plan) -> list[Step]:
    """Every step of a valid plan, in order."""
    return list(walk(plan))


def evaluate(plan: Plan) -> Cost:
    """The cost of a valid plan."""
    peak, running_time = start_memory(plan), 0.0
    for step in walk(plan):
        peak[step.device] = max(peak[step.device], step.during)
        if step.target == RUN:
            running_time = max(running_time, step.finish)
    return Cost(tuple(peak), running_time)
