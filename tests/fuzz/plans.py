"""Mutations of plan and front files that know what a plan is: nearly right, so that only verification finds them."""

from random import Random
from typing import Any

from tests.fuzz.values import NUMBERS, TEXTS


def _plan(value: Any, rng: Random) -> dict[str, Any]:
    if isinstance(value, dict) and isinstance(value.get("plans"), list):
        plans = [plan for plan in value["plans"] if isinstance(plan, dict)]
        return rng.choice(plans) if plans else {}
    return value if isinstance(value, dict) else {}


def _entry(value: Any, rng: Random, key: str) -> list[Any]:
    found = _plan(value, rng).get(key)
    return found if isinstance(found, list) and found else [0]


def swap_events(value: Any, rng: Random) -> None:
    """Two neighbours of the schedule change places, which may or may not matter."""
    schedule = _entry(value, rng, "schedule")
    at = rng.randrange(len(schedule))
    schedule[at - 1], schedule[at] = schedule[at], schedule[at - 1]


def drop_event(value: Any, rng: Random) -> None:
    """A run or copy less."""
    schedule = _entry(value, rng, "schedule")
    del schedule[rng.randrange(len(schedule))]


def add_event(value: Any, rng: Random) -> None:
    """A run or copy more."""
    number = rng.choice((0, 1, 2, 5, 10, 1000, 2**31 - 1))
    event = rng.choice((["run", number], ["copy", number, rng.choice((0, 1, 2, 1023))], ["copy", number], ["move", 1]))
    schedule = _entry(value, rng, "schedule")
    schedule.insert(rng.randint(0, len(schedule)), event)


def move(value: Any, rng: Random) -> None:
    """An op on another device."""
    placement = _entry(value, rng, "placement")
    placement[rng.randrange(len(placement))] = rng.choice((0, 1, 2, 3, 1023, 2**31 - 1))


def claim(value: Any, rng: Random) -> None:
    """A figure that is not quite the plan's."""
    plan = _plan(value, rng)
    key = rng.choice(("peak_memory", "running_time", "feasible", "lower_bound", "objective", "devices"))
    if key == "peak_memory":
        peaks = _entry(value, rng, key)
        peaks[rng.randrange(len(peaks))] = rng.choice((0, 1, 2**53, 2**63 - 1, 2**63, -1))
    elif key in plan:
        objectives = ("peak-memory", "running-time", "peak-utilisation", "pareto", "other")
        figures: dict[str, tuple[Any, ...]] = {"feasible": (True, False), "objective": objectives}
        plan[key] = rng.choice(figures.get(key, (*NUMBERS, None)))


def other_cluster(value: Any, rng: Random) -> None:
    """Devices and links that the plan was not made for."""
    cluster = _plan(value, rng).get("cluster")
    if not isinstance(cluster, dict):
        return
    if rng.random() < 0.5 and isinstance(cluster.get("devices"), list) and cluster["devices"]:
        device = rng.choice(cluster["devices"])
        if isinstance(device, dict):
            device[rng.choice(("memory", "speed"))] = rng.choice(NUMBERS)
    elif isinstance(cluster.get("links"), list):
        ends = rng.choices((0, 1, 2, -1, 1.0), (5, 5, 1, 1, 1), k=2)
        link = {"from": ends[0], "to": ends[1], "latency": rng.choice(NUMBERS), "bandwidth": rng.choice(NUMBERS)}
        cluster["links"].append(link)


def more_devices(value: Any, rng: Random) -> None:
    """Devices that nothing runs on; all figures but their own stay right."""
    plan = _plan(value, rng)
    cluster, extra = plan.get("cluster"), rng.choice((1, 5, 1021, 1022, 1023, 1100))
    if isinstance(cluster, dict) and isinstance(cluster.get("devices"), list) and isinstance(plan.get("devices"), int):
        cluster["devices"] += [{"memory": 1, "speed": 1.0}] * extra
        plan["devices"] += extra
        if isinstance(plan.get("peak_memory"), list):
            plan["peak_memory"] += [0] * extra


def hash_of_another(value: Any, rng: Random) -> None:
    """A plan of another graph, it seems."""
    plan = rng.choice((value, _plan(value, rng)))
    if isinstance(plan, dict):
        plan["graph_sha256"] = rng.choice((*TEXTS, "0" * 64, "\x1b" * 64))


def other_search(value: Any, rng: Random) -> None:
    """How it was found is free text."""
    _plan(value, rng)["search"] = {rng.choice(TEXTS): rng.choice(TEXTS)}


def plans_in_a_front(value: Any, rng: Random) -> None:
    """More plans, none, a front in a front, or a plan that becomes a front."""
    if isinstance(value, dict) and isinstance(value.get("plans"), list):
        plans = value["plans"]
        value["plans"] = rng.choice(([], plans * 3, [{**value, "plans": []}], plans[:1], [plans]))
    elif isinstance(value, dict):
        value["format"] = "regal-front/1"


PLAN_ONLY = (
    *(swap_events, swap_events, drop_event, add_event, move, claim, claim, other_cluster, more_devices),
    *(hash_of_another, other_search, plans_in_a_front),
)
