import numpy as np
import pytest

from brkga import MaxEvaluations, MaxGenerations, MaxSeconds, Stall, State, Target, minimize
from brkga.stop import check_rules, first_reason

STATE = State(generation=10, evaluations=900, next_evaluations=80, seconds=2.5, best_fitness=3.0, cutoff=4.0, stalled=6)


@pytest.mark.parametrize(
    ("rule", "stops", "goes_on"),
    [
        (MaxGenerations, 10, 11),
        (MaxEvaluations, 979, 980),
        (MaxSeconds, 2.5, 2.6),
        (Target, 3.0, 2.9),
        (Stall, 6, 7),
    ],
)
def test_rule_stops_at_its_limit(rule, stops, goes_on):
    reasons = {
        MaxGenerations: "generations",
        MaxEvaluations: "evaluations",
        MaxSeconds: "seconds",
        Target: "target",
        Stall: "stall",
    }
    assert rule(stops)(STATE) == reasons[rule]
    assert rule(goes_on)(STATE) is None


def test_target_of_several_columns_is_lexicographic():
    state = STATE._replace(best_fitness=np.array([0.0, 5.0]))
    assert Target((0.0, 5.0))(state) == "target"
    assert Target((1.0, 0.0))(state) == "target"
    assert Target((0.0, 4.9))(state) is None
    with pytest.raises(ValueError, match="Target must have 2 fitness columns, got 1"):
        Target(1.0)(state)


def test_first_rule_that_wants_to_stop_gives_the_reason():
    rules = check_rules([MaxGenerations(50), lambda state: "enough" if state.evaluations > 100 else None, Stall(1)])
    assert first_reason(rules, STATE) == "enough"
    assert first_reason(rules[:1], STATE) is None


def test_one_rule_needs_no_sequence():
    assert check_rules(MaxGenerations(3)) == (MaxGenerations(3),)


@pytest.mark.parametrize("answer", [True, False, 0, 1])
def test_rule_that_answers_with_a_flag_is_refused_and_not_guessed(answer):
    with pytest.raises(ValueError, match=f"a stop rule must return a reason as str.*gave {answer}"):
        first_reason([lambda state: answer], STATE)


def test_search_without_a_rule_is_refused():
    for stop in ((), []):
        with pytest.raises(ValueError, match="without one the search never ends"):
            minimize(lambda keys, cutoff: keys[:, 0], 3, stop=stop)
    with pytest.raises(ValueError, match="stop must hold callables, got 5"):
        check_rules([5])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MaxGenerations(-1), "MaxGenerations must be at least 0, got -1"),
        (lambda: MaxGenerations(1.5), "MaxGenerations must be an integer, got 1.5"),
        (lambda: MaxEvaluations(0), "MaxEvaluations must be at least 1, got 0"),
        (lambda: MaxSeconds(-1.0), "MaxSeconds must be at least 0, got -1.0"),
        (lambda: MaxSeconds(float("nan")), "MaxSeconds must be at least 0, got nan"),
        (lambda: Target(float("nan")), "Target must be a number, got nan"),
        (lambda: Stall(0), "Stall must be at least 1, got 0"),
    ],
)
def test_wrong_limit_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
