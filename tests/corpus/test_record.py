import pytest

from regal.corpus import Record
from regal.graph import example_graph
from tests.tiny_corpus import record_of


@pytest.fixture
def values() -> dict:
    return record_of(example_graph("chain"), "bert").to_json()


def test_a_record_comes_back(values):
    assert Record.from_json(values, "x").to_json() == values


@pytest.mark.parametrize(("headroom", "name"), [(0.0, "none"), (0.019, "none"), (0.02, "some"), (0.1, "large")])
def test_classes_of_headroom(values, headroom, name):
    assert Record.from_json(values | {"headroom": headroom}, "x").headroom_class == name


def test_headroom_of_the_search(values):
    assert Record.from_json(values, "x").search_headroom == pytest.approx(0.1)
    assert Record.from_json(values | {"brkga_20k": None}, "x").search_headroom is None
    assert Record.from_json(values | {"brkga_2k": 0, "brkga_20k": 0}, "x").search_headroom == 0.0
