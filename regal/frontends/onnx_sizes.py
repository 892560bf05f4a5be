"""How many bytes each value of an ONNX model takes, and which of that is a guess."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from regal.frontends.onnx_cost import BITS, Shape
from regal.frontends.onnx_model import dims_of, reads_of, tensor_type_of
from regal.graph.checks import MAX_SIZE

if TYPE_CHECKING:
    import onnx

WHOLE = {"ConcatFromSequence", "Optional", "OptionalGetElement", "SplitToSequence"}
"""Ops whose output holds what their first input does."""
TOGETHER = {"SequenceConstruct": None, "SequenceEmpty": 0, "SequenceInsert": 2}
"""Ops whose output holds what all their inputs, or the first so many, do together."""
TRAINING_DOMAIN = "ai.onnx.preview.training"


class Sizes:
    """Shape and bytes of every value of the model met so far, and which values are constants, by name.

    Attributes
    ----------
    shapes : dict of str to Shape
    bytes : dict of str to int
    unknown : set of str
        Values whose size is a guess.
    constants : dict of str to TensorProto or None
        With the tensor where the model stores it.
    """

    def __init__(self, model: onnx.ModelProto, default_dimension: int | None) -> None:
        from onnx import TensorProto

        self.dtypes: dict[int, str] = {number: name for name, number in TensorProto.DataType.items()}
        self.default_dimension = default_dimension
        self.bytes: dict[str, int] = {}
        self.unknown: set[str] = set()
        self.constants: dict[str, onnx.TensorProto | None] = {}
        graph = model.graph
        self.shapes = {
            value.name: self._shape(value.type) for value in (*graph.value_info, *graph.output, *graph.input)
        }
        for tensor in graph.initializer:
            self.constants[tensor.name] = tensor
            self.shapes[tensor.name] = self._stored_shape(tensor)
        for sparse in graph.sparse_initializer:
            self.constants[sparse.values.name] = None
            self._set(sparse.values.name, self.stored_bytes(sparse.values) + self.stored_bytes(sparse.indices))
        for name in (*self.constants, *(value.name for value in graph.input)):
            if name not in self.bytes:
                self._settle(name, 0, False)

    def add(self, node: onnx.NodeProto) -> None:
        """Settle the bytes of the outputs of a node; where they cannot be inferred, from its inputs.

        What the op makes of its inputs is followed for sequences, optional values, states of Scan and gradients. Else,
        without the caller's default dimension, a value is as large as the largest computed input of its op, or as its
        largest input. The states that a Loop returns are guessed to be as large as those that it starts with.
        """
        reads = reads_of(node)
        computed = [name for name in reads if name not in self.constants]
        largest = max((self.bytes[name] for name in computed or reads), default=0)
        for position, name in enumerate(node.output):
            if name:
                inputs = _follows(node, position)
                known = [each for each in inputs or () if each]
                size = largest if inputs is None else sum(self.bytes[each] for each in known)
                sure = inputs is not None and node.op_type != "Loop" and not self.unknown.intersection(known)
                self._settle(name, size, sure)

    def stored_bytes(self, tensor: onnx.TensorProto) -> int:
        """Bytes of a tensor that is stored in the model, by its type alone."""
        return self._stored_shape(tensor).num_bytes or 0

    def _settle(self, name: str, otherwise: int, sure: bool) -> None:
        """Enter a value by its shape, or with ``otherwise`` bytes; ``sure`` says whether those are right."""
        shape = self.shapes.setdefault(name, Shape())
        size = shape.num_bytes
        if shape.guessed if size is not None else not sure:
            self.unknown.add(name)
        self._set(name, otherwise if size is None else size)

    def _set(self, name: str, size: int) -> None:
        if size >= MAX_SIZE:
            raise ValueError(f"value {name!r}: a size must stay below 2^53 bytes, not {size}")
        self.bytes[name] = size

    def _shape(self, type_proto: onnx.TypeProto) -> Shape:
        dims = dims_of(type_proto)
        if dims is None:
            return Shape()
        dtype = self.dtypes.get(tensor_type_of(type_proto).elem_type, "")
        guessed = min(dims, default=0) < 0
        if guessed and self.default_dimension is None:
            return Shape(dtype)
        return Shape(dtype, tuple(self.default_dimension or 0 if size < 0 else size for size in dims), guessed)

    def _stored_shape(self, tensor: onnx.TensorProto) -> Shape:
        dtype = self.dtypes.get(tensor.data_type, str(tensor.data_type))
        if dtype not in BITS or min(tensor.dims, default=0) < 0:
            raise ValueError(f"stored tensor {tensor.name!r}: type {dtype}, shape {[*tensor.dims]} has no size")
        return Shape(dtype, tuple(tensor.dims))


def _follows(node: onnx.NodeProto, output: int) -> Sequence[str] | None:
    """The inputs that an output of ``node`` is as large as together; None where the op does not say so."""
    inputs = list(node.input)
    if node.domain == TRAINING_DOMAIN and node.op_type == "Gradient":
        return inputs[output : output + 1]
    if node.domain:
        return None
    if node.op_type in WHOLE:
        return inputs[:1]
    if node.op_type in TOGETHER:
        return inputs[: TOGETHER[node.op_type]]
    if node.op_type in ("Loop", "Scan"):
        return _states(node)[output : output + 1] or None
    return None


def _states(node: onnx.NodeProto) -> list[str]:
    """The inputs of Loop or Scan that hold a state from one iteration to the next."""
    if node.op_type == "Loop":
        return list(node.input[2:])
    scanned = next((attribute.i for attribute in node.attribute if attribute.name == "num_scan_inputs"), 0)
    body = next((attribute.g for attribute in node.attribute if attribute.name == "body"), None)
    lengths = 0 if body is None else len(node.input) - len(body.input)  # in opset 8, the first input
    return list(node.input[max(lengths, 0) : len(node.input) - scanned])
