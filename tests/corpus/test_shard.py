import io
import zipfile

import numpy as np
import pytest
from hypothesis import given

from regal.corpus.shard import COLUMNS, Shard, numbered, write_shard
from regal.files import ParseError
from regal.graph import CSR, ComputationGraph, GraphBuilder, example_graph
from tests.strategies import graphs

SAME = ("op_types", "runtime", "workspace", "colocation", "tensor_bytes", "is_output")


def assert_same(found: ComputationGraph, graph: ComputationGraph) -> None:
    for name in SAME:
        assert np.array_equal(getattr(found, name), getattr(graph, name)), name
        assert type(getattr(found, name)) is type(getattr(graph, name))
    for name in ("inputs", "outputs", "control_inputs"):
        a, b = getattr(found, name), getattr(graph, name)
        assert isinstance(a, CSR)
        assert a.values.dtype == np.int32
        assert a.to_lists() == b.to_lists(), name


@given(graphs(), graphs())
def test_graphs_come_back_as_they_were(tmp_path_factory, first, second):
    path = tmp_path_factory.mktemp("shard") / "s.npz"
    vocabulary = sorted({*first.op_types, *second.op_types})
    write_shard(path, [first, second], vocabulary)
    shard = Shard(path, vocabulary)
    assert len(shard) == 2
    for index, graph in enumerate((first, second)):
        found = shard.graph(index, "found", {"a": 1})
        assert_same(found, graph)
        assert found.name == "found"
        assert found.meta == {"a": 1}
        assert found.op_names == numbered(graph.op_types)


def test_extreme_values_come_back(tmp_path):
    builder = GraphBuilder()
    big, late, early = builder.add_tensor(2**53 - 1), builder.add_tensor(0), builder.add_tensor(1)
    builder.add_op("x", outputs=[early, big], runtime=1e-300, workspace=2**40, colocation=2**62)
    builder.add_op("y", inputs=[big, early], outputs=[late], runtime=0.1)
    graph = builder.build()
    write_shard(tmp_path / "s.npz", [graph], ["x", "y"])
    assert_same(Shard(tmp_path / "s.npz", ["x", "y"]).graph(0, "g"), graph)


def test_the_file_is_the_same_every_time(tmp_path):
    graph = example_graph("diamond")
    for name in ("a.npz", "b.npz"):
        write_shard(tmp_path / name, [graph], sorted(set(graph.op_types)))
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_numpy_reads_the_file_without_pickle(tmp_path):
    write_shard(tmp_path / "s.npz", [example_graph("chain")], sorted(set(example_graph("chain").op_types)))
    with np.load(tmp_path / "s.npz", allow_pickle=False) as arrays:
        assert set(arrays) == {"format", *COLUMNS}


def test_an_op_type_outside_the_vocabulary_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"chain: op 0 '.*': the vocabulary lacks its type"):
        write_shard(tmp_path / "s.npz", [example_graph("chain")], [])
    assert not list(tmp_path.iterdir())


@pytest.fixture
def members(tmp_path) -> dict[str, np.ndarray]:
    graph = example_graph("diamond")
    write_shard(tmp_path / "good.npz", [graph], sorted(set(graph.op_types)))
    with np.load(tmp_path / "good.npz", allow_pickle=False) as arrays:
        return dict(arrays)


def read(tmp_path, members: dict[str, np.ndarray]) -> ComputationGraph:
    path = tmp_path / "bad.npz"
    np.savez(path, **members)
    return Shard(path, sorted(set(example_graph("diamond").op_types))).graph(0, "g")


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("format", lambda a: np.array("other"), "the format is 'other'"),
        ("num_ops", lambda a: a + 1, r"op_type must have \d+ entries, not"),
        ("num_tensors", lambda a: a - 1, "tensor_bytes must have"),
        ("num_ops", lambda a: a.astype(np.int64) - 100, r"num_ops must lie within 0 and 2\^31 - 1"),
        ("num_inputs", lambda a: a.astype(np.int64) + 2**40, "num_inputs must lie within"),
        ("num_outputs", lambda a: a * 2, "outputs must have"),
        ("op_type", lambda a: a + 50, "an op has type 5"),
        ("op_type", lambda a: a.astype(np.int64) - 1, "op_type must lie within 0"),
        ("op_type", lambda a: a.astype(np.float64), "an array of float64 where 'i' is due"),
        ("runtime", lambda a: a * np.nan, "graph 0 'g': op 0 .*: runtime must be finite"),
        ("tensor_bytes", lambda a: a.astype(np.int64) - 2**40, "tensor 0: bytes must be a size"),
        ("inputs", lambda a: a.astype(np.int64) + 2**40, "an index lies outside 32 bits"),
        ("inputs", lambda a: a.astype(np.int64) - 1000, "inputs name tensor"),
        ("outputs", lambda a: a * 0, "inputs name tensor -"),
        ("is_output", lambda a: a[None], "is_output must have one axis"),
        ("runtime", lambda a: a.astype(object), "array"),
    ],
)
def test_a_broken_file_is_refused_in_one_line(tmp_path, members, name, change, message):
    members[name] = change(members[name])
    with pytest.raises(ParseError, match=message) as caught:
        read(tmp_path, members)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "bad.npz"))


def test_a_missing_array_is_refused(tmp_path, members):
    del members["runtime"]
    with pytest.raises(ParseError, match=r"a shard holds 15 arrays, without these: \['runtime.npy'\]"):
        read(tmp_path, members)


def test_what_is_no_archive_is_refused(tmp_path):
    (tmp_path / "s.npz").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(ParseError, match="not a shard"):
        Shard(tmp_path / "s.npz", [])


def test_a_truncated_archive_is_refused(tmp_path):
    write_shard(tmp_path / "s.npz", [example_graph("chain")], sorted(set(example_graph("chain").op_types)))
    data = (tmp_path / "s.npz").read_bytes()
    for length in range(0, len(data), 97):
        (tmp_path / "s.npz").write_bytes(data[:length])
        with pytest.raises(ParseError):
            Shard(tmp_path / "s.npz", [])


def test_a_header_that_asks_for_more_than_there_is_is_refused(tmp_path, members):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, array in members.items():
            member = io.BytesIO()
            np.save(member, array)
            data = member.getvalue()
            if name == "runtime":
                data = data.replace(f"({len(array)},)".encode(), b"(9999999999999,)").ljust(len(data))
            archive.writestr(f"{name}.npy", data)
    (tmp_path / "s.npz").write_bytes(content.getvalue())
    with pytest.raises(ParseError, match="runtime"):
        Shard(tmp_path / "s.npz", [])


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path, members, monkeypatch):
    monkeypatch.setattr("regal.corpus.shard.MAX_SHARD", 2000)
    with pytest.raises(ParseError, match="more than 2000 bytes"):
        read(tmp_path, members)
