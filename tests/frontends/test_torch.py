import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

import regal  # noqa: E402
from regal.cluster import Cluster  # noqa: E402
from regal.frontends.roofline import Rates  # noqa: E402
from regal.frontends.torch import trace, trace_modes  # noqa: E402
from regal.graph import read_graph, write_graph  # noqa: E402
from regal.plan import RUN, Plan, check_plan  # noqa: E402


class Function(nn.Module):
    """A module of one linear layer around ``function(module, inputs)``."""

    def __init__(self, function, features=4):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.function = function

    def forward(self, *args, **kwargs):
        return self.function(self, *args, **kwargs)


def mlp():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


def cnn():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3),
        nn.BatchNorm2d(8),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Dropout(0.1),
        nn.Flatten(),
        nn.Linear(72, 5),
    )


def encoder_layer():
    return nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)


CASES = {"mlp": (mlp, (3, 4)), "cnn": (cnn, (4, 3, 8, 8)), "encoder layer": (encoder_layer, (2, 5, 16))}


def case(name):
    build, shape = CASES[name]
    torch.manual_seed(0)
    return build(), torch.randn(shape)


def program_order(graph):
    """The plan that runs every op on one device in program order."""
    schedule = np.stack([np.arange(graph.num_ops), np.full(graph.num_ops, RUN)], axis=1)
    plan = Plan(graph, Cluster.uniform(1), np.zeros(graph.num_ops, np.int32), schedule)
    check_plan(plan)
    return plan


def table(graph):
    """``{op: (type, bytes read, bytes written)}``; small graphs where sizes tell tensors apart."""
    size = graph.tensor_bytes
    rows = zip(graph.op_names, graph.op_types, graph.inputs, graph.outputs, strict=True)
    return {name: (type_, size[inputs].tolist(), size[outputs].tolist()) for name, type_, inputs, outputs in rows}


def output_bytes(graph):
    return sorted(graph.tensor_bytes[graph.is_output].tolist())


def persistent_bytes(graph):
    return sorted(graph.tensor_bytes[graph.producer < 0].tolist())


# By hand


def test_mlp_inference_by_hand():
    """x (48), w1 (128), b1 (32) -> addmm (96) -> relu (96) -> addmm with w2 (64), b2 (8) -> result (24)."""
    graph = trace(mlp(), torch.ones(3, 4))
    assert table(graph) == {
        "addmm": ("aten.addmm.default", [32, 48, 128], [96]),
        "relu": ("aten.relu.default", [96], [96]),
        "addmm_1": ("aten.addmm.default", [8, 96, 64], [24]),
    }
    assert persistent_bytes(graph) == [8, 32, 48, 64, 128]
    assert output_bytes(graph) == [24]
    assert graph.workspace.tolist() == [0, 0, 0]
    assert graph.name == "Sequential"


def test_mlp_training_by_hand():
    """The loss is the sum of the result; its gradient is one 4-byte storage that every reader sees expanded."""
    graph = trace(mlp(), torch.ones(3, 4), training=True, name="step")
    assert table(graph) == {
        "addmm": ("aten.addmm.default", [32, 48, 128], [96]),
        "relu": ("aten.relu.default", [96], [96]),
        "addmm_1": ("aten.addmm.default", [8, 96, 64], [24]),
        "sum_1": ("aten.sum.default", [24], [4]),
        "ones_like": ("aten.ones_like.default", [4], [4]),
        "mm": ("aten.mm.default", [4, 64], [96]),
        "mm_1": ("aten.mm.default", [4, 96], [64]),
        "sum_2": ("aten.sum.dim_IntList", [4], [8]),
        "threshold_backward": ("aten.threshold_backward.default", [96, 96], [96]),
        "mm_2": ("aten.mm.default", [96, 48], [128]),
        "sum_3": ("aten.sum.dim_IntList", [96], [32]),
    }
    assert output_bytes(graph) == [4, 8, 24, 32, 64, 128]  # loss, b2, result, b1, w2, w1
    assert graph.name == "step"


def test_returned_values_can_be_let_go_in_training():
    kept = trace(mlp(), torch.ones(3, 4), training=True)
    freed = trace(mlp(), torch.ones(3, 4), training=True, keep_outputs=False)
    assert output_bytes(freed) == [4, 8, 32, 64, 128]
    assert freed.op_types == kept.op_types


def test_runtime_is_the_roofline_of_every_op():
    rates = Rates(flops=1e3, bandwidth=1e4, overhead=0.5)
    graph = trace(mlp(), torch.ones(3, 4), rates=rates)
    expected = [
        rates.runtime(2 * 3 * 4 * 8, 32 + 48 + 128 + 96),
        rates.runtime(0, 96 + 96),
        rates.runtime(2 * 3 * 8 * 2, 8 + 96 + 64 + 24),
    ]
    assert graph.runtime.tolist() == expected
    assert expected[0] == 0.5 + 0.192  # bound by arithmetic
    assert expected[1] == 0.5 + 0.0192  # bound by memory
    assert graph.meta["source"] == {
        "framework": "torch",
        "version": torch.__version__,
        "mode": "inference",
        "flops": 192 + 96,
        "rates": {"flops": 1e3, "bandwidth": 1e4, "overhead": 0.5},
    }


# As a file and against PyTorch itself (live bytes: test_torch_fidelity.py)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_graphs_are_valid_json_files_and_plain(name, training, tmp_path):
    model, inputs = case(name)
    graph = trace(model, inputs, training=training)
    program_order(graph)
    write_graph(graph, tmp_path / "graph.json.gz")
    again = read_graph(tmp_path / "graph.json.gz")
    assert again.sha256 == graph.sha256
    assert again.meta == graph.meta
    assert graph.meta["source"]["mode"] == ("training" if training else "inference")
    assert not any("getitem" in type_ or ".view." in type_ or ".t." in type_ for type_ in graph.op_types)


def test_real_gradients_have_the_bytes_of_the_outputs():
    model, inputs = case("encoder layer")
    graph = trace(model, inputs, training=True)
    expected = [parameter.nbytes for parameter in model.parameters()] + [4, inputs.nbytes]
    assert output_bytes(graph) == sorted(expected)


# Storages


def test_views_are_contracted_onto_their_storage():
    """linear (48) -> t, reshape, slice, detach -> sin reads the linear's storage and writes 8 bytes."""

    def function(module, x):
        return torch.sin(module.linear(x).t().reshape(2, 6)[:1, :2].detach().squeeze(0))

    assert list(table(trace(Function(function), torch.ones(3, 4))).values()) == [
        ("aten.addmm.default", [16, 48, 64], [48]),
        ("aten.clone.default", [48], [48]),  # the reshape of a transposed matrix copies
        ("aten.sin.default", [48], [8]),
    ]


def test_an_expanded_view_weighs_what_its_storage_does():
    graph = trace(lambda x: (x + 1).expand(1000, 4) * 2.0, torch.ones(1, 4))
    assert [row[1:] for row in table(graph).values()] == [([16], [16]), ([16], [16000])]


def test_an_input_weighs_what_its_storage_does():
    rows = torch.zeros(100, 4)
    assert persistent_bytes(trace(lambda x: x.sin(), rows[:2])) == [1600]
    assert persistent_bytes(trace(lambda x: x.sin(), torch.zeros(1, 4).expand(100, 4))) == [16]


def test_inputs_that_share_a_storage_are_one_tensor():
    rows = torch.zeros(6, 4)
    graph = trace(lambda x, y: x @ y.t(), (rows[:2], rows[2:]))
    assert list(table(graph).values()) == [("aten.mm.default", [96], [32])]


def test_results_that_are_views_of_one_storage_are_one_output():
    def function(module, x):
        y = module.linear(x)
        return {"rows": y, "columns": y.t(), "first": [y[0], y]}

    graph = trace(Function(function), torch.ones(3, 4))
    assert graph.op_types == ("aten.addmm.default",)
    assert output_bytes(graph) == [48]


@pytest.mark.parametrize("training", [False, True])
def test_returned_parameters_and_inputs_are_no_outputs(training):
    graph = trace(Function(lambda m, x: (m.linear(x), x, m.linear.weight.t())), torch.ones(3, 4), training=training)
    assert not graph.is_output[graph.producer < 0].any()
    assert output_bytes(graph) == ([4, 16, 48, 64] if training else [48])


@pytest.mark.parametrize("training", [False, True])
def test_constants_that_a_callable_holds_are_persistent_and_their_views_no_ops(training):
    """x (48) and weight (64), read through its transpose and a slice of it."""
    weight = torch.ones(4, 4)
    x = torch.ones(3, 4, requires_grad=True)
    graph = trace(lambda x: x @ weight.t() @ weight + weight[0], x, training=training)
    assert persistent_bytes(graph) == [48, 64]
    assert graph.op_types[:3] == ("aten.mm.default", "aten.mm.default", "aten.add.Tensor")
    assert list(table(graph).values())[2] == ("aten.add.Tensor", [48, 64], [48])


def test_a_model_of_views_has_no_ops():
    graph = trace(lambda x: x.reshape(2, 6).t(), torch.ones(3, 4))
    assert (graph.num_ops, graph.num_tensors, graph.is_output.tolist()) == (0, 1, [False])


def test_one_op_with_several_outputs_has_a_tensor_for_each():
    """layer_norm keeps mean and rstd for its gradient; in inference nobody reads them, and they stay its outputs."""
    norm = nn.LayerNorm(4)
    inference, training = (trace(norm, torch.ones(3, 4), training=mode) for mode in (False, True))
    assert table(inference) == {"native_layer_norm": ("aten.native_layer_norm.default", [48, 16, 16], [48, 12, 12])}
    assert inference.is_output[inference.outputs[0]].tolist() == [True, False, False]
    backward = table(training)["native_layer_norm_backward"]
    assert backward == ("aten.native_layer_norm_backward.default", [4, 48, 12, 12, 16, 16], [16, 16])


def test_chunks_and_splits_are_views_of_one_storage():
    def function(module, x):
        left, right = module.linear(x).chunk(2, dim=1)
        top, bottom = right.split([1, 2])
        return left.sin(), top.cos(), bottom.exp()

    graph = trace(Function(function), torch.ones(3, 4))
    hidden = int(graph.outputs[0][0])
    assert [op.tolist() for op in graph.inputs][1:] == [[hidden]] * 3
    assert graph.tensor_bytes[[int(op[0]) for op in graph.outputs]].tolist() == [48, 24, 8, 16]


def test_an_op_that_reads_a_storage_twice_lists_it_once():
    graph = trace(lambda x: (lambda y: y * y.t())(x.sin()), torch.ones(4, 4))
    assert [op.tolist() for op in graph.inputs] == [[0], [1]]


# Modes and workspace


def test_several_modes_are_those_that_single_calls_give():
    model, inputs = case("cnn")
    graphs = trace_modes(model, inputs, ("training", "step-adam", "inference"), name="cnn")
    assert list(graphs) == ["training", "step-adam", "inference"]
    assert graphs["inference"].sha256 == trace(model, inputs).sha256
    assert graphs["training"].sha256 == trace(model, inputs, training=True).sha256
    assert graphs["step-adam"].sha256 == trace(model, inputs, training=True, optimizer="adam").sha256
    assert [graph.meta["source"]["mode"] for graph in graphs.values()] == ["training", "step", "inference"]
    assert {graph.name for graph in graphs.values()} == {"cnn"}


def test_training_is_recorded_once_for_all_modes():
    calls = []
    model = Function(lambda m, x: (calls.append(1), m.linear(x))[1])
    trace(model, torch.ones(3, 4), training=True)
    once = len(calls)
    trace_modes(model, torch.ones(3, 4), ("training", "step-sgd", "step-adamw"))
    assert len(calls) == 2 * once


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"optimizer": "adam"}, "optimizer 'adam' needs gradients: trace with training=True"),
        ({"optimizer": "lion", "training": True}, "optimizer must be one of sgd, momentum, adam, adamw, not 'lion'"),
        ({"data_dependent": "no"}, "data_dependent must be one of refuse, assume-false, not 'no'"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ValueError, match=r"optimizer|data_dependent") as caught:
        trace(mlp(), torch.ones(3, 4), **options)
    assert message in str(caught.value)


def test_an_unknown_mode_is_refused():
    with pytest.raises(ValueError, match=r"mode must be one of inference, training, step-sgd, .*, not 'step'"):
        trace_modes(mlp(), torch.ones(3, 4), ("step",))


def test_workspace_is_asked_for_every_op():
    def workspace(target, args, kwargs, output):
        return 2 * output.nbytes if target is torch.ops.aten.addmm.default else 0

    graph = trace(mlp(), torch.ones(3, 4), workspace=workspace)
    assert graph.workspace.tolist() == [192, 0, 48]


# Size and determinism

FRESH = """
import json, resource, sys
import torch
from torch import nn
from regal.frontends.torch import trace

torch.manual_seed(5)
encoder = trace(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), torch.ones(2, 5, 16), training=True)
with torch.device("meta"):
    model = nn.Sequential(*[nn.Linear(30000, 30000) for _ in range(8)])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
graphs = [trace(model, torch.ones(2, 30000), training=training) for training in (False, True)]
json.dump({
    "sha256": encoder.sha256,
    "parameters": sum(parameter.numel() for parameter in model.parameters()),
    "persistent": [int(graph.tensor_bytes[graph.producer < 0].sum()) for graph in graphs],
    "outputs": [int(graph.tensor_bytes[graph.is_output].sum()) for graph in graphs],
    "grown": 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before),
}, sys.stdout)
"""


def test_a_fresh_process_agrees_and_seven_billion_parameters_take_no_memory():
    root = str(Path(regal.__file__).parents[1])
    run = subprocess.run([sys.executable, "-c", FRESH], cwd=root, capture_output=True, text=True, check=True)
    found = json.loads(run.stdout)
    model, inputs = case("encoder layer")
    assert found["sha256"] == trace(model, inputs, training=True).sha256
    weights = 8 * (30000 * 30000 + 30000) * 4
    batch = 2 * 30000 * 4
    assert found["parameters"] >= 7_000_000_000
    assert found["persistent"] == [weights + batch, weights + batch]
    assert found["outputs"] == [batch, 4 + batch + weights]
    assert found["grown"] < 1.5 * 2**30


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_tracing_twice_gives_the_same_graph(name, training):
    model, inputs = case(name)
    first, second = (trace(model, inputs + shift, training=training) for shift in (0, 1))
    assert first.sha256 == second.sha256
