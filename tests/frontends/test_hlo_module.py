"""Shapes and attributes of HLO instructions."""

import pytest

from regal.frontends.hlo_module import BITS, Array, Computation, Instruction, Module, Tuple, leaves


def instruction(attributes):
    return Instruction(1, "a", "reduce", Array("f32", ()), (), "", attributes)


def test_bytes_and_elements():
    assert (Array("f32", (3, 5)).num_elements, Array("f32", (3, 5)).num_bytes) == (15, 60)
    assert Array("f32", ()).num_bytes == 4
    assert Array("f32", (0, 9)).num_bytes == 0


@pytest.mark.parametrize(("dtype", "num_bytes"), [("s4", 2), ("u1", 1), ("pred", 3), ("bf16", 6), ("token", 0)])
def test_elements_of_less_than_a_byte_are_packed(dtype, num_bytes):
    assert Array(dtype, (3,)).num_bytes == num_bytes


def test_complex_numbers_are_two():
    assert [BITS[dtype] for dtype in ("c64", "c128")] == [64, 128]


def test_leaves_of_nested_tuples():
    one, two = Array("f32", (1,)), Array("s8", (2,))
    assert list(leaves(Tuple((one, Tuple((two, Tuple(()))), one)))) == [one, two, one]
    assert Tuple((one, Tuple((two,)))) == Tuple((Array("f32", (1,)), Tuple((two,))))
    assert Tuple((one, Tuple((two,)))) != Tuple((one, two))


def test_attributes():
    reduce = instruction(", dimensions={0,12}, to_apply=%sum.1, window={size=3x3 pad=1_1x1_1}, index=7")
    assert reduce.numbers("dimensions") == (0, 12)
    assert reduce.names("to_apply") == ["sum.1"]
    assert reduce.attribute("window") == "size=3x3 pad=1_1x1_1"
    assert reduce.numbers("index") == (7,)
    assert (reduce.attribute("none"), reduce.numbers("none"), reduce.names("none")) == (None, (), [])


def test_an_attribute_is_found_by_its_whole_name():
    both = instruction(", rhs_dilate={9}, dilate={1}, branch_computations={%a, %b.2}")
    assert both.numbers("dilate") == (1,)
    assert both.names("branch_computations") == ["a", "b.2"]


def test_counts():
    main, other = Computation("main", 3, [instruction("")] * 2), Computation("other", 1, [instruction("")])
    module = Module("m", False, [], {"other": other, "main": main}, main)
    assert module.instruction_counts() == {"other": 1, "main": 2}
