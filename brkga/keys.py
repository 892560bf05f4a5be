"""How keys are stored: rows of 64-bit words, and the arrays that a decoder sees."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

WORD_BITS = 64


class KeyLayout:
    """Packs rows of keys into rows of words and back.

    Attributes
    ----------
    num_keys : int
    dtype : numpy dtype
        What a decoder sees: uint16 or uint32, the stored integers, or float64, multiples of 2^-32 in [0, 1).
    bits : int
        Bits of a stored key, 16 or 32.
    lanes : int
        Keys in a word.
    words : int
        Words in a row. Lanes behind the last key are 0.

    Raises
    ------
    ValueError
        If there is no key, or for another dtype.

    Examples
    --------
    >>> layout = KeyLayout(3, np.uint16)
    >>> layout.words, layout.keys(layout.pack([[7, 8, 9]])).tolist()
    (1, [[7, 8, 9]])
    """

    def __init__(self, num_keys: int, dtype: Any) -> None:
        if num_keys < 1:
            raise ValueError(f"num_keys must be at least 1, got {num_keys}")
        self.num_keys = int(num_keys)
        self.dtype = np.dtype(dtype)
        if self.dtype not in (np.dtype(np.uint16), np.dtype(np.uint32), np.dtype(np.float64)):
            raise ValueError(f"key_dtype must be uint16, uint32 or float64, got {self.dtype}")
        self.stored: np.dtype[Any] = np.dtype(np.uint16 if self.dtype == np.uint16 else np.uint32)
        self.bits = self.stored.itemsize * 8
        self.lanes = WORD_BITS // self.bits
        self.words = -(-self.num_keys // self.lanes)

    @property
    def tail(self) -> int:
        """Mask of the bits of a row's last word that belong to keys."""
        used = self.num_keys - (self.words - 1) * self.lanes
        return (1 << (used * self.bits)) - 1

    def keys(self, words: NDArray[np.uint64]) -> NDArray[Any]:
        """(rows, num_keys), C-contiguous: the keys of rows of words, uncopied where the dtype and the count allow."""
        keys = words.view(self.stored)
        if self.dtype == np.float64:
            return keys[:, : self.num_keys] * 2.0**-32
        return keys if keys.shape[1] == self.num_keys else np.ascontiguousarray(keys[:, : self.num_keys])

    def pack(self, keys: ArrayLike) -> NDArray[np.uint64]:
        """uint64, shape (rows, words): the words of rows of keys.

        Raises
        ------
        ValueError
            For a wrong shape, dtype or range.
        """
        array = np.asarray(keys)
        if array.ndim != 2 or array.shape[1] != self.num_keys:
            raise ValueError(f"keys must have shape (rows, {self.num_keys}), got {array.shape}")
        if self.dtype == np.float64:
            array = np.asarray(array, np.float64)
            size, wanted = 1.0, "in [0, 1)"
        elif array.dtype.kind in "ui":
            size, wanted = 2.0**self.bits, f"in [0, 2^{self.bits})"
        else:
            raise ValueError(f"keys must be integers for key_dtype {self.dtype}, got {array.dtype}")
        wrong = array[~((array >= 0) & (array < size))]
        if wrong.size:
            raise ValueError(f"keys must be {wanted}, got {wrong[0]}")
        return self.lay(array * 2.0**32 if self.dtype == np.float64 else array)

    def lay(self, values: NDArray[Any]) -> NDArray[np.uint64]:
        """uint64, shape (rows, words): rows of stored values, one for each key, cut to whole numbers."""
        stored = np.zeros((len(values), self.words * self.lanes), self.stored)
        stored[:, : self.num_keys] = values
        return stored.view(np.uint64)
