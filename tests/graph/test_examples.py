import pytest

from regal.graph import example_graph
from regal.graph.examples import EXAMPLES, branches


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_has_its_name_and_outputs(name):
    graph = example_graph(name)
    assert graph.name == name
    assert graph.is_output.any()


def test_branches_are_as_wide_as_asked():
    assert branches(2).num_ops == 5
    assert example_graph("branches").num_ops == 13


def test_an_unknown_name_lists_the_known():
    with pytest.raises(ValueError, match="no example graph 'ring'; there are branches, chain, diamond"):
        example_graph("ring")
