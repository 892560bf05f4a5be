"""What ONNX ops compute of small arrays, from their definitions in the ONNX operator documentation.

A formula takes the attributes of its node and an array per input, None for one left out, and gives the output, or a
list of several. It raises ``ValueError`` rather than make more than ``MAX_ELEMENTS`` elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import onnx

MAX_ELEMENTS = 2**10
"""Most elements of a value that is followed."""

Array = NDArray[Any]
Attributes = Mapping[str, Any]


def stored_value(tensor: onnx.TensorProto) -> Array | None:
    """The array in ``tensor``; None where it is large, of a type that NumPy lacks, broken, or kept elsewhere."""
    from onnx.numpy_helper import to_array

    if tensor.external_data or min(tensor.dims, default=0) < 0 or math.prod(tensor.dims) > MAX_ELEMENTS:
        return None
    try:
        return to_array(tensor)
    except (ValueError, TypeError, LookupError):
        return None


def _small(count: float) -> None:
    if count > MAX_ELEMENTS:
        raise ValueError("too large to follow")


def _wise(function: Callable[..., Any]) -> Callable[..., Array]:
    """An element-wise formula with broadcasting; results of integers and floats keep their inputs' type."""

    def formula(attributes: Attributes, *inputs: Array) -> Array:
        _small(math.prod(np.broadcast_shapes(*(each.shape for each in inputs))))
        return np.asarray(function(*inputs))

    return formula


def _folded(function: Callable[..., Any]) -> Callable[..., Array]:
    """The same for any number of inputs, two at a time."""

    def fold(*inputs: Array) -> Array:
        total = inputs[0]
        for each in inputs[1:]:
            total = function(total, each)
        return total

    return _wise(fold)


def _reduced(function: Callable[..., Any]) -> Callable[..., Array]:
    """A reduction over axes that stand in an attribute or, in newer opsets, in an input."""

    def formula(attributes: Attributes, data: Array, axes: Array | None = None) -> Array:
        named = attributes.get("axes") if axes is None else axes.tolist()
        if not named and attributes.get("noop_with_empty_axes"):
            return data
        over = tuple(named) if named else None
        return np.asarray(function(data, axis=over, keepdims=bool(attributes.get("keepdims", 1)))).astype(data.dtype)

    return formula


def _divided(a: Array, b: Array) -> Array:
    """Integers are divided towards zero."""
    if a.dtype.kind == "f":
        return a / b
    if not b.all():
        raise ValueError("division by zero")
    return (np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))).astype(a.dtype)


def _modulo(attributes: Attributes, a: Array, b: Array) -> Array:
    if b.dtype.kind != "f" and not b.all():
        raise ValueError("division by zero")
    return _wise(np.fmod if attributes.get("fmod") else np.mod)(attributes, a, b)


def _clipped(attributes: Attributes, data: Array, low: Array | None = None, high: Array | None = None) -> Array:
    low = attributes.get("min") if low is None else low  # type: ignore[assignment]
    high = attributes.get("max") if high is None else high  # type: ignore[assignment]
    result = data if low is None else np.maximum(data, low)
    return (result if high is None else np.minimum(result, high)).astype(data.dtype)


def _shape(attributes: Attributes, dims: Sequence[int]) -> Array:
    return np.array(dims[attributes.get("start", 0) : attributes.get("end", len(dims))], np.int64)


def _constant(attributes: Attributes) -> Array | None:
    if "value" in attributes:
        return stored_value(attributes["value"])
    for name, dtype in (("value_int", np.int64), ("value_ints", np.int64)):
        if name in attributes:
            return np.array(attributes[name], dtype)
    for name in ("value_float", "value_floats"):
        if name in attributes:
            return np.array(attributes[name], np.float32)
    return None


def _cast(attributes: Attributes, data: Array, like: Array | None = None) -> Array:
    from onnx.helper import tensor_dtype_to_np_dtype

    return data.astype(tensor_dtype_to_np_dtype(attributes["to"]) if like is None else like.dtype)


def _reshaped(attributes: Attributes, data: Array, target: Array | None = None) -> Array:
    wanted = attributes["shape"] if target is None else target.tolist()
    if not attributes.get("allowzero"):
        wanted = [data.shape[axis] if size == 0 else size for axis, size in enumerate(wanted)]
    return data.reshape(wanted)


def _squeezed(attributes: Attributes, data: Array, axes: Array | None = None) -> Array:
    named = attributes.get("axes") if axes is None else axes.tolist()
    return data.squeeze(tuple(named)) if named is not None else data.squeeze()


def _unsqueezed(attributes: Attributes, data: Array, axes: Array | None = None) -> Array:
    return np.expand_dims(data, tuple(attributes["axes"] if axes is None else np.atleast_1d(axes).tolist()))


def _transposed(attributes: Attributes, data: Array) -> Array:
    return data.transpose(attributes.get("perm"))


def _gathered(attributes: Attributes, data: Array, indices: Array) -> Array:
    _small(data.size * indices.size)
    return np.take(data, indices.astype(np.int64), axis=attributes.get("axis", 0))


def _concatenated(attributes: Attributes, *inputs: Array) -> Array:
    _small(sum(each.size for each in inputs))
    return np.concatenate(inputs, axis=attributes["axis"])


def _sliced(
    attributes: Attributes,
    data: Array,
    starts: Array | None = None,
    ends: Array | None = None,
    axes: Array | None = None,
    steps: Array | None = None,
) -> Array:
    first = attributes["starts"] if starts is None else starts.tolist()
    last = attributes["ends"] if ends is None else ends.tolist()
    over = attributes.get("axes") if axes is None else axes.tolist()
    by = [1] * len(first) if steps is None else steps.tolist()
    for axis, start, end, step in zip(over or range(len(first)), first, last, by, strict=True):
        size = data.shape[axis]
        stop = None if step < 0 and end < -size else end  # "past the first element" has no other name in Python
        data = data[(slice(None),) * (axis % data.ndim) + (slice(start, stop, step),)]
    return data


def _split(attributes: Attributes, data: Array, sizes: Array | None = None) -> list[Array]:
    axis, parts = attributes.get("axis", 0), attributes.get("split") if sizes is None else sizes.tolist()
    if parts is None:
        count = attributes["num_outputs"]
        each = -(-data.shape[axis] // count)
        parts = [each] * count
    _small(len(parts))
    return np.split(data, np.cumsum(parts)[:-1].tolist(), axis=axis)


def _expanded(attributes: Attributes, data: Array, target: Array) -> Array:
    shape = np.broadcast_shapes(data.shape, tuple(target.tolist()))
    _small(math.prod(shape))
    return np.broadcast_to(data, shape)


def _tiled(attributes: Attributes, data: Array, repeats: Array) -> Array:
    _small(data.size * math.prod(repeats.tolist()))
    return np.tile(data, tuple(repeats.tolist()))


def _filled(attributes: Attributes, shape: Array) -> Array:
    _small(math.prod(shape.tolist()))
    value = stored_value(attributes["value"]) if "value" in attributes else np.zeros(1, np.float32)
    if value is None:
        raise ValueError("the value is not known")
    return np.full(shape.tolist(), value.reshape(()))


def _range(attributes: Attributes, start: Array, limit: Array, delta: Array) -> Array:
    first, step = start.item(), delta.item()
    count = max(math.ceil((limit.item() - first) / step), 0) if step else math.inf
    _small(count)
    return (first + np.arange(count) * step).astype(start.dtype)


def _cumulated(attributes: Attributes, data: Array, axis: Array) -> Array:
    if attributes.get("exclusive") or attributes.get("reverse"):
        raise ValueError("not followed")
    return np.cumsum(data, axis=int(axis.item())).astype(data.dtype)


UNARY: dict[str, Callable[..., Any]] = {
    "Not": np.logical_not, "Neg": np.negative, "Abs": np.abs, "Sign": np.sign, "Floor": np.floor, "Ceil": np.ceil,
    "Round": np.rint, "Sqrt": np.sqrt, "Reciprocal": np.reciprocal, "Exp": np.exp, "Log": np.log,
    "Relu": lambda data: np.maximum(data, np.zeros((), data.dtype)),
}  # fmt: skip
BINARY: dict[str, Callable[..., Any]] = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": _divided,
    "Equal": np.equal, "Less": np.less, "LessOrEqual": np.less_equal, "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal, "And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor,
    "Pow": lambda base, exponent: np.power(base, exponent).astype(base.dtype),
}  # fmt: skip
VARIADIC: dict[str, Callable[..., Any]] = {"Min": np.minimum, "Max": np.maximum, "Sum": np.add}
REDUCTIONS: dict[str, Callable[..., Any]] = {
    "ReduceSum": np.sum, "ReduceProd": np.prod, "ReduceMean": np.mean, "ReduceMin": np.min, "ReduceMax": np.max,
}  # fmt: skip
FORMULAS: dict[str, Callable[..., Any]] = {
    **{name: _wise(function) for name, function in {**UNARY, **BINARY}.items()},
    **{name: _folded(function) for name, function in VARIADIC.items()},
    **{name: _reduced(function) for name, function in REDUCTIONS.items()},
    "Where": _wise(np.where), "Mod": _modulo, "Clip": _clipped, "CumSum": _cumulated,
    "Constant": _constant, "ConstantOfShape": _filled, "Range": _range,
    "Cast": _cast, "CastLike": _cast, "Identity": lambda attributes, data: data,
    "Reshape": _reshaped, "Squeeze": _squeezed, "Unsqueeze": _unsqueezed, "Transpose": _transposed,
    "Gather": _gathered, "Concat": _concatenated, "Slice": _sliced, "Split": _split,
    "Expand": _expanded, "Tile": _tiled, "NonZero": lambda attributes, data: np.array(np.nonzero(data), np.int64),
}  # fmt: skip
"""Op type -> what it computes of its attributes and inputs."""

FROM_SHAPES: dict[str, Callable[..., Any]] = {
    "Shape": _shape,
    "Size": lambda attributes, dims: np.array(math.prod(dims), np.int64),
}
"""Ops that need no more than the dimensions of their input."""
