"""In-place updates: what a result that is written over a parameter does to the ops around it."""

import numpy as np
import pytest

from regal.frontends.hlo import load
from regal.frontends.hlo_update import drop_unneeded, drop_unused_tensors
from regal.graph import GraphBuilder


def step(body, aliases, scheduled=False):
    pairs = ", ".join(f"{{{place}}}: ({number}, {{}}, may-alias)" for place, number in aliases)
    head = f"HloModule step, {'is_scheduled=true, ' if scheduled else ''}input_output_alias={{ {pairs} }}"
    parameters = "\n".join(f"  {name} = f32[4,4] parameter({number})" for number, name in enumerate("pgm"))
    return load(f"{head}\nENTRY main {{\n{parameters}\n{body}\n}}")


def table(graph):
    """Op -> (number of tensors read, written, control inputs by name, group)."""
    names = graph.op_names
    rows = zip(names, graph.inputs, graph.outputs, graph.control_inputs, graph.colocation.tolist(), strict=True)
    return {name: (len(i), len(o), [names[c] for c in control], group) for name, i, o, control, group in rows}


SGD = """
  forward = f32[4,4] dot(p, g), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  new = f32[4,4] subtract(p, forward)
  ROOT all = (f32[4,4], f32[4,4]) tuple(new, forward)
"""


def test_an_update_reads_and_writes_the_parameter_after_its_readers():
    """
    p ---> forward ---> new (writes p)
      \\_______________/
    """
    graph = step(SGD, [(0, 0)])
    assert table(graph) == {"forward": (2, 1, [], 0), "new": (2, 0, ["forward"], 0)}
    assert graph.tensor_bytes.tolist() == [64, 64, 64]
    assert graph.is_output.tolist() == [False, False, True]
    assert graph.meta["source"]["donated"] == graph.meta["source"]["updated_in_place"] == 1


def test_without_an_alias_the_result_is_a_tensor():
    graph = step(SGD, [])
    assert table(graph) == {"forward": (2, 1, [], -1), "new": (2, 1, [], -1)}


def test_a_reader_of_the_old_value_that_is_written_later_moves_before_the_update():
    """``late`` stands behind ``new`` in the text and reads ``p`` as it was."""
    body = """
  new = f32[4,4] subtract(p, g)
  late = f32[4,4] tanh(p)
  ROOT all = (f32[4,4], f32[4,4]) tuple(new, late)
"""
    graph = step(body, [(0, 0)])
    assert graph.op_names == ("late", "new")
    assert table(graph)["new"] == (2, 0, ["late"], 0)
    scheduled = step(body, [(0, 0)], scheduled=True)
    assert scheduled.op_names == ("new", "late")  # XLA's order stays, so that the update needs a storage of its own
    assert table(scheduled)["new"] == (2, 1, [], -1)
    assert (scheduled.meta["source"]["donated"], scheduled.meta["source"]["updated_in_place"]) == (1, 0)


def test_a_reader_of_the_old_value_that_needs_the_new_one_forbids_it():
    body = """
  new = f32[4,4] subtract(p, g)
  both = f32[4,4] add(p, new)
  ROOT all = (f32[4,4], f32[4,4]) tuple(new, both)
"""
    assert table(step(body, [(0, 0)])) == {"new": (2, 1, [], -1), "both": (2, 1, [], -1)}


def test_a_product_cannot_write_over_what_it_reads():
    body = """
  new = f32[4,4] dot(p, g), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT all = (f32[4,4]) tuple(new)
"""
    assert table(step(body, [(0, 0)]))["new"] == (2, 1, [], -1)
    assert table(step(body, [(0, 2)]))["new"] == (3, 0, [], -1)  # but over what it does not read


def test_momentum_reads_the_new_velocity():
    """The parameter's update reads the velocity as it has become, so that all share a device."""
    body = """
  velocity = f32[4,4] add(m, g)
  new = f32[4,4] subtract(p, velocity)
  ROOT all = (f32[4,4], f32[4,4]) tuple(new, velocity)
"""
    graph = step(body, [(0, 0), (1, 2)])
    assert table(graph) == {"velocity": (2, 0, [], 0), "new": (2, 0, ["velocity"], 0)}
    assert graph.num_activations == 0
    assert len(graph.tensor_bytes) == 3


def test_two_updates_that_want_each_others_old_value_are_not_both_in_place():
    """A swap: the first may write over ``p`` only after the second has read it, and the other way round."""
    body = """
  one = f32[4,4] negate(m)
  two = f32[4,4] negate(p)
  ROOT all = (f32[4,4], f32[4,4]) tuple(one, two)
"""
    graph = step(body, [(0, 0), (1, 2)])
    assert graph.meta["source"]["updated_in_place"] == 1
    assert graph.num_activations == 1


def test_groups_that_share_no_op_stay_apart():
    body = """
  one = f32[4,4] negate(p)
  two = f32[4,4] negate(m)
  a = f32[4,4] add(one, g)
  b = f32[4,4] add(two, g)
  ROOT all = (f32[4,4], f32[4,4]) tuple(a, b)
"""
    groups = {name: row[3] for name, row in table(step(body, [(0, 0), (1, 2)])).items()}
    assert groups["one"] == groups["a"] != groups["two"] == groups["b"]
    assert set(groups.values()) == {0, 1}


@pytest.mark.parametrize("place", ["{7}: (0, {}, may-alias)", "{0}: (9, {}, may-alias)", "{0}: (0, {1}, may-alias)"])
def test_an_alias_of_a_place_that_is_not_there_is_refused(place):
    text = f"HloModule m, input_output_alias={{ {place} }}\nENTRY main {{\n  p = f32[2] parameter(0)\n"
    with pytest.raises(ValueError, match=r"^HLO text: line 1: input_output_alias names a place that is not there$"):
        load(text + "  n = f32[2] negate(p)\n  ROOT t = (f32[2]) tuple(n)\n}")


def test_unneeded_ops_and_tensors_leave():
    builder = GraphBuilder()
    x, unread, a, b = (builder.add_tensor(size) for size in (1, 2, 3, 4))
    first = builder.add_op("tanh", inputs=[x], outputs=[a])
    builder.add_op("dead", inputs=[a], outputs=[unread])
    builder.add_op("tanh", inputs=[a], outputs=[b], control_inputs=[first])
    builder.add_op("custom-call", inputs=[x])
    builder.mark_output(b)
    drop_unneeded(builder)
    drop_unused_tensors(builder)
    graph = builder.build()
    assert graph.op_types == ("tanh", "tanh", "custom-call")
    assert graph.tensor_bytes.tolist() == [1, 3, 4]
    assert np.flatnonzero(graph.is_output).tolist() == [2]
    assert graph.control_inputs.to_lists() == [[], [0], []]
