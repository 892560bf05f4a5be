import pytest

pytest.importorskip("torch")

from regal.frontends.torch_storages import WritingBuilder


def build(*ops, together=()):
    """Ops ``(name, inputs, outputs, writes)`` over four tensors of 1, 2, 4 and 8 bytes."""
    writer = WritingBuilder()
    for size in (1, 2, 4, 8):
        writer.builder.add_tensor(size)
    for name, inputs, outputs, writes in ops:
        writer.add_op("op", name, 0.0, inputs=inputs, outputs=outputs, writes=writes)
    writer.together.extend(together)
    writer.colocate()
    return writer.builder.build()


def test_writers_wait_for_readers_and_readers_for_writers():
    """a and b read 0, c writes it, d reads it, e writes it again: a, b ╌> c ╌> d ╌> e."""
    graph = build(*((name, [0], [], [0] if name in "ce" else []) for name in "abcde"))
    assert graph.control_inputs.to_lists() == [[], [], [0, 1], [2], [2, 3]]
    assert graph.colocation.tolist() == [0, 0, 0, 0, 0]


def test_what_is_only_read_makes_no_order():
    graph = build(("a", [0], [1], []), ("b", [0, 1], [], []))
    assert graph.control_inputs.to_lists() == [[], []]
    assert graph.colocation.tolist() == [-1, -1]


def test_a_written_tensor_counts_as_read():
    assert build(("a", [], [], [2])).inputs.to_lists() == [[2]]


def test_a_written_activation_stays_with_its_producer():
    """a makes 1, b writes into it, c reads it; d reads something else."""
    graph = build(("a", [0], [1], []), ("b", [], [], [1]), ("c", [1], [], []), ("d", [0], [], []))
    assert graph.control_inputs.to_lists() == [[], [], [1], []]
    assert graph.colocation.tolist() == [0, 0, 0, -1]


def test_groups_that_share_an_op_are_one():
    """a and b share the written 0, b and c the written 1, d writes 2 alone."""
    graph = build(("a", [0], [], [0]), ("b", [0, 1], [], []), ("c", [], [], [1]), ("d", [], [], [2]))
    assert graph.colocation.tolist() == [0, 0, 0, -1]


def test_groups_are_numbered_by_their_first_op():
    graph = build(("a", [0], [], []), ("b", [], [], [1]), ("c", [], [], [0]), ("d", [1], [], []))
    assert graph.colocation.tolist() == [0, 1, 0, 1]


def test_ops_can_be_told_to_stand_together():
    graph = build(("a", [0], [], []), ("b", [1], [], []), ("c", [2], [], []), together=[(0, 2)])
    assert graph.colocation.tolist() == [0, -1, 0]
