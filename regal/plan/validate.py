"""Is a plan valid? Written from the rules alone, sharing nothing with the decoders and kernels that it judges."""

from __future__ import annotations

from regal.plan.plan import RUN, Plan


class InvalidPlan(ValueError):
    """A plan breaks a rule; the message names the rule, the op or tensor, and the value."""


def check_plan(plan: Plan) -> None:
    """Raise :class:`InvalidPlan` for the first broken rule.

    1. every op runs exactly once, on a device of the cluster;
    2. ``copy(t, d)`` is there exactly once for each activation ``t`` and each device ``d`` other than its home that
       runs a consumer of ``t``, and no other copy is there;
    3. an op runs after its control inputs, and after each input activation is on its device: produced there or
       copied there;
    4. a copy comes after the run of its tensor's producer;
    5. ops of one colocation group are on one device.
    """
    _check_placement(plan)
    position = _positions(plan)
    _check_copies(plan, position)
    _check_order(plan, position)


def _check_placement(plan: Plan) -> None:
    graph, num_devices = plan.graph, plan.cluster.num_devices
    if len(plan.placement) != graph.num_ops:
        raise InvalidPlan(f"rule 1: the placement has {len(plan.placement)} entries for {graph.num_ops} ops")
    device_of_group: dict[int, tuple[int, int]] = {}
    for op, device in enumerate(plan.placement.tolist()):
        if not 0 <= device < num_devices:
            raise InvalidPlan(
                f"rule 1: {graph.describe_op(op)} is on device {device}, but there are {num_devices} devices"
            )
        group = int(graph.colocation[op])
        if group >= 0:
            first, expected = device_of_group.setdefault(group, (op, device))
            if device != expected:
                raise InvalidPlan(
                    f"rule 5: {graph.describe_op(op)} is on device {device}, but {graph.describe_op(first)} of the "
                    f"same colocation group {group} is on device {expected}"
                )


def _positions(plan: Plan) -> dict[tuple[int, int], int]:
    """Where each event stands in the schedule; each is there at most once and every op runs."""
    graph = plan.graph
    position: dict[tuple[int, int], int] = {}
    for place, (what, device) in enumerate(plan.schedule.tolist()):
        limit = graph.num_ops if device == RUN else graph.num_tensors
        if not 0 <= what < limit:
            kind = "op" if device == RUN else "tensor"
            raise InvalidPlan(f"rule {1 if device == RUN else 2}: event {place} names {kind} {what} of {limit}")
        if (what, device) in position:
            text = f"rule 1: {graph.describe_op(what)} runs" if device == RUN else f"rule 2: {_copy(what, device)} is"
            raise InvalidPlan(f"{text} at event {position[what, device]} and again at event {place}")
        position[what, device] = place
    for op in range(graph.num_ops):
        if (op, RUN) not in position:
            raise InvalidPlan(f"rule 1: {graph.describe_op(op)} never runs")
    return position


def _check_copies(plan: Plan, position: dict[tuple[int, int], int]) -> None:
    graph, device_of = plan.graph, plan.placement.tolist()
    producer = graph.producer.tolist()
    needed: dict[tuple[int, int], int] = {}
    for op, tensors in enumerate(graph.inputs.to_lists()):
        for tensor in tensors:
            if producer[tensor] >= 0 and device_of[op] != device_of[producer[tensor]]:
                needed.setdefault((tensor, device_of[op]), op)
    for event, op in needed.items():
        if event not in position:
            raise InvalidPlan(f"rule 2: {_copy(*event)}, which {graph.describe_op(op)} needs, is missing")
    for what, device in position:
        if device != RUN and (what, device) not in needed:
            if producer[what] < 0:
                reason = "the tensor is persistent"
            elif device == device_of[producer[what]]:
                reason = "it is the tensor's home device"
            else:
                reason = "no consumer of the tensor runs there"
            raise InvalidPlan(f"rule 2: {_copy(what, device)} must not be there: {reason}")


def _check_order(plan: Plan, position: dict[tuple[int, int], int]) -> None:
    graph, device_of = plan.graph, plan.placement.tolist()
    producer = graph.producer.tolist()
    for op, (tensors, controls) in enumerate(
        zip(graph.inputs.to_lists(), graph.control_inputs.to_lists(), strict=True)
    ):
        at = position[op, RUN]
        for control in controls:
            if position[control, RUN] > at:
                raise InvalidPlan(
                    f"rule 3: {graph.describe_op(op)} runs before its control input {graph.describe_op(control)}"
                )
        for tensor in tensors:
            source = producer[tensor]
            if source < 0:
                continue
            if device_of[source] == device_of[op]:
                if position[source, RUN] > at:
                    raise InvalidPlan(
                        f"rule 3: {graph.describe_op(op)} runs before {graph.describe_op(source)}, "
                        f"which produces its input tensor {tensor}"
                    )
            elif position[tensor, device_of[op]] > at:
                raise InvalidPlan(
                    f"rule 3: {graph.describe_op(op)} runs before {_copy(tensor, device_of[op])} of its input"
                )
    for (what, device), at in position.items():
        if device != RUN and position[producer[what], RUN] > at:
            raise InvalidPlan(
                f"rule 4: {_copy(what, device)} comes before its producer {graph.describe_op(producer[what])} runs"
            )


def _copy(tensor: int, device: int) -> str:
    return f"the copy of tensor {tensor} to device {device}"
