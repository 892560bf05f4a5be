"""What ONNX values weigh and what ONNX ops compute: bytes from types, flops and bytes moved from shapes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import onnx

    Node = onnx.NodeProto

BITS = {
    **dict.fromkeys(("INT2", "UINT2"), 2),
    **dict.fromkeys(("INT4", "UINT4", "FLOAT4E2M1"), 4),
    **dict.fromkeys(("FLOAT6E2M3", "FLOAT6E3M2"), 6),
    **dict.fromkeys(("BOOL", "INT8", "UINT8", "FLOAT8E8M0"), 8),
    **dict.fromkeys(("FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ"), 8),
    **dict.fromkeys(("INT16", "UINT16", "FLOAT16", "BFLOAT16"), 16),
    **dict.fromkeys(("INT32", "UINT32", "FLOAT"), 32),
    **dict.fromkeys(("INT64", "UINT64", "DOUBLE", "COMPLEX64"), 64),
    **dict.fromkeys(("STRING", "COMPLEX128"), 128),
}
"""Bits per element by ``TensorProto.DataType`` name. A string is its pointer and length; the text does not count."""

READS_WHAT_IT_WRITES = {"Gather", "GatherElements", "GatherND", "Shape", "Size", "Slice"}
"""Ops that read from their first input only as many bytes as they write."""

PAST_KEY = 4
"""The optional input of Attention that holds the keys of earlier tokens."""

Dims = tuple[int, ...]


class Shape(NamedTuple):
    """Element type and dimensions of a value.

    Attributes
    ----------
    dtype : str
        Name of a ``TensorProto.DataType``, empty where it is unknown.
    dims : tuple of int, or None
        None unless every dimension is known or guessed.
    guessed : bool
        Whether a dimension is the caller's default rather than inferred.
    """

    dtype: str = ""
    dims: Dims | None = None
    guessed: bool = False

    @property
    def num_bytes(self) -> int | None:
        """Size in bytes, elements of less than a byte packed and the last byte filled up; None where unknown."""
        if self.dims is None or self.dtype not in BITS:
            return None
        return (math.prod(self.dims) * BITS[self.dtype] + 7) // 8


def flops(node: Node, inputs: Sequence[Dims | None], output: Dims | None) -> float:
    """Floating-point operations of a node, a multiply-add counted as two; 0 where bytes alone decide its runtime.

    Parameters
    ----------
    node : NodeProto
    inputs : one entry per input of the node
        Dimensions; None for a missing or unknown one.
    output : dimensions of the first output, None where unknown

    Notes
    -----
    Counted are convolutions, matrix products, Einsum, recurrent layers and attention, from their definitions in the
    ONNX operator documentation. Any op whose shapes are unknown or do not fit its definition counts as 0.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> flops(SimpleNamespace(op_type="MatMul", domain="", attribute=[]), [(2, 3), (3, 5)], (2, 5))
    60.0
    """
    name = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
    if name not in FORMULAS or output is None:
        return 0.0
    formula, positions = FORMULAS[name]
    wanted = inputs if positions is None else [inputs[at] if at < len(inputs) else None for at in positions]
    known = [dims for dims in wanted if dims is not None]
    if name == "Attention" and len(inputs) > PAST_KEY and (past := inputs[PAST_KEY]) is not None:
        known.append(past)
    return formula(node, known, output) if len(known) >= len(wanted) else 0.0


def _product(dims: Dims) -> float:
    return math.prod(map(float, dims))


def _integer(node: Node, name: str) -> int:
    return next((attribute.i for attribute in node.attribute if attribute.name == name), 0)


def _conv(node: Node, known: Sequence[Dims], output: Dims) -> float:
    return 2 * _product(output) * _product(known[0][1:])


def _conv_transpose(node: Node, known: Sequence[Dims], output: Dims) -> float:
    return 2 * _product(known[0]) * _product(known[1][1:])


def _matmul(node: Node, known: Sequence[Dims], output: Dims) -> float:
    return 2 * _product(output) * _product(known[0][-1:])


def _gemm(node: Node, known: Sequence[Dims], output: Dims) -> float:
    return 2 * _product(output) * _product(known[0][:1] if _integer(node, "transA") else known[0][-1:])


def _recurrent(node: Node, known: Sequence[Dims], output: Dims) -> float:
    return 2 * _product(known[0][:2]) * (_product(known[1]) + _product(known[2]))


def _attention(node: Node, known: Sequence[Dims], output: Dims) -> float:
    """Query times keys, then weights times values; 3-D inputs hold their heads side by side."""
    query, key, value, *past = known
    before = past[0][2] if past and len(past[0]) == 4 else 0
    if len(query) == len(key) == len(value) == 4:
        return 2 * _product(query[:3]) * (before + key[2]) * (query[3] + value[3])
    query_heads, value_heads = _integer(node, "q_num_heads"), _integer(node, "kv_num_heads")
    if len(query) == len(key) == len(value) == 3 and query_heads > 0 and value_heads > 0:
        return 2 * _product(query[:2]) * (before + key[1]) * (query[2] + query_heads * value[2] / value_heads)
    return 0.0


def _linear_attention(node: Node, known: Sequence[Dims], output: Dims) -> float:
    """Per token: the outer product of a head's key and value, the query times that state, and for the delta rules the
    key times it too.
    """
    query, key, value = known
    query_heads, heads = _integer(node, "q_num_heads"), _integer(node, "kv_num_heads")
    if not len(query) == len(key) == len(value) == 3 or query_heads <= 0 or heads <= 0:
        return 0.0
    rule = next((attribute.s for attribute in node.attribute if attribute.name == "update_rule"), b"gated_delta")
    passes = query_heads + heads * (2 if b"delta" in rule else 1)
    return 2 * _product(key[:2]) * passes * (key[2] / heads) * (value[2] / heads)


def _einsum(node: Node, known: Sequence[Dims], output: Dims) -> float:
    """One multiplication or addition per operand at every point of the joint index space; 0 for an ellipsis."""
    equation = next((attribute.s for attribute in node.attribute if attribute.name == "equation"), b"")
    terms = equation.replace(b" ", b"").split(b"->")[0].split(b",")
    if b"." in equation or [len(term) for term in terms] != [len(dims) for dims in known]:
        return 0.0
    sizes = dict(zip(b"".join(terms), (size for dims in known for size in dims), strict=True))
    return len(terms) * _product(tuple(sizes.values()))


Formula = Callable[["Node", Sequence[Dims], Dims], float]
FORMULAS: dict[str, tuple[Formula, tuple[int, ...] | None]] = {
    "Conv": (_conv, (1,)),
    "ConvInteger": (_conv, (1,)),
    "CausalConvWithState": (_conv, (1,)),
    "DeformConv": (_conv, (1,)),
    "QLinearConv": (_conv, (3,)),
    "ConvTranspose": (_conv_transpose, (0, 1)),
    "MatMul": (_matmul, (0,)),
    "MatMulInteger": (_matmul, (0,)),
    "QLinearMatMul": (_matmul, (0,)),
    "Gemm": (_gemm, (0,)),
    "LSTM": (_recurrent, (0, 1, 2)),
    "GRU": (_recurrent, (0, 1, 2)),
    "RNN": (_recurrent, (0, 1, 2)),
    "Attention": (_attention, (0, 1, 2)),
    "ai.onnx.preview.FlexAttention": (_attention, (0, 1, 2)),
    "LinearAttention": (_linear_attention, (0, 1, 2)),
    "Einsum": (_einsum, None),
}
"""Op type -> its formula and which inputs' dimensions that needs, None for all."""
