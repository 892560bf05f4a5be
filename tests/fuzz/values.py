"""Mutations of parsed JSON values: what a careless or hostile program would write in place of a good file."""

import copy
from collections.abc import Callable
from random import Random
from typing import Any

Spot = tuple[Any, Any]
"""A list or dict and the index or key of one of its entries."""

NUMBERS: tuple[Any, ...] = (
    *(0, 1, 2, 3, -1, -2, 7, 255, 0.5, 1.5, -0.5, -0.0, 1.0, 2.0, 1e-9, 1e9, 1e18, 1e308, 1.7e308, 5e-324, 1e-300),
    *(2**31 - 1, 2**31, 2**32, 2**53 - 1, 2**53, 2**62, 2**63 - 1, 2**63, 2**64, -(2**31), -(2**63), 10**30, 10**400),
    *(float("nan"), float("inf"), float("-inf")),
)
TEXTS: tuple[str, ...] = (
    *("", " ", "x", "0", "1", "NaN", "null", "run", "copy", "a\nb", "tab\there", "\x00", "\x1b[31mred\x1b[0m", "\r"),
    *("[/b]", "[bold]", "[link=x]", "[not closed", "\\[", "<script>alert(1)</script>", "</script>", "$x_1^2$", "{0}"),
    *("%s%n", "é", "Zürich", "日本語", "\U0001f600", "\u202e", "\ufeff", "\u2028", "\x85", "\x7f", "\ud800", "\udfff"),
    *("x\udc00y", "../../etc/passwd", "a" * 300, "ü" * 5000, "\U0001f600" * 400, "regal-graph/1", "regal-plan/1"),
)
KEYS = (
    *("", "name", "Name", "name ", "type", "runtime", "bytes", "inputs", "outputs", "ops", "tensors", "meta", "format"),
    *("run time", "näme", "__class__", "device", "plans", "links", "search", "a" * 500, "\ud800", "[/b]", "x\ny"),
)


def spots(value: Any, depth: int = 0) -> list[Spot]:
    """Every entry of every list and dict of ``value``."""
    result: list[Spot] = []
    if isinstance(value, (list, dict)) and depth < 50:
        for key in value if isinstance(value, dict) else range(len(value)):
            result.append((value, key))
            result += spots(value[key], depth + 1)
    return result


def junk(rng: Random) -> Any:
    """Any JSON value, or what Python calls one."""
    kind = rng.randrange(8)
    if kind < 3:
        return rng.choice(NUMBERS)
    if kind < 5:
        return rng.choice(TEXTS)
    if kind == 5:
        return rng.choice((True, False, None))
    if kind == 6:
        return [junk(rng) for _ in range(rng.randrange(3))]
    return {rng.choice(KEYS): junk(rng) for _ in range(rng.randrange(3))}


def _pick(value: Any, rng: Random) -> Spot:
    """One entry: first a kind of key, then one of that kind, so that long lists do not crowd out the rest."""
    groups: dict[Any, list[Spot]] = {}
    for holder, key in spots(value):
        groups.setdefault(key if isinstance(key, str) else (type(holder[key]).__name__, len(holder) > 3), []).append(
            (holder, key)
        )
    return rng.choice(groups[rng.choice(sorted(groups, key=str))]) if groups else ({"": None}, "")


def replace(value: Any, rng: Random) -> None:
    """Something else altogether."""
    holder, key = _pick(value, rng)
    holder[key] = junk(rng)


def retype(value: Any, rng: Random) -> None:
    """The same value in another type."""
    holder, key = _pick(value, rng)
    old = holder[key]
    ways: list[Callable[[], Any]] = [lambda: str(old), lambda: [old], lambda: {"value": old}, lambda: bool(old)]
    if isinstance(old, (int, float)) and abs(old) < 1e300:
        ways += [lambda: float(old), lambda: int(old), lambda: -old]
    if isinstance(old, list):
        ways += [lambda: {str(at): entry for at, entry in enumerate(old[:5])}, lambda: old[0] if old else None]
    holder[key] = rng.choice(ways)()


def nudge(value: Any, rng: Random) -> None:
    """A number a little or a lot larger or smaller."""
    numbers = [
        (holder, key)
        for holder, key in spots(value)
        if isinstance(holder[key], (int, float)) and not isinstance(holder[key], bool)
    ]
    if numbers:
        holder, key = rng.choice(numbers)
        old = holder[key]
        if old == old and abs(old) < 1e300:
            holder[key] = rng.choice((old + 1, old - 1, old * 2, -old, old + 2**31, old / 2, old * 2**40, old % 3))


def number(value: Any, rng: Random) -> None:
    """A number of any range in the place of another."""
    numbers = [(holder, key) for holder, key in spots(value) if isinstance(holder[key], (int, float))]
    if numbers:
        holder, key = rng.choice(numbers)
        holder[key] = rng.choice(NUMBERS)


def text(value: Any, rng: Random) -> None:
    """Another text in the place of one."""
    places = [(holder, key) for holder, key in spots(value) if isinstance(holder[key], str)]
    if places:
        holder, key = rng.choice(places)
        holder[key] = rng.choice(TEXTS)


def remove(value: Any, rng: Random) -> None:
    """An entry less."""
    holder, key = _pick(value, rng)
    del holder[key]


def repeat(value: Any, rng: Random) -> None:
    """An entry of a list once more, anywhere in it."""
    holder, key = _pick_in_list(value, rng)
    holder.insert(rng.randint(0, len(holder)), copy.deepcopy(holder[key]))


def swap(value: Any, rng: Random) -> None:
    """Two entries of a list change places."""
    holder, key = _pick_in_list(value, rng)
    other = rng.randrange(len(holder))
    holder[key], holder[other] = holder[other], holder[key]


def reorder(value: Any, rng: Random) -> None:
    """A list reversed, rotated, shuffled or cut."""
    holder, _ = _pick_in_list(value, rng)
    at = rng.randint(0, len(holder))
    new = rng.choice((holder[::-1], holder[at:] + holder[:at], rng.sample(holder, len(holder)), holder[:at]))
    holder[:] = new


def rename(value: Any, rng: Random) -> None:
    """A key by another name."""
    holders = [holder for holder, key in spots(value) if isinstance(key, str)] or [{"": 0}]
    holder = rng.choice(holders)
    key = rng.choice(list(holder))
    new = rng.choice((*KEYS, key.upper(), key + "s", key[:-1], key + "\u200b", " " + key))
    holder[new] = holder.pop(key)


def extra_key(value: Any, rng: Random) -> None:
    """A key that nobody asked for."""
    holders = [holder for holder, key in spots(value) if isinstance(key, str)] or [{}]
    rng.choice(holders)[rng.choice(KEYS)] = junk(rng)


def splice(value: Any, rng: Random) -> None:
    """A value from elsewhere in the same file."""
    source, name = _pick(value, rng)
    found = copy.deepcopy(source[name])
    holder, key = _pick(value, rng)
    holder[key] = found


def nest(value: Any, rng: Random) -> None:
    """A value inside many lists or objects."""
    holder, key = _pick(value, rng)
    inner = holder[key]
    for _ in range(rng.choice((1, 2, 10, 100, 400))):
        inner = [inner] if rng.random() < 0.5 else {"x": inner}
    holder[key] = inner


def _pick_in_list(value: Any, rng: Random) -> Spot:
    places = [holder for holder, _ in spots(value) if isinstance(holder, list)]
    holder = rng.choice(places) if places else [0]
    return holder, rng.randrange(len(holder))


ANY_FILE = (
    *(replace, retype, nudge, nudge, number, number, text, text, remove, repeat, swap, reorder, rename, extra_key),
    *(splice, nest),
)
