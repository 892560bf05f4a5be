"""An HLO module as data: computations of instructions, and the shapes of what they give."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

BITS = {
    **dict.fromkeys(("token", "opaque"), 0),
    **dict.fromkeys(("s1", "u1"), 1),
    **dict.fromkeys(("s2", "u2"), 2),
    **dict.fromkeys(("s4", "u4", "f4e2m1fn"), 4),
    **dict.fromkeys(("pred", "s8", "u8", "f8e3m4", "f8e4m3", "f8e4m3b11fnuz", "f8e4m3fn", "f8e4m3fnuz"), 8),
    **dict.fromkeys(("f8e5m2", "f8e5m2fnuz", "f8e8m0fnu"), 8),
    **dict.fromkeys(("s16", "u16", "f16", "bf16"), 16),
    **dict.fromkeys(("s32", "u32", "f32"), 32),
    **dict.fromkeys(("s64", "u64", "f64", "c64"), 64),
    "c128": 128,
}
"""Bits of an element; those of less than a byte are packed."""
NAME = r"[A-Za-z_][\w.\-]{0,255}+"
"""What instructions and computations may be called: at most 256 characters."""


class Array(NamedTuple):
    """Shape of an array: the element's type and the size of each dimension, of dynamic ones the largest."""

    dtype: str
    dims: tuple[int, ...]

    @property
    def num_elements(self) -> int:
        """Product of the dimensions."""
        return prod(self.dims)

    @property
    def num_bytes(self) -> int:
        """Bytes that hold it, elements of less than a byte packed."""
        return (self.num_elements * BITS[self.dtype] + 7) // 8


@dataclass(frozen=True)
class Tuple:
    """Shape of a tuple."""

    items: tuple[Shape, ...]


Shape = Array | Tuple


def leaves(shape: Shape) -> Iterator[Array]:
    """The arrays in ``shape``, in order."""
    if isinstance(shape, Array):
        yield shape
        return
    for item in shape.items:
        yield from leaves(item)


@dataclass(frozen=True, slots=True)
class Instruction:
    """One line of a computation.

    Attributes
    ----------
    line : int
        Of the text, from 1.
    name, opcode : str
    shape : Array or Tuple
    operands : tuple of int
        Instructions of the same computation, all earlier. Empty for a parameter and a constant.
    literal : str
        What stands in the parentheses of a parameter (its number) or a constant (its value).
    attributes : str
        What stands behind the parentheses, strings emptied.
    """

    line: int
    name: str
    opcode: str
    shape: Shape
    operands: tuple[int, ...]
    literal: str
    attributes: str

    def attribute(self, key: str) -> str | None:
        """Value of ``key=``: a word, or what stands in its braces; None where it is not there."""
        found = re.search(rf"[, ]{re.escape(key)}=(?:\{{([^{{}}]*+)\}}|([^,\s{{]++))", self.attributes)
        return None if found is None else (found[2] if found[1] is None else found[1])

    def numbers(self, key: str) -> tuple[int, ...]:
        """Value of ``key={1,2}`` or ``key=1``; empty where it is not there."""
        return tuple(int(number) for number in re.findall(r"\d{1,18}", self.attribute(key) or ""))

    def names(self, key: str) -> list[str]:
        """Value of ``key=%name`` or ``key={%one, %other}``."""
        return re.findall(NAME, self.attribute(key) or "")


@dataclass
class Computation:
    """Instructions in the order of the text; ``root`` is the one that gives the result."""

    name: str
    line: int
    instructions: list[Instruction] = field(default_factory=list)
    root: int = -1


@dataclass
class Module:
    """A program.

    Attributes
    ----------
    name : str
    is_scheduled : bool
        Whether the order of the instructions is the one that XLA executes.
    aliases : list of (tuple of int, int, tuple of int)
        Place in the result, number of the parameter and place in it: the result is written over the parameter.
    computations : dict
        By name, called ones before their callers.
    entry : Computation
    """

    name: str
    is_scheduled: bool
    aliases: list[tuple[tuple[int, ...], int, tuple[int, ...]]]
    computations: dict[str, Computation]
    entry: Computation

    def instruction_counts(self) -> dict[str, int]:
        """Computation -> number of its instructions."""
        return {name: len(computation.instructions) for name, computation in self.computations.items()}
