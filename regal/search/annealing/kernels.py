"""Annealing moves, compiled: a plan is an order of the ops, a placement, and for each activation when it is sent.

An activation goes to another device right before its first reader there, or, where it is ``eager``, right after its
producer. Step ``p`` is the run of ``order[p]`` with the copies before and after it. Two profiles per device hold the
whole memory walk: ``noted[d, p]`` are the bytes of activations and workspace that count in step ``p``, ``after[d, p]``
those live when it is over. A tensor adds its bytes to both over intervals of steps, so moving an op by some steps
changes the profiles between its old and its new place and nowhere else.
"""

from __future__ import annotations

import numpy as np
from numba import njit

BLOCK = 64
"""Steps per entry of the maxima that spare a move the walk over all steps."""
EXTREME_SHARE = 0.3
"""Share of the moves of one op that go as far as they can."""
DEVICE_SHARE, EAGER_SHARE = 0.2, 0.05
"""Shares of the moves that put a run of ops on another device, and that send an activation early or late."""
MEAN_RUN, LONG_RUN, LONG_SHARE = 4.0, 8, 0.1
"""Runs have four ops on average, one in ten an eighth of all."""


@njit(cache=True, nogil=True)
def place_in(position, op, moved, source, target):  # type: ignore[no-untyped-def]
    """Step of ``op`` once ``moved`` has gone from step ``source`` to step ``target``."""
    if op == moved:
        return target
    at = position[op]
    if source < at <= target:
        return at - 1
    return at + 1 if target <= at < source else at


@njit(cache=True, nogil=True)
def intervals(graph, activation, position, device_of, eager, moved, source, target, spans):  # type: ignore[no-untyped-def]
    """Write (first, last noted, last live after) step of ``activation`` per device to ``spans``; first -1 for nowhere.

    ``moved`` is an op on its way from step ``source`` to step ``target``; none where both are equal.
    """
    producer = graph.producer[activation]
    home = device_of[producer]
    made = place_in(position, producer, moved, source, target)
    for device in range(len(spans)):
        spans[device, 0] = -1
    spans[home, 0] = spans[home, 1] = made
    spans[home, 2] = made - 1
    offsets = graph.consumers.offsets
    for at in range(offsets[activation], offsets[activation + 1]):
        op = graph.consumers.values[at]
        device, step = device_of[op], place_in(position, op, moved, source, target)
        if spans[device, 0] < 0:
            spans[device, 0] = spans[device, 1] = step
        spans[device, 0] = min(spans[device, 0], step)
        spans[device, 1] = max(spans[device, 1], step)
        spans[device, 2] = spans[device, 1] - 1
    last = spans[home, 1]
    for device in range(len(spans)):
        if device != home and spans[device, 0] >= 0:
            if eager[activation]:
                spans[device, 0] = made
            elif spans[device, 0] > last:  # sent, and released at home, before that step counts anything at home
                last = spans[device, 0]
                spans[home, 1] = spans[home, 2] = last - 1
    if graph.is_output[activation]:
        spans[home, 1] = spans[home, 2] = len(position) - 1


@njit(cache=True, nogil=True)
def add_intervals(spans, size, noted, after, low, high):  # type: ignore[no-untyped-def]
    """Add ``size`` over the spans to profiles that begin at step ``low`` and end before step ``high``.

    Returns what that adds to the live bytes over all steps and devices.
    """
    steps = 0
    for device in range(len(spans)):
        first = spans[device, 0]
        if first >= 0:
            first = max(first, low)
            for step in range(first, min(spans[device, 1] + 1, high)):
                noted[device, step - low] += size
            last = min(spans[device, 2] + 1, high)
            for step in range(first, last):
                after[device, step - low] += size
            steps += max(last - first, 0)
    return steps * size


@njit(cache=True, nogil=True)
def fill_profiles(graph, order, position, device_of, eager, noted, after, base, reads, spans):  # type: ignore[no-untyped-def]
    """Both profiles and the persistent bytes per device, from nothing."""
    num_ops, num_devices = len(order), len(base)
    noted[:] = 0
    after[:] = 0
    for activation in range(len(graph.producer)):
        intervals(graph, activation, position, device_of, eager, -1, 0, 0, spans)
        size = graph.size[activation]
        for device in range(num_devices):  # as differences first
            first = spans[device, 0]
            if first >= 0:
                noted[device, first] += size
                after[device, first] += size
                if spans[device, 1] + 1 < num_ops:
                    noted[device, spans[device, 1] + 1] -= size
                if spans[device, 2] + 1 < num_ops:
                    after[device, spans[device, 2] + 1] -= size
    for device in range(num_devices):
        for step in range(1, num_ops):
            noted[device, step] += noted[device, step - 1]
            after[device, step] += after[device, step - 1]
    for step in range(num_ops):
        noted[device_of[order[step]], step] += graph.workspace[order[step]]
    base[:] = 0
    reads[:] = 0
    for op in range(num_ops):
        count_reads(graph, op, device_of[op], reads, base, 1)


@njit(cache=True, nogil=True)
def count_reads(graph, op, device, reads, base, one):  # type: ignore[no-untyped-def]
    """Count the persistent tensors that ``op`` reads as read once more, or once less, on ``device``."""
    offsets = graph.persistent.offsets
    for at in range(offsets[op], offsets[op + 1]):
        tensor = graph.persistent.values[at]
        if one < 0:
            reads[tensor, device] -= 1
        if reads[tensor, device] == 0:
            base[device] += one * graph.resident[tensor]
        if one > 0:
            reads[tensor, device] += 1


@njit(cache=True, nogil=True)
def fill_blocks(noted, blocks, low, high):  # type: ignore[no-untyped-def]
    """Maxima of ``noted`` per block, for the blocks that hold steps from ``low`` to ``high``."""
    num_ops = noted.shape[1]
    for device in range(len(noted)):
        for block in range(low // BLOCK, high // BLOCK + 1):
            best = np.int64(0)
            for step in range(block * BLOCK, min((block + 1) * BLOCK, num_ops)):
                best = max(best, noted[device, step])
            blocks[device, block] = best


@njit(cache=True, nogil=True)
def highest_outside(noted, blocks, device, low, high):  # type: ignore[no-untyped-def]
    """The highest count of ``device`` before step ``low`` and after step ``high``."""
    num_ops, num_blocks = noted.shape[1], blocks.shape[1]
    best = np.int64(0)
    for block in range(low // BLOCK):
        best = max(best, blocks[device, block])
    for step in range(low // BLOCK * BLOCK, low):
        best = max(best, noted[device, step])
    for step in range(high + 1, min((high // BLOCK + 1) * BLOCK, num_ops)):
        best = max(best, noted[device, step])
    for block in range(high // BLOCK + 1, num_blocks):
        best = max(best, blocks[device, block])
    return best


@njit(cache=True, nogil=True)
def range_of(graph, position, op):  # type: ignore[no-untyped-def]
    """First and last step to which ``op`` may move while the others keep their order."""
    first, last = 0, len(position) - 1
    for at in range(graph.predecessors.offsets[op], graph.predecessors.offsets[op + 1]):
        first = max(first, position[graph.predecessors.values[at]] + 1)
    for at in range(graph.successors.offsets[op], graph.successors.offsets[op + 1]):
        last = min(last, position[graph.successors.values[at]] - 1)
    return first, last


@njit(cache=True, nogil=True)
def try_shift(graph, plan, profiles, op, target, scratch):  # type: ignore[no-untyped-def]
    """Profiles between the old and the new step of ``op`` as they would be; returns the change of the live bytes.

    The new counts stand in ``scratch.noted`` and ``scratch.after`` from column 0 on, which is the lower of the steps.
    """
    position, spans, touched = plan.position, scratch.spans, scratch.touched
    new_noted, new_after, across = scratch.noted, scratch.after, scratch.across
    source = position[op]
    low, high = min(source, target), max(source, target)
    length, num_devices, home = high - low + 1, len(across), plan.device_of[op]
    change = np.int64(0)
    for device in range(num_devices):
        across[device] = profiles.after[device, low - 1] if low > 0 else 0
        for step in range(length):
            new_noted[device, step] = profiles.noted[device, low + step]
            new_after[device, step] = profiles.after[device, low + step]
            change -= new_after[device, step]
    new_noted[home, source - low] -= graph.workspace[op]
    count = 0
    for lists in (graph.inputs, graph.outputs):
        for at in range(lists.offsets[op], lists.offsets[op + 1]):
            activation = lists.values[at]
            touched[count] = activation
            count += 1
            intervals(graph, activation, position, plan.device_of, plan.eager, -1, 0, 0, spans)
            add_intervals(spans, -graph.size[activation], new_noted, new_after, low, high + 1)
            for device in range(num_devices):
                if 0 <= spans[device, 0] < low <= spans[device, 2] + 1:
                    across[device] -= graph.size[activation]
    for device in range(num_devices):  # what is left begins and ends at the other ops, which go one step on or back
        if source < target:
            across[device] = new_after[device, length - 1]
            for step in range(length - 1):
                new_noted[device, step] = new_noted[device, step + 1]
                new_after[device, step] = new_after[device, step + 1]
        else:
            for step in range(length - 1, 0, -1):
                new_noted[device, step] = new_noted[device, step - 1]
                new_after[device, step] = new_after[device, step - 1]
        new_noted[device, target - low] = new_after[device, target - low] = across[device]
    for index in range(count):
        activation = touched[index]
        intervals(graph, activation, position, plan.device_of, plan.eager, op, source, target, spans)
        add_intervals(spans, graph.size[activation], new_noted, new_after, low, high + 1)
    new_noted[home, target - low] += graph.workspace[op]
    for device in range(num_devices):
        for step in range(length):
            change += new_after[device, step]
    return change


@njit(cache=True, nogil=True)
def shifted_peak(profiles, low, high, weight, scratch):  # type: ignore[no-untyped-def]
    """The weighted peak after the move that :func:`try_shift` has tried between steps ``low`` and ``high``."""
    peak = 0.0
    for device in range(len(weight)):
        best = highest_outside(profiles.noted, profiles.blocks, device, low, high)
        for step in range(high - low + 1):
            best = max(best, scratch.noted[device, step])
        peak = max(peak, (profiles.base[device] + best) * weight[device])
    return peak


@njit(cache=True, nogil=True)
def whole_peak(profiles, weight):  # type: ignore[no-untyped-def]
    """The weighted peak: the highest over the devices of peak times weight."""
    peak = 0.0
    for device in range(len(weight)):
        best = np.int64(0)
        for block in range(profiles.blocks.shape[1]):
            best = max(best, profiles.blocks[device, block])
        peak = max(peak, (profiles.base[device] + best) * weight[device])
    return peak


@njit(cache=True, nogil=True)
def move(plan, op, target):  # type: ignore[no-untyped-def]
    """Bring ``op`` to step ``target``; the ops between go one step on or back."""
    order, position = plan.order, plan.position
    source = position[op]
    one = 1 if source < target else -1
    for step in range(source, target, one):
        order[step] = order[step + one]
        position[order[step]] = step
    order[target] = op
    position[op] = target


@njit(cache=True, nogil=True)
def shift(plan, profiles, op, target, scratch):  # type: ignore[no-untyped-def]
    """Carry out the move that :func:`try_shift` has tried."""
    low, high = min(plan.position[op], target), max(plan.position[op], target)
    move(plan, op, target)
    for device in range(len(profiles.base)):
        for step in range(low, high + 1):
            profiles.noted[device, step] = scratch.noted[device, step - low]
            profiles.after[device, step] = scratch.after[device, step - low]
    fill_blocks(profiles.noted, profiles.blocks, low, high)


@njit(cache=True, nogil=True)
def fill(graph, plan, profiles, spans):  # type: ignore[no-untyped-def]
    """All profiles of a plan, from nothing; returns the live bytes over all steps and devices."""
    noted, after, blocks, base, reads = profiles
    fill_profiles(graph, plan.order, plan.position, plan.device_of, plan.eager, noted, after, base, reads, spans)
    if len(plan.order):
        fill_blocks(noted, blocks, 0, len(plan.order) - 1)
    return after.sum()


@njit(cache=True, nogil=True)
def change_devices(graph, plan, profiles, changed, count, scratch, new_device):  # type: ignore[no-untyped-def]
    """Put the first ``count`` ops of ``changed`` on the devices in ``new_device``, the profiles with them.

    ``new_device`` gets the devices that they leave. Returns the change of the live bytes.
    """
    position, device_of, spans, seen = plan.position, plan.device_of, scratch.spans, scratch.seen
    noted, after, blocks, base, reads = profiles
    touched = 0
    seen[0] += 1  # the stamp of this call
    for index in range(count):
        op = changed[index]
        for lists in (graph.inputs, graph.outputs):
            for at in range(lists.offsets[op], lists.offsets[op + 1]):
                activation = lists.values[at]
                if seen[activation + 1] != seen[0]:
                    seen[activation + 1] = seen[0]
                    scratch.touched[touched] = activation
                    touched += 1
    change = np.int64(0)
    for index in range(touched):
        activation = scratch.touched[index]
        intervals(graph, activation, position, device_of, plan.eager, -1, 0, 0, spans)
        change += add_intervals(spans, -graph.size[activation], noted, after, 0, len(position))
    for index in range(count):
        op = changed[index]
        old, new = device_of[op], new_device[index]
        noted[old, position[op]] -= graph.workspace[op]
        noted[new, position[op]] += graph.workspace[op]
        count_reads(graph, op, old, reads, base, -1)
        count_reads(graph, op, new, reads, base, 1)
        device_of[op], new_device[index] = new, old
    for index in range(touched):
        activation = scratch.touched[index]
        intervals(graph, activation, position, device_of, plan.eager, -1, 0, 0, spans)
        change += add_intervals(spans, graph.size[activation], noted, after, 0, len(position))
    fill_blocks(noted, blocks, 0, len(position) - 1)
    return change


@njit(cache=True, nogil=True)
def undo_devices(plan, profiles, saved, changed, count, old_device):  # type: ignore[no-untyped-def]
    """Take back what :func:`change_devices` did, with the profiles ``saved`` before it."""
    for index in range(count):
        plan.device_of[changed[index]] = old_device[index]
    copy_profiles(saved, profiles)


@njit(cache=True, nogil=True)
def copy_profiles(source, target):  # type: ignore[no-untyped-def]
    """Overwrite ``target`` by ``source``."""
    for column in range(source.noted.shape[0]):
        target.noted[column] = source.noted[column]
        target.after[column] = source.after[column]
    target.blocks[:] = source.blocks
    target.base[:] = source.base
    target.reads[:] = source.reads


@njit(cache=True, nogil=True)
def change_eager(graph, plan, profiles, activation, scratch):  # type: ignore[no-untyped-def]
    """Send ``activation`` late where it was early and the other way round; returns the change of the live bytes."""
    position, eager, spans = plan.position, plan.eager, scratch.spans
    num_ops = len(position)
    intervals(graph, activation, position, plan.device_of, eager, -1, 0, 0, spans)
    change = add_intervals(spans, -graph.size[activation], profiles.noted, profiles.after, 0, num_ops)
    eager[activation] = not eager[activation]
    intervals(graph, activation, position, plan.device_of, eager, -1, 0, 0, spans)
    change += add_intervals(spans, graph.size[activation], profiles.noted, profiles.after, 0, num_ops)
    fill_blocks(profiles.noted, profiles.blocks, 0, num_ops - 1)
    return change


@njit(cache=True, nogil=True)
def draw(random):  # type: ignore[no-untyped-def]
    """The next number of ``random``, a state of one uint64, uniform in [0, 1): splitmix64."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    z = random[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return float((z ^ (z >> np.uint64(31))) >> np.uint64(11)) / 9007199254740992.0


@njit(cache=True, nogil=True)
def draw_target(graph, position, op, random):  # type: ignore[no-untyped-def]
    """A step to move ``op`` to: any within its range, three times in ten one of the two ends."""
    first, last = range_of(graph, position, op)
    if draw(random) < EXTREME_SHARE:
        return first if draw(random) < 0.5 else last
    return first + int(draw(random) * (last - first + 1))


@njit(cache=True, nogil=True)
def draw_devices(graph, plan, num_devices, random, scratch):  # type: ignore[no-untyped-def]
    """A random run of steps, with the groups of its ops, for a random device.

    Writes the ops that change to ``scratch.changed`` and their new device to ``scratch.devices``; returns how many.
    """
    order, device_of, seen, members = plan.order, plan.device_of, scratch.seen_op, graph.members
    mean = max(MEAN_RUN, len(order) / LONG_RUN) if draw(random) < LONG_SHARE else MEAN_RUN
    length = 1 + int(-mean * np.log(1.0 - draw(random)))
    start = int(draw(random) * len(order))
    device = int(draw(random) * (num_devices - 1))
    if device >= device_of[order[start]]:
        device += 1
    count = 0
    seen[0] += 1
    for step in range(start, min(start + length, len(order))):
        for at in range(members.offsets[order[step]], members.offsets[order[step] + 1]):
            op = members.values[at]
            if device_of[op] != device and seen[op + 1] != seen[0]:
                seen[op + 1] = seen[0]
                scratch.changed[count] = op
                scratch.devices[count] = device
                count += 1
    return count


@njit(cache=True, nogil=True)
def keep(plan, best, value, excess):  # type: ignore[no-untyped-def]
    """Remember the plan if it is better than the best: by excess bytes first, then by value."""
    if excess < best.excess[0] or (excess == best.excess[0] and value < best.value[0]):
        best.value[0] = value
        best.excess[0] = excess
        best.order[:] = plan.order
        best.position[:] = plan.position
        best.device_of[:] = plan.device_of
        best.eager[:] = plan.eager


@njit(cache=True, nogil=True)
def anneal_memory(graph, plan, best, profiles, saved, scratch, weight, smoothing, moves, hot, cold, random):  # type: ignore[no-untyped-def]
    """Propose ``moves`` moves while the temperature falls geometrically from ``hot`` to ``cold``.

    The cost is the weighted peak plus ``smoothing`` times the mean live bytes. ``best`` holds the best plan met so far.
    """
    num_ops, num_devices = len(plan.order), len(weight)
    live = fill(graph, plan, profiles, scratch.spans)
    smoothing = smoothing / num_ops
    peak = whole_peak(profiles, weight)
    keep(plan, best, peak, 0.0)
    for at in range(moves):
        temperature = hot * (cold / hot) ** (at / moves)
        limit = peak + smoothing * live - temperature * np.log(1.0 - draw(random))
        kind = draw(random)
        if num_devices == 1 or kind >= DEVICE_SHARE + EAGER_SHARE:
            op = int(draw(random) * num_ops)
            target = draw_target(graph, plan.position, op, random)
            if target == plan.position[op]:
                continue
            change = try_shift(graph, plan, profiles, op, target, scratch)
            low, high = min(target, plan.position[op]), max(target, plan.position[op])
            new_peak = shifted_peak(profiles, low, high, weight, scratch)
            if new_peak + smoothing * (live + change) > limit:
                continue
            shift(plan, profiles, op, target, scratch)
        elif kind < DEVICE_SHARE:
            count = draw_devices(graph, plan, num_devices, random, scratch)
            copy_profiles(profiles, saved)
            change = change_devices(graph, plan, profiles, scratch.changed, count, scratch, scratch.devices)
            new_peak = whole_peak(profiles, weight)
            if new_peak + smoothing * (live + change) > limit:
                undo_devices(plan, profiles, saved, scratch.changed, count, scratch.devices)
                continue
        elif len(plan.eager):
            activation = int(draw(random) * len(plan.eager))
            change = change_eager(graph, plan, profiles, activation, scratch)
            new_peak = whole_peak(profiles, weight)
            if new_peak + smoothing * (live + change) > limit:
                change_eager(graph, plan, profiles, activation, scratch)
                continue
        else:
            continue
        live += change
        peak = new_peak
        keep(plan, best, peak, 0.0)


@njit(cache=True, nogil=True)
def running_time(graph, cluster, plan, clock):  # type: ignore[no-untyped-def]
    """Seconds of the plan, by the rules of the performance model."""
    available, sent, pending, finish, device_free, link_free = clock
    device_of, eager = plan.device_of, plan.eager
    device_free[:] = 0.0
    link_free[:] = 0.0
    sent[:] = -1
    consumers = graph.consumers
    for activation in range(len(pending)):  # readers at home, devices to send to, and the end for an output
        home = device_of[graph.producer[activation]]
        pending[activation] = 1 if graph.is_output[activation] else 0
        for at in range(consumers.offsets[activation], consumers.offsets[activation + 1]):
            device = device_of[consumers.values[at]]
            if device == home:
                pending[activation] += 1
            elif sent[activation, device] < 0:
                sent[activation, device] = 0
                pending[activation] += 1
    last = 0.0
    for step in range(len(plan.order)):
        op = plan.order[step]
        device = device_of[op]
        for at in range(graph.inputs.offsets[op], graph.inputs.offsets[op + 1]):
            activation = graph.inputs.values[at]
            if device_of[graph.producer[activation]] != device and sent[activation, device] == 0:
                send(graph, cluster, device_of, activation, device, clock)
        start = device_free[device]
        for at in range(graph.control_inputs.offsets[op], graph.control_inputs.offsets[op + 1]):
            start = max(start, finish[graph.control_inputs.values[at]])
        for at in range(graph.inputs.offsets[op], graph.inputs.offsets[op + 1]):
            activation = graph.inputs.values[at]
            start = max(start, available[activation, device])
            if device_of[graph.producer[activation]] == device:
                pending[activation] -= 1
        finish[op] = start + graph.runtime[op] / cluster.speed[device]
        device_free[device] = finish[op]
        last = max(last, finish[op])
        for at in range(graph.outputs.offsets[op], graph.outputs.offsets[op + 1]):
            activation = graph.outputs.values[at]
            available[activation, device] = finish[op]
            if eager[activation]:
                for other in range(len(device_free)):
                    if sent[activation, other] == 0:
                        send(graph, cluster, device_of, activation, other, clock)
    return last


@njit(cache=True, nogil=True)
def send(graph, cluster, device_of, activation, device, clock):  # type: ignore[no-untyped-def]
    """Copy ``activation`` to ``device``."""
    available, sent, pending, _, device_free, link_free = clock
    home = device_of[graph.producer[activation]]
    seconds = graph.size[activation] / cluster.bandwidth[home, device]
    start = max(available[activation, home], max(link_free[home, device], device_free[device]))
    link_free[home, device] = start + seconds
    available[activation, device] = (start + cluster.latency[home, device]) + seconds
    sent[activation, device] = 1
    pending[activation] -= 1
    if pending[activation] == 0:
        device_free[home] = max(device_free[home], available[activation, device])


@njit(cache=True, nogil=True)
def excess_bytes(graph, cluster, plan, profiles, scratch):  # type: ignore[no-untyped-def]
    """Bytes by which the peaks exceed the memory, summed over devices."""
    fill(graph, plan, profiles, scratch.spans)
    excess = np.int64(0)
    for device in range(len(profiles.base)):
        best = np.int64(0)
        for block in range(profiles.blocks.shape[1]):
            best = max(best, profiles.blocks[device, block])
        excess += max(np.int64(0), profiles.base[device] + best - cluster.memory[device])
    return float(excess)


@njit(cache=True, nogil=True)
def anneal_time(graph, cluster, plan, best, profiles, scratch, clock, fits, penalty, moves, hot, cold, random):  # type: ignore[no-untyped-def]
    """As :func:`anneal_memory`, for the running time plus ``penalty`` seconds per byte that does not fit.

    Where ``fits`` any plan does, and memory is not looked at.
    """
    num_ops, num_devices = len(plan.order), len(profiles.base)
    excess = 0.0 if fits else excess_bytes(graph, cluster, plan, profiles, scratch)
    cost = running_time(graph, cluster, plan, clock)
    keep(plan, best, cost, excess)
    cost += penalty * excess
    for at in range(moves):
        temperature = hot * (cold / hot) ** (at / moves)
        limit = cost - temperature * np.log(1.0 - draw(random))
        kind = draw(random)
        op, source, count, activation = -1, -1, 0, -1
        if num_devices == 1 or kind >= DEVICE_SHARE + EAGER_SHARE:
            op = int(draw(random) * num_ops)
            source = plan.position[op]
            target = draw_target(graph, plan.position, op, random)
            if target == source:
                continue
            move(plan, op, target)
        elif kind < DEVICE_SHARE:
            count = draw_devices(graph, plan, num_devices, random, scratch)
            swap_devices(plan, scratch.changed, count, scratch.devices)
        elif len(plan.eager):
            activation = int(draw(random) * len(plan.eager))
            plan.eager[activation] = not plan.eager[activation]
        seconds = running_time(graph, cluster, plan, clock)
        excess = 0.0
        if seconds <= limit and not fits:
            excess = excess_bytes(graph, cluster, plan, profiles, scratch)
        if seconds + penalty * excess <= limit:
            cost = seconds + penalty * excess
            keep(plan, best, seconds, excess)
        elif op >= 0:
            move(plan, op, source)
        elif activation >= 0:
            plan.eager[activation] = not plan.eager[activation]
        else:
            swap_devices(plan, scratch.changed, count, scratch.devices)


@njit(cache=True, nogil=True)
def swap_devices(plan, changed, count, devices):  # type: ignore[no-untyped-def]
    """Exchange the devices of the first ``count`` ops of ``changed`` with those in ``devices``."""
    for index in range(count):
        op = changed[index]
        plan.device_of[op], devices[index] = devices[index], plan.device_of[op]
