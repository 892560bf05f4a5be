"""Ragged integer lists stored as two flat arrays (compressed sparse rows)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class CSR:
    """Lists of indices, one list per row.

    Attributes
    ----------
    offsets : int64 array, shape (num_rows + 1,)
        Row ``i`` is ``values[offsets[i]:offsets[i + 1]]``.
    values : int32 array, shape (offsets[-1],)

    Examples
    --------
    >>> lists = CSR.from_lists([[4, 2], [], [7]])
    >>> len(lists), lists[0].tolist(), lists.counts.tolist()
    (3, [4, 2], [2, 0, 1])
    """

    offsets: NDArray[np.int64]
    values: NDArray[np.int32]

    @classmethod
    def from_lists(cls, lists: Sequence[Iterable[int]]) -> CSR:
        """Build from one iterable of integers per row."""
        rows = [list(row) for row in lists]
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum([len(row) for row in rows], out=offsets[1:])
        values = np.fromiter((value for row in rows for value in row), np.int32, int(offsets[-1]))
        return cls(offsets, values)

    @classmethod
    def from_pairs(cls, rows: NDArray, values: NDArray, num_rows: int) -> CSR:
        """Group ``values`` by ``rows``; within a row the given order is kept."""
        order = np.argsort(rows, kind="stable")
        offsets = np.zeros(num_rows + 1, np.int64)
        np.cumsum(np.bincount(rows, minlength=num_rows), out=offsets[1:])
        return cls(offsets, np.asarray(values, np.int32)[order])

    @property
    def counts(self) -> NDArray[np.int64]:
        """int64 array, shape (num_rows,): the length of each row."""
        return np.diff(self.offsets)

    @property
    def row_of_value(self) -> NDArray[np.int32]:
        """int32 array, shape (num_values,): the row that each value stands in."""
        return np.repeat(np.arange(len(self), dtype=np.int32), self.counts)

    def transposed(self, num_columns: int) -> CSR:
        """Rows become values and values rows: ``j in self[i]`` turns into ``i in result[j]``, ascending."""
        return CSR.from_pairs(self.values, self.row_of_value, num_columns)

    def to_lists(self) -> list[list[int]]:
        """One Python list per row."""
        flat, bounds = self.values.tolist(), self.offsets.tolist()
        return [flat[a:b] for a, b in pairwise(bounds)]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> NDArray[np.int32]:
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    def __iter__(self) -> Iterator[NDArray[np.int32]]:
        return (self[row] for row in range(len(self)))
