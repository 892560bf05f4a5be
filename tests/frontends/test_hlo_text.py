"""HLO text: what the parser keeps, what it passes over, and that damaged text is refused by line."""

import time
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regal.files import ParseError
from regal.frontends import hlo_text
from regal.frontends.hlo_module import Array, Tuple, leaves
from regal.frontends.hlo_text import parse
from tests.fuzz.texts import cut, flip, insert, truncate

SCHEDULED = r"""HloModule jit_g, is_scheduled=true, input_output_alias={ {0}: (1, {}, may-alias), {1, 2}: (0, {3}) }

FileNames
1 "a \"quoted\" {name}.py"

StackFrames
1 {file_location_id=1 parent_frame_id=1}

// a comment
%sum (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %add.1 = f32[] add(f32[] %a, f32[] %b)
}, execution_thread="host"

ENTRY %main.18 (x.1: f32[4,8]) -> (f32[], /*index=1*/(s4[3], token[])) {
  %x.1 = f32[4,8]{1,0:T(8,128)S(1)} parameter(0), metadata={op_name="f(x) = {y" source_file="a/*b.py"}
  %c = f32[2,2]{1,0} constant({ { 1, 2 },
    { 3, -4e-2 } }), metadata={op_name="/* no comment */"}
  %zero = f32[] constant(0)
  %r = f32[] reduce(%x.1, /*index=1*/%zero), dimensions={0,1}, to_apply=%sum, backend_config={"a":{"b":["2"]}}
  %t = (f32[], (s4[3], token[])) custom-call(f32[4,8]{1,0} %x.1, (f32[]) %r), custom_call_target="a, calls=%no"
  ROOT %done = f32[<=7]{0} slice(%x.1), slice={[0:1], [0:4]}, control-predecessors={%r, %zero}
}
"""


def lines(*instructions, name="m"):
    return "\n".join([f"HloModule {name}", "ENTRY main {", *instructions, "}"])


def refused(text):
    with pytest.raises(ParseError) as error:
        parse(text, "file.hlo")
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_scheduled_module():
    module = parse(SCHEDULED)
    assert (module.name, module.is_scheduled, module.entry.name) == ("jit_g", True, "main.18")
    assert module.aliases == [((0,), 1, ()), ((1, 2), 0, (3,))]
    assert module.instruction_counts() == {"sum": 3, "main.18": 6}
    x, constant, zero, reduce, call, done = module.entry.instructions
    assert (x.opcode, x.literal, x.shape) == ("parameter", "0", Array("f32", (4, 8)))
    assert (constant.shape, constant.operands) == (Array("f32", (2, 2)), ())
    assert (zero.literal, reduce.operands) == ("0", (0, 2))
    assert (reduce.numbers("dimensions"), reduce.names("to_apply")) == ((0, 1), ["sum"])
    assert call.shape == Tuple((Array("f32", ()), Tuple((Array("s4", (3,)), Array("token", ())))))
    assert (call.operands, call.names("calls")) == ((0, 3), [])
    assert (done.shape, done.names("control-predecessors")) == (Array("f32", (7,)), ["r", "zero"])
    assert module.entry.root == 5
    assert [instruction.line for instruction in module.entry.instructions] == [17, 18, 20, 21, 22, 23]


def test_without_a_root_the_last_instruction_is_it():
    assert parse(lines("a = f32[] parameter(0)", "b = f32[] negate(a)")).entry.root == 1


@pytest.mark.parametrize(
    ("shape", "num_bytes"),
    [
        ("f32[4,8]{1,0}", [128]),
        ("pred[3]", [3]),
        ("s4[3]", [2]),
        ("bf16[]", [2]),
        ("c128[2]", [32]),
        ("f8e4m3fn[5]", [5]),
        ("token[]", [0]),
        ("f32[0,7]", [0]),
        ("(f32[2]{0}, (u8[3], ()), pred[])", [8, 3, 1]),
    ],
)
def test_bytes_of_a_shape(shape, num_bytes):
    instruction = parse(lines(f"a = {shape} parameter(0)")).entry.instructions[0]
    assert [array.num_bytes for array in leaves(instruction.shape)] == num_bytes


BAD = {
    "": "line 1: a module begins with HloModule and its name",
    "HloModule m\nENTRY main {": "line 2: the text ends inside computation 'main'",
    "HloModule m\nwhat": "line 2: a computation must begin here, not 'what'",
    "HloModule m\n": "line 2: no computation is marked ENTRY",
    "HloModule m\nENTRY main {\n}": "line 3: computation 'main' is empty",
    lines("a = f32[] parameter(0)", "a = f32[] negate(a)"): "line 4: a second instruction 'a'",
    lines("a = f32[] negate(b)"): "line 3: no earlier instruction of the computation is named 'b'",
    lines("a = f32[] negate(a)"): "line 3: no earlier instruction of the computation is named 'a'",
    lines("ROOT a = f32[] parameter(0)", "ROOT b = f32[] negate(a)"): "line 4: a second ROOT in computation 'main'",
    lines("a = f31[2] parameter(0)"): "line 3: no element type 'f31'",
    lines("a = f32[x] parameter(0)"): "line 3: dimensions must be numbers, not 'x'",
    lines("a = f32[-1] parameter(0)"): "line 3: dimensions must be numbers, not '-1'",
    lines("a = f32[999999999,999999999] parameter(0)"): (
        "line 3: a size must stay below 2^53 bytes, not that of 'f32[999999999,999999999]'"
    ),
    lines("a = f32[] constant({{{"): "line 3: the brackets of an instruction do not close",
    lines("a = (f32[], parameter(0)"): "line 3: a shape and an opcode must follow 'a'",
    lines("a = (f32[])) parameter(0"): "line 3: a shape and an opcode must follow 'a'",
    lines("a f32[] parameter(0)"): "line 3: an instruction must stand here, not 'a f32[] parameter(0)'",
    lines("a = " + "(" * 40 + "f32[]" + ")" * 40 + " parameter(0)"): "line 3: tuples nest deeper than 32",
    lines("a = f32[] parameter(0)") + "\nENTRY main {": "line 5: a second computation 'main'",
    lines("a = f32[] parameter(0)") + "\nENTRY b {\nc = f32[] parameter(0)\n}": "line 5: a second ENTRY",
}


@pytest.mark.parametrize(("text", "message"), BAD.items(), ids=BAD.values())
def test_damaged_text_is_refused(text, message):
    assert refused(text) == f"file.hlo: {message}"


def test_text_that_would_take_too_much_memory_is_refused_before_it_is_parsed(monkeypatch):
    monkeypatch.setattr(hlo_text, "MAX_PARSED", 2000)
    parse(lines("a = f32[] parameter(0)"))
    assert "could take more than 2000 bytes of memory" in refused(lines(*["a = f32[] parameter(0)"] * 2))


@given(st.randoms(use_true_random=False))
@settings(max_examples=300, deadline=None)
def test_random_damage_is_read_or_refused(random):
    data = SCHEDULED.encode()
    for _ in range(random.randrange(1, 4)):
        data = random.choice([cut, flip, insert, truncate])(data, Random(random.random()))
    assert message_of(data.decode("latin-1")).startswith(("HLO text: line ", "read"))


def message_of(text):
    try:
        parse(text)
    except ParseError as error:
        return str(error)
    return "read"


HOSTILE = {
    "many headers": "HloModule m\n%c (" + ") -> (" * 30_000,
    "one long shape": lines("a = (" + "f32[2]{0}, " * 30_000 + "f32[]) parameter(0)"),
    "many open brackets": lines("a = f32[] constant({" + "\n{" * 30_000),
    "many quotes": lines('a = f32[] constant("' + '\\"' * 30_000),
    "many quotes and a backslash": "HloModule m " + '"\\' * 30_001,
    "many comments": lines("a = f32[] negate(" + "/*" * 30_000),
    "a long name": lines("a" * 200_000 + " = f32[] parameter(0)"),
    "many operands": lines("a = f32[] parameter(0)", "b = f32[] add(" + "a, " * 30_000 + "a)"),
    "nested operands": lines("a = f32[] add(" + "(" * 30_000 + ")" * 30_000 + ")"),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_takes_linear_time(text):
    start = time.process_time()
    message = message_of(text)
    assert time.process_time() - start < 2.0
    assert len(message) < 300
