"""HLO files: names, gzip, damage, and instruction counts equal to XLA's own."""

import gzip
import time
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regal.files import ParseError
from regal.frontends.hlo import instruction_counts, load
from regal.frontends.roofline import Rates
from tests.fuzz.texts import cut, flip, insert, truncate

TEXT = """HloModule jit_f, input_output_alias={ {0}: (1, {}, may-alias) }

region {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

relu {
  p = f32[4,2]{1,0} parameter(0)
  zero = f32[] constant(0)
  z = f32[4,2]{1,0} broadcast(zero), dimensions={}
  ROOT m = f32[4,2]{1,0} maximum(p, z)
}

ENTRY main {
  x = f32[4,8]{1,0} parameter(0)
  w = f32[8,2]{1,0} parameter(1)
  d = f32[4,2]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  r = f32[4,2]{1,0} call(d), to_apply=relu
  zero.1 = f32[] constant(0)
  s = f32[] reduce(r, zero.1), dimensions={0,1}, to_apply=region
  g = f32[8,2]{1,0} broadcast(s), dimensions={}
  n = f32[8,2]{1,0} subtract(w, g)
  ROOT t = (f32[8,2]{1,0}, f32[]) tuple(n, s)
}
"""


def test_a_module():
    graph = load(TEXT, mode="step")
    assert graph.name == "jit_f"
    assert graph.op_types == ("dot", "broadcast", "maximum", "reduce", "broadcast", "subtract")
    assert graph.op_names[1:3] == ("r/z", "r/m")
    source = graph.meta["source"]
    assert (source["framework"], source["mode"], source["is_scheduled"]) == ("hlo", "step", False)
    assert (source["instructions"], source["opaque_ops"], source["updated_in_place"]) == (16, 0, 1)
    assert source["flops"] == 2 * 4 * 2 * 8 + 8 + 8 + 16
    assert graph.colocation.tolist() == [0, -1, -1, -1, -1, 0]


def test_rates_make_the_runtimes():
    graph = load(TEXT, rates=Rates(flops=1.0, bandwidth=float("inf"), overhead=0.0))
    assert graph.runtime.tolist() == [128, 0, 8, 8, 0, 16]
    assert graph.meta["source"]["rates"]["bandwidth"] is None


@pytest.mark.parametrize("suffix", [".hlo", ".txt", ".hlo.gz"])
def test_files(tmp_path, suffix):
    path = tmp_path / f"module{suffix}"
    path.write_bytes(gzip.compress(TEXT.encode()) if suffix.endswith("gz") else TEXT.encode())
    assert load(path).sha256 == load(str(path)).sha256 == load(TEXT).sha256
    assert instruction_counts(path) == instruction_counts(TEXT) == {"region": 3, "relu": 4, "main": 9}
    assert load(path, name="mine").name == "mine"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff", "not UTF-8 text at byte 0"),
        (b"", "line 1: a module begins with HloModule and its name"),
        (TEXT.replace("x, w", "x, y").encode(), "line 19: no earlier instruction of the computation is named 'y'"),
        (gzip.compress(TEXT.encode())[:-9], "the gzip data end too early"),
    ],
)
def test_damaged_files_are_refused_by_name(tmp_path, data, message):
    path = tmp_path / "m.hlo"
    path.write_bytes(data)
    with pytest.raises(ParseError) as error:
        load(path)
    assert str(error.value) == f"{path}: {message}"
    with pytest.raises(ParseError, match="No such file"):
        load(tmp_path / "none.hlo")


@given(st.randoms(use_true_random=False))
@settings(max_examples=300, deadline=None)
def test_random_damage_is_read_or_refused(random):
    data = TEXT.encode()
    for _ in range(random.randrange(1, 4)):
        data = random.choice([cut, flip, insert, truncate])(data, Random(random.random()))
    text = data.decode("latin-1")
    message = message_of(text if text.startswith("HloModule") else "HloModule\n" + text)
    assert "\n" not in message


def message_of(text):
    try:
        load(text)
    except ParseError as error:
        return str(error)
    return ""


def test_time_is_linear_in_the_module():
    """100,000 instructions in a chain, each updated in place or not, in seconds."""
    lines = ["  v0 = f32[4]{0} parameter(0)"]
    lines += [f"  v{number + 1} = f32[4]{{0}} tanh(v{number})" for number in range(100_000)]
    start = time.process_time()
    graph = load("\n".join(["HloModule m", "ENTRY main {", *lines, "}"]))
    assert graph.num_ops == 100_000
    assert time.process_time() - start < 30


def test_counts_equal_those_of_xla():
    hlo = pytest.importorskip("jaxlib._hlo")
    theirs = {each.name: len(each.instructions()) for each in hlo.hlo_module_from_text(TEXT).computations()}
    assert instruction_counts(TEXT) == theirs
