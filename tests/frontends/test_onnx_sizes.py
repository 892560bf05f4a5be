"""Bytes of values whose shape is not inferred: sequences, optional values, states, gradients."""

import pytest

pytest.importorskip("onnx")

from onnx import TensorProto, helper

from regal.frontends.onnx import load

node = helper.make_node
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def value(name, dims=None, dtype=FLOAT):
    return helper.make_tensor_value_info(name, dtype, dims)


def sequence(name, dims):
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(FLOAT, dims))
    return helper.make_value_info(name, kind)


def graph_of(nodes, inputs, outputs, opset=17, **options):
    graph = helper.make_graph(nodes, "net", inputs, outputs)
    domains = sorted({each.domain for each in nodes} - {""})
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
    return load(helper.make_model(graph, opset_imports=opsets), **options)


def sizes(graph):
    """Op type -> bytes of what it makes."""
    size = graph.tensor_bytes.tolist()
    return {kind: [size[t] for t in made] for kind, made in zip(graph.op_types, graph.outputs.to_lists(), strict=True)}


class TestSequences:
    def test_a_sequence_takes_what_its_elements_do(self):
        #  x(4) z(2,3) -> construct -> s;  s, x -> insert -> t -> concat -> y;  t -> at(0) -> e
        graph = graph_of(
            [
                node("SequenceEmpty", [], ["nothing"]),
                node("SequenceConstruct", ["x", "z"], ["s"]),
                node("SequenceInsert", ["s", "x", "place"], ["t"]),
                node("SequenceErase", ["t", "place"], ["u"]),
                node("SequenceAt", ["u", "place"], ["e"]),
                node("SequenceInsert", ["nothing", "x"], ["one"]),
            ],
            [value("x", [4]), value("z", [2, 3]), value("place", [], INT64)],
            [value("e"), sequence("one", None)],
        )
        #                                     x   z   s  at  t   u   e nothing one
        assert graph.tensor_bytes.tolist() == [16, 24, 40, 8, 56, 56, 56, 0, 16]
        assert graph.meta["source"]["unknown_shapes"] == 2  # what is left after erasing, and an element of it

    def test_what_is_split_comes_together_again(self):
        graph = graph_of(
            [node("SplitToSequence", ["x"], ["s"]), node("ConcatFromSequence", ["s"], ["y"], axis=0)],
            [value("x", [6, 5])],
            [value("y")],
        )
        assert sizes(graph) == {"SplitToSequence": [120], "ConcatFromSequence": [120]}
        assert graph.meta["source"]["unknown_shapes"] == 0

    def test_an_optional_value_takes_what_it_holds(self):
        graph = graph_of(
            [node("Relu", ["x"], ["h"]), node("Optional", ["h"], ["o"]), node("OptionalGetElement", ["o"], ["y"])],
            [value("x", [5])],
            [value("y")],
        )
        assert sizes(graph) == {"Relu": [20], "Optional": [20], "OptionalGetElement": [20]}

    def test_the_length_of_an_input_is_not_known(self):
        nodes = [node("SequenceInsert", ["s", "x"], ["t"])]
        inputs, outputs = [sequence("s", [2]), value("x", [2])], [sequence("t", [2])]
        graph = graph_of(nodes, inputs, outputs)
        assert (sizes(graph), graph.meta["source"]["unknown_shapes"]) == ({"SequenceInsert": [8]}, 2)


class TestStates:
    def loop(self, **options):
        """Trips of a loop that carries a state of 4 elements and collects 2 elements a trip."""
        body = helper.make_graph(
            [
                node("Tile", ["state", "times"], ["next"]),
                node("Identity", ["going"], ["still"]),
                node("Identity", ["x"], ["out"]),
            ],
            "body",
            [value("i", [], INT64), value("going", [], BOOL), value("state", None)],
            [value("still", [], BOOL), value("next"), value("out", [2])],
        )
        return graph_of(
            [node("Loop", ["trips", "", "first"], ["last", "all"], body=body)],
            [value("trips", [], INT64), value("first", [4]), value("x", [2]), value("times", [1], INT64)],
            [value("last"), value("all")],
            **options,
        )

    def test_a_loop_returns_a_state_as_large_as_the_first(self):
        graph = self.loop()
        assert sizes(graph)["Loop"] == [16, 16]
        assert graph.meta["source"]["unknown_shapes"] == 2

    def test_the_default_dimension_is_the_number_of_trips(self):
        assert sizes(self.loop(default_dimension=10))["Loop"] == [16, 80]

    @pytest.mark.parametrize("opset", [8, 9])
    def test_a_state_of_scan_keeps_its_size(self, opset):
        batch = [1] if opset == 8 else []
        body = helper.make_graph(
            [node("Mystery", ["state", "x"], ["next"], domain="d"), node("Identity", ["next"], ["out"])],
            "body",
            [value("state"), value("x")],
            [value("next"), value("out")],
        )
        nodes = [
            node("Scan", [*([""] if opset == 8 else []), "first", "xs"], ["last", "all"], body=body, num_scan_inputs=1),
            node("Mystery", ["first"], ["other"], domain="d"),
        ]
        ends = [value("last"), value("all"), value("other")]
        graph = graph_of(nodes, [value("first", [*batch, 3]), value("xs", [*batch, 7, 50])], ends, opset=opset)
        assert sizes(graph)["Scan"][0] == 12
        assert graph.meta["source"]["opaque_ops"] == 3 - 1  # what is in the body is not counted again
        assert graph.meta["source"]["unknown_shapes"] == 2  # the collected values, and the other mystery's


class TestTraining:
    DOMAIN = "ai.onnx.preview.training"

    def test_gradients_are_as_large_as_what_they_are_of(self):
        graph = graph_of(
            [
                node("Mul", ["a", "b"], ["loss"]),
                node("Gradient", ["a", "b"], ["da", "db"], domain=self.DOMAIN, xs=["a", "b"], y="loss"),
            ],
            [value("a", [3]), value("b", [4, 3])],
            [value("da"), value("db")],
        )
        assert sizes(graph)[f"{self.DOMAIN}.Gradient"] == [12, 48]
        source = graph.meta["source"]
        assert (source["mode"], source["opaque_ops"], source["unknown_shapes"]) == ("training", 1, 0)

    def test_an_optimizer_returns_new_values(self):
        inputs = [value("r", []), value("t", [], INT64), *(value(name, [4]) for name in "xgv")]
        graph = graph_of(
            [
                node("Momentum", [each.name for each in inputs], ["x1", "v1"], domain=self.DOMAIN,
                     norm_coefficient=0.0, alpha=0.9, beta=1.0, mode="standard")
            ],
            inputs,
            [value("x1", [4]), value("v1", [4])],
        )  # fmt: skip
        assert sizes(graph) == {f"{self.DOMAIN}.Momentum": [16, 16]}
        assert (graph.meta["source"]["mode"], graph.meta["source"]["opaque_ops"]) == ("step", 0)
        assert graph.meta["source"]["inputs"] == [0, 1, 2, 3, 4]
