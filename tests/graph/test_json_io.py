"""The file format ``regal-graph/1``: what it says, and what it refuses by name."""

import copy
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from regal.files import ParseError
from regal.graph import ComputationGraph, GraphBuilder, example_graph, read_graph, write_graph
from regal.graph.json_io import graph_from_json, graph_to_json
from tests.strategies import graphs

EXAMPLES = sorted(Path(__file__).parents[2].glob("datasets/examples/*.json.gz"))

SMALL = {
    "format": "regal-graph/1",
    "name": "small",
    "ops": [
        {"name": "a", "type": "make", "runtime": 1, "workspace": 5, "inputs": [0], "outputs": [1], "colocation": 3},
        {"name": "b", "type": "use", "runtime": 0.5, "inputs": [1, 0], "outputs": [2], "control_inputs": [0]},
    ],
    "tensors": [{"bytes": 100}, {"bytes": 10, "is_output": False}, {"bytes": 1, "is_output": True}],
    "meta": {"anything": [1, {"goes": None}]},
}


def small(change: Callable[[dict[str, Any]], Any] = lambda value: None) -> dict[str, Any]:
    value = copy.deepcopy(SMALL)
    change(value)
    return value


def op(index: int, key: str, entry: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda value: value["ops"][index].__setitem__(key, entry)


def tensor(index: int, key: str, entry: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda value: value["tensors"][index].__setitem__(key, entry)


def top(key: str, entry: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda value: value.__setitem__(key, entry)


def refused(path: Path, text: str | bytes) -> str:
    """The one line with which ``read_graph`` refuses ``text``."""
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(ParseError) as caught:
        read_graph(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    assert len(message) < len(str(path)) + 250
    return message


def same(one: ComputationGraph, other: ComputationGraph) -> bool:
    return (one.sha256, one.name, one.meta) == (other.sha256, other.name, other.meta)


def test_a_file_says_what_it_says(tmp_path):
    (tmp_path / "small.json").write_text(json.dumps(SMALL))
    graph = read_graph(tmp_path / "small.json")
    assert (graph.name, graph.op_names, graph.op_types) == ("small", ("a", "b"), ("make", "use"))
    assert (graph.runtime.tolist(), graph.workspace.tolist()) == ([1.0, 0.5], [5, 0])
    assert (graph.colocation.tolist(), graph.control_inputs.to_lists()) == ([3, -1], [[], [0]])
    assert (graph.inputs.to_lists(), graph.outputs.to_lists()) == ([[0], [1, 0]], [[1], [2]])
    assert (graph.tensor_bytes.tolist(), graph.is_output.tolist()) == ([100, 10, 1], [False, False, True])
    assert graph.meta == SMALL["meta"]


@given(graphs())
def test_values_come_back(graph):
    value = json.loads(json.dumps(graph_to_json(graph)))
    assert same(graph_from_json(value), graph)
    assert graph_to_json(graph_from_json(value)) == value


@pytest.mark.parametrize("name", ["graph.json", "graph.json.gz"])
def test_files_come_back_and_are_always_alike(tmp_path, name):
    graph = graph_from_json(small(op(0, "name", "Zürich \U0001f600")))
    write_graph(graph, tmp_path / name)
    assert same(read_graph(tmp_path / name), graph)
    first = (tmp_path / name).read_bytes()
    write_graph(graph, tmp_path / name)
    assert (tmp_path / name).read_bytes() == first
    assert first.startswith(b"\x1f\x8b") == name.endswith(".gz")


def test_compression_is_seen_in_the_file_and_not_in_its_name(tmp_path):
    (tmp_path / "a.json").write_bytes(gzip.compress(json.dumps(SMALL).encode()))
    assert read_graph(tmp_path / "a.json").num_ops == 2


def test_there_are_sample_graphs():
    assert len(EXAMPLES) >= 1


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_sample_graphs_come_back(tmp_path, path):
    graph = read_graph(path)
    write_graph(graph, tmp_path / "copy.json.gz")
    assert same(read_graph(tmp_path / "copy.json.gz"), graph)


def test_zero_ops_are_a_graph(tmp_path):
    for tensors in ([], [{"bytes": 5, "is_output": True}]):
        (tmp_path / "g.json").write_text(json.dumps(small(lambda v, t=tensors: v.update(ops=[], tensors=t))))
        graph = read_graph(tmp_path / "g.json")
        assert (graph.num_ops, graph.num_tensors) == (0, len(tensors))


CYCLE = {  # a ──t1──> b ──t2──> a
    "inputs": [2],
    "outputs": [1],
}
BROKEN: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "cycle": (lambda v: v["ops"][0].update(CYCLE), "op 0 'a': every op comes after its producers"),
    "op that reads what it writes": (op(0, "inputs", [1]), "op 0 'a': every op comes after its producers"),
    "ops out of program order": (lambda v: v["ops"].reverse() or v["ops"][0].pop("control_inputs"), "of op 1 'a'"),
    "control input behind": (op(0, "control_inputs", [1]), "op 0 'a': every op comes after its producers and control"),
    "two producers": (op(1, "outputs", [2, 1]), "tensor 1: at most one op may produce it, but op 0 'a' and op 1 'b'"),
    "bytes negative": (tensor(1, "bytes", -1), "tensor 1: bytes must be an integer from 0 to 9007199254740991, not -1"),
    "bytes 2^53": (
        tensor(1, "bytes", 2**53),
        "tensor 1: bytes must be an integer from 0 to 9007199254740991, not 9007",
    ),
    "bytes true": (tensor(1, "bytes", True), "tensor 1: bytes must be an integer from 0 to 9007199254740991, not True"),
    "bytes as a float": (tensor(1, "bytes", 8.0), "tensor 1: bytes must be an integer"),
    "bytes as text": (tensor(1, "bytes", "8"), "tensor 1: bytes must be an integer"),
    "bytes huge": (tensor(1, "bytes", 10**4000), "tensor 1: bytes must be an integer"),
    "bytes missing": (lambda v: v["tensors"][1].pop("bytes"), "tensor 1: bytes is missing"),
    "is_output as a number": (tensor(1, "is_output", 1), "tensor 1: is_output must be true or false, not 1"),
    "tensor as a list": (lambda v: v["tensors"].__setitem__(1, []), "tensor 1: must be an object, not list"),
    "runtime negative": (op(1, "runtime", -0.5), "op 1 'b': runtime must be finite seconds, not negative, not -0.5"),
    "runtime true": (op(1, "runtime", True), "op 1 'b': runtime must be finite seconds, not negative, not True"),
    "runtime null": (op(1, "runtime", None), "op 1 'b': runtime must be finite seconds, not negative, not None"),
    "runtime as text": (op(1, "runtime", "1"), "op 1 'b': runtime must be finite seconds"),
    "runtime huge": (op(1, "runtime", 10**400), "op 1 'b': runtime must be finite seconds"),
    "workspace negative": (op(1, "workspace", -3), "op 1 'b': workspace must be an integer from 0 to"),
    "workspace true": (op(1, "workspace", True), "op 1 'b': workspace must be an integer from 0 to"),
    "workspace 2^53": (op(1, "workspace", 2**53), "op 1 'b': workspace must be an integer from 0 to"),
    "colocation negative": (op(1, "colocation", -1), "op 1 'b': colocation must be an integer from 0 to"),
    "colocation false": (op(1, "colocation", False), "op 1 'b': colocation must be an integer from 0 to"),
    "input out of range": (op(1, "inputs", [3]), "op 1 'b': inputs name tensor 3, but the graph has 3 tensors"),
    "input negative": (op(1, "inputs", [-1]), "op 1 'b': inputs name tensor -1, but the graph has 3 tensors"),
    "input true": (op(1, "inputs", [True]), "op 1 'b': inputs must hold numbers of tensors, not True"),
    "input huge": (op(1, "inputs", [2**31]), "op 1 'b': inputs name tensor 2147483648, but the graph has 3 tensors"),
    "input as a list": (op(1, "inputs", [[0]]), "op 1 'b': inputs must hold numbers of tensors, not list of 1"),
    "output out of range": (op(1, "outputs", [9]), "op 1 'b': outputs name tensor 9, but the graph has 3 tensors"),
    "control out of range": (
        op(1, "control_inputs", [2]),
        "op 1 'b': control_inputs name op 2, but the graph has 2 ops",
    ),
    "input twice": (op(1, "inputs", [1, 0, 1]), "op 1 'b': inputs repeat tensor 1"),
    "output twice": (op(1, "outputs", [2, 2]), "op 1 'b': outputs repeat tensor 2"),
    "control twice": (op(1, "control_inputs", [0, 0]), "op 1 'b': control_inputs repeat op 0"),
    "inputs no list": (op(1, "inputs", 0), "op 1 'b': inputs must be a list, not 0"),
    "inputs missing": (lambda v: v["ops"][1].pop("inputs"), "op 1 'b': inputs is missing"),
    "name missing": (lambda v: v["ops"][1].pop("name"), "op 1: name is missing"),
    "name no text": (op(1, "name", 5), "op 1: name must be text, not 5"),
    "name half a pair": (op(1, "name", "x\ud800"), "name holds half of a surrogate pair"),
    "type no text": (op(1, "type", None), "op 1 'b': type must be text, not None"),
    "op as text": (lambda v: v["ops"].__setitem__(1, "b"), "op 1: must be an object, not 'b'"),
    "op with an unknown key": (op(1, "device", 0), "op 1 'b': unknown key 'device'"),
    "tensor with an unknown key": (tensor(1, "shape", []), "tensor 1: unknown key 'shape'"),
    "graph with an unknown key": (top("version", 1), "graph: unknown key 'version'"),
    "ops missing": (lambda v: v.pop("ops"), "graph: ops is missing"),
    "ops no list": (top("ops", {}), "graph: ops must be a list, not dict"),
    "meta no object": (top("meta", [1]), "graph: meta must be an object, not list"),
    "graph name no text": (top("name", 1), "graph: name must be text, not 1"),
    "other format": (top("format", "regal-graph/2"), "format must be 'regal-graph/1', not 'regal-graph/2'"),
    "no format": (lambda v: v.pop("format"), "format must be 'regal-graph/1', not None"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_refuses(tmp_path, name):
    change, message = BROKEN[name]
    assert message in refused(tmp_path / "g.json", json.dumps(small(change)))


def test_ops_out_of_program_order_are_both_named(tmp_path):
    message = refused(tmp_path / "g.json", json.dumps(small(BROKEN["ops out of program order"][0])))
    assert "op 0 'b'" in message
    assert "op 1 'a'" in message


TEXTS = {
    "NaN": ('{"format": "regal-graph/1", "ops": [{"runtime": NaN}]}', "NaN is not a JSON number"),
    "infinity": ('{"format": "regal-graph/1", "ops": [{"runtime": -Infinity}]}', "-Infinity is not a JSON number"),
    "duplicate keys": ('{"format": "regal-graph/1", "ops": [], "ops": []}', "the key 'ops' appears twice"),
    "duplicate keys inside": ('{"format": "regal-graph/1", "meta": {"k": {"x": 1, "x": 2}}}', "key 'x' appears twice"),
    "a list": ("[]", "format must be 'regal-graph/1', not list"),
    "no JSON": ("{", "not JSON: "),
    "nothing": ("", "not JSON: "),
    "two values": ("{} {}", "not JSON: Extra data"),
    "not UTF-8": (b'{"name": "\xff"}', "not UTF-8 text at byte 10"),
    "deep lists": ("[" * 100_000 + "]" * 100_000, "nested too deeply"),
    "deep objects": ('{"a":' * 100_000 + "1" + "}" * 100_000, "nested too deeply"),
    "an integer of 10,000 digits": ('{"format": ' + "9" * 10_000 + "}", "4300"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_refuses_text(tmp_path, name):
    text, message = TEXTS[name]
    assert message in refused(tmp_path / "g.json", text)


def test_a_runtime_that_overflows_is_no_number(tmp_path):
    text = json.dumps(small()).replace('"runtime": 0.5', '"runtime": 1e999')
    assert "op 1 'b': runtime must be finite seconds" in refused(tmp_path / "g.json", text)


def test_a_truncated_gzip_is_refused_wherever_it_ends(tmp_path):
    data = gzip.compress(json.dumps(SMALL).encode())
    for length in (2, 5, 20, len(data) // 2, len(data) - 8, len(data) - 1):
        refused(tmp_path / "g.json.gz", data[:length])
    flipped = bytearray(data)
    flipped[len(data) // 2] ^= 0xFF
    refused(tmp_path / "g.json.gz", bytes(flipped))


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "g.json"
    write_graph(example_graph("chain"), path)
    bad = GraphBuilder("bad", meta={"not JSON": float("nan")}).build()
    with pytest.raises(ValueError, match="JSON compliant"):
        write_graph(bad, path)
    assert same(read_graph(path), example_graph("chain"))
    assert list(tmp_path.iterdir()) == [path]
