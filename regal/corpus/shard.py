"""Many graphs in one file: their columns one behind the other in NumPy's npz format, without pickle.

Op types are numbers in the corpus' vocabulary. Op names are not kept: an op is called by its type and how many of the
type came before it. Lists of tensors and ops are kept as distances, which are small and alike, so that they pack well.
Every file is written the same way for the same graphs, byte by byte.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regal.files import ParseError, parse_json, read_bytes, write_bytes
from regal.graph import CSR, ComputationGraph

FORMAT = "regal-shard/1"
MAX_SHARD = 256 * 2**20
"""Most bytes of arrays that a shard may unpack to."""
COLUMNS = {
    "num_ops": "i",
    "num_tensors": "i",
    "op_type": "i",
    "runtime": "f",
    "workspace": "i",
    "colocation": "i",
    "tensor_bytes": "i",
    "is_output": "b",
    "num_inputs": "i",
    "num_outputs": "i",
    "num_control_inputs": "i",
    "inputs": "i",
    "outputs": "i",
    "control_inputs": "i",
}
"""Name of each array -> kind of its dtype."""
DTYPES = (np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32, np.int64)
PER_OP = ("op_type", "runtime", "workspace", "colocation", "num_inputs", "num_outputs", "num_control_inputs")
PER_TENSOR = ("tensor_bytes", "is_output")
LISTS = ("inputs", "outputs", "control_inputs")


def write_shard(
    path: str | Path, graphs: Sequence[ComputationGraph], vocabulary: Sequence[str], index: Any = None
) -> None:
    """Write ``graphs`` to ``path``, replacing it atomically.

    Parameters
    ----------
    path : path
    graphs : sequence of ComputationGraph
    vocabulary : sequence of str
        Distinct op types, of which every op's is one.
    index : JSON value, optional
        Travels with the graphs, see :func:`read_index`.

    Raises
    ------
    ValueError
        For an op type that the vocabulary lacks.
    """
    number = {text: index for index, text in enumerate(vocabulary)}
    columns: dict[str, list[NDArray]] = {name: [] for name in COLUMNS}
    for graph in graphs:
        for name, values in _encoded(graph, number).items():
            columns[name].append(values)
    arrays = {name: np.concatenate(parts) if parts else np.zeros(0, np.int64) for name, parts in columns.items()}
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        if index is not None:
            arrays["index"] = np.frombuffer(
                json.dumps(index, separators=(",", ":"), allow_nan=False).encode(), np.uint8
            )
        for name, array in {"format": np.array(FORMAT), **arrays}.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, _narrow(array), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), member.getvalue(), zipfile.ZIP_DEFLATED, 9)
    write_bytes(path, content.getvalue())


def _encoded(graph: ComputationGraph, number: Mapping[str, int]) -> dict[str, NDArray]:
    for op, text in enumerate(graph.op_types):
        if text not in number:
            raise ValueError(f"{graph.name}: {graph.describe_op(op)}: the vocabulary lacks its type {text!r}")
    return {
        "num_ops": np.array([graph.num_ops]),
        "num_tensors": np.array([graph.num_tensors]),
        "op_type": np.array([number[text] for text in graph.op_types], np.int64),
        "runtime": graph.runtime,
        "workspace": graph.workspace,
        "colocation": graph.colocation,
        "tensor_bytes": graph.tensor_bytes,
        "is_output": graph.is_output,
        "num_inputs": graph.inputs.counts,
        "num_outputs": graph.outputs.counts,
        "num_control_inputs": graph.control_inputs.counts,
        "inputs": _newest(graph) - graph.inputs.values,
        "outputs": np.diff(graph.outputs.values, prepend=-1),
        "control_inputs": graph.control_inputs.row_of_value - graph.control_inputs.values,
    }


def _newest(graph: ComputationGraph) -> NDArray[np.int64]:
    """int64 array, shape (num_inputs,): for each entry of ``inputs`` the first output of its op, or of one before."""
    return _first_outputs(graph.outputs)[graph.inputs.row_of_value]


def _first_outputs(outputs: CSR) -> NDArray[np.int64]:
    has = outputs.counts > 0
    last = np.maximum.accumulate(np.where(has, np.arange(len(outputs)), -1)) if len(outputs) else np.zeros(0, int)
    first = np.zeros(len(outputs), np.int64)
    known = last >= 0
    first[known] = outputs.values[outputs.offsets[:-1][last[known]]]
    return first


def _narrow(array: NDArray) -> NDArray:
    """Integers in the smallest dtype that holds them all."""
    if array.dtype.kind not in "iu" or not array.size:
        return array
    low, high = int(array.min()), int(array.max())
    return array.astype(next(dtype for dtype in DTYPES if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max))


class Shard:
    """The graphs of one file, built when asked for.

    Parameters
    ----------
    path : path
    vocabulary : sequence of str

    Raises
    ------
    ParseError
        For a file that cannot be read, is no shard, or unpacks to more than :data:`MAX_SHARD` bytes.
    """

    def __init__(self, path: str | Path, vocabulary: Sequence[str]) -> None:
        self.path, self.vocabulary = path, tuple(vocabulary)
        self.columns = _read(path)
        self._ends = {"graph": _ends(self.columns["num_ops"]), "tensor": _ends(self.columns["num_tensors"])}
        expected = {name: int(self._ends["graph"][-1]) for name in PER_OP}
        expected |= {name: int(self._ends["tensor"][-1]) for name in PER_TENSOR}
        for name in LISTS:
            expected[name] = int(self.columns[f"num_{name}"].sum(dtype=np.int64))
        expected["num_tensors"] = len(self)
        for name, count in expected.items():
            if len(self.columns[name]) != count:
                raise ParseError(f"{path}: {name} must have {count} entries, not {len(self.columns[name])}")
        for name in LISTS:
            self._ends[name] = _ends(self.columns[f"num_{name}"])

    def __len__(self) -> int:
        return len(self.columns["num_ops"])

    def graph(self, index: int, name: str, meta: dict[str, Any] | None = None) -> ComputationGraph:
        """The graph at ``index``, called ``name``.

        Raises
        ------
        ParseError
            When what the file holds is no graph; the message names the file, the graph, the rule and the value.
        """
        try:
            return self._graph(index, name, meta or {})
        except ValueError as error:
            raise ParseError(f"{self.path}: graph {index} {name!r}: {error}") from error

    def _graph(self, index: int, name: str, meta: dict[str, Any]) -> ComputationGraph:
        ops = slice(*self._ends["graph"][index : index + 2].tolist())
        tensors = slice(*self._ends["tensor"][index : index + 2].tolist())
        types = self.columns["op_type"][ops]
        if len(types) and int(types.max()) >= len(self.vocabulary):
            raise ValueError(f"an op has type {types.max()}, but the vocabulary ends at {len(self.vocabulary) - 1}")
        texts = tuple(self.vocabulary[number] for number in types.tolist())
        lists = {}
        for key in LISTS:
            ends = self._ends[key][ops.start : ops.stop + 1]
            lists[key] = CSR(ends - ends[0], self.columns[key][ends[0] : ends[-1]].astype(np.int64))
        outputs = _checked(lists["outputs"], np.cumsum(lists["outputs"].values) - 1)
        inputs = _first_outputs(outputs)[lists["inputs"].row_of_value] - lists["inputs"].values
        control = lists["control_inputs"].row_of_value - lists["control_inputs"].values
        return ComputationGraph(
            name=name,
            op_names=numbered(texts),
            op_types=texts,
            runtime=self.columns["runtime"][ops].astype(np.float64),
            workspace=self.columns["workspace"][ops].astype(np.int64),
            colocation=self.columns["colocation"][ops].astype(np.int64),
            inputs=_checked(lists["inputs"], inputs),
            outputs=outputs,
            control_inputs=_checked(lists["control_inputs"], control),
            tensor_bytes=self.columns["tensor_bytes"][tensors].astype(np.int64),
            is_output=self.columns["is_output"][tensors].astype(np.bool_),
            meta=meta,
        )


def numbered(types: Sequence[str]) -> tuple[str, ...]:
    """A name for each op.

    Examples
    --------
    >>> numbered(["add", "mul", "add"])
    ('add_0', 'mul_0', 'add_1')
    """
    counts: dict[str, int] = defaultdict(int)
    names = []
    for text in types:
        names.append(f"{text}_{counts[text]}")
        counts[text] += 1
    return tuple(names)


def _ends(counts: NDArray) -> NDArray[np.int64]:
    ends = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=ends[1:])
    return ends


def _checked(lists: CSR, values: NDArray) -> CSR:
    """The lists with ``values``, which fit an int32."""
    if len(values) and (values.min() < -(2**31) or values.max() >= 2**31):
        raise ValueError(f"an index lies outside 32 bits: {values.min()} to {values.max()}")
    return CSR(lists.offsets, values.astype(np.int32))


def read_index(path: str | Path) -> Any:
    """The JSON value that :func:`write_shard` was given; raises ``ParseError`` where there is none."""
    arrays = _read(path)
    if "index" not in arrays:
        raise ParseError(f"{path}: the shard holds no index: open the folder that it belongs to")
    return parse_json(arrays["index"].astype(np.uint8).tobytes(), f"{path}: index")


def _read(path: str | Path) -> dict[str, NDArray]:
    data = read_bytes(path, MAX_SHARD)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _arrays(archive)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, KeyError) as error:
        raise ParseError(f"{path}: not a shard: {error}") from error
    except ValueError as error:
        raise ParseError(f"{path}: {error}") from error


def _arrays(archive: zipfile.ZipFile) -> dict[str, NDArray]:
    members = {member.filename: member for member in archive.infolist()}
    expected = {f"{name}.npy" for name in ("format", *COLUMNS)}
    if set(members) - {"index.npy"} != expected or len(archive.infolist()) != len(members):
        raise ValueError(f"a shard holds {len(expected)} arrays, without these: {sorted(set(members) ^ expected)[:3]}")
    if sum(member.file_size for member in members.values()) > MAX_SHARD:
        raise ValueError(f"the arrays take more than {MAX_SHARD} bytes")
    if (version := str(_array(archive, members["format.npy"], "U"))) != FORMAT:
        raise ValueError(f"the format is {version[:60]!r}, not {FORMAT!r}")
    kinds = {**COLUMNS, "index": "i"} if "index.npy" in members else COLUMNS
    arrays = {name: _array(archive, members[f"{name}.npy"], kind) for name, kind in kinds.items()}
    for name, array in arrays.items():
        if array.ndim != 1:
            raise ValueError(f"{name} must have one axis, not {array.ndim}")
        if name.startswith(("num_", "op_type")) and not 0 <= array.min(initial=0) <= array.max(initial=0) < 2**31:
            raise ValueError(f"{name} must lie within 0 and 2^31 - 1, not {array.min()} to {array.max()}")
    return arrays


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, kind: str) -> NDArray:
    """The array of a member whose header asks for no more than the member holds."""
    with archive.open(member) as file:
        data = io.BytesIO(file.read(MAX_SHARD))
    if np.lib.format.read_magic(data) != (1, 0):
        raise ValueError(f"{member.filename}: not an array in version 1.0 of its format")
    shape, _, dtype = np.lib.format.read_array_header_1_0(data)
    if dtype.kind not in {"i": "iu"}.get(kind, kind):
        raise ValueError(f"{member.filename}: an array of {dtype} where {kind!r} is due")
    size = dtype.itemsize
    for extent in shape:
        size *= extent
    if size != len(data.getbuffer()) - data.tell():
        raise ValueError(f"{member.filename}: {shape} of {dtype} is not what its bytes hold")
    return np.frombuffer(data.getbuffer()[data.tell() :], dtype).reshape(shape)
