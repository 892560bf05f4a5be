"""What becomes of HLO instructions: storages, calls, loops, pairs of start and done."""

import pytest

from regal.files import ParseError
from regal.frontends import hlo_build
from regal.frontends.hlo import load


def module(*entry, before=""):
    return "\n".join(["HloModule m", before, "ENTRY main {", "  x = f32[4,8]{1,0} parameter(0)", *entry, "}"])


def table(*entry, before=""):
    """Op name -> (bytes read, bytes written, control inputs by name); sizes tell tensors apart."""
    graph = load(module(*entry, before=before))
    size, names = graph.tensor_bytes, graph.op_names
    rows = zip(names, graph.inputs, graph.outputs, graph.control_inputs, strict=True)
    return {
        name: (size[inputs].tolist(), size[outputs].tolist(), [names[op] for op in control])
        for name, inputs, outputs, control in rows
    }


def test_views_are_their_operands_storage():
    ops = table(
        "a = f32[32]{0} reshape(x)",
        "b = f32[2,16]{1,0} bitcast(a)",
        "t = (f32[2,16]{1,0}, f32[4,8]{1,0}) tuple(b, x)",
        "o = (f32[2,16]{1,0}, f32[4,8]{1,0}) opt-barrier(t)",
        "g = f32[2,16]{1,0} get-tuple-element(o), index=0",
        "ROOT c = f32[16,2]{1,0} transpose(g), dimensions={1,0}",
    )
    assert ops == {"c": ([128], [128], [])}


def test_constants_of_more_than_64_bytes_are_persistent():
    graph = load(
        module(
            "small = f32[4,4] constant({...})",
            "large = f32[17] constant({...})",
            "unread = f32[99] constant({...})",
            "a = f32[4,8] custom-call(x, small)",
            "ROOT b = f32[17] custom-call(a, large)",
        )
    )
    assert graph.tensor_bytes.tolist() == [128, 68, 128, 68]
    assert graph.inputs.to_lists() == [[0], [2, 1]]
    assert graph.meta["source"]["opaque_ops"] == 2


def test_what_is_returned_is_an_output_once_it_is_made():
    graph = load(
        module("a = f32[4,8] tanh(x)", "b = f32[4,8] tanh(a)", "ROOT t = (f32[4,8], f32[4,8], f32[4,8]) tuple(x, b, b)")
    )
    assert graph.is_output.tolist() == [False, False, True]


def test_what_nobody_needs_is_left_out_unless_it_is_scheduled():
    lines = ("dead = f32[4,8] tanh(x)", "ROOT a = f32[4,8] negate(x)")
    assert load(module(*lines)).op_names == ("a",)
    scheduled = module(*lines).replace("HloModule m", "HloModule m, is_scheduled=true")
    assert load(scheduled).op_names == ("dead", "a")


CALLEE = """%double {
  p = f32[4,8] parameter(0)
  q = f32[4,8] add(p, p)
  ROOT r = (f32[4,8], f32[4,8]) tuple(q, p)
}"""


def test_calls_are_inlined():
    ops = table(
        "one = (f32[4,8], f32[4,8]) call(x), to_apply=%double",
        "a = f32[4,8] get-tuple-element(one), index=0",
        "b = f32[4,8] get-tuple-element(one), index=1",
        "two = (f32[4,8], f32[4,8]) call(a), to_apply=%double",
        "c = f32[4,8] get-tuple-element(two), index=0",
        "ROOT d = f32[4,8] subtract(c, b)",
        before=CALLEE,
    )
    assert list(ops) == ["one/q", "two/q", "d"]
    graph = load(
        module(
            "one = (f32[4,8], f32[4,8]) call(x), to_apply=%double",
            "b = f32[4,8] get-tuple-element(one), index=1",
            "ROOT d = f32[4,8] negate(b)",
            before=CALLEE,
        )
    )
    assert graph.op_names == ("d",)  # the second result is the argument


LOOP = """%body {
  s = (s32[], f32[4,8], f32[3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  v = f32[4,8] get-tuple-element(s), index=1
  w = f32[3] get-tuple-element(s), index=2
  n = f32[4,8] tanh(v)
  ROOT o = (s32[], f32[4,8], f32[3]) tuple(i, n, w)
}
%until {
  s = (s32[], f32[4,8], f32[3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  c = s32[] constant(9)
  ROOT l = pred[] compare(i, c), direction=LT
}"""


def test_what_a_loop_hands_on_stays_the_storage_it_was():
    graph = load(
        module(
            "w = f32[3] parameter(1)",
            "i = s32[] constant(0)",
            "t = (s32[], f32[4,8], f32[3]) tuple(i, x, w)",
            "loop = (s32[], f32[4,8], f32[3]) while(t), condition=%until, body=%body",
            "v = f32[3] get-tuple-element(loop), index=2",
            "y = f32[4,8] get-tuple-element(loop), index=1",
            "a = f32[3] negate(v)",
            "ROOT r = (f32[4,8], f32[3]) tuple(y, a)",
            before=LOOP,
        )
    )
    assert graph.op_types == ("while", "negate")
    assert [graph.tensor_bytes[row].tolist() for row in graph.inputs] == [[128, 12], [12]]
    assert graph.tensor_bytes[graph.outputs[0]].tolist() == [128]
    assert graph.inputs[1].tolist() == [graph.inputs[0].tolist()[1]]  # the persistent tensor itself
    assert graph.meta["source"]["opaque_ops"] == 1
    assert graph.meta["source"]["flops"] == 9 * (32 + 1) + 3


def test_nobody_reads_what_is_started_before_it_is_done():
    """
    x -> start -> [result 64 bytes] ----> use
           \\__> done -> [0 bytes] ------/
    """
    ops = table(
        "start = (f32[16], f32[4,8], u32[]) copy-start(x)",
        "other = f32[4,8] tanh(x)",
        "done = f32[16] copy-done(start)",
        "use = f32[16] negate(done)",
        "ROOT t = (f32[16], f32[4,8]) tuple(use, other)",
    )
    assert ops == {
        "start": ([128], [64, 4], []),
        "other": ([128], [128], []),
        "done": ([64, 128, 4], [0], []),
        "use": ([64, 0], [64], []),
    }


PAIRS = {
    "async": (
        "s = ((f32[4,8]), f32[16], u32[]) async-start(x), calls=%reduced",
        "d = f32[16] async-done(s)",
        [64, 4],
    ),
    "all-gather": ("s = (f32[4,8], f32[16]) all-gather-start(x)", "d = f32[16] all-gather-done(s)", [64]),
    "all-reduce": ("s = f32[16] all-reduce-start(x), to_apply=%sum", "d = f32[16] all-reduce-done(s)", [64]),
    "permute": (
        "s = (f32[4,8], f32[16], u32[], u32[]) collective-permute-start(x)",
        "d = f32[16] collective-permute-done(s)",
        [64, 4, 4],
    ),
}
BODIES = """%sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
%reduced {
  p = f32[4,8] parameter(0)
  ROOT r = f32[16] custom-call(p)
}"""


@pytest.mark.parametrize(("start", "done", "made"), PAIRS.values(), ids=PAIRS)
def test_pairs_of_start_and_done(start, done, made):
    ops = table(start, done, "ROOT use = f32[16] negate(d)", before=BODIES)
    assert ops["s"] == ([128], made, [])
    assert sorted(ops["d"][0]) == sorted([*made, *([128] if len(made) > 1 or "gather" in start else [])])
    assert ops["d"][1] == [0]
    assert ops["use"] == ([64, 0], [64], [])


def test_send_and_receive():
    ops = table(
        "k = token[] after-all()",
        "s = (f32[4,8], u32[], token[]) send(x, k), channel_id=1",
        "e = token[] send-done(s), channel_id=1",
        "r = (f32[16], u32[], token[]) recv(e), channel_id=2",
        "d = (f32[16], token[]) recv-done(r), channel_id=2",
        "v = f32[16] get-tuple-element(d), index=0",
        "ROOT u = f32[16] negate(v)",
    )
    assert list(ops) == ["k", "s", "e", "r", "d", "u"]
    assert ops["s"] == ([128, 0], [4, 0], [])
    assert ops["r"][1] == [64, 4, 0]
    assert ops["u"] == ([64, 0], [64], [])


def test_dependencies_and_control_predecessors_are_kept():
    ops = table(
        "a = f32[4,8] tanh(x)",
        "k = token[] after-all(a)",
        "y = f32[4,8] add-dependency(x, k)",
        "b = f32[4,8] negate(y)",
        "c = f32[2] custom-call(x), control-predecessors={%b, %a}",
        "ROOT t = (f32[4,8], f32[2]) tuple(b, c)",
    )
    assert ops["b"] == ([128, 0], [128], [])
    assert ops["c"] == ([128], [8], ["a", "b"])


BAD = {
    "index": (
        ["t = (f32[4,8]) tuple(x)", "ROOT a = f32[4,8] get-tuple-element(t), index=1"],
        "line 6: get-tuple-element 'a': an index of its operand's elements must be given",
    ),
    "tuple": (["ROOT t = (f32[4]) tuple(x)"], "line 5: tuple 't': its shape is not that of what it gives"),
    "call": (
        ["ROOT a = f32[4,8] call(x), to_apply=%nobody"],
        "line 5: 'a' calls 'nobody', which is no earlier computation",
    ),
    "itself": (
        ["ROOT a = f32[4,8] call(x), to_apply=%main"],
        "line 5: 'a' calls 'main', which is no earlier computation",
    ),
    "reshape": (["ROOT a = f32[4,8] reshape(x, x)"], "line 5: reshape 'a': it takes one operand of its own kind"),
    "number": (["y = f32[2] parameter(0)"], "line 5: parameter 'y': a parameter has a number of its own"),
}


@pytest.mark.parametrize(("entry", "message"), BAD.values(), ids=BAD)
def test_modules_that_do_not_fit_are_refused(entry, message):
    with pytest.raises(ParseError) as error:
        load(module(*entry))
    assert str(error.value) == f"HLO text: {message}"


def doubling(depth):
    """Computations that call the one before twice, and so are 2^depth long when inlined."""
    parts = ["%c0 {\n  p = f32[] parameter(0)\n  ROOT q = f32[] negate(p)\n}"]
    for number in range(depth):
        call = f"f32[] call({{}}), to_apply=%c{number}"
        parts.append(
            f"%c{number + 1} {{\n  p = f32[] parameter(0)\n  a = {call.format('p')}\n  b = {call.format('a')}\n}}"
        )
    return "\n".join(parts)


def test_calls_that_would_explode_are_refused():
    call = "ROOT a = f32[] call(s), to_apply=%c{}"
    assert load(module("s = f32[] parameter(1)", call.format(6), before=doubling(6))).num_ops == 64
    for depth in (25, 3000):
        with pytest.raises(ParseError, match=r"more than 2097152 values with calls inlined, or calls nested deeper"):
            load(module("s = f32[] parameter(1)", call.format(depth), before=doubling(depth)))


def test_calls_that_nest_too_deeply_are_refused(monkeypatch):
    monkeypatch.setattr(hlo_build, "MAX_CALLS", 3)
    with pytest.raises(ParseError, match="nested deeper than 3"):
        load(module("s = f32[] parameter(1)", "ROOT a = f32[] call(s), to_apply=%c3", before=doubling(3)))
