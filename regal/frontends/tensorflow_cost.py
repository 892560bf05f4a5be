"""What TensorFlow ops compute and move: flops and bytes from the shapes of their inputs and outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import tensorflow as tf

from regal.frontends.tensorflow_program import Node, Shape, Value

READS_WHAT_IT_WRITES = {
    "TensorListGetItem",
    "Gather",
    "GatherV2",
    "GatherNd",
    "ResourceGather",
    "ResourceGatherNd",
    "Slice",
    "StridedSlice",
}
"""Ops that read from their first input only as many bytes as they write."""
STRING_BYTES = 24
"""A ``tstring``: short text is inside, longer text is on the heap."""

Dims = tuple[int, ...]


def num_bytes(value: Value) -> int | None:
    """Bytes of a value, None where its shape is not known; handles and variants take none of their own."""
    dtype = value.dtype.base_dtype
    if dtype in (tf.resource, tf.variant):
        return 0 if dtype == tf.resource else None
    if value.shape is None or None in value.shape:
        return None
    return prod(size for size in value.shape if size is not None) * item_bytes(dtype)


def item_bytes(dtype: tf.DType) -> int:
    """Bytes of one element; a variant, whose content is not known, counts by the byte."""
    return STRING_BYTES if dtype == tf.string else 1 if dtype == tf.variant else max(dtype.size, 1)


def variable_bytes(node: Node) -> int:
    """Bytes of the variable that a handle stands for, 0 where the handle does not tell."""
    if "shape" not in node.attr or node.attr["shape"].shape.unknown_rank:
        return 0
    sizes = [dim.size for dim in node.attr["shape"].shape.dim]
    dtype = tf.as_dtype(node.attr["dtype"].type)
    return 0 if min(sizes, default=0) < 0 or dtype == tf.resource else prod(sizes) * item_bytes(dtype)


def moved_bytes(op: str, read: list[int], made: int, written: int) -> int:
    """Bytes that one run reads and writes.

    Parameters
    ----------
    op : str
    read : list of int
        Bytes of each input, variables included.
    made : int
        Bytes of the outputs.
    written : int
        Bytes of the variables that it updates.
    """
    if op in READS_WHAT_IT_WRITES and read:
        return min(read[0], made) + sum(read[1:]) + made
    if op in ("AssignVariableOp", "Assign"):
        return sum(read)  # the variable is written, not read
    if "Scatter" in op and written:
        return sum(read) - written + 2 * min(written, sum(read) - written)
    return sum(read) + made + written


def flops(node: Node, inputs: Sequence[Shape]) -> int:
    """Floating-point operations of one run, a multiply-add counted as two; 0 where bytes alone decide its runtime.

    Parameters
    ----------
    node : Node
    inputs : shapes of its inputs
        An op with an unknown dimension in a shape that its count depends on counts 0.
    """
    count = FLOPS.get(node.op)
    if count is None:
        return 0
    known = [None if shape is None or None in shape else shape for shape in (*inputs, *(v.shape for v in node.outputs))]
    try:
        return int(count(node.attr, known[: len(inputs)], known[len(inputs) :]))  # type: ignore[arg-type]
    except (IndexError, TypeError):  # a shape that is missing or unknown
        return 0


def _matmul(attr: Mapping[str, Any], inputs: list[Dims], outputs: list[Dims]) -> int:
    """Every element of the result is a sum over the inner dimension."""
    transposed = attr["transpose_a"].b or attr["adj_x"].b
    return 2 * prod(outputs[0]) * inputs[0][-2 if transposed else -1]


def _einsum(attr: Mapping[str, Any], inputs: list[Dims], outputs: list[Dims]) -> int:
    """One multiply-add for every combination of the indices, where two operands meet."""
    equation = attr["equation"].s.decode()
    sizes: dict[str, int] = {}
    batch = 1
    for labels, shape in zip(equation.partition("->")[0].split(","), inputs, strict=True):
        before, dots, after = labels.partition("...")
        if dots:
            batch = max(batch, prod(shape[len(before) : len(shape) - len(after)]))
        sizes |= dict(zip(before, shape, strict=False))
        sizes |= dict(zip(after, shape[len(shape) - len(after) :], strict=True))
    return (2 if len(inputs) > 1 else 0) * batch * prod(sizes.values())


def _convolution(image: Dims, filters: Dims) -> int:
    """``image`` is what the convolution writes, its channels in ``filters``' last dimension."""
    return 2 * prod(image) * prod(filters[:-1])


def _conv(attr: Mapping[str, Any], inputs: list[Dims], outputs: list[Dims]) -> int:
    """Filters are (height, width, channels of a group, filters); a result element sums over all but the last."""
    return _convolution(outputs[0], inputs[1])


def _conv_input_gradient(attr: Mapping[str, Any], inputs: list[Dims], outputs: list[Dims]) -> int:
    """Inputs: sizes (or the forward input), filters, gradient of the result."""
    return _convolution(inputs[2], inputs[1])


def _conv_filter_gradient(attr: Mapping[str, Any], inputs: list[Dims], outputs: list[Dims]) -> int:
    """Inputs: forward input, sizes (or the filters), gradient of the result; the result has the filters' shape."""
    return _convolution(inputs[2], outputs[0])


def _depthwise(attr: Mapping[str, Any], inputs: list[Dims], outputs: list[Dims]) -> int:
    """A result element sums over the window of one channel: filters are (height, width, channels, multiplier)."""
    return 2 * prod(outputs[0]) * prod(inputs[1][:2])


def _depthwise_input_gradient(attr: Mapping[str, Any], inputs: list[Dims], outputs: list[Dims]) -> int:
    return 2 * prod(inputs[2]) * prod(inputs[1][:2])


def _depthwise_filter_gradient(attr: Mapping[str, Any], inputs: list[Dims], outputs: list[Dims]) -> int:
    return 2 * prod(inputs[2]) * prod(outputs[0][:2])


FLOPS: dict[str, Callable[[Mapping[str, Any], list[Dims], list[Dims]], int]] = {
    **dict.fromkeys(
        ("MatMul", "_FusedMatMul", "SparseMatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"), _matmul
    ),
    **dict.fromkeys(("Einsum", "XlaEinsum"), _einsum),
    **dict.fromkeys(("Conv", "Conv2D", "_FusedConv2D", "Conv3D"), _conv),
    **dict.fromkeys(
        ("Conv2DBackpropInput", "Conv2DBackpropInputV2", "Conv3DBackpropInput", "Conv3DBackpropInputV2"),
        _conv_input_gradient,
    ),
    **dict.fromkeys(
        ("Conv2DBackpropFilter", "Conv2DBackpropFilterV2", "Conv3DBackpropFilter", "Conv3DBackpropFilterV2"),
        _conv_filter_gradient,
    ),
    "DepthwiseConv2dNative": _depthwise,
    "DepthwiseConv2dNativeBackpropInput": _depthwise_input_gradient,
    "DepthwiseConv2dNativeBackpropFilter": _depthwise_filter_gradient,
}
