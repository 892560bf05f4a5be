import threading

import numpy as np
import pytest

import brkga
from brkga import BRKGA, MaxGenerations
from brkga.decode import ROWS_PER_PART


def test_parts_are_contiguous_and_no_smaller_than_they_should_be(small, recorder):
    engine = BRKGA(4, small, threads=3)
    engine.run(recorder, stop=MaxGenerations(1))
    sizes = [len(keys) for keys, _ in recorder.calls]
    assert sorted(sizes[:3]) == [6, 7, 7]
    assert sorted(sizes[3:]) == [5, 5, 6]
    engine = BRKGA(4, small, threads=50)
    recorder.calls.clear()
    engine.run(recorder, stop=MaxGenerations(0))
    assert [len(keys) for keys, _ in recorder.calls] == [ROWS_PER_PART] * (20 // ROWS_PER_PART)


def test_parts_run_at_the_same_time(small):
    meet = threading.Barrier(2, timeout=20.0)

    def decoder(keys, cutoff):
        meet.wait()
        return keys.sum(axis=1)

    assert brkga.minimize(decoder, 4, small, threads=2, stop=MaxGenerations(5)).generations == 5


@pytest.mark.parametrize("threads", [1, 2])
def test_decoder_with_a_wrong_number_of_rows_is_refused(small, threads):
    with pytest.raises(ValueError, match=r"the decoder must return a fitness for each of \d+ rows, got \(1,\)"):
        brkga.minimize(lambda keys, cutoff: np.zeros(1), 4, small, threads=threads, stop=MaxGenerations(5))


def test_fitness_may_be_a_list_or_integers(small):
    result = brkga.minimize(
        lambda keys, cutoff: [int(key * 10) for key in keys[:, 0]], 2, small, stop=MaxGenerations(9)
    )
    assert result.best_fitness == 0.0
    result = brkga.minimize(lambda keys, cutoff: (keys[:, 0] * 9).astype(int), 2, small, stop=MaxGenerations(9))
    assert result.best_fitness == 0.0
