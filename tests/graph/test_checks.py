"""Every rule of a graph, broken once."""

from typing import Any

import numpy as np
import pytest

from regal.graph import CSR, ComputationGraph, GraphBuilder, example_graph
from regal.graph.checks import MAX_SECONDS, check_total


def changed(**columns: Any) -> ComputationGraph:
    """The diamond a -> (b, c) -> d with other columns.

    a ──t0──> b ──t1──┐
      └─t0──> c ──t2──┴──> d ──t3──>
    """
    graph = example_graph("diamond")
    names = ("runtime", "workspace", "colocation", "inputs", "outputs", "control_inputs", "tensor_bytes", "is_output")
    values = {name: getattr(graph, name) for name in (*names, "op_names", "op_types")} | columns
    return ComputationGraph(name="changed", **values)


def numbers(values: list[float], dtype: type = np.float64) -> np.ndarray:
    return np.array(values, dtype)


INPUTS, OUTPUTS = [[], [0], [0], [1, 2]], [[0], [1], [2], [3]]
BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "runtime negative": ({"runtime": numbers([1, -2, 3, 1])}, r"op 1 'b': runtime must be .*, not -2.0"),
    "runtime nan": ({"runtime": numbers([1, 2, np.nan, 1])}, r"op 2 'c': runtime must be finite .*, not nan"),
    "runtime inf": ({"runtime": numbers([np.inf, 2, 3, 1])}, r"op 0 'a': runtime must be finite .*, not inf"),
    "workspace negative": ({"workspace": numbers([0, 0, -1, 0], np.int64)}, r"op 2 'c': workspace must be .*, not -1"),
    "workspace 2^53": (
        {"workspace": numbers([0, 0, 0, 2**53], np.int64)},
        r"op 3 'd': workspace .*, not 90071992547409",
    ),
    "bytes negative": ({"tensor_bytes": numbers([8, -4, 64, 2], np.int64)}, r"tensor 1: bytes must be .*, not -4"),
    "bytes 2^53": ({"tensor_bytes": numbers([8, 4, 2**53, 2], np.int64)}, r"tensor 2: bytes .*, not 9007199254740992"),
    "colocation": ({"colocation": numbers([-1, -1, -2, -1], np.int64)}, r"op 2 'c': colocation must be .*, not -2"),
    "input out of range": (
        {"inputs": CSR.from_lists([[], [0], [4], [1, 2]])},
        r"op 2 'c': inputs name tensor 4, .* 4 t",
    ),
    "input negative": ({"inputs": CSR.from_lists([[], [-1], [0], [1, 2]])}, r"op 1 'b': inputs name tensor -1, .* 4 t"),
    "output out of range": ({"outputs": CSR.from_lists([[0], [1], [2], [9]])}, r"op 3 'd': outputs name tensor 9, "),
    "control out of range": (
        {"control_inputs": CSR.from_lists([[], [], [], [7]])},
        r"op 3 'd': control_inputs name op 7",
    ),
    "input twice": ({"inputs": CSR.from_lists([[], [0], [0], [1, 2, 1]])}, r"op 3 'd': inputs repeat tensor 1"),
    "output twice": ({"outputs": CSR.from_lists([[0], [1, 1], [2], [3]])}, r"op 1 'b': outputs repeat tensor 1"),
    "control twice": (
        {"control_inputs": CSR.from_lists([[], [], [0, 0], []])},
        r"op 2 'c': control_inputs repeat op 0",
    ),
    "two producers": (
        {"outputs": CSR.from_lists([[0], [1], [1], [3]])},
        r"tensor 1: at most one op may produce it, but op 1 'b' and op 2 'c' both do",
    ),
    "input before its producer": (
        {"inputs": CSR.from_lists([[2], [0], [], [1, 2]])},
        r"op 0 'a': every op comes after its producers and control inputs, but it reads a tensor of op 2 'c'",
    ),
    "control input behind": (
        {"control_inputs": CSR.from_lists([[], [3], [], []])},
        r"op 1 'b': every op comes after .*, but it has the control input op 3 'd'",
    ),
    "reads what it writes": (
        {"inputs": CSR.from_lists([[], [0], [2], [1]])},
        r"op 2 'c': .* reads a tensor of op 2 'c'",
    ),
    "waits for itself": ({"control_inputs": CSR.from_lists([[], [], [2], []])}, r"op 2 'c': .* control input op 2 'c'"),
    "too few types": ({"op_types": ("x",)}, r"op_types has 1 entries for 4 ops"),
    "too few runtimes": ({"runtime": numbers([1.0])}, r"runtime has 1 entries for 4 ops"),
    "too many input lists": ({"inputs": CSR.from_lists([*INPUTS, []])}, r"inputs has 5 entries for 4 ops"),
    "too few flags": ({"is_output": np.zeros(3, np.bool_)}, r"is_output has 3 entries for 4 tensors"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_is_named_with_its_op_and_value(name):
    columns, message = BROKEN[name]
    with pytest.raises(ValueError, match=message) as caught:
        changed(**columns)
    assert "\n" not in str(caught.value)


def test_what_is_just_allowed():
    largest = numbers([2**53 - 1] * 4, np.int64)
    graph = changed(tensor_bytes=largest, workspace=largest, colocation=numbers([2**60, 0, 0, -1], np.int64))
    assert graph.tensor_bytes.tolist() == [2**53 - 1] * 4
    assert changed(inputs=CSR.from_lists(INPUTS), outputs=CSR.from_lists(OUTPUTS)).num_activations == 4


def test_all_bytes_times_the_devices_stay_below_2_to_63():
    builder = GraphBuilder()
    for _ in range(1024):
        builder.add_tensor(2**53 - 1)
    builder.add_tensor(1023)
    graph = builder.build()  # 2^63 - 1 bytes
    check_total(graph, 1)
    with pytest.raises(ValueError, match=r"must stay below 2\^63, not 9223372036854775807 \* 2"):
        check_total(graph, 2)
    builder.add_op("op", workspace=1)
    with pytest.raises(ValueError, match=r"must stay below 2\^63, not 9223372036854775808 \* 1"):
        builder.build()


def test_all_running_times_together_stay_below_their_limit():
    assert changed(runtime=numbers([0.9 * MAX_SECONDS, 0.0, 0.0, 0.0], np.float64)).num_ops == 4
    for seconds in ([0.6 * MAX_SECONDS] * 2 + [0.0, 0.0], [1.7e308] * 4):
        with pytest.raises(ValueError, match=r"running times of all ops together must stay below .* seconds, not"):
            changed(runtime=numbers(seconds, np.float64))
