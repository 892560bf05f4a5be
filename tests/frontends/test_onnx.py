import random
from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper  # noqa: E402

from regal.cluster import Cluster  # noqa: E402
from regal.frontends import onnx_model  # noqa: E402
from regal.frontends.onnx import load  # noqa: E402
from regal.frontends.onnx_cost import BITS, Shape, flops  # noqa: E402
from regal.frontends.roofline import Rates  # noqa: E402
from regal.plan import RUN, Plan, check_plan  # noqa: E402

LIGHT = sorted((Path(onnx.__file__).parent / "backend/test/data/light").glob("light_*.onnx"))
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
node = helper.make_node


def value(name, dims=None, dtype=FLOAT):
    return helper.make_tensor_value_info(name, dtype, dims)


def weight(name, *dims, dtype=FLOAT):
    """An initializer without values: sizes need none."""
    return TensorProto(name=name, data_type=dtype, dims=dims)


def vector(name, *values):
    return helper.make_tensor(name, INT64, [len(values)], values)


def model(nodes, inputs, outputs, initializers=(), opset=17, **kwargs):
    graph = helper.make_graph(nodes, "net", inputs, outputs, list(initializers))
    domains = {each.domain for each in nodes} - {"", "ai.onnx"}
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in sorted(domains))]
    return helper.make_model(graph, opset_imports=opsets, **kwargs)


def ops(graph):
    """One ``(type, input bytes, output bytes)`` per op."""
    size = graph.tensor_bytes.tolist()
    return [
        (type_, [size[t] for t in inputs], [size[t] for t in outputs])
        for type_, inputs, outputs in zip(
            graph.op_types, graph.inputs.to_lists(), graph.outputs.to_lists(), strict=True
        )
    ]


def persistent_bytes(graph):
    return int(graph.tensor_bytes[graph.producer < 0].sum())


def attention_free_mlp():
    """x -> MatMul(w) -> Add(b) -> Relu -> y, with the batch left open."""
    return model(
        [
            node("MatMul", ["x", "w"], ["h"], name="matmul"),
            node("Add", ["h", "b"], ["a"]),
            node("Relu", ["a"], ["y"], name="relu"),
        ],
        [value("x", ["batch", 3])],
        [value("y", ["batch", 5])],
        [weight("w", 3, 5), weight("b", 5)],
    )


class TestExactGraph:
    def test_every_field(self):
        # x(24) w(60) -> matmul -> h(40); h b(20) -> a -> a(40) -> relu -> y(40, output)
        rates = Rates(flops=10.0, bandwidth=1000.0, overhead=1.0)
        graph = load(attention_free_mlp(), dimensions={"batch": 2}, rates=rates)
        assert graph.name == "net"
        assert graph.op_names == ("matmul", "a", "relu")
        assert graph.op_types == ("MatMul", "Add", "Relu")
        assert graph.tensor_bytes.tolist() == [24, 60, 40, 20, 40, 40]
        assert graph.inputs.to_lists() == [[0, 1], [2, 3], [4]]
        assert graph.outputs.to_lists() == [[2], [4], [5]]
        assert graph.is_output.tolist() == [False] * 5 + [True]
        assert graph.control_inputs.to_lists() == [[], [], []]
        assert graph.runtime.tolist() == [1.0 + 2 * 2 * 3 * 5 / 10, 1.0 + 100 / 1000, 1.0 + 80 / 1000]
        assert graph.workspace.tolist() == [0, 0, 0]

    def test_meta_holds_the_facts_of_the_source(self):
        proto = attention_free_mlp()
        proto.producer_name, proto.producer_version, proto.ir_version = "tool", "1.2", 8
        assert load(proto, default_dimension=1).meta["source"] == {
            "framework": "onnx",
            "version": onnx.__version__,
            "mode": "inference",
            "ir_version": 8,
            "opset": {"ai.onnx": 17},
            "inputs": [0],
            "producer": "tool 1.2",
            "flops": 2.0 * 3 * 5,
            "rates": Rates().to_json(),
            "unknown_shapes": 0,
            "opaque_ops": 0,
            "folded_ops": 0,
            "contracted_views": 0,
        }

    def test_the_callers_model_stays_as_it_is(self):
        proto = attention_free_mlp()
        before = proto.SerializeToString(deterministic=True)
        load(proto, dimensions={"batch": 2})
        assert proto.SerializeToString(deterministic=True) == before

    def test_a_file_takes_its_name_and_equals_the_model(self, tmp_path):
        proto = attention_free_mlp()
        path = tmp_path / "mlp.onnx"
        path.write_bytes(proto.SerializeToString())
        graph = load(path, dimensions={"batch": 2})
        assert graph.name == "mlp"
        assert graph.sha256 == load(str(path), dimensions={"batch": 2}).sha256
        assert graph.sha256 == load(proto, dimensions={"batch": 2}).sha256

    def test_no_nodes(self):
        graph = load(model([], [value("x", [2])], [value("x", [2])]))
        assert (graph.num_ops, graph.num_tensors) == (0, 0)


class TestInputs:
    def test_an_initializer_that_is_an_input_counts_once_and_needs_no_dimension(self):
        proto = model(
            [node("Add", ["x", "b"], ["y"])], [value("x", [4]), value("b", ["n"])], [value("y", [4])], [weight("b", 4)]
        )
        assert ops(load(proto)) == [("Add", [16, 16], [16])]

    def test_a_repeated_input_is_one_tensor(self):
        graph = load(model([node("Mul", ["x", "x"], ["y"])], [value("x", [4])], [value("y")]))
        assert graph.inputs.to_lists() == [[0]]

    def test_missing_optional_inputs_and_outputs_are_skipped(self):
        proto = model(
            [
                node("Clip", ["x", "", "top"], ["c"]),
                node("LSTM", ["c", "w", "r"], ["", "last"], hidden_size=2),
            ],
            [value("x", [7, 1, 3])],
            [value("last")],
            [weight("top"), weight("w", 1, 8, 3), weight("r", 1, 8, 2)],
        )
        assert ops(load(proto)) == [("Clip", [84, 4], [84]), ("LSTM", [84, 96, 64], [8])]

    def test_unread_outputs_are_activations(self):
        proto = model(
            [node("Split", ["x"], ["a", "b"], axis=0), node("Relu", ["a"], ["y"])], [value("x", [4])], [value("y")]
        )
        assert ops(load(proto))[0] == ("Split", [16], [8, 8])

    def test_sparse_initializers_weigh_values_and_indices(self):
        proto = model([node("Add", ["x", "s"], ["y"])], [value("x", [100])], [value("y")])
        proto.graph.sparse_initializer.append(
            helper.make_sparse_tensor(weight("s", 3), weight("", 3, dtype=INT64), [100])
        )
        assert ops(load(proto)) == [("Add", [400, 3 * 4 + 3 * 8], [400])]

    def test_constants_are_persistent(self):
        proto = model(
            [
                node("Constant", [], ["c"], value=helper.make_tensor("", FLOAT, [3], [1, 2, 3])),
                node("Add", ["x", "c"], ["y"]),
            ],
            [value("x", [3])],
            [value("y")],
        )
        for fold in (True, False):
            graph = load(proto, fold_constants=fold)
            assert ops(graph) == [("Add", [12, 12], [12])]
            assert graph.producer.tolist() == [-1, -1, 0]

    def test_an_unknown_op_keeps_its_domain_and_is_opaque(self):
        graph = load(model([node("Magic", ["x"], ["y"], domain="wand")], [value("x", [3])], [value("y")]))
        assert graph.op_types == ("wand.Magic",)
        assert graph.meta["source"]["opaque_ops"] == graph.meta["source"]["unknown_shapes"] == 1

    @pytest.mark.parametrize("domain", ["", "ai.onnx"])
    def test_the_default_domain_has_no_prefix(self, domain):
        graph = load(model([node("Relu", ["x"], ["y"], domain=domain)], [value("x", [3])], [value("y", [3])]))
        assert graph.op_types == ("Relu",)


class TestSizes:
    @pytest.mark.parametrize(
        ("dtype", "dims", "size"),
        [
            (TensorProto.FLOAT, [2, 3], 24),
            (TensorProto.BOOL, [5], 5),
            (TensorProto.BFLOAT16, [5], 10),
            (TensorProto.DOUBLE, [], 8),
            (TensorProto.INT4, [3], 2),
            (TensorProto.UINT4, [4], 2),
            (TensorProto.INT2, [5], 2),
            (TensorProto.FLOAT4E2M1, [3], 2),
            (TensorProto.FLOAT8E5M2, [3], 3),
            (TensorProto.STRING, [3], 48),
            (TensorProto.COMPLEX128, [2], 32),
            (TensorProto.FLOAT, [7, 0], 0),
        ],
    )
    def test_bytes_by_type(self, dtype, dims, size):
        proto = model([node("Magic", ["x", "w"], ["y"], domain="d")], [value("x", dims, dtype)], [value("y", [1])])
        proto.graph.initializer.append(weight("w", *dims, dtype=dtype))
        assert ops(load(proto)) == [("d.Magic", [size, size], [4])]

    def test_every_type_has_a_size(self):
        assert set(TensorProto.DataType.keys()) - {"UNDEFINED"} <= set(BITS)

    def test_data_are_neither_needed_nor_read(self, tmp_path):
        # an external file outside the folder is named and must not matter
        proto = model([node("Add", ["x", "w"], ["y"])], [value("x", [4])], [value("y")], [weight("w", 4)])
        proto.graph.initializer[0].data_location = TensorProto.EXTERNAL
        proto.graph.initializer[0].external_data.add(key="location", value="../../secret")
        path = tmp_path / "external.onnx"
        path.write_bytes(proto.SerializeToString())
        assert ops(load(path)) == [("Add", [16, 16], [16])]

    def test_a_size_beyond_the_format_is_refused(self):
        proto = model([node("Relu", ["x"], ["y"])], [value("x", [2**31, 2**31])], [value("y")])
        with pytest.raises(
            ValueError, match=r"value 'x': a size must stay below 2\^53 bytes, not 18446744073709551616"
        ):
            load(proto)

    def test_a_stored_tensor_without_a_size_is_refused(self):
        proto = model([node("Add", ["x", "w"], ["y"])], [value("x", [4])], [value("y")], [weight("w", 4, -1)])
        with pytest.raises(ValueError, match=r"stored tensor 'w': type FLOAT, shape \[4, -1\] has no size"):
            load(proto)


class TestDynamicDimensions:
    def test_named_and_default(self):
        for options in ({"dimensions": {"batch": 4}}, {"default_dimension": 4}):
            assert ops(load(attention_free_mlp(), **options))[0] == ("MatMul", [48, 60], [80])
        graph = load(attention_free_mlp(), dimensions={"batch": 4}, default_dimension=9)
        assert ops(graph)[0] == ("MatMul", [48, 60], [80])

    def test_a_default_binds_one_name_to_one_size_everywhere(self):
        proto = model(
            [node("Magic", ["x"], ["h"], domain="d"), node("Relu", ["h"], ["y"])],
            [value("x", ["n", 2])],
            [value("y")],
        )
        proto.graph.value_info.append(value("h", ["n", "n"]))
        assert ops(load(proto, dimensions={"n": 3})) == [("d.Magic", [24], [36]), ("Relu", [36], [36])]
        assert load(proto, default_dimension=3).meta["source"]["unknown_shapes"] == 0

    def test_an_unbound_name_is_named_with_the_option(self):
        with pytest.raises(ValueError, match=r"input 'x': dimension 0 'batch' is dynamic; pass dimensions=.*'batch'"):
            load(attention_free_mlp())

    def test_a_nameless_dimension_needs_the_default(self):
        proto = model([node("Relu", ["x"], ["y"])], [value("x", [2, None])], [value("y")])
        with pytest.raises(ValueError, match="dimension 1 '' is dynamic; pass default_dimension"):
            load(proto, dimensions={})
        assert ops(load(proto, default_dimension=5)) == [("Relu", [40], [40])]

    def test_a_name_the_model_lacks_is_refused(self):
        with pytest.raises(ValueError, match=r"dimensions name 'bacth', but the dynamic dimensions .* are: 'batch'"):
            load(attention_free_mlp(), dimensions={"bacth": 2}, default_dimension=1)

    @pytest.mark.parametrize("size", [-1, 1.5, True, 2**53, "2"])
    def test_a_size_is_a_whole_number(self, size):
        with pytest.raises(ValueError, match="must be an integer from 0"):
            load(attention_free_mlp(), dimensions={"batch": size})

    def test_an_input_without_a_shape_is_refused(self):
        with pytest.raises(ValueError, match="input 'x' has no shape"):
            load(model([node("Relu", ["x"], ["y"])], [value("x")], [value("y")]))

    def test_shapes_computed_from_shapes_are_followed(self):
        # x(2,6) -> Shape -> Gather(0) -> Concat(.., -1) -> Reshape(x): all static once the batch is bound
        proto = model(
            [
                node("Shape", ["x"], ["s"]),
                node("Gather", ["s", "zero"], ["n"]),
                node("Concat", ["n", "rest"], ["target"], axis=0),
                node("Reshape", ["x", "target"], ["r"]),
                node("Relu", ["r"], ["y"]),
            ],
            [value("x", ["n", 2, 3])],
            [value("y")],
            [vector("zero", 0), vector("rest", -1)],
        )
        graph = load(proto, dimensions={"n": 2})
        assert ops(graph) == [("Relu", [48], [48])]
        assert (graph.meta["source"]["folded_ops"], graph.meta["source"]["unknown_shapes"]) == (3, 0)

    def test_shapes_that_are_known_in_part_are_followed_unless_there_is_a_long_vector(self):
        #  x(2,3) -> NonZero -> (2, ?) -> Shape -> Gather(0) -> Concat(.., -1) -> target;  x, target -> Reshape -> r
        proto = model(
            [
                node("NonZero", ["x"], ["where"]),
                node("Shape", ["where"], ["s"]),
                node("Gather", ["s", "zero"], ["n"]),
                node("Concat", ["n", "rest"], ["target"], axis=0),
                node("Reshape", ["x", "target"], ["r"]),
                node("Concat", ["r", "r"], ["y"], axis=0),
                node("Add", ["long", "long"], ["z"]),
            ],
            [value("x", [2, 3]), value("long", [2**18])],
            [value("y"), value("z")],
            [vector("zero", 0), vector("rest", -1)],
        )
        known = load(proto)
        assert ops(known)[4] == ("Concat", [24, 8 * 2], [48])
        proto.graph.input[1].type.tensor_type.shape.dim[0].dim_value += 1  # would become as many objects
        blind = load(proto)
        assert ops(blind)[4][2] == [24]
        assert blind.meta["source"]["unknown_shapes"] == known.meta["source"]["unknown_shapes"] + 1

    def test_unknown_shapes_fall_back_and_are_counted(self):
        # NonZero's length depends on the data: [1, ?] int64
        proto = model(
            [node("NonZero", ["x"], ["where"]), node("Magic", ["where", "w"], ["y"], domain="d")],
            [value("x", [10])],
            [value("y")],
            [weight("w", 100)],
        )
        graph = load(proto)
        assert ops(graph) == [("NonZero", [40], [40]), ("d.Magic", [40, 400], [40])]
        assert graph.meta["source"]["unknown_shapes"] == 2
        graph = load(proto, default_dimension=3)
        assert ops(graph) == [("NonZero", [40], [24]), ("d.Magic", [24, 400], [24])]
        assert graph.meta["source"]["unknown_shapes"] == 2


class TestViews:
    def test_readers_of_a_view_read_its_storage(self):
        # x -> Relu -> h -> Flatten -> f -> Unsqueeze -> u -> Neg -> y;  h is stored once
        nodes = [
            node("Relu", ["x"], ["h"]),
            node("Flatten", ["h"], ["f"]),
            node("Unsqueeze", ["f", "axis"], ["u"]),
            node("Neg", ["u"], ["y"]),
            node("Identity", ["f"], ["z"]),
        ]
        proto = model(nodes, [value("x", [2, 3, 1])], [value("y"), value("z")], [vector("axis", 0)])
        graph = load(proto)
        assert graph.op_types == ("Relu", "Neg")
        assert graph.inputs.to_lists() == [[0], [1]]
        assert graph.is_output.tolist() == [False, True, True]
        assert graph.meta["source"]["contracted_views"] == 3
        assert load(proto, contract_views=False).op_types == ("Relu", "Flatten", "Unsqueeze", "Neg", "Identity")

    def test_a_view_of_a_weight_is_the_weight(self):
        proto = model(
            [node("Reshape", ["w", "s"], ["v"]), node("Add", ["x", "v"], ["a"]), node("Mul", ["a", "w"], ["y"])],
            [value("x", [4])],
            [value("y")],
            [weight("w", 4), vector("s", -1)],
        )
        graph = load(proto)
        assert ops(graph) == [("Add", [16, 16], [16]), ("Mul", [16, 16], [16])]
        assert graph.inputs.to_lists()[0][1] == graph.inputs.to_lists()[1][1]

    def test_a_shape_computed_at_run_time_is_read_with_the_view(self):
        #  x -> Neg -> h -----> Reshape -> r -> Relu -> y
        #  n -> Abs -> target --^
        proto = model(
            [
                node("Abs", ["n"], ["target"]),
                node("Neg", ["x"], ["h"]),
                node("Reshape", ["h", "target"], ["r"]),
                node("Identity", ["r"], ["i"]),
                node("Relu", ["i"], ["y"]),
            ],
            [value("x", [6]), value("n", [2], INT64)],
            [value("y", [2, 3])],
        )
        graph = load(proto)
        assert ops(graph) == [("Abs", [16], [16]), ("Neg", [24], [24]), ("Relu", [24, 16], [24])]

    @pytest.mark.parametrize(
        ("opset", "inputs", "attributes", "contracted"),
        [
            (6, ["h"], {"is_test": 1}, True),
            (6, ["h"], {}, False),
            (9, ["h"], {}, True),
            (13, ["h"], {}, True),
            (13, ["h", "", "no"], {}, True),
            (13, ["h", "", "yes"], {}, False),
            (13, ["h", "", "asked"], {}, False),
        ],
    )
    def test_dropout_is_a_view_at_inference(self, opset, inputs, attributes, contracted):
        proto = model(
            [node("Relu", ["x"], ["h"]), node("Dropout", inputs, ["d"], **attributes), node("Neg", ["d"], ["y"])],
            [value("x", [4]), value("asked", [], TensorProto.BOOL)],
            [value("y")],
            [helper.make_tensor(name, TensorProto.BOOL, [], [flag]) for name, flag in (("no", False), ("yes", True))],
            opset=opset,
        )
        assert ("Dropout" not in load(proto).op_types) is contracted

    def test_dropout_whose_mask_is_read_stays(self):
        proto = model(
            [node("Dropout", ["x"], ["y", "mask"])],
            [value("x", [4])],
            [value("y"), value("mask", None, TensorProto.BOOL)],
        )
        assert ops(load(proto)) == [("Dropout", [16], [16, 4])]


class TestFolding:
    def proto(self, op="ConstantOfShape", inputs=("s",), **attributes):
        return model(
            [node(op, list(inputs), ["w"], **attributes), node("MatMul", ["x", "w"], ["y"])],
            [value("x", [2, 3])],
            [value("y", [2, 5])],
            [vector("s", 3, 5)],
        )

    def test_ops_of_constants_become_weights(self):
        graph = load(self.proto())
        assert ops(graph) == [("MatMul", [24, 60], [40])]
        assert persistent_bytes(graph) == 84
        assert graph.meta["source"]["folded_ops"] == 1

    def test_or_stay_ops(self):
        assert ops(load(self.proto(), fold_constants=False)) == [
            ("ConstantOfShape", [16], [60]),
            ("MatMul", [24, 60], [40]),
        ]

    def test_random_ops_are_never_folded(self):
        graph = load(self.proto("RandomNormal", (), shape=[3, 5]))
        assert graph.op_types == ("RandomNormal", "MatMul")

    def test_quantized_weights_stay_small(self):
        proto = model(
            [node("DequantizeLinear", ["q", "scale"], ["w"]), node("Add", ["x", "w"], ["y"])],
            [value("x", [8])],
            [value("y")],
            [weight("q", 8, dtype=TensorProto.INT8), weight("scale")],
        )
        assert ops(load(proto))[0] == ("DequantizeLinear", [8, 4], [32])

    def test_the_shape_of_a_value_is_a_constant(self):
        proto = model([node("Shape", ["x"], ["s"]), node("Neg", ["s"], ["y"])], [value("x", [2, 3])], [value("y")])
        assert load(proto).num_ops == 0
        assert load(proto, fold_constants=False).op_types == ("Shape", "Neg")


class TestBodies:
    def branch(self, name, op, outer, extra=()):
        return helper.make_graph([node(op, list(outer), [f"{name}_out"])], name, [], [value(f"{name}_out", [4])], extra)

    def test_if_reads_what_its_branches_read(self):
        #  x -> Relu -> h        then: h + w (w stored in the branch)      else: -g
        #  x -> Neg  -> g        If(cond) reads cond, h, g and the branch's weight
        then = self.branch("then", "Add", ["h", "w"], [weight("w", 4)])
        other = self.branch("else", "Neg", ["g"])
        proto = model(
            [
                node("Relu", ["x"], ["h"]),
                node("Neg", ["x"], ["g"]),
                node("If", ["cond"], ["y"], then_branch=then, else_branch=other),
            ],
            [value("x", [4]), value("cond", [], TensorProto.BOOL)],
            [value("y", [4])],
        )
        graph = load(proto)
        assert ops(graph)[2] == ("If", [1, 16, 16, 16], [16])
        assert graph.predecessors.to_lists()[2] == [0, 1]
        assert graph.meta["source"]["opaque_ops"] == 1

    def test_loop_reads_outer_values_but_not_its_own(self):
        body = helper.make_graph(
            [node("Add", ["state", "step"], ["next"]), node("Identity", ["going"], ["still"])],
            "body",
            [value("i", [], INT64), value("going", [], TensorProto.BOOL), value("state", [4])],
            [value("still", [], TensorProto.BOOL), value("next", [4])],
        )
        proto = model(
            [node("Relu", ["x"], ["step"]), node("Loop", ["trips", "", "x"], ["y"], body=body)],
            [value("x", [4]), value("trips", [], INT64)],
            [value("y", [4])],
        )
        assert ops(load(proto)) == [("Relu", [16], [16]), ("Loop", [8, 16, 16], [16])]

    def test_a_body_inside_a_body(self):
        inner = self.branch("inner", "Neg", ["h"])
        outer = helper.make_graph(
            [node("If", ["cond"], ["o"], then_branch=inner, else_branch=self.branch("b", "Abs", ["h"]))],
            "outer",
            [],
            [value("o", [4])],
        )
        proto = model(
            [
                node("If", ["cond"], ["y"], then_branch=outer, else_branch=self.branch("c", "Abs", ["x"])),
                node("Relu", ["x"], ["h"]),
            ],
            [value("x", [4]), value("cond", [], TensorProto.BOOL)],
            [value("y", [4])],
        )
        graph = load(proto)
        assert graph.op_types == ("Relu", "If")
        assert graph.predecessors.to_lists() == [[], [0]]

    def test_a_branch_whose_condition_is_not_known_is_not_folded(self):
        then, other = (self.branch(name, "Abs", ["w"]) for name in ("t", "e"))
        proto = model(
            [node("RandomNormal", [], ["noise"], shape=[1]), node("Cast", ["noise"], ["cond"], to=TensorProto.BOOL),
             node("If", ["cond"], ["y"], then_branch=then, else_branch=other)],
            [],
            [value("y", [4])],
            [weight("w", 4)],
        )  # fmt: skip
        assert load(proto).op_types == ("RandomNormal", "Cast", "If")


class TestBranchesTaken:
    """An If whose condition follows from constants and shapes gives way to one of its branches."""

    def proto(self, condition, then, other, opset=17):
        """x(2,3) -> Relu -> h;  If(rank or size of h says so) reads h -> y."""
        nodes = [node("Relu", ["x"], ["h"]), *condition, node("If", ["c"], ["y"], then_branch=then, else_branch=other)]
        stored = [vector("two", 2), vector("six", 6)]
        return model(nodes, [value("x", [2, 3])], [value("y")], stored, opset=opset)

    def body(self, *nodes, stored=()):
        nodes = nodes or (() if stored else (node("Tanh", ["h"], ["out"]),))
        return helper.make_graph(list(nodes), "body", [], [value("out", None)], list(stored))

    def size_is_six(self):
        return node("Size", ["h"], ["size"]), node("Equal", ["size", "six"], ["c"])

    @pytest.mark.parametrize(("size", "expected"), [(6, "Neg"), (7, "Abs")])
    def test_one_branch_is_left(self, size, expected):
        proto = self.proto(
            self.size_is_six(), self.body(node("Neg", ["h"], ["out"])), self.body(node("Abs", ["h"], ["out"]))
        )
        proto.graph.initializer[1].CopyFrom(vector("six", size))
        graph = load(proto)
        assert graph.op_types == ("Relu", expected)
        assert ops(graph)[1] == (expected, [24], [24])
        assert graph.is_output.tolist() == [False, False, True]
        assert graph.meta["source"]["opaque_ops"] == graph.meta["source"]["unknown_shapes"] == 0

    def test_the_ops_behind_the_condition_stay_where_nothing_is_folded(self):
        proto = self.proto(self.size_is_six(), self.body(node("Neg", ["h"], ["out"])), self.body())
        graph = load(proto, fold_constants=False, contract_views=False)
        assert graph.op_types == ("Relu", "Size", "Equal", "Neg", "Identity")

    def test_weights_and_names_of_the_branch_do_not_clash(self):
        # both branches, and the outer graph, have an "out" and a "w"
        branch = self.body(node("Add", ["h", "w"], ["t"]), node("Mul", ["t", "w"], ["out"]), stored=[weight("w", 3)])
        proto = self.proto(self.size_is_six(), branch, branch)
        proto.graph.node.insert(1, node("Exp", ["x"], ["out"]))
        proto.graph.node.insert(2, node("Add", ["out", "w"], ["t"]))
        proto.graph.initializer.append(weight("w", 2, 3))
        proto.graph.output.append(value("t"))
        assert ops(load(proto)) == [
            ("Relu", [24], [24]),
            ("Exp", [24], [24]),
            ("Add", [24, 24], [24]),
            ("Add", [24, 12], [24]),
            ("Mul", [24, 12], [24]),
        ]

    def test_a_branch_may_return_an_outer_value_or_a_weight(self):
        outer, stored = self.body(node("Neg", ["h"], ["unused"])), self.body(stored=[weight("out", 5)])
        outer.output[0].name = "h"
        graph = load(self.proto(self.size_is_six(), outer, stored))
        assert ops(graph) == [("Relu", [24], [24]), ("Neg", [24], [24])]
        assert graph.is_output.tolist() == [False, True, False]
        proto = self.proto(self.size_is_six(), stored, outer)
        proto.graph.node.append(node("Abs", ["y"], ["z"]))
        proto.graph.output[0].name = "z"
        assert ops(load(proto, fold_constants=False))[-1] == ("Abs", [20], [20])

    def test_branches_in_branches_are_taken_too(self):
        inner = node("If", ["c"], ["out"], then_branch=self.body(node("Neg", ["h"], ["out"])), else_branch=self.body())
        middle = self.body(node("Exp", ["h"], ["e"]), inner)
        graph = load(self.proto(self.size_is_six(), middle, self.body()))
        assert graph.op_types == ("Relu", "Exp", "Neg")

    def test_a_loop_in_a_branch_reads_the_renamed_values(self):
        loop = helper.make_graph(
            [node("Add", ["state", "e"], ["next"]), node("Identity", ["going"], ["still"])],
            "body",
            [value("i", [], INT64), value("going", [], TensorProto.BOOL), value("state", [2, 3])],
            [value("still", [], TensorProto.BOOL), value("next", [2, 3])],
        )
        branch = self.body(node("Exp", ["h"], ["e"]), node("Loop", ["two", "", "h"], ["out"], body=loop))
        graph = load(self.proto(self.size_is_six(), branch, self.body()))
        assert ops(graph) == [("Relu", [24], [24]), ("Exp", [24], [24]), ("Loop", [8, 24, 24], [24])]

    def test_a_shape_that_depends_on_the_branch_is_known(self):
        #  then: h reshaped to (6,), else: h as it is;  y doubled along axis 0
        proto = self.proto(
            self.size_is_six(),
            self.body(node("Reshape", ["h", "six"], ["out"])),
            self.body(node("Neg", ["h"], ["out"])),
        )
        proto.graph.node.append(node("Concat", ["y", "y"], ["z"], axis=0))
        proto.graph.output[0].name = "z"
        graph = load(proto)
        assert ops(graph) == [("Relu", [24], [24]), ("Concat", [24], [48])]
        assert graph.meta["source"]["unknown_shapes"] == 0


class TestFunctions:
    def function(self, name, nodes, opset=17):
        opsets = [helper.make_opsetid("", opset), helper.make_opsetid("my", 1)]
        return helper.make_function("my", name, ["a"], ["b"], nodes, opsets)

    def proto(self, *functions, calls=("f",)):
        names = ["x", *(f"h{i}" for i in range(1, len(calls))), "y"]
        nodes = [node(call, [names[i]], [names[i + 1]], domain="my") for i, call in enumerate(calls)]
        return model(nodes, [value("x", [4])], [value("y", [4])], functions=list(functions))

    def test_calls_are_inlined_through_several_levels(self):
        inner = self.function("g", [node("Neg", ["a"], ["b"])])
        outer = self.function("f", [node("Relu", ["a"], ["t"]), node("g", ["t"], ["b"], domain="my")])
        graph = load(self.proto(outer, inner, calls=("f", "g")))
        assert graph.op_types == ("Relu", "Neg", "Neg")
        assert graph.meta["source"]["unknown_shapes"] == graph.meta["source"]["opaque_ops"] == 0

    def test_a_function_for_another_opset_stays_one_op(self):
        graph = load(self.proto(self.function("f", [node("Relu", ["a"], ["b"])], opset=13)))
        assert ops(graph) == [("my.f", [16], [16])]
        assert graph.meta["source"]["opaque_ops"] == 1

    def test_recursion_is_refused(self):
        one = self.function("f", [node("g", ["a"], ["b"], domain="my")])
        two = self.function("g", [node("f", ["a"], ["b"], domain="my")])
        with pytest.raises(ValueError, match=r"function '[fg]' calls itself"):
            load(self.proto(one, two))

    @pytest.mark.parametrize("leaf_first", [True, False])
    def test_doubling_functions_are_refused_before_they_are_inlined(self, leaf_first):
        # f0 calls f1 twice, f1 calls f2 twice, ...: 2^40 nodes
        functions = [self.function("f40", [node("Neg", ["a"], ["b"])])]
        for i in range(40):
            calls = [node(f"f{i + 1}", [a], [b], domain="my") for a, b in (("a", "t"), ("t", "b"))]
            functions.append(self.function(f"f{i}", calls))
        with pytest.raises(ValueError, match="the model has 1099511627776 nodes once its functions are inlined"):
            load(self.proto(*(functions if leaf_first else functions[::-1]), calls=("f0",)))

    @pytest.mark.parametrize("leaf_first", [True, False])
    def test_deep_calls_are_refused(self, leaf_first):
        functions = [self.function("f500", [node("Neg", ["a"], ["b"])])]
        functions += [self.function(f"f{i}", [node(f"f{i + 1}", ["a"], ["b"], domain="my")]) for i in range(500)]
        with pytest.raises(ValueError, match="nest deeper than 64"):
            load(self.proto(*(functions if leaf_first else functions[::-1]), calls=("f0",)))


class TestOrder:
    def test_unsorted_nodes_are_sorted_stably_before_shapes_are_inferred(self):
        #  x -> Relu -> a -> Tile -> b -> Neg -> y, listed backwards around an independent Abs
        proto = model(
            [
                node("Neg", ["b"], ["y"]),
                node("Abs", ["x"], ["z"]),
                node("Tile", ["a", "twice"], ["b"]),
                node("Relu", ["x"], ["a"]),
            ],
            [value("x", [4])],
            [value("y"), value("z")],
            [vector("twice", 2)],
        )
        graph = load(proto)
        assert ops(graph) == [
            ("Abs", [16], [16]),
            ("Relu", [16], [16]),
            ("Tile", [16, 8], [32]),
            ("Neg", [32], [32]),
        ]
        assert graph.meta["source"]["unknown_shapes"] == 0

    @pytest.mark.parametrize(
        ("nodes", "rule"),
        [
            ([("Add", "xb", "a"), ("Relu", "a", "b"), ("Neg", "b", "y")], "the graph has a cycle"),
            ([("Add", "xy", "y")], "the graph has a cycle"),
            ([("Relu", "x", "y"), ("Neg", "x", "y")], "op 1 '': the value 'y' has another source already"),
            ([("Relu", "x", "x"), ("Neg", "x", "y")], "op 0 '': the value 'x' has another source already"),
            ([("Add", "xq", "y")], "op 0 '': nothing produces its input 'q'"),
            ([("Neg", "x", "a")], "nothing produces the output 'y'"),
        ],
    )
    def test_broken_wiring_is_refused(self, nodes, rule):
        proto = model([node(type_, list(i), list(o)) for type_, i, o in nodes], [value("x", [4])], [value("y", [4])])
        with pytest.raises(ValueError, match=rule):
            load(proto)

    def test_two_initializers_of_one_name_are_refused(self):
        proto = model([], [], [], [weight("w", 1), weight("w", 2)])
        with pytest.raises(ValueError, match="two initializers"):
            load(proto)


class TestRuntime:
    def cost(self, type_, inputs, output, **attributes):
        return flops(node(type_, ["i"] * len(inputs), ["o"], **attributes), inputs, output)

    def test_formulas(self):
        assert self.cost("Conv", [(1, 3, 8, 8), (16, 3, 3, 3)], (1, 16, 6, 6)) == 2 * 16 * 36 * 27
        assert self.cost("Conv", [(1, 8, 8, 8), (8, 1, 3, 3)], (1, 8, 6, 6), group=8) == 2 * 8 * 36 * 9
        assert self.cost("ConvTranspose", [(1, 3, 4, 4), (3, 5, 2, 2)], (1, 5, 8, 8)) == 2 * 48 * 20
        assert self.cost("Gemm", [(2, 3), (3, 5)], (2, 5)) == 60
        assert self.cost("Gemm", [(3, 2), (3, 5)], (2, 5), transA=1) == 60
        assert self.cost("MatMul", [(7, 2, 3), (7, 3, 5)], (7, 2, 5)) == 7 * 60
        assert self.cost("LSTM", [(7, 2, 3), (1, 16, 3), (1, 16, 4)], (7, 1, 2, 4)) == 2 * 14 * 16 * 7
        assert self.cost("Einsum", [(2, 3), (3, 5)], (2, 5), equation="ij, jk -> ik") == 60
        assert self.cost("Attention", [(1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 6)], (1, 2, 3, 6)) == 2 * 30 * 10
        packed = [(1, 3, 8), (1, 5, 8), (1, 5, 12)]
        assert self.cost("Attention", packed, (1, 3, 12), q_num_heads=2, kv_num_heads=2) == 2 * 30 * 10
        past = [*packed, None, (1, 2, 10, 4), (1, 2, 10, 6)]  # 10 earlier tokens beside the 5
        assert self.cost("Attention", past, (1, 3, 12), q_num_heads=2, kv_num_heads=2) == 2 * 90 * 10
        assert self.cost("DeformConv", [(1, 3, 8, 8), (16, 3, 3, 3)], (1, 16, 6, 6)) == 2 * 16 * 36 * 27
        assert self.cost("CausalConvWithState", [(2, 4, 8), (4, 1, 3)], (2, 4, 8)) == 2 * 64 * 3

    def test_attention_by_its_other_names(self):
        flex = node("FlexAttention", ["q", "k", "v"], ["y"], domain="ai.onnx.preview")
        assert flops(flex, [(1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 6)], (1, 2, 3, 6)) == 2 * 30 * 10
        # 7 tokens; 4 query heads over 2 states of 3 x 5: 4 queries, 2 outer products, and 2 corrections
        packed, heads = [(1, 7, 12), (1, 7, 6), (1, 7, 10)], {"q_num_heads": 4, "kv_num_heads": 2}
        assert self.cost("LinearAttention", packed, (1, 7, 20), update_rule="linear", **heads) == 2 * 7 * 6 * 15
        assert self.cost("LinearAttention", packed, (1, 7, 20), **heads) == 2 * 7 * 8 * 15

    @pytest.mark.parametrize(
        ("type_", "inputs", "attributes"),
        [
            ("Relu", [(4,)], {}),
            ("MatMul", [None, (3, 5)], {}),
            ("Conv", [(1, 3, 8, 8)], {}),
            ("Einsum", [(2, 3)], {"equation": "...i->i"}),
            ("Einsum", [(2, 3)], {"equation": "ij,jk->ik"}),
            ("Attention", [(1, 3, 8), (1, 5, 8), (1, 5, 12)], {}),
            ("LinearAttention", [(1, 3, 8), (1, 3, 8), (1, 3, 8)], {}),
        ],
    )
    def test_anything_else_counts_nothing(self, type_, inputs, attributes):
        assert self.cost(type_, inputs, (2, 5), **attributes) == 0

    def test_an_unknown_output_counts_nothing(self):
        assert self.cost("MatMul", [(2, 3), (3, 5)], None) == 0
        assert flops(node("MatMul", ["a", "b"], ["c"], domain="other"), [(2, 3), (3, 5)], (2, 5)) == 0

    def test_a_lookup_reads_its_rows_not_its_table(self):
        rates = Rates(flops=1.0, bandwidth=1.0, overhead=0.0)
        proto = model(
            [node("Gather", ["table", "ids"], ["y"])],
            [value("ids", [2], INT64)],
            [value("y", [2, 8])],
            [weight("table", 1000, 8)],
        )
        assert load(proto, rates=rates).runtime.tolist() == [64 + 16 + 64]

    def test_shape_without_dimensions_has_no_size(self):
        assert Shape("FLOAT").num_bytes is None
        assert Shape("", (2,)).num_bytes is None


@pytest.mark.parametrize("path", LIGHT, ids=lambda path: path.stem)
@pytest.mark.parametrize("whole", [True, False])
class TestShippedModels:
    def test_program_order_on_one_device_is_valid(self, path, whole):
        graph = load(path, contract_views=whole, fold_constants=whole)
        assert graph.num_ops > 0
        assert not graph.is_output.all()
        schedule = np.stack([np.arange(graph.num_ops), np.full(graph.num_ops, RUN)], 1)
        check_plan(Plan(graph, Cluster.uniform(1), np.zeros(graph.num_ops, np.int32), schedule))

    def test_persistent_bytes_are_those_of_the_initializers(self, path, whole):
        proto = onnx.load(path)
        stored = {each.name: each for each in proto.graph.initializer}
        size = {name: int(np.prod(each.dims)) * {1: 4, 7: 8}[each.data_type] for name, each in stored.items()}
        for each in proto.graph.input:
            dims = [dim.dim_value for dim in each.type.tensor_type.shape.dim]
            size.setdefault(each.name, int(np.prod(dims)) * 4)
        graph = load(path, contract_views=whole, fold_constants=whole)
        read = {name for each in proto.graph.node for name in each.input}
        if whole:  # the fillers' shapes are folded away, what they fill stays
            shape_of = {name: onnx.numpy_helper.to_array(each) for name, each in stored.items()}
            for each in proto.graph.node:
                if each.op_type == "ConstantOfShape":
                    read.remove(each.input[0])
                    size[each.output[0]] = int(np.prod(shape_of[each.input[0]])) * 4
                if each.op_type == "Reshape":
                    read.discard(each.input[1])
        assert persistent_bytes(graph) == sum(size[name] for name in read if name in size)


def test_all_nine_shipped_models_are_there():
    assert len(LIGHT) == 9


def test_flops_are_those_the_literature_counts():
    # ResNet-50 at 224 x 224: 4.1e9 multiply-adds (He et al., 2016, table 1: 3.8e9); VGG-19: 19.6e9 (ibid., figure 3)
    figures = {path.stem: load(path).meta["source"]["flops"] for path in LIGHT}
    assert figures["light_resnet50"] == pytest.approx(2 * 4.1e9, rel=0.01)
    assert figures["light_vgg19"] == pytest.approx(2 * 19.6e9, rel=0.01)


def test_fillers_are_ops_unless_they_are_folded():
    path = next(path for path in LIGHT if "densenet121" in path.stem)
    raw = load(path, contract_views=False, fold_constants=False)
    assert (raw.num_ops, raw.num_tensors, int(raw.tensor_bytes.sum())) == (1746, 2595, 354013112)
    graph = load(path)
    assert (graph.num_ops, graph.meta["source"]["folded_ops"], graph.meta["source"]["contracted_views"]) == (
        668,
        836,
        242,
    )


class TestBrokenFiles:
    def write(self, tmp_path, data):
        path = tmp_path / "m.onnx"
        path.write_bytes(data)
        return path

    def outcome(self, tmp_path, data):
        """None where the bytes are read, else the message of the ``ValueError``."""
        try:
            load(self.write(tmp_path, data), default_dimension=2)
        except ValueError as error:
            return str(error)
        return None

    @pytest.mark.parametrize("data", [b"", b"\x08\x07", b"hello, world", b"\xff" * 40, b"\x1f\x8b\x08broken"])
    def test_what_is_no_model_is_refused(self, tmp_path, data):
        with pytest.raises(ValueError, match=r"m\.onnx: "):
            load(self.write(tmp_path, data))

    def test_every_truncation_is_refused_or_read(self, tmp_path):
        data = attention_free_mlp().SerializeToString()
        messages = [self.outcome(tmp_path, data[:length]) for length in range(len(data))]
        assert sum(message is not None for message in messages) >= len(data) - 20  # the graph ends where opsets begin
        assert not any("\n" in message for message in messages if message)

    def test_a_missing_file_is_refused(self, tmp_path):
        with pytest.raises(ValueError, match="No such file"):
            load(tmp_path / "none.onnx")

    def test_a_long_file_is_refused_before_it_is_parsed(self, tmp_path, monkeypatch):
        monkeypatch.setattr(onnx_model, "MAX_FILE", 100)
        with pytest.raises(ValueError, match="more than 100 bytes"):
            load(self.write(tmp_path, b"\xff" * 101))

    def test_too_many_nodes_are_refused(self, monkeypatch):
        monkeypatch.setattr(onnx_model, "MAX_NODES", 2)
        with pytest.raises(ValueError, match="the model has 3 nodes, more than 2"):
            load(attention_free_mlp(), default_dimension=1)

    def test_text_that_is_not_utf8_is_refused(self, tmp_path):
        data = attention_free_mlp().SerializeToString().replace(b"Relu", b"Re\xffu")
        with pytest.raises(ValueError, match="is not UTF-8 text"):
            load(self.write(tmp_path, data), default_dimension=1)

    def test_what_shape_inference_refuses(self):
        proto = attention_free_mlp()
        del proto.opset_import[:]
        with pytest.raises(ValueError, match=r"^model: shape inference failed: .*No opset import"):
            load(proto, default_dimension=1)

    def test_other_sources_are_refused(self):
        with pytest.raises(ValueError, match="a path or a ModelProto, not int"):
            load(3)

    def test_mutated_bytes_give_a_graph_or_a_value_error(self, tmp_path):
        then, other = (helper.make_graph([node(op, ["h"], [op])], op, [], [value(op, [4])]) for op in ("Neg", "Abs"))
        proto = model(
            [
                node("Reshape", ["x", "s"], ["h"]),
                node("Conv", ["image", "k"], ["c"], strides=[1, 1]),
                node("If", ["cond"], ["y"], then_branch=then, else_branch=other),
            ],
            [value("x", [2, "n"]), value("cond", [], TensorProto.BOOL), value("image", [1, 3, 8, 8])],
            [value("y", [4]), value("c")],
            [vector("s", -1), weight("k", 4, 3, 3, 3)],
        )
        data = proto.SerializeToString()
        rng, messages = random.Random(0), []
        for _ in range(2000):
            mutant = bytearray(data)
            for _ in range(rng.choice((1, 1, 2, 4))):
                place = rng.randrange(len(mutant))
                if rng.random() < 0.8:
                    mutant[place] = rng.randrange(256)
                elif rng.random() < 0.5:
                    mutant[place:place] = rng.randbytes(rng.randrange(1, 5))
                else:
                    del mutant[place : place + rng.randrange(1, 5)]
            messages.append(self.outcome(tmp_path, bytes(mutant)))
        assert not any("\n" in message for message in messages if message)
        assert 100 < messages.count(None) < 1900
        assert len({message.split(": ")[1][:20] for message in messages if message}) > 5
