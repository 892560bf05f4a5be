import dataclasses
import pickle

import numpy as np
import pytest

from brkga import BRKGA, Beta, MaxEvaluations, MaxGenerations, QuantizedBeta, Stall


def total(keys, cutoff):
    return keys.sum(axis=1, dtype=np.float64)


def columns(keys, cutoff):
    return np.stack([(keys > 0.5).sum(axis=1), keys.sum(axis=1)], axis=1)


SEARCHES = {
    "plain": {},
    "columns": {"decoder": columns},
    "islands": {"parameters": {"islands": 2, "exchange_every": 3}},
    "bias for each key": {"parameters": {"elite_bias": tuple(np.linspace(0.6, 0.8, 9))}},
    "many parents": {"parameters": {"parents": 3, "bias": (3.0, 2.0, 1.0), "reject_duplicates": True}},
    "beta": {"proposal": Beta(np.full(9, 0.5), np.full(9, 2.0)), "parameters": {"uniform_mutants": 0.1}},
    "tables": {"proposal": QuantizedBeta.from_grid([0.5, 3.0], [2.0, 1.0], np.arange(9) % 2)},
    "16 bits": {"key_dtype": np.uint16, "seed": 2**64 - 1},
}


def engine_of(small, parameters=None, decoder=total, seed=3, **others):
    return BRKGA(9, dataclasses.replace(small, **(parameters or {})), seed=seed, **others), decoder


def assert_same(engine, other):
    for name in ("rows", "fitness"):
        assert np.array_equal(getattr(engine._population, name), getattr(other._population, name))
    assert np.array_equal(engine.best_keys, other.best_keys)
    assert np.array_equal(engine.best_fitness, other.best_fitness)
    for name, values in engine.history.to_arrays().items():
        assert name == "seconds" or np.array_equal(values, other.history.to_arrays()[name])
    assert engine.state.stalled == other.state.stalled


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("generations", [0, 5])
def test_resumed_search_is_bit_identical(small, tmp_path, search, generations):
    engine, decoder = engine_of(small, **SEARCHES[search])
    engine.run(decoder, stop=MaxGenerations(generations))
    engine.save(tmp_path / "search.npz")
    engine.run(decoder, stop=MaxGenerations(20))
    other = BRKGA.load(tmp_path / "search.npz", threads=2)
    assert other.threads == 2
    assert other.parameters == engine.parameters
    result = other.run(decoder, stop=MaxGenerations(20))
    assert result.generations == 20
    assert_same(engine, other)


def between(engine):
    pass


def reset(engine):
    engine.reset()


def lose(engine):
    engine.reset(keep_best=False)


def shake(engine):
    engine.shake(0.5)


def ask(engine):
    engine.ask()


@pytest.mark.parametrize("action", [between, reset, lose, shake, ask])
def test_search_can_be_saved_in_any_state(small, tmp_path, action):
    engine, _ = engine_of(small, parameters={"islands": 2})
    engine.run(total, stop=MaxGenerations(4))
    action(engine)
    engine.save(tmp_path / "search.npz")
    other = BRKGA.load(tmp_path / "search.npz")
    assert np.array_equal(engine.ask(), other.ask())
    for one in (engine, other):
        one.run(total, stop=MaxGenerations(9))
    assert_same(engine, other)


def test_search_can_be_saved_before_it_begins(small, tmp_path):
    warm = np.full((2, 9), 0.125)
    engine, _ = engine_of(small, warm_start=warm)
    engine.save(tmp_path / "search.npz")
    other = BRKGA.load(tmp_path / "search.npz")
    assert np.array_equal(other.ask(), engine.ask())
    assert np.array_equal(other.ask()[:2], warm)


@pytest.mark.parametrize("stop", [MaxEvaluations(300), Stall(4), MaxGenerations(12)])
def test_stop_rules_count_across_a_resume(small, tmp_path, stop):
    whole, _ = engine_of(small)
    expected = whole.run(total, stop=stop)
    engine, _ = engine_of(small)
    engine.run(total, stop=MaxGenerations(expected.generations - 2))
    engine.save(tmp_path / "search.npz")
    found = BRKGA.load(tmp_path / "search.npz").run(total, stop=stop)
    assert (found.stop_reason, found.generations) == (expected.stop_reason, expected.generations)
    assert found.evaluations == expected.evaluations


def test_seconds_count_across_a_resume(small, tmp_path):
    engine, _ = engine_of(small)
    seconds = engine.run(total, stop=MaxGenerations(5)).seconds
    engine.save(tmp_path / "search.npz")
    other = BRKGA.load(tmp_path / "search.npz")
    assert other.state.seconds == seconds
    result = other.run(total, stop=MaxGenerations(6))
    assert result.seconds > seconds
    assert result.history.seconds[:6].tolist() == engine.history.seconds.tolist()


def test_run_saves_along_the_way_and_at_the_end(small, tmp_path):
    path = tmp_path / "search.npz"
    seen = []

    def look(state):
        if path.exists():
            seen.append(BRKGA.load(path).state.generation)

    engine, _ = engine_of(small)
    engine.run(total, stop=MaxGenerations(4), checkpoint=path, checkpoint_every=0.0, callbacks=[look])
    assert seen == [0, 1, 2, 3]
    assert BRKGA.load(path).state.generation == 4
    path.unlink()
    seen.clear()
    engine.run(total, stop=MaxGenerations(8), checkpoint=path, checkpoint_every=None, callbacks=[look])
    assert seen == []
    assert BRKGA.load(path).state.generation == 8
    assert [file.name for file in tmp_path.iterdir()] == ["search.npz"]


def test_interrupted_run_is_saved(small, tmp_path):
    def interrupt(state):
        if state.generation == 3:
            raise KeyboardInterrupt

    engine, _ = engine_of(small)
    result = engine.run(total, stop=MaxGenerations(9), checkpoint=tmp_path / "search.npz", callbacks=[interrupt])
    assert result.stop_reason == "interrupted"
    assert BRKGA.load(tmp_path / "search.npz").state.generation == 3


def test_file_is_replaced_in_one_step(small, tmp_path, monkeypatch):
    path = tmp_path / "search.npz"
    engine, _ = engine_of(small)
    engine.save(path)

    def full(*arrays, **named):
        arrays[0].write(b"half")
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez", full)
    engine.run(total, stop=MaxGenerations(1))
    with pytest.raises(OSError, match="no space left"):
        engine.save(path)
    assert BRKGA.load(path).state.evaluations == 0
    assert [file.name for file in tmp_path.iterdir()] == ["search.npz"]


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        BRKGA.load(tmp_path / "nothing.npz")


def foreign(path):
    np.savez(path, rows=np.zeros(3))


def one_array(path):
    with path.open("wb") as file:
        np.save(file, np.zeros(3))


def pickled(path):
    path.write_bytes(pickle.dumps({"rows": 3}))


def objects(path):
    np.savez(path, format=np.array([{"an": "object"}], object))


def text(path):
    path.write_text("no search")


def empty(path):
    path.write_bytes(b"")


@pytest.mark.parametrize("write", [foreign, one_array, pickled, objects, text, empty])
def test_foreign_file_is_refused(tmp_path, write):
    path = tmp_path / "search.npz"
    write(path)
    with pytest.raises(ValueError, match=r"search\.npz|allow_pickle"):
        BRKGA.load(path)


def test_damaged_file_is_refused_wherever_the_damage_is(small, tmp_path):
    path = tmp_path / "search.npz"
    engine, _ = engine_of(small)
    engine.run(total, stop=MaxGenerations(2))
    engine.save(path)
    whole = path.read_bytes()
    for length in (10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="damaged or not a search"):
            BRKGA.load(path)
    rows = engine._population.rows.tobytes()
    place = whole.index(rows) + len(rows) // 2
    path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    with pytest.raises(ValueError, match="damaged"):
        BRKGA.load(path)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("rows", np.zeros((1, 20, 4), np.uint64), r"rows must be uint64 \(1, 20, 5\), got uint64 \(1, 20, 4\)"),
        ("fitness", np.zeros((1, 4, 1), np.float32), "fitness must be float64"),
        ("numbers", np.array("{}"), "no consistent search"),
        ("numbers", np.array("{"), "no consistent search"),
        ("format", np.array("brkga search 0"), "must be a 'brkga search 1', got brkga search 0"),
    ],
)
def test_inconsistent_file_is_refused(small, tmp_path, name, value, message):
    path = tmp_path / "search.npz"
    engine, _ = engine_of(small)
    engine.run(total, stop=MaxGenerations(2))
    engine.save(path)
    with np.load(path) as file:
        arrays = dict(file)
    np.savez(path, **{**arrays, name: value})
    with pytest.raises(ValueError, match=message):
        BRKGA.load(path)
