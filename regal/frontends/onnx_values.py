"""Values that an ONNX model computes from constants and shapes alone, as far as they are small.

Exporters write shape arithmetic into the model: the target of a Reshape or Expand, the end of a Slice or Range, the
condition of an If. What shape inference does not follow is computed here, from the definitions in the ONNX operator
documentation, within bounds: an array of more than ``MAX_ELEMENTS`` elements is never made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from regal.frontends.onnx_formulas import FORMULAS, FROM_SHAPES, MAX_ELEMENTS, Array, stored_value

if TYPE_CHECKING:
    import onnx

MAX_ALL_ELEMENTS = 2**22
"""Most elements of all of them together."""


def known_values(graph: onnx.GraphProto, dims: Mapping[str, Sequence[int]]) -> dict[str, Array]:
    """Values of the nodes of ``graph``, and of its initializers, by name.

    Parameters
    ----------
    graph : GraphProto
        Its nodes in program order.
    dims : mapping of names to dimensions
        Of values whose shape is known.
    """
    values: dict[str, Array] = {}
    room = MAX_ALL_ELEMENTS
    for tensor in graph.initializer:
        _keep(values, tensor.name, stored_value(tensor))
    with np.errstate(all="ignore"):
        for node in graph.node:
            if node.domain or room <= 0:
                continue
            for name, value in zip(node.output, _evaluated(node, values, dims), strict=False):
                _keep(values, name, value)
                room -= values[name].size if name in values else 0
    return values


def is_plain(dtype: np.dtype[Any]) -> bool:
    """Whether elements are booleans, integers or floating-point numbers of a type that NumPy itself has."""
    return dtype.kind in "biuf" and dtype.isbuiltin == 1


def _keep(values: dict[str, Array], name: str, value: Any) -> None:
    if name and value is not None and (array := np.asarray(value)).size <= MAX_ELEMENTS and is_plain(array.dtype):
        values[name] = array


def _evaluated(
    node: onnx.NodeProto, values: Mapping[str, Array], dims: Mapping[str, Sequence[int]]
) -> Sequence[Array | None]:
    """The outputs of a node; none where they are not known."""
    from onnx.helper import get_attribute_value

    inputs: list[Any]
    if node.op_type in FROM_SHAPES:
        if not node.input or node.input[0] not in dims:
            return ()
        formula, inputs = FROM_SHAPES[node.op_type], [dims[node.input[0]]]
    elif node.op_type not in FORMULAS or any(name and name not in values for name in node.input):
        return ()
    else:
        formula, inputs = FORMULAS[node.op_type], [values.get(name) for name in node.input]
    try:
        attributes = {attribute.name: get_attribute_value(attribute) for attribute in node.attribute}
        result = formula(attributes, *inputs)
    except (ValueError, LookupError, TypeError, ArithmeticError, AttributeError):
        return ()
    return result if isinstance(result, list) else (result,)
