"""Compiled decoding: a row of keys becomes a placement, a schedule and its cost, in one walk.

The walk is list scheduling. Ready events stand in a bucket queue: a key's upper 12 bits choose one of 4,096 buckets,
a two-level bitmap finds the best non-empty one, and the few events of one bucket form a sorted chain. What an
activation waits for on each device is counted when its producer runs, by the same pass over its consumers that frees
them, so nothing is prepared for events that a cutoff never reaches.

The flags ``pair``, ``timed`` and ``record`` are True or None: the compiler drops what a None switches off. Array
indices are unsigned (Numba then needs no wrap-around test), and the loop over events calls no function that takes
arrays (each such call would count references).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, prange, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from regal.cost.arrays import DEVICE_BITS, END, OUTPUT_BIT

NUM_BUCKETS = 4096
BUCKET_BITS = 12
ZERO, ONE, SIX, LOW_SIX = np.uint64(0), np.uint64(1), np.uint64(6), np.uint64(63)
LAST = np.uint32(END)
FLAG = np.uint64(OUTPUT_BIT)
ACTIVATION = np.uint64((1 << OUTPUT_BIT) - 1)
COUNT = np.uint64(DEVICE_BITS)
WAITS = np.uint64(1 << DEVICE_BITS)
DEVICE = np.uint64((1 << DEVICE_BITS) - 1)
SHAVE = 1.0 - 1e-9
"""Times a bound on the running time: sums in another order differ by far less."""


class Limits(NamedTuple):
    """When a row's walk may stop, because the row cannot win any more.

    Attributes
    ----------
    memory : int64, shape (num_devices,)
        A device that exceeds this many bytes ends the walk (memory objectives).
    excess, seconds : float
        A pair (excess bytes, running time) that reaches this pair ends the walk (running time).
    tail : float64, shape (num_ops,) or (0,)
        Seconds that must follow each op's finish at the highest speed (running time).
    """

    memory: NDArray[np.int64]
    excess: float
    seconds: float
    tail: NDArray[np.float64]


class Scratch(NamedTuple):
    """Working arrays of one thread.

    Per op: ``state`` (device and count of awaited events) and ``earliest`` (seconds). Per activation: ``made``
    (seconds when its producer finished) and per device ``remaining`` (reads and copies still to come). The bucket
    queue: ``heads`` of the chains, ``chain`` from an event to the next, ``bitmap`` of non-empty buckets; ``ready``
    holds events on their way into it. Per device: ``memory`` and ``final`` (bytes), ``device_free`` and ``work``
    (seconds). Per pair of devices: ``link_free`` (seconds).
    """

    state: NDArray[np.uint64]
    remaining: NDArray[np.int32]
    heads: NDArray[np.uint32]
    chain: NDArray[np.uint32]
    bitmap: NDArray[np.uint64]
    ready: NDArray[np.uint32]
    memory: NDArray[np.int64]
    final: NDArray[np.int64]
    earliest: NDArray[np.float64]
    made: NDArray[np.float64]
    device_free: NDArray[np.float64]
    link_free: NDArray[np.float64]
    work: NDArray[np.float64]


@intrinsic
def lowest_bit(typing_context: Any, word: Any) -> Any:
    """Position of the lowest set bit of a uint64 that is not zero, as a uint64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], context.get_constant(types.boolean, True))

    return types.uint64(types.uint64), generate


@njit(cache=True)
def place(graph, row, num_devices, state):  # type: ignore[no-untyped-def]
    """Write each op's device and its count of awaited events into ``state``."""
    devices = np.uint64(num_devices)
    for op in range(np.uint64(len(state))):
        first = op * devices
        best = ZERO
        if devices == 2:
            best = np.uint64(row[first + ONE] > row[first])
        else:
            for device in range(ONE, devices):
                if row[first + device] > row[first + best]:
                    best = device
        state[op] = graph.waiting[op] | best
    for op in range(np.uint64(len(graph.leader))):
        state[op] = (state[op] & ~DEVICE) | (state[np.uint64(graph.leader[op])] & DEVICE)


@njit(cache=True)
def add_resident(graph, state, memory):  # type: ignore[no-untyped-def]
    """Add to each device in ``memory`` the persistent tensors that its ops read."""
    links, sizes = graph.resident_links, graph.resident_bytes
    last_entry = np.full(len(memory), -1, np.int64)
    at = ZERO
    for entry in range(len(sizes)):
        op = links[at]
        while op != LAST:
            device = state[op] & DEVICE
            if last_entry[device] != entry:
                last_entry[device] = entry
                memory[device] += sizes[entry]
            at += ONE
            op = links[at]
        at += ONE


@njit(cache=True)
def add_resident_pair(graph, state, memory):  # type: ignore[no-untyped-def]
    """:func:`add_resident` for two devices, without a branch per reader."""
    links, sizes = graph.resident_links, graph.resident_bytes
    at = ZERO
    for entry in range(np.uint64(len(sizes))):
        seen = ZERO
        op = links[at]
        while op != LAST:
            seen |= ONE << (state[op] & DEVICE)
            at += ONE
            op = links[at]
        at += ONE
        memory[0] += sizes[entry] & -np.int64(seen & ONE)
        memory[1] += sizes[entry] & -np.int64(seen >> ONE)


@njit(cache=True)
def make_scratch(num_ops, num_activations, num_devices, timed):  # type: ignore[no-untyped-def]
    """Working arrays; those of the clock are empty where it is not kept."""
    events = num_ops + num_activations * num_devices
    clock = 1 if timed else 0
    return Scratch(
        np.empty(num_ops, np.uint64),
        np.empty(num_activations * num_devices, np.int32),
        np.empty(NUM_BUCKETS, np.uint32),
        np.empty(events, np.uint32),
        np.zeros(NUM_BUCKETS // 64, np.uint64),
        np.empty(events + 1, np.uint32),
        np.empty(num_devices, np.int64),
        np.empty(num_devices, np.int64),
        np.empty(num_ops * clock, np.float64),
        np.empty(num_activations * clock, np.float64),
        np.empty(num_devices, np.float64),
        np.empty(num_devices * num_devices * clock, np.float64),
        np.empty(num_devices, np.float64),
    )


@njit(cache=True)
def excess_of(peak, capacity):  # type: ignore[no-untyped-def]
    """Bytes by which the peaks exceed the capacities, summed over devices."""
    total = np.int64(0)
    for device in range(len(peak)):
        total += max(peak[device] - capacity[device], np.int64(0))
    return total


@njit(cache=True, nogil=True)
def walk(graph, cluster, row, limits, scratch, peak, order, pair, timed, record):  # type: ignore[no-untyped-def]
    """Run all events of one row; return (finished, running time). ``peak`` and memory start as the resident bytes."""
    links, op_links, consumer_links = graph.links, graph.op_links, graph.consumer_links
    activation_bytes, producer = graph.activation_bytes, graph.producer
    output_bytes, running_bytes, runtime = graph.output_bytes, graph.running_bytes, graph.runtime
    state, remaining, memory = scratch.state, scratch.remaining, scratch.memory
    heads, chain, bitmap, ready = scratch.heads, scratch.chain, scratch.bitmap, scratch.ready
    earliest, made, work, tail = scratch.earliest, scratch.made, scratch.work, limits.tail
    device_free, link_free = scratch.device_free, scratch.link_free
    capacity, speed, latency, bandwidth = cluster.memory, cluster.speed, cluster.latency, cluster.bandwidth
    memory_limit = limits.memory
    num_ops = np.uint64(len(state))
    devices = np.uint64(2) if pair is not None else np.uint64(len(memory))
    keys = row[num_ops * devices :]  # of events: ops, then (activation, device)
    down = np.uint64(8 * row.itemsize - BUCKET_BITS)
    running_time, done, excess = 0.0, ZERO, np.int64(0)
    if timed is not None:
        excess = excess_of(peak, capacity)
    summary, fresh = ZERO, np.uint64(len(graph.roots))
    for j in range(fresh):
        ready[j] = graph.roots[j]
    while True:
        for j in range(fresh):  # queue the events that became ready
            event = ready[j]
            key = keys[event]
            bucket = np.uint64(NUM_BUCKETS - 1) - (np.uint64(key) >> down)
            group = bucket >> SIX
            bit = ONE << (bucket & LOW_SIX)
            word = bitmap[group]
            other = heads[bucket]
            if word & bit == 0:
                bitmap[group] = word | bit
                heads[bucket] = event
                chain[event] = LAST
                summary |= ONE << group
            elif key > keys[other] or (key == keys[other] and event < other):
                chain[event] = other
                heads[bucket] = event
            else:
                while True:
                    following = chain[other]
                    if following == LAST:
                        break
                    if key > keys[following] or (key == keys[following] and event < following):
                        break
                    other = following
                chain[event] = following
                chain[other] = event
        if summary == 0:
            return True, running_time
        fresh = ZERO
        group = lowest_bit(summary)  # take the best event
        word = bitmap[group]
        bucket = (group << SIX) | lowest_bit(word)
        event = np.uint64(heads[bucket])
        following = chain[event]
        if following == LAST:
            word &= word - ONE
            bitmap[group] = word
            summary &= ~(np.uint64(word == 0) << group)
        else:
            heads[bucket] = following
        if record is not None:
            order[done] = event
            done += ONE
        if event < num_ops:  # run
            device = state[event] & DEVICE
            level = memory[device]
            high = level + running_bytes[event]
            if timed is not None:
                if high > peak[device]:
                    if high > capacity[device]:
                        excess += high - max(peak[device], capacity[device])
                    peak[device] = high
                seconds = runtime[event] / speed[device]
                finish = max(device_free[device], earliest[event]) + seconds
                device_free[device] = finish
                running_time = max(running_time, finish)
                work[device] -= seconds
                bound = max(running_time, (finish + max(tail[event], work[device])) * SHAVE)
                if excess > limits.excess or (excess == limits.excess and bound >= limits.seconds):
                    break
            else:
                peak[device] = max(peak[device], high)
                if high > memory_limit[device]:
                    break
            level += output_bytes[event]
            at = np.uint64(op_links[event])
            link = links[at]
            while link != LAST:
                slot = link * devices + device
                left = remaining[slot] - np.int32(1)
                remaining[slot] = left
                level -= activation_bytes[link] & -np.int64(left == 0)
                at += ONE
                link = links[at]
            at += ONE
            link = links[at]
            while link != LAST:
                activation = link & ACTIVATION
                first = activation * devices
                here = link >> FLAG  # an output of the graph is kept at home by one wait that never ends
                if timed is not None:
                    made[activation] = finish
                if pair is not None:
                    begin = at + ONE - here
                else:
                    for other_device in range(devices):
                        remaining[first + other_device] = 0
                at += ONE
                consumer = links[at]
                while consumer != LAST:
                    own = state[consumer]
                    if pair is None:
                        remaining[first + (own & DEVICE)] += np.int32(1)
                    local = np.uint64((own & DEVICE) == device)
                    own -= local << COUNT
                    state[consumer] = own
                    here += local
                    if timed is not None and local:
                        earliest[consumer] = max(earliest[consumer], finish)
                    ready[fresh] = consumer
                    fresh += local & np.uint64((own >> COUNT) == 0)
                    at += ONE
                    consumer = links[at]
                if pair is not None:
                    away = at - begin - here
                    copied = np.uint64(away != 0)
                    slot = first + (device ^ ONE)
                    remaining[slot] = away
                    here += copied
                    ready[fresh] = num_ops + slot
                    fresh += copied
                else:
                    for behind in range(devices):
                        other_device = devices - ONE - behind
                        slot = first + other_device
                        copied = np.uint64((other_device != device) & (remaining[slot] > 0))
                        here += copied
                        ready[fresh] = num_ops + slot
                        fresh += copied
                remaining[first + device] = here
                level -= activation_bytes[activation] & -np.int64(here == 0)
                at += ONE
                link = links[at]
            memory[device] = level
            at += ONE
            consumer = links[at]
            while consumer != LAST:
                own = state[consumer] - WAITS
                state[consumer] = own
                if timed is not None:
                    earliest[consumer] = max(earliest[consumer], finish)
                ready[fresh] = consumer
                fresh += np.uint64((own >> COUNT) == 0)
                at += ONE
                consumer = links[at]
        else:  # copy
            slot = event - num_ops
            activation = slot // devices
            device = slot - activation * devices
            home = device ^ ONE if pair is not None else state[producer[activation]] & DEVICE
            size = activation_bytes[activation]
            high = memory[device] + size
            memory[device] = high
            left = remaining[activation * devices + home] - np.int32(1)
            remaining[activation * devices + home] = left
            memory[home] -= size & -np.int64(left == 0)
            if timed is not None:
                if high > peak[device]:
                    if high > capacity[device]:
                        excess += high - max(peak[device], capacity[device])
                    peak[device] = high
                if excess > limits.excess:
                    break
                send = size / bandwidth[home, device]
                way = home * devices + device
                start = max(made[activation], max(link_free[way], device_free[device]))
                link_free[way] = start + send
                finish = (start + latency[home, device]) + send
                if left == 0:
                    device_free[home] = max(device_free[home], finish)
            else:
                peak[device] = max(peak[device], high)
                if high > memory_limit[device]:
                    break
            at = np.uint64(consumer_links[activation])
            consumer = links[at]
            while consumer != LAST:
                own = state[consumer]
                local = np.uint64((own & DEVICE) == device)
                own -= local << COUNT
                state[consumer] = own
                if timed is not None and local:
                    earliest[consumer] = max(earliest[consumer], finish)
                ready[fresh] = consumer
                fresh += local & np.uint64((own >> COUNT) == 0)
                at += ONE
                consumer = links[at]
    bitmap[:] = 0
    return False, running_time


@njit(cache=True, nogil=True)
def decode(graph, cluster, keys, limits, peaks, seconds, finished, order, pair, timed, record):  # type: ignore[no-untyped-def]
    """Decode and cost a batch of rows.

    Parameters
    ----------
    graph : GraphArrays
    cluster : ClusterArrays
    keys : uint16 or uint32, shape (m, >= num_keys)
    limits : Limits
    peaks : int64, shape (m, num_devices), written
        Bytes; meaningless where ``finished`` is false.
    seconds : float64, shape (m,), written where ``timed``
    finished : bool, shape (m,), written
        False where the walk stopped at a limit.
    order : uint32, shape (num_ops + num_activations * num_devices,), written where ``record``; m is 1 then
        The events in order: an op, or num_ops + activation * num_devices + device for a copy.
    pair, timed, record : True or None
        Whether there are two devices, the clock is kept, the order is written.
    """
    num_devices = peaks.shape[1]
    num_ops = len(graph.waiting)
    scratch = make_scratch(num_ops, len(graph.producer), num_devices, timed is not None)
    memory, final, work = scratch.memory, scratch.final, scratch.work
    for index in range(len(keys)):
        row, peak = keys[index], peaks[index]
        place(graph, row, num_devices, scratch.state)
        memory[:] = 0
        if pair is not None:
            add_resident_pair(graph, scratch.state, memory)
        else:
            add_resident(graph, scratch.state, memory)
        peak[:] = memory
        final[:] = memory  # with the graph's outputs, which stay: no order can end below
        for j in range(len(graph.output_sizes)):
            final[scratch.state[graph.output_producers[j]] & DEVICE] += graph.output_sizes[j]
        lost = False
        if timed is not None:
            scratch.earliest[:] = 0.0
            scratch.device_free[:] = 0.0
            scratch.link_free[:] = 0.0
            work[:] = 0.0
            for op in range(num_ops):
                device = scratch.state[op] & DEVICE
                work[device] += graph.runtime[op] / cluster.speed[device]
            least = excess_of(final, cluster.memory)
            lost = least > limits.excess
            lost |= least == limits.excess and np.max(work) * SHAVE >= limits.seconds
        else:
            for device in range(num_devices):
                lost |= final[device] > limits.memory[device]
        if lost:
            finished[index] = False
        else:
            finished[index], seconds[index] = walk(
                graph, cluster, row, limits, scratch, peak, order, pair, timed, record
            )


@njit(cache=True, nogil=True, parallel=True)
def decode_parts(graph, cluster, keys, limits, peaks, seconds, finished, parts, pair, timed):  # type: ignore[no-untyped-def]
    """:func:`decode` on ``parts`` threads, each with its share of the rows; the result is the same."""
    rows = len(keys)
    for part in prange(parts):
        low, high = rows * part // parts, rows * (part + 1) // parts
        order = np.empty(0, np.uint32)
        share = (keys[low:high], limits, peaks[low:high], seconds[low:high], finished[low:high], order)
        decode(graph, cluster, *share, pair, timed, None)
