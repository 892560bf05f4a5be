import gzip
import json
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regal.files import ParseError, parse_json, read_bytes
from regal.files.read import MAX_PARSED, MAX_TEXT, VALUE_SIZE

MIB = 2**20


def test_reads_plain_and_compressed(tmp_path):
    (tmp_path / "plain").write_bytes(b"hello")
    (tmp_path / "packed").write_bytes(gzip.compress(b"hel") + gzip.compress(b"lo"))
    (tmp_path / "empty").write_bytes(b"")
    assert read_bytes(tmp_path / "plain") == read_bytes(str(tmp_path / "packed")) == b"hello"
    assert read_bytes(tmp_path / "empty") == b""


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_the_limit_is_exact(tmp_path, pack):
    (tmp_path / "f").write_bytes(pack(bytes(1000)))
    assert len(read_bytes(tmp_path / "f", limit=1000)) == 1000
    with pytest.raises(ParseError, match="f: more than 999 bytes of text"):
        read_bytes(tmp_path / "f", limit=999)


def test_a_gzip_bomb_costs_no_more_memory_than_the_limit(tmp_path):
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join(packer.compress(bytes(MIB)) for _ in range(200)) + packer.flush()
    (tmp_path / "bomb").write_bytes(bomb)
    assert len(bomb) < MIB
    tracemalloc.start()
    try:
        with pytest.raises(ParseError, match="more than 4194304 bytes of text"):
            read_bytes(tmp_path / "bomb", limit=4 * MIB)
        assert tracemalloc.get_traced_memory()[1] < 16 * MIB
    finally:
        tracemalloc.stop()


def test_text_that_would_blow_up_when_parsed_is_refused_before(tmp_path):
    text = b"[" + b"0," * (MAX_PARSED // 80) + b"0]"
    assert len(text) < MAX_TEXT
    tracemalloc.start()
    try:
        with pytest.raises(ParseError, match=r"f: \d+ values in \d+ bytes of text could take more than \d+ bytes"):
            parse_json(text, "f")
        assert tracemalloc.get_traced_memory()[1] < MIB
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "text",
    [
        b"[" + b"[]," * 50_000 + b"[]]",
        b"[" + b'{"k":{}},' * 30_000 + b"0]",
        b"[" + b"1.5e300," * 50_000 + b"0]",
        json.dumps({f"key{i}": i for i in range(20_000)}).encode(),
        json.dumps(["\U0001f600" * 50_000], ensure_ascii=False).encode(),
    ],
    ids=["lists", "objects", "floats", "keys", "wide text"],
)
def test_the_estimate_of_parsed_memory_is_safe(text):
    values = sum(text.count(mark) for mark in (b",", b"[", b"{", b":")) + 1
    estimate = values * VALUE_SIZE + len(text) * (2 if text.isascii() else 5)
    tracemalloc.start()
    try:
        kept = parse_json(text, "f")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert kept
    assert peak < estimate + 4096  # the parser itself


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (gzip.compress(b"x" * 5000)[:-9], "the gzip data end too early"),
        (gzip.compress(b"hello")[:-8] + bytes(8), "broken gzip data: incorrect data check"),
        (b"\x1f\x8bnothing else", "broken gzip data: "),
        (gzip.compress(b"hello") + b"behind", "broken gzip data: "),
    ],
    ids=["truncated", "wrong sum", "only the magic", "garbage behind"],
)
def test_broken_gzip(tmp_path, data, message):
    (tmp_path / "f.gz").write_bytes(data)
    with pytest.raises(ParseError, match=message):
        read_bytes(tmp_path / "f.gz")


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(ParseError, match="missing: No such file"):
        read_bytes(tmp_path / "missing")
    with pytest.raises(ParseError, match="Is a directory"):
        read_bytes(tmp_path)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda values: st.lists(values) | st.dictionaries(st.text(), values),
    max_leaves=20,
)


@given(json_values)
def test_json_comes_back(value):
    assert parse_json(json.dumps(value).encode(), "f") == value
    assert parse_json(b"\xef\xbb\xbf" + json.dumps(value).encode(), "f") == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"a": 1, "b": 2, "a": 3}', "f: the key 'a' appears twice in one object"),
        (b'{"' + b"k" * 500 + b'": 1, "' + b"k" * 500 + b'": 1}', "f: the key '" + "k" * 56 + "... appears twice"),
        (b"[NaN]", "f: NaN is not a JSON number"),
        (b"Infinity", "f: Infinity is not a JSON number"),
        (b"[1,\n 2,]", "f: not JSON: .* at line 2, column"),
        (b"\xff", "f: not UTF-8 text at byte 0"),
        (b"[" * 100_000, "f: nested too deeply"),
        (b"1" * 5000, "f: .*4300"),
    ],
)
def test_refuses_in_one_line(text, message):
    with pytest.raises(ParseError, match=message) as caught:
        parse_json(text, "f")
    assert "\n" not in str(caught.value)
