"""What becomes of each node of a TensorFlow program: an op, another name for a storage, a constant, or an order.

The rules are those of :mod:`regal.frontends.tensorflow`, where they are listed.
"""

from __future__ import annotations

from enum import Enum

import tensorflow as tf

from regal.frontends.tensorflow_cost import num_bytes
from regal.frontends.tensorflow_program import Node, Program

Source = tuple[int, int]
"""A value: a node and the number of one of its outputs."""

ALIASES = {
    *("Bitcast", "CheckNumerics", "CheckNumericsV2", "EnsureShape", "ExpandDims", "Identity", "IdentityN"),
    *("PreventGradient", "ReadVariableOp", "RefIdentity", "Reshape", "Snapshot", "Squeeze", "StopGradient"),
    "TensorListFromTensor",
}
"""Ops whose outputs share the storage of the inputs of the same number."""
LISTS = {
    "TensorListConcatLists": (0, 1),
    "TensorListPushBack": (0, 1),
    "TensorListResize": (0,),
    "TensorListSetItem": (0, 2),
}
"""Ops whose result holds what these of their inputs hold: a list refers to its items."""
SHAPES = {"Shape", "ShapeN", "Size", "Rank", "VariableShape"}
"""Ops that look at the shape of their inputs and not at what is in them."""
READS = {
    *SHAPES,
    *("IsVariableInitialized", "ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VarIsInitializedOp"),
    *("LookupTableFind", "LookupTableFindV2", "LookupTableSize", "LookupTableSizeV2"),
}
"""Ops that leave the variables whose handles they get as they are."""
BODIES = {"If", "StatelessIf", "Case", "StatelessCase", "While", "StatelessWhile"}
OPAQUE = {
    *BODIES,
    *("PyFunc", "PyFuncStateless", "EagerPyFunc", "RemoteCall", "SymbolicGradient", "MapDefun", "XlaLaunch"),
    *("Switch", "RefSwitch", "Merge", "RefMerge", "TPUPartitionedCall"),
}
"""Ops that hide what they do: loops, branches, calls of Python."""
RANDOM = "Stateless"
PARAMETER_BYTES = 64
"""A constant of at most this many bytes is a parameter of the op that reads it, and no tensor."""


class Kind(Enum):
    """What becomes of a node."""

    OP = "op"
    ALIAS = "alias"
    CONSTANT = "constant"
    FOLDED = "folded"
    INPUT = "input"
    HANDLE = "handle"
    ORDER = "order"


FIXED = {
    **dict.fromkeys(("VarHandleOp", "Variable", "VariableV2"), Kind.HANDLE),
    **dict.fromkeys(("Const", "HostConst"), Kind.CONSTANT),
    **dict.fromkeys(("Placeholder", "PlaceholderV2", "PlaceholderWithDefault"), Kind.INPUT),
    "NoOp": Kind.ORDER,
}


def kinds_of(program: Program) -> list[Kind]:
    """The kind of every node."""
    kinds: list[Kind] = []
    constant: list[bool] = []
    for node in program.nodes:
        kind = FIXED.get(node.op, Kind.OP)
        if kind is Kind.INPUT and node.outputs[0].dtype == tf.resource:
            kind = Kind.HANDLE
        elif kind is Kind.OP and _is_alias(node):
            kind = Kind.ALIAS
        elif kind is Kind.OP and _is_folded(program, node, all(constant[at] for at, _ in node.inputs)):
            kind = Kind.FOLDED
        kinds.append(kind)
        constant.append(
            kind in (Kind.CONSTANT, Kind.FOLDED) or (kind is Kind.ALIAS and all(constant[at] for at, _ in node.inputs))
        )
    return kinds


def _is_alias(node: Node) -> bool:
    return node.op in ALIASES or node.op in LISTS or (node.op == "AddN" and len(node.inputs) == 1)


def shared_inputs(node: Node, output: int) -> list[Source]:
    """The inputs of an alias in whose storages an output of it is stored."""
    if node.op in LISTS:
        return [node.inputs[at] for at in LISTS[node.op]]
    return node.inputs[output : output + 1]


def _is_folded(program: Program, node: Node, constant: bool) -> bool:
    """Whether a runtime knows the result before it starts; ``constant`` says that it knows all inputs."""
    if node.op in SHAPES:
        return all(num_bytes(program.nodes[at].outputs[output]) is not None for at, output in node.inputs)
    if node.is_stateful or not (constant and node.inputs and node.outputs):
        return False
    if node.op in OPAQUE or node.op.startswith(RANDOM):
        return False
    read = sum(num_bytes(program.nodes[at].outputs[output]) or 0 for at, output in set(node.inputs))
    return all((num_bytes(value) or 0) <= max(PARAMETER_BYTES, read) for value in node.outputs)
