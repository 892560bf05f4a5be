import numpy as np
import pytest

from brkga import History, MaxGenerations, State, minimize


@pytest.mark.parametrize(("best", "cutoff"), [(2.0, 5.0), (np.array([0.0, 2.0]), np.array([1.0, 5.0]))])
def test_history_keeps_a_scalar_of_each_kind_for_every_generation(best, cutoff):
    history = History()
    for generation in range(3):
        history.append(State(generation, 100 + 80 * generation, 80, 0.5 * generation, best, cutoff, 0))
    assert len(history) == 3
    assert history.generation.tolist() == [0, 1, 2]
    assert history.evaluations.tolist() == [100, 180, 260]
    assert history.seconds.tolist() == [0.0, 0.5, 1.0]
    assert np.array_equal(history.best, [best] * 3)
    assert np.array_equal(history.worst_elite, [cutoff] * 3)


def test_history_goes_through_arrays_and_can_be_appended_to():
    history = History()
    state = State(0, 100, 80, 0.5, np.array([1.0, 2.0]), np.array([3.0, 4.0]), 0)
    history.append(state)
    again = History.from_arrays(history.to_arrays())
    again.append(state)
    assert again.best.tolist() == [[1.0, 2.0]] * 2
    assert len(history) == 1


def test_history_of_a_search():
    result = minimize(lambda keys, cutoff: keys.sum(axis=1), 20, stop=MaxGenerations(30))
    history = result.history
    assert len(history) == 31
    assert (np.diff(history.best) <= 0).all()
    assert (np.diff(history.worst_elite) <= 0).all()
    assert (history.worst_elite >= history.best).all()
    assert (np.diff(history.seconds) > 0).all()
    assert history.evaluations.tolist() == [100 + 80 * g for g in range(31)]
    assert history.best[-1] == result.best_fitness
    assert history.seconds[-1] == result.seconds
    assert "best_fitness=" in repr(result)
