import pytest

from regal.bounds.bound import colocation_units
from regal.graph import GraphBuilder


def test_each_group_and_each_free_op_is_one_unit():
    builder = GraphBuilder()
    for group in (7, None, 2**53 - 1, 7, None):
        builder.add_op("op", colocation=group)
    unit = colocation_units(builder.build()).tolist()
    assert unit[0] == unit[3]
    assert len(set(unit)) == 4
    assert sorted(set(unit)) == [0, 1, 2, 3]


def test_no_ops_are_no_units():
    assert colocation_units(GraphBuilder().build()).tolist() == []


def test_a_bound_is_frozen():
    from regal.bounds import Bound

    with pytest.raises(AttributeError):
        Bound(1, "min-cut", None, True, 0.0).value = 2  # type: ignore[misc]
