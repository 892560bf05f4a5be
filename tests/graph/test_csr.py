import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from regal.graph import CSR

lists = st.lists(st.lists(st.integers(0, 9), unique=True, max_size=5), max_size=8)


@given(lists)
def test_lists_come_back(rows):
    csr = CSR.from_lists(rows)
    assert csr.to_lists() == rows
    assert [row.tolist() for row in csr] == rows
    assert [csr[index].tolist() for index in range(len(csr))] == rows
    assert csr.counts.tolist() == [len(row) for row in rows]
    assert csr.row_of_value.tolist() == [index for index, row in enumerate(rows) for _ in row]


@given(lists)
def test_transposing_turns_rows_and_values_around(rows):
    columns = [[index for index, row in enumerate(rows) if value in row] for value in range(10)]
    transposed = CSR.from_lists(rows).transposed(10)
    assert transposed.to_lists() == columns
    assert transposed.transposed(len(rows)).to_lists() == [sorted(row) for row in rows]


def test_pairs_keep_their_order_within_a_row():
    csr = CSR.from_pairs(np.array([1, 0, 1, 3]), np.array([9, 8, 2, 5]), 4)
    assert csr.to_lists() == [[8], [9, 2], [], [5]]


def test_no_rows():
    csr = CSR.from_lists([])
    assert (len(csr), csr.to_lists(), csr.values.dtype) == (0, [], np.int32)
    assert CSR.from_pairs(np.empty(0, np.int64), np.empty(0, np.int64), 2).to_lists() == [[], []]
