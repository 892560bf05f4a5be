"""What HLO instructions compute and move, and how long they take by the roofline model.

Flops are counted as XLA's ``HloCostAnalysis`` counts them: a multiply-add as two, an elementwise op as one for each
element, a convolution only where its window lies inside the data. A loop computes what its body and condition do, as
many times as it runs where its condition compares a counter with a constant, else once.
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import log2, prod
from typing import NamedTuple

import numpy as np

from regal.files import ParseError
from regal.frontends.hlo_module import Array, Computation, Instruction, Module, Shape, leaves
from regal.frontends.roofline import Rates

FREE = {
    *("parameter", "constant", "tuple", "get-tuple-element", "bitcast", "reshape", "opt-barrier", "domain"),
    *("after-all", "add-dependency", "async-done", "async-update", "partition-id", "replica-id"),
}
"""Opcodes that neither compute nor move data."""
MOVES = {
    *("all-gather", "all-to-all", "bitcast-convert", "broadcast", "collective-permute", "concatenate", "copy"),
    *("dynamic-slice", "dynamic-update-slice", "gather", "get-dimension-size", "infeed", "iota", "outfeed", "pad"),
    *("recv", "reverse", "send", "set-dimension-size", "slice", "transpose", "dynamic-reshape", "custom-call"),
}
"""Opcodes that move data and compute nothing."""
READS_WHAT_IT_WRITES = {"dynamic-slice", "gather", "slice"}
"""Opcodes that read of their first operand only as many bytes as they write."""
MAX_TRIPS = 2**31
MAX_FLOPS = 2**80
MAX_POSITIONS = 2**20
"""Most positions of a window that are looked at one by one."""
LITERAL = re.compile(r"\d{1,10}")
WINDOW = re.compile(r"([a-z_]+)=(\S+)")


class Cost(NamedTuple):
    """``flops``; ``seconds`` by the roofline."""

    flops: int
    seconds: float


class Costs:
    """Costs of the instructions of a module; each computation is counted once, callers come after what they call."""

    def __init__(self, module: Module, rates: Rates, where: str) -> None:
        self.module, self.rates, self.where = module, rates, where
        self.totals: dict[str, Cost] = {}
        for computation in module.computations.values():
            costs = [self.cost(computation, instruction) for instruction in computation.instructions]
            self.totals[computation.name] = Cost(sum(cost.flops for cost in costs), sum(cost.seconds for cost in costs))

    def cost(self, computation: Computation, instruction: Instruction) -> Cost:
        """Flops and seconds of one instruction, calls, loops and branches with all that they run.

        Raises
        ------
        ParseError
            For more than ``MAX_FLOPS`` flops, and for a computation that is not there.
        """
        opcode = instruction.opcode
        if opcode in FREE or opcode.endswith("-done"):
            return Cost(0, 0.0)
        if opcode == "call":
            return self._total(instruction, "to_apply")
        if opcode == "while":
            trips = self._trips(instruction)
            body, condition = self._total(instruction, "body"), self._total(instruction, "condition")
            cost = Cost(
                trips * (body.flops + condition.flops),
                self.rates.overhead + trips * (body.seconds + condition.seconds),
            )
        elif opcode == "conditional":
            branches = [self._named(instruction, name) for name in branches_of(instruction)]
            cost = max(branches, key=lambda branch: branch.seconds, default=Cost(0, 0.0))
            cost = Cost(cost.flops, self.rates.overhead + cost.seconds)
        else:
            operands = [computation.instructions[operand].shape for operand in instruction.operands]
            flops = self._flops(instruction, [array for shape in operands for array in leaves(shape)])
            cost = Cost(flops, self.rates.runtime(min(flops, MAX_FLOPS), moved_bytes(instruction, operands)))
        if cost.flops >= MAX_FLOPS:
            raise ParseError(f"{self.where}: line {instruction.line}: {instruction.name!r} computes 2^80 flops or more")
        return cost

    def _flops(self, instruction: Instruction, operands: list[Array]) -> int:
        opcode = instruction.opcode
        results = list(leaves(instruction.shape))
        elements = max((result.num_elements for result in results), default=0)
        read = max((operand.num_elements for operand in operands), default=0)
        if opcode in ("fusion", "async-start"):
            return sum(self._named(instruction, name).flops for name in instruction.names("calls"))
        if opcode in MOVES or (opcode.endswith("-start") and opcode != "all-reduce-start"):
            return 0
        if opcode == "dot" and operands:
            return 2 * elements * prod(_sizes(operands[0], instruction.numbers("lhs_contracting_dims")))
        if opcode == "convolution" and len(operands) > 1:
            return _convolution(instruction, operands, results[0]) if results else 0
        body = self._applied(instruction)
        window = prod(_window(instruction, "size")) if "window={" in instruction.attributes else 1
        rows = max((operand.dims[-1] for operand in operands if operand.dims), default=1)
        return {
            "reduce": read * body,
            "reduce-window": elements * window * body,
            "select-and-scatter": elements * (window + 1),
            "map": elements * body,
            "scatter": (operands[-1].num_elements if operands else 0) * body,
            "sort": read * max(1, int(log2(max(rows, 2)))) * max(body, 1),
            "all-reduce": read * body,
            "all-reduce-start": read * body,
            "reduce-scatter": read * body,
            "fft": 5 * read * max(1, int(log2(max(rows, 2)))),
            "cholesky": read * rows // 3,
            "triangular-solve": elements * rows,
        }.get(opcode, elements)

    def _applied(self, instruction: Instruction) -> int:
        """Flops of one application of ``to_apply``, at least 1."""
        return max([1, *(self._named(instruction, name).flops for name in instruction.names("to_apply"))])

    def _total(self, instruction: Instruction, key: str) -> Cost:
        return self._named(instruction, (instruction.names(key) or [""])[0])

    def _named(self, instruction: Instruction, name: str) -> Cost:
        if name not in self.totals:
            where = f"{self.where}: line {instruction.line}"
            raise ParseError(f"{where}: {instruction.name!r} calls {name!r}, which is no earlier computation")
        return self.totals[name]

    def _trips(self, instruction: Instruction) -> int:
        """How often the body of a loop runs: what its condition compares with, where that is a constant."""
        condition = self.module.computations.get((instruction.names("condition") or [""])[0])
        if condition is None:
            return 1
        root = condition.instructions[condition.root]
        if root.opcode != "compare" or root.attribute("direction") != "LT" or len(root.operands) != 2:
            return 1
        bound = condition.instructions[root.operands[1]]
        if bound.opcode != "constant" or not LITERAL.fullmatch(bound.literal):
            return 1
        return max(1, min(int(bound.literal), MAX_TRIPS))


def branches_of(instruction: Instruction) -> list[str]:
    """Computations of a conditional."""
    names = instruction.names("branch_computations")
    return names or [*instruction.names("true_computation"), *instruction.names("false_computation")]


def moved_bytes(instruction: Instruction, operands: list[Shape]) -> int:
    """Bytes that an instruction reads and writes; of a fusion, its operands and results alone."""
    written = sum(array.num_bytes for array in leaves(instruction.shape))
    read = [sum(array.num_bytes for array in leaves(shape)) for shape in operands]
    if read and instruction.opcode in READS_WHAT_IT_WRITES:
        read[0] = min(read[0], written)
    return sum(read) + written


def _sizes(array: Array, dimensions: tuple[int, ...]) -> list[int]:
    return [array.dims[dimension] for dimension in dimensions if dimension < len(array.dims)]


def _window(instruction: Instruction, key: str) -> list[int]:
    """Per spatial dimension the sizes, strides or dilations of a window; ``low_high`` pairs are not read here."""
    fields = dict(WINDOW.findall(instruction.attribute("window") or ""))
    return [int(size) for size in fields[key].split("x") if LITERAL.fullmatch(size)] if key in fields else []


def _padding(instruction: Instruction) -> list[int]:
    fields = dict(WINDOW.findall(instruction.attribute("window") or ""))
    pairs = [pair.partition("_")[0] for pair in fields.get("pad", "").split("x")]
    return [int(low) for low in pairs if re.fullmatch(r"-?\d{1,10}", low)]


def _convolution(instruction: Instruction, operands: list[Array], result: Array) -> int:
    """Two flops per product of an input inside the data and a weight.

    Features in, per group, times features out, times the batch, per batch group, times the valid pairs of a place in
    the result and a place in the window.
    """
    labels = re.fullmatch(r"(\w+)_(\w+)->(\w+)", instruction.attribute("dim_labels") or "")
    data, kernel = operands[0], operands[1]
    if labels is None or any(
        len(label) != len(array.dims) or "f" not in label or "b" not in label
        for label, array in zip((labels[1], labels[3]), (data, result), strict=True)
    ):
        return 2 * result.num_elements * kernel.num_elements
    spatial = sorted(set(labels[1]) - {"b", "f"})
    if any(place not in labels[3] for place in spatial):
        return 2 * result.num_elements * kernel.num_elements
    sizes = _window(instruction, "size") or [1] * len(spatial)
    strides, padding = _window(instruction, "stride"), _padding(instruction)
    data_dilation, window_dilation = _window(instruction, "lhs_dilate"), _window(instruction, "rhs_dilate")
    pairs = 1
    for axis, place in enumerate(spatial):
        pairs *= _valid_pairs(
            data.dims[labels[1].index(place)],
            result.dims[labels[3].index(place)],
            _at(sizes, axis, 1),
            _at(strides, axis, 1),
            _at(padding, axis, 0),
            _at(data_dilation, axis, 1),
            _at(window_dilation, axis, 1),
        )
    groups = (instruction.numbers("feature_group_count") or (1,))[0]
    batches = (instruction.numbers("batch_group_count") or (1,))[0]
    features = data.dims[labels[1].index("f")] // max(groups, 1) * result.dims[labels[3].index("f")]
    return 2 * features * (data.dims[labels[1].index("b")] // max(batches, 1)) * pairs


def _at(values: list[int], axis: int, default: int) -> int:
    return values[axis] if axis < len(values) else default


@lru_cache(maxsize=4096)
def _valid_pairs(
    data: int, result: int, window: int, stride: int, low: int, data_dilation: int, window_dilation: int
) -> int:
    """Pairs of a place in the result and one in the window that fall on an element of the data."""
    if result * window > MAX_POSITIONS or min(data, data_dilation) < 1:
        return result * window
    places = (
        np.arange(result, dtype=np.int64)[:, None] * stride + np.arange(window, dtype=np.int64) * window_dilation - low
    )
    inside = (places >= 0) & (places <= (data - 1) * data_dilation) & (places % data_dilation == 0)
    return int(inside.sum())
