"""Mutations of graph files that know what a graph is: many of them leave a good graph, which must give a good plan."""

from random import Random
from typing import Any

from tests.fuzz.values import TEXTS


def _op(value: Any, rng: Random) -> dict[str, Any]:
    ops = [op for op in _list(value, "ops") if isinstance(op, dict)]
    return rng.choice(ops) if ops else {}


def _tensor(value: Any, rng: Random) -> dict[str, Any]:
    tensors = [tensor for tensor in _list(value, "tensors") if isinstance(tensor, dict)]
    return rng.choice(tensors) if tensors else {}


def _list(value: Any, key: str) -> list[Any]:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


def read_more(value: Any, rng: Random) -> None:
    """An op reads any tensor, often one of a later op: a cycle, or an order that is none."""
    inputs = _op(value, rng).get("inputs")
    if isinstance(inputs, list):
        inputs.append(rng.randint(0, len(_list(value, "tensors"))))


def wait_more(value: Any, rng: Random) -> None:
    """A control input from any op, itself included."""
    op, number = _op(value, rng), len(_list(value, "ops"))
    waits = op.get("control_inputs", [])
    op["control_inputs"] = [*(waits if isinstance(waits, list) else []), rng.randint(0, number)]


def write_more(value: Any, rng: Random) -> None:
    """An op writes any tensor, often one that has a producer."""
    outputs = _op(value, rng).get("outputs")
    if isinstance(outputs, list):
        outputs.append(rng.randint(0, len(_list(value, "tensors"))))


def new_tensor(value: Any, rng: Random) -> None:
    """One more output of an op, of any size."""
    outputs = _op(value, rng).get("outputs")
    if isinstance(outputs, list):
        _list(value, "tensors").append({"bytes": rng.choice((0, 1, 2**20, 2**50, 2**53 - 1)), "is_output": True})
        outputs.append(len(_list(value, "tensors")) - 1)


def resize(value: Any, rng: Random) -> None:
    """A tensor of another size, from nothing to the most that is allowed."""
    _tensor(value, rng)["bytes"] = rng.choice((0, 1, rng.getrandbits(20), rng.getrandbits(40), 2**53 - 1))


def resize_all(value: Any, rng: Random) -> None:
    """All tensors of one size."""
    size = rng.choice((0, 1, 2**30, 2**52, 2**53 - 1))
    for tensor in _list(value, "tensors"):
        if isinstance(tensor, dict):
            tensor["bytes"] = size


def time_all(value: Any, rng: Random) -> None:
    """All ops of one running time, from nothing to what no sum can hold."""
    seconds = rng.choice((0, 5e-324, 1e-9, 1, 1e15, 1e300, 1e308, 1.7976931348623157e308))
    for op in _list(value, "ops"):
        if isinstance(op, dict):
            op["runtime"] = seconds


def scratch(value: Any, rng: Random) -> None:
    """A workspace."""
    _op(value, rng)["workspace"] = rng.choice((0, 1, 2**30, 2**53 - 1))


def group(value: Any, rng: Random) -> None:
    """Ops that must stay together."""
    for _ in range(rng.randint(1, 6)):
        _op(value, rng)["colocation"] = rng.choice((0, 0, 1, 2**40, 2**53 - 1, None))


def keep(value: Any, rng: Random) -> None:
    """A tensor becomes an output of the graph, or stops being one."""
    tensor = _tensor(value, rng)
    tensor["is_output"] = not tensor.get("is_output", False)


def call(value: Any, rng: Random) -> None:
    """An op or the graph by a strange name."""
    target = value if isinstance(value, dict) and rng.random() < 0.5 else _op(value, rng)
    target[rng.choice(("name", "type")) if target is not value else "name"] = rng.choice(TEXTS)


def cut_links(value: Any, rng: Random) -> None:
    """An op that reads nothing, or writes nothing."""
    op = _op(value, rng)
    op[rng.choice(("inputs", "outputs"))] = []


def drop_last_ops(value: Any, rng: Random) -> None:
    """The graph's first ops alone; what the others wrote becomes persistent."""
    ops = _list(value, "ops")
    del ops[rng.randint(0, len(ops)) :]


def describe(value: Any, rng: Random) -> None:
    """Anything at all in meta."""
    if isinstance(value, dict):
        value["meta"] = {rng.choice(TEXTS): [rng.choice(TEXTS), None, {"deep": [[[1e308]]]}]}


GRAPH_ONLY = (
    *(read_more, wait_more, write_more, new_tensor, resize, resize_all, time_all, scratch, group, keep, call, call),
    *(cut_links, drop_last_ops, describe),
)
