import numpy as np
import pytest

from regal.cost.reference import evaluate, start_memory, trace
from regal.graph import example_graph
from regal.plan import InvalidPlan, Plan
from regal.plot.memory import Levels, Resident, lifetimes, live_tensors, memory_levels, residents, tensor_name


def test_levels_of_the_diamond(diamond_plan: Plan) -> None:
    # events: run a, copy a:0 to 1, run b, run c, copy c:0 to 0, run d
    first, second = memory_levels(diamond_plan, trace(diamond_plan))
    assert list(zip(first.position.tolist(), first.bytes.tolist(), strict=True)) == [
        (-1, 0),
        (0, 8),
        (0.5, 8),
        (2, 12),  # b writes 4 beside the 8 of a, which then go
        (2.5, 4),
        (4, 68),
        (4.5, 68),
        (5, 70),
        (5.5, 2),
    ]
    assert list(zip(second.position.tolist(), second.bytes.tolist(), strict=True)) == [
        (-1, 0),
        (1, 8),
        (1.5, 8),
        (3, 88),  # 8 of a, 64 of c, 16 of workspace
        (3.5, 64),
        (4.5, 0),  # released by the copy
        (5.5, 0),
    ]
    assert (first.peak, first.peak_event, second.peak, second.peak_event) == (70, 5, 88, 3)


def test_levels_of_a_large_plan_equal_the_trace(large_plan: Plan) -> None:
    steps = trace(large_plan)
    levels = memory_levels(large_plan, steps)
    assert tuple(level.peak for level in levels) == evaluate(large_plan).peak_memory
    for device, level in enumerate(levels):
        assert np.all(np.diff(level.position) > 0)
        at = dict(zip(level.position.tolist(), level.bytes.tolist(), strict=True))
        now = at[-1.0]
        for event, step in enumerate(steps):
            assert at.get(float(event), now) == (step.during if step.device == device else now)
            now = at.get(event + 0.5, now)
            assert now == step.memory[device]


def test_residents_sum_to_the_level_at_every_event(large_plan: Plan, diamond_plan: Plan) -> None:
    for plan, stride in ((diamond_plan, 1), (large_plan, 97)):
        steps = trace(plan)
        alive = lifetimes(plan, steps)
        before = start_memory(plan)
        for event in range(0, len(steps), stride):
            if event:
                before = list(steps[event - 1].memory)
            for device in range(plan.cluster.num_devices):
                expected = steps[event].during if device == steps[event].device else before[device]
                assert sum(item.bytes for item in residents(plan, alive, event, device)) == expected


def test_live_tensors_names_what_is_there(diamond_plan: Plan) -> None:
    assert live_tensors(diamond_plan, 3, 1) == [
        Resident("c:0", 64, 2),
        Resident("workspace of c", 16, -1),
        Resident("a:0", 8, 0),
    ]
    assert live_tensors(diamond_plan, 4, 1) == [Resident("c:0", 64, 2)]
    assert live_tensors(diamond_plan, -1, 0) == []


@pytest.mark.parametrize(("event", "device", "rule"), [(6, 0, "event_index"), (-2, 0, "event_index"), (0, 2, "device")])
def test_live_tensors_refuses_what_is_not_there(diamond_plan: Plan, event: int, device: int, rule: str) -> None:
    with pytest.raises(ValueError, match=rf"{rule} must be from -?\d to \d, not -?\d"):
        live_tensors(diamond_plan, event, device)


def test_live_tensors_refuses_a_plan_that_is_not_valid(diamond_plan: Plan) -> None:
    wrong = Plan(diamond_plan.graph, diamond_plan.cluster, diamond_plan.placement, diamond_plan.schedule[:-1])
    with pytest.raises(InvalidPlan, match="'d' never runs"):
        live_tensors(wrong, 0, 0)


def test_names_of_persistent_tensors() -> None:
    assert tensor_name(example_graph("chain"), 0) == "persistent, read by a and 2 more"


@pytest.mark.parametrize("limit", [4, 50, 333])
def test_thinning_keeps_ends_and_extremes_within_the_limit(limit: int) -> None:
    values = np.random.default_rng(limit).integers(0, 10**6, 5001)
    full = Levels(np.arange(5001) / 2, values)
    thin = full.thinned(limit)
    assert len(thin.bytes) <= limit
    assert (thin.peak, thin.peak_event, thin.bytes.min()) == (full.peak, full.peak_event, values.min())
    assert (thin.position[0], thin.position[-1]) == (0, 2500)
    assert np.array_equal(values[(thin.position * 2).astype(int)], thin.bytes)
    assert full.thinned(5001) is full
