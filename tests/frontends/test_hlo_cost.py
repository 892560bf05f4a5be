"""Flops and seconds of HLO instructions, worked out by hand."""

import pytest

from regal.files import ParseError
from regal.frontends.hlo_cost import Costs, moved_bytes
from regal.frontends.hlo_text import parse
from regal.frontends.roofline import Rates

ADD = """%sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
"""
ARGUMENTS = """
  x = f32[4,8]{1,0} parameter(0)
  w = f32[8,2]{1,0} parameter(1)
  i = f32[1,5,5,3]{3,2,1,0} parameter(2)
  k = f32[3,3,3,2]{3,2,1,0} parameter(3)
  zero = f32[] constant(0)
  n = s32[] constant(1)
"""
RATES = Rates(flops=100.0, bandwidth=1000.0, overhead=1.0)


def costs_of(line, before=ADD):
    module = parse(f"HloModule m\n{before}\nENTRY main {{{ARGUMENTS}  r = {line}\n}}")
    costs = Costs(module, RATES, "text")
    last = module.entry.instructions[-1]
    operands = [module.entry.instructions[operand].shape for operand in last.operands]
    return costs.cost(module.entry, last), moved_bytes(last, operands)


CASES = {
    # 4 x 2 results of 8 multiply-adds each
    "dot": ("f32[4,2] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}", 2 * 4 * 2 * 8),
    # 3 of 3 window places inside for the inner 3 positions per axis, 2 for the outer two: 13 pairs per axis
    "convolution, padded": (
        "f32[1,5,5,2] convolution(i, k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f",
        2 * 3 * 2 * 13 * 13,
    ),
    "convolution, valid": (
        "f32[1,3,3,2] convolution(i, k), window={size=3x3}, dim_labels=b01f_01io->b01f",
        2 * 3 * 2 * 9 * 9,
    ),
    # each input element meets each of the 3 window places once
    "convolution, dilated input": (
        "f32[1,11,11,2] convolution(i, k), window={size=3x3 pad=2_2x2_2 lhs_dilate=2x2}, dim_labels=b01f_01io->b01f",
        2 * 3 * 2 * 15 * 15,
    ),
    "convolution, grouped": (
        "f32[1,3,3,3] convolution(i, k), window={size=3x3}, dim_labels=b01f_01io->b01f, feature_group_count=3",
        2 * 1 * 3 * 9 * 9,
    ),
    "elementwise": ("f32[4,8] tanh(x)", 32),
    "reduce": ("f32[4] reduce(x, zero), dimensions={1}, to_apply=%sum", 32),
    "reduce-window": ("f32[4,7] reduce-window(x, zero), window={size=1x2}, to_apply=%sum", 28 * 2),
    "moves": ("f32[8,4] transpose(x), dimensions={1,0}", 0),
    "broadcast": ("f32[8,4] broadcast(zero), dimensions={}", 0),
    "unknown opcode": ("f32[4,8] some-new-op(x)", 32),
}


@pytest.mark.parametrize(("line", "flops"), CASES.values(), ids=CASES)
def test_flops(line, flops):
    assert costs_of(line)[0].flops == flops


def test_seconds_follow_the_roofline():
    cost, moved = costs_of("f32[4,8] tanh(x)")
    assert moved == 128 + 128
    assert cost.seconds == 1.0 + max(32 / 100, 256 / 1000)


def test_a_slice_reads_what_it_writes():
    assert costs_of("f32[1,2] slice(x), slice={[0:1], [0:2]}")[1] == 8 + 8
    assert costs_of("f32[4,8] copy(x)")[1] == 128 + 128


def test_what_shares_storage_takes_no_time():
    assert costs_of("f32[32] bitcast(x)")[0] == (0, 0.0)


FUSED = """%body {
  p = f32[4,8]{1,0} parameter(0)
  q = f32[4,8]{1,0} tanh(p)
  ROOT r = f32[4,8]{1,0} add(q, p)
}
"""


def test_a_fusion_computes_its_body_and_moves_its_ends():
    cost, moved = costs_of("f32[4,8] fusion(x), kind=kLoop, calls=%body", FUSED)
    assert (cost.flops, moved) == (64, 256)
    assert cost.seconds == 1.0 + 64 / 100


LOOP = """%again {
  s = (s32[], f32[4,8]{1,0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  v = f32[4,8]{1,0} get-tuple-element(s), index=1
  t = f32[4,8]{1,0} tanh(v)
  ROOT o = (s32[], f32[4,8]{1,0}) tuple(i, t)
}
%until {
  s = (s32[], f32[4,8]{1,0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(5)
  ROOT c = pred[] compare(i, n), direction=LT
}
%other {
  s = (s32[], f32[4,8]{1,0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  ROOT c = pred[] compare(i, i), direction=NE
}
"""
STATE = "(s32[], f32[4,8]{1,0}) tuple(n, x)\n  w1 = (s32[], f32[4,8]{1,0})"


def test_a_loop_runs_until_its_counter_meets_the_constant():
    body, condition = 1.0 + max(0.32, 0.256), 1.0 + max(0.01, 0.009)
    cost, _ = costs_of(f"{STATE} while(r), condition=%until, body=%again", LOOP)
    assert (cost.flops, cost.seconds) == (5 * (32 + 1), pytest.approx(1.0 + 5 * (body + condition)))
    cost, _ = costs_of(f"{STATE} while(r), condition=%other, body=%again", LOOP)
    assert (cost.flops, cost.seconds) == (32 + 1, pytest.approx(1.0 + body + condition))


def test_a_branch_takes_as_long_as_the_longest():
    cost, _ = costs_of("f32[4,8] conditional(n, x, x), branch_computations={%body, %short}", FUSED + SHORT)
    assert cost.flops == 64
    assert cost.seconds == pytest.approx(1.0 + 2 * 1.32 + 0.064)


SHORT = """%short {
  p = f32[4,8]{1,0} parameter(0)
  ROOT r = f32[4,8]{1,0} tanh(p)
}
"""


def test_a_computation_that_is_not_there_is_refused():
    with pytest.raises(ParseError, match=r"^text: line 13: 'r' calls 'nobody', which is no earlier computation$"):
        costs_of("f32[4,8] fusion(x), calls=%nobody", "\n\n\n")


def test_absurd_flops_are_refused():
    loops = "%c0 {\n  p = f32[] parameter(0)\n  ROOT q = f32[] negate(p)\n}\n"
    loops += "%until {\n  i = s32[] parameter(0)\n  n = s32[] constant(2000000000)\n"
    loops += "  ROOT c = pred[] compare(i, n), direction=LT\n}\n"
    for depth in range(3):
        body = f"%c{depth}"
        loops += f"%c{depth + 1} {{\n  p = f32[] parameter(0)\n"
        loops += f"  ROOT q = f32[] while(p), condition=%until, body={body}\n}}\n"
    with pytest.raises(ParseError, match=r"'q' computes 2\^80 flops or more"):
        costs_of("f32[] negate(zero)", loops)
