"""PipeDream profiles, written by hand in the shape of those that its profiler writes."""

import gzip
from random import Random

import pytest

from regal.files import ParseError
from regal.frontends.pipedream import load, parse
from tests.fuzz.texts import cut, flip, insert, truncate


def layer(name, description, forward=0.0, backward=0.0, activation="0.0", parameters=0.0, end=""):
    values = f"forward_compute_time={forward:.3f}, backward_compute_time={backward:.3f}"
    return f"{name} -- {description} -- {values}, activation_size={activation}, parameter_size={parameters:.3f}{end}\n"


def edges(*pairs):
    return "".join(f"\t{a} -- {b}\n" for a, b in pairs)


NETWORK = (
    layer("node4", "Linear(in_features=8, out_features=2, bias=True)", 3, 4, "20.0", 72, " -- stage_id=1")
    + layer("node1", "Input0", 635.9, 0, "100.0")
    + layer("node2", "Conv2d(3, 8, kernel_size=(3, 3))", 1, 2, "50.000", 300)
    + layer("node3", "ReLU(inplace)", 0.5, 0.25, "60.0")
    + layer("node5", "Size(0)", 0, 0, "4.0")
    + edges(("node1", "node2"), ("node2", "node3"), ("node3", "node4"), ("node2", "node4"), ("node1", "node5"))
)
"""
x(100) ─ node2(w 300) ─(50)─┬─ node3 ─(60)─┬─ node4(w 72) ─(20)
   └──── node5 ─(4)         └──────────────┘
"""


def table(graph):
    """``{op: (bytes read, bytes written)}``; sizes tell tensors apart."""
    size = graph.tensor_bytes
    rows = zip(graph.op_names, graph.inputs, graph.outputs, strict=True)
    return {name: (sorted(size[inputs].tolist()), size[outputs].tolist()) for name, inputs, outputs in rows}


def test_the_forward_graph():
    graph = parse(NETWORK.encode(), name="net", training=False)
    assert list(table(graph).items()) == [
        ("node2", ([100, 300], [50])),
        ("node3", ([50], [60])),
        ("node4", ([50, 60, 72], [20])),
        ("node5", ([100], [4])),
    ]
    assert graph.op_types == ("Conv2d", "ReLU", "Linear", "Size")
    assert graph.runtime.tolist() == [1e-3, 0.5e-3, 3e-3, 0.0]
    assert sorted(graph.tensor_bytes[graph.is_output].tolist()) == [4, 20]
    assert sorted(graph.tensor_bytes[graph.producer < 0].tolist()) == [72, 100, 300]
    assert graph.name == "net"
    assert graph.meta["source"] == {"framework": "pipedream", "mode": "inference", "inputs": 1}


def test_the_training_graph():
    """``node5`` depends on no parameter and has no backward op; ``node2``'s gradient comes in two parts."""
    graph = parse(NETWORK.encode())
    found = table(graph)
    assert list(found)[4:] == ["node4.backward", "node3.backward", "node2.backward"]
    assert found["node4.backward"] == ([20, 50, 60, 72], [60, 50, 72])
    assert found["node3.backward"] == ([50, 60], [50])
    assert found["node2.backward"] == ([50, 50, 100, 300], [300])
    assert graph.runtime.tolist()[4:] == [4e-3, 0.25e-3, 2e-3]
    assert graph.op_types[-1] == "Conv2d.backward"
    assert sorted(graph.tensor_bytes[graph.is_output].tolist()) == [4, 20, 72, 300]
    gradients = graph.outputs[4][:2].tolist()
    assert [graph.op_names[op] for t in gradients for op in graph.consumers[t]] == ["node3.backward", "node2.backward"]
    assert graph.meta["source"]["mode"] == "training"


def test_an_activation_may_be_a_list():
    graph = parse(layer("a", "LSTM(8, 8)", 1, 1, "[10.0; 3.0; 4.0]", 5).encode(), training=False)
    assert sorted(graph.tensor_bytes.tolist()) == [5, 17]


def test_a_layer_with_parameters_that_reads_nothing_is_an_op():
    graph = parse(layer("a", "Table", 0, 0, "8.0", 4).encode())
    assert table(graph) == {"a": ([4], [8]), "a.backward": ([4, 8], [4])}


def test_edges_that_come_twice_and_empty_lines_say_nothing():
    assert table(parse((NETWORK + "\n  \n" + edges(("node1", "node5"))).encode())) == table(parse(NETWORK.encode()))


def test_an_empty_profile_is_an_empty_graph():
    assert parse(b"").num_ops == 0
    assert parse(layer("a", "Input").encode()).num_ops == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("node1\n", "line 1: a layer is a name, a description and forward_compute_time, .*, not 'node1'"),
        ("node1 -- Linear\n", "line 1: a layer is"),
        (
            "node1 -- forward_compute_time=1.0, backward_compute_time=1.0, activation_size=1, parameter_size=1",
            "a layer is",
        ),
        (layer("a", "b").replace(", parameter_size=0.000", ""), "line 1: a layer is"),
        (layer("a", "b").replace("activation", "x"), "line 1: a layer is"),
        (layer("a", "b") + layer("a", "c"), "line 2: a second layer 'a'"),
        (layer("a", "b", activation="1.5"), r"line 1: activation_size must be whole bytes below 2\^53, not '1.5'"),
        (layer("a", "b", activation="1e300"), "activation_size must be whole bytes"),
        (layer("a", "b", activation="nan"), "activation_size must be a finite number, not negative, not 'nan'"),
        (layer("a", "b", activation="inf"), "not 'inf'"),
        (layer("a", "b", activation="-1"), "not '-1'"),
        (layer("a", "b", activation="[]"), "not ''"),
        (layer("a", "b", activation="[1; x]"), "not 'x'"),
        (layer("a", "b", activation="1=2"), "activation_size must be"),
        (layer("a", "b", forward=-1), "forward_compute_time must be a finite number"),
        (layer("a", "b", parameters=0.5), "parameter_size must be whole bytes"),
        (layer("a", "b") + "\ta\n", "line 2: an edge is two layers with -- between them, not 'a'"),
        (layer("a", "b") + "\ta -- a -- a\n", "line 2: an edge is"),
        (layer("a", "b") + edges(("a", "c")), "line 2: there is no layer 'c'"),
        (layer("a", "b") + layer("c", "d") + edges(("a", "c"), ("c", "a")), "the graph has a cycle"),
        (layer("a", "b") + edges(("a", "a")), "the graph has a cycle"),
    ],
)
def test_what_is_no_profile_is_refused_by_line(text, message):
    with pytest.raises(ParseError, match="^text: .*" + message) as caught:
        parse(text.encode())
    assert "\n" not in str(caught.value)


def test_bytes_that_are_no_text_are_refused():
    with pytest.raises(ParseError, match=r"^text: line 2: not UTF-8 text$"):
        parse(layer("a", "b").encode() + b"\xff\n")


def test_damaged_profiles_are_read_or_refused_in_one_line():
    rng = Random(0)
    read = refused = 0
    for _ in range(1500):
        data = NETWORK.encode()
        for _ in range(rng.choice((1, 1, 3))):
            data = rng.choice((truncate, flip, insert, cut))(data, rng)
        try:
            parse(data, training=rng.random() < 0.5)
            message = ""
        except ParseError as error:
            message = str(error)
        assert "\n" not in message
        read, refused = read + (not message), refused + bool(message)
    assert (read > 80, refused > 200) == (True, True), (read, refused)


def test_files(tmp_path):
    (tmp_path / "vgg").mkdir()
    (tmp_path / "vgg" / "graph.txt").write_text(NETWORK)
    (tmp_path / "tiny.txt").write_bytes(gzip.compress(NETWORK.encode()))
    assert load(tmp_path / "vgg" / "graph.txt").name == "vgg"
    graph = load(str(tmp_path / "tiny.txt"), training=False)
    assert (graph.name, graph.num_ops) == ("tiny", 4)
    with pytest.raises(ParseError, match=r"missing\.txt: No such file"):
        load(tmp_path / "missing.txt")
