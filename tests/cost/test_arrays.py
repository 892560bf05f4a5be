import numpy as np
import pytest
from hypothesis import given

from regal.cluster import Cluster, Device, Link
from regal.cost.arrays import DEVICE_BITS, END, OUTPUT_BIT, cluster_arrays, graph_arrays
from regal.graph import GraphBuilder
from tests.strategies import graphs

OUT = 1 << OUTPUT_BIT


def test_the_arrays_of_a_small_graph():
    # w (5), v (6), both persistent and both read by a and c; u (0) read by b; t and x are numbered 0 and 1
    #   a ──t (7)──> c ──x (9, output)──>      a ─ ─> b    a, c share a device
    builder = GraphBuilder()
    w, t, v, x, u = (builder.add_tensor(size) for size in (5, 7, 6, 9, 0))
    builder.mark_output(x)
    builder.add_op("a", inputs=[v, w], outputs=[t], runtime=0.5, workspace=4, colocation=9)
    builder.add_op("b", inputs=[u], control_inputs=[0])
    builder.add_op("c", inputs=[w, t, v], outputs=[x], colocation=9)
    arrays = graph_arrays(builder.build())
    assert (arrays.waiting >> np.uint64(DEVICE_BITS)).tolist() == [0, 1, 1]
    assert arrays.runtime.tolist() == [0.5, 0.0, 0.0]
    assert arrays.output_bytes.tolist() == [7, 0, 9]
    assert arrays.running_bytes.tolist() == [11, 0, 9]
    assert arrays.leader.tolist() == [0, 1, 0]
    a_links = [END, 0, 2, END, END, 1, END]
    assert arrays.links.tolist() == [*a_links, END, END, END, 0, END, 1 | OUT, END, END, END]
    assert (arrays.op_links.tolist(), arrays.consumer_links.tolist()) == ([0, 7, 10], [2, 13])
    assert (arrays.producer.tolist(), arrays.activation_bytes.tolist()) == ([0, 2], [7, 9])
    assert (arrays.resident_links.tolist(), arrays.resident_bytes.tolist()) == ([0, 2, END], [11])
    assert arrays.roots.tolist() == [0]
    assert (arrays.output_producers.tolist(), arrays.output_sizes.tolist()) == ([2], [9])


def lists_from(links: np.ndarray, start: int, count: int) -> list[list[int]]:
    """``count`` lists in a row, each closed by ``END``."""
    result: list[list[int]] = [[]]
    for link in links[start:].tolist():
        if link != END:
            result[-1].append(link)
        elif len(result) == count:
            return result
        else:
            result.append([])
    raise AssertionError("the links end within a list")


@given(graphs())
def test_links_hold_each_list_of_the_graph(graph):
    arrays = graph_arrays(graph)
    tensors = graph.activations.tolist()
    for op in range(graph.num_ops):
        outputs = graph.outputs[op].tolist()
        read, *written, closing, controls = lists_from(arrays.links, arrays.op_links[op], len(outputs) + 3)
        inputs = [tensor for tensor in graph.inputs[op].tolist() if graph.producer[tensor] >= 0]
        assert [tensors[link] for link in read] == inputs
        for (link, *consumers), tensor in zip(written, outputs, strict=True):
            assert (tensors[link & ~OUT], bool(link & OUT)) == (tensor, bool(graph.is_output[tensor]))
            assert consumers == graph.consumers[tensor].tolist()[::-1]
            start = arrays.consumer_links[link & ~OUT]
            assert lists_from(arrays.links, start, 1) == [consumers]
        assert closing == []
        assert controls == graph.control_successors[op].tolist()[::-1]


@given(graphs())
def test_residents_hold_the_bytes_of_every_set_of_readers(graph):
    arrays = graph_arrays(graph)
    sets = lists_from(arrays.resident_links, 0, len(arrays.resident_bytes)) if len(arrays.resident_bytes) else []
    wanted: dict[tuple[int, ...], int] = {}
    for tensor in np.flatnonzero(graph.producer < 0).tolist():
        readers = tuple(graph.consumers[tensor].tolist())
        if readers and graph.tensor_bytes[tensor]:
            wanted[readers] = wanted.get(readers, 0) + int(graph.tensor_bytes[tensor])
    assert dict(zip(map(tuple, sets), arrays.resident_bytes.tolist(), strict=True)) == wanted


def test_clusters_as_arrays():
    cluster = Cluster((Device(5), Device(6, 2.0)), (Link(1, 0, 0.5, 8.0),))
    arrays = cluster_arrays(cluster)
    assert (arrays.memory.tolist(), arrays.speed.tolist()) == ([5, 6], [1.0, 2.0])
    assert arrays.latency.tolist() == [[0.0, 0.0], [0.5, 0.0]]
    assert arrays.bandwidth.tolist() == [[np.inf, np.inf], [8.0, np.inf]]


def test_too_many_links_are_refused(monkeypatch):
    builder = GraphBuilder()
    builder.add_op("op")
    monkeypatch.setattr("regal.cost.arrays.END", 3)
    with pytest.raises(ValueError, match="a graph of 3 links is too large for the kernels"):
        graph_arrays(builder.build())
