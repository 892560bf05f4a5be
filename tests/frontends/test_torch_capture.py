from dataclasses import dataclass

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

from regal.cluster import Cluster  # noqa: E402
from regal.cost.reference import start_memory  # noqa: E402
from regal.frontends.torch import trace  # noqa: E402
from regal.frontends.torch_capture import capture  # noqa: E402
from regal.plan import Plan  # noqa: E402


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


def output_bytes(graph):
    return sorted(graph.tensor_bytes[graph.is_output].tolist())


def persistent_bytes(graph):
    return sorted(graph.tensor_bytes[graph.producer < 0].tolist())


def resident_bytes(graph):
    """Persistent bytes with at least one consumer, by the performance model."""
    return start_memory(Plan(graph, Cluster.uniform(1), [0] * graph.num_ops, []))[0]


def test_a_program_is_functional_and_names_what_it_reads():
    model, x = nn.BatchNorm1d(4), torch.ones(3, 4)
    program = capture(model, x, training=True)
    placeholders = [node for node in program.module.graph.nodes if node.op == "placeholder"]
    state = [*model.parameters(), *model.buffers(), x]
    assert [program.sources[node.name] is tensor for node, tensor in zip(placeholders, state, strict=True)] == [
        True
    ] * 6
    calls = [node.target for node in program.module.graph.nodes if node.op == "call_function"]
    assert not any(target._schema.is_mutable for target in calls if hasattr(target, "_schema"))
    assert all("FakeTensor" in type(node.meta["val"]).__name__ for node in placeholders)


def test_an_idle_dropout_makes_no_copy():
    graph = trace(nn.Sequential(nn.Dropout(0.5), nn.Linear(4, 4), nn.Dropout2d(0.5)), torch.ones(3, 4))
    assert graph.op_types == ("aten.addmm.default",)
    graph = trace(nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.0)), torch.ones(3, 4), training=True)
    assert not {"aten.clone.default", "aten.native_dropout.default"} & set(graph.op_types)
    graph = trace(nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1)), torch.ones(3, 4), training=True)
    assert "aten.native_dropout.default" in graph.op_types


# Parameters, buffers, modes


def controls(graph):
    """``{op: the ops that it waits for}`` by name, where there are some."""
    names = graph.op_names
    return {name: {names[op] for op in ops} for name, ops in zip(names, graph.control_inputs, strict=True) if len(ops)}


def groups(graph):
    """Sets of ops that share a device, by name."""
    found = {}
    for name, group in zip(graph.op_names, graph.colocation.tolist(), strict=True):
        if group >= 0:
            found.setdefault(group, set()).add(name)
    return list(found.values())


def test_batch_norm_statistics_are_updated_in_place():
    """The norm reads 2 x 16 bytes of statistics and writes them; it counts its calls in 8 bytes; nobody else looks."""
    model = nn.BatchNorm1d(4)
    training, inference = (trace(model, torch.ones(3, 4), training=mode) for mode in (True, False))
    assert output_bytes(training) == [4, 16, 16, 48]  # loss, 2 gradients, result
    assert output_bytes(inference) == [48]
    assert persistent_bytes(training) == [8, 16, 16, 16, 16, 48]
    sizes = {
        name: training.tensor_bytes[list(row)].tolist()
        for name, row in zip(training.op_names, training.outputs, strict=True)
    }
    assert sizes["_native_batch_norm_legit_functional"] == [48, 16, 16]  # result, mean, rstd
    assert sizes["add"] == []
    assert controls(training) == {}
    assert groups(training) == []


def test_what_the_model_writes_to_a_buffer_stays_there():
    """counter (16 bytes): read by sin; then add writes into it; then mul reads the new value.

    counter ──> sin ╌╌> add ╌╌> mul      all three on one device
    """

    def function(module, x):
        before = module.linear.counter.sin()
        module.linear.counter.add_(1)
        return module.linear(x) * module.linear.counter, before

    model = Function(function)
    model.linear.register_buffer("counter", torch.zeros(4))
    graph = trace(model, torch.ones(3, 4))
    assert output_bytes(graph) == [16, 48]
    assert graph.op_types == ("aten.sin.default", "aten.add.Tensor", "aten.addmm.default", "aten.mul.Tensor")
    assert [len(row) for row in graph.outputs] == [1, 0, 1, 1]
    assert controls(graph) == {"add": {"sin"}, "mul": {"add"}}
    assert groups(graph) == [{"sin", "add", "mul"}]
    assert model.linear.counter.tolist() == [0, 0, 0, 0]


def test_an_input_that_is_written_to_is_no_output():
    graph = trace(lambda x: x.add_(1).sin(), torch.ones(3, 4))
    assert output_bytes(graph) == [48]
    assert controls(graph) == {"sin": {"add"}}


def test_tied_weights_are_one_parameter_with_one_gradient():
    """Embedding and output layer share one matrix (10 x 4 x 4 bytes); its two gradients are added."""

    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(10, 4)
            self.head = nn.Linear(4, 10, bias=False)
            self.head.weight = self.embedding.weight

        def forward(self, tokens):
            return self.head(self.embedding(tokens))

    tokens = torch.zeros(3, dtype=torch.int64)
    graph = trace(Tied(), tokens, training=True)
    assert persistent_bytes(graph) == [24, 160]
    assert output_bytes(graph) == sorted([4, 120, 160])
    assert graph.op_types[-1] == "aten.add.Tensor"


def test_parameters_that_share_a_storage_without_being_tied_are_one_tensor():
    model = Function(lambda m, x: m.linear(x) @ m.other)
    model.other = nn.Parameter(model.linear.weight.detach().t())
    graph = trace(model, torch.ones(3, 4))
    assert persistent_bytes(graph) == [16, 48, 64]


def test_unused_and_frozen_parameters_have_no_gradient():
    model = Function(lambda m, x: m.linear(x))
    model.unused = nn.Linear(50, 50)
    graph = trace(model, torch.ones(3, 4), training=True)
    assert output_bytes(graph) == [4, 16, 48, 64]
    assert 10000 in persistent_bytes(graph)
    assert resident_bytes(graph) == 48 + 64 + 16  # who is not read costs nothing
    model.linear.bias.requires_grad_(False)
    assert output_bytes(trace(model, torch.ones(3, 4), training=True)) == [4, 48, 64]


def test_inputs_that_require_a_gradient_get_one():
    graph = trace(lambda x: x.sin(), torch.ones(3, 4, requires_grad=True), training=True)
    assert output_bytes(graph) == [4, 48, 48]


def test_the_mode_follows_the_argument_and_is_put_back():
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.BatchNorm1d(4))
    inference = trace(model, torch.ones(3, 4))
    assert model.training
    assert model[1].training
    assert "aten._native_batch_norm_legit_no_training.default" in inference.op_types
    training = trace(model.eval(), torch.ones(3, 4), training=True)
    assert not any(module.training for module in model.modules())
    assert "aten._native_batch_norm_legit_functional.default" in training.op_types


def test_a_frozen_batch_norm_stays_frozen_in_training():
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
    model[1].eval()
    graph = trace(model, torch.ones(3, 4), training=True)
    assert "aten._native_batch_norm_legit_functional.default" not in graph.op_types
    assert (model.training, model[1].training) == (True, False)


def test_the_model_is_left_alone():
    model = mlp()
    before = {key: value.clone() for key, value in model.state_dict().items()}
    trace(model, torch.ones(3, 4), training=True)
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())
    assert model(torch.ones(3, 4)).shape == (3, 2)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_layers_are_the_ops_of_every_step(kind):
    model = Function(lambda m, x: m.cell(x)[0])
    model.cell = kind(4, 4)
    inference, training = (trace(model, torch.ones(3, 2, 4), training=mode) for mode in (False, True))
    tanh = {nn.LSTM: 2, nn.GRU: 1, nn.RNN: 1}[kind]  # a step
    assert inference.op_types.count("aten.tanh.default") == 3 * tanh
    assert training.op_types.count("aten.tanh_backward.default") == 3 * tanh
    assert output_bytes(inference) == [3 * 2 * 4 * 4]


# Inputs and losses


def test_inputs_by_name_and_nested():
    def function(module, *, x, pair, scale, text=None):
        return module.linear(x) * scale + pair[0]["y"]

    inputs = {"x": torch.ones(3, 4), "pair": [{"y": torch.ones(4)}], "scale": 2.0, "text": "ignored"}
    graph = trace(Function(function), inputs)
    assert graph.op_types == ("aten.addmm.default", "aten.mul.Tensor", "aten.add.Tensor")
    assert persistent_bytes(graph) == [16, 16, 48, 64]
    assert trace(Function(lambda m, x, y: m.linear(x) + y), [torch.ones(3, 4), torch.ones(4)]).num_ops == 2


def test_a_loss_may_hold_labels_of_its_own():
    labels = torch.tensor([0, 1, 1])
    graph = trace(mlp(), torch.ones(3, 4), loss=lambda output: F.cross_entropy(output, labels), training=True)
    assert {"aten._log_softmax.default", "aten.nll_loss_forward.default"} <= set(graph.op_types)
    assert labels.nbytes in persistent_bytes(graph)
    assert output_bytes(graph) == [4, 8, 24, 32, 64, 128]


@dataclass
class Result:
    loss: torch.Tensor
    logits: torch.Tensor


@pytest.mark.parametrize("pack", [Result, lambda loss, logits: {"loss": loss, "logits": logits}])
def test_the_default_loss_is_the_one_that_the_model_returns(pack):
    def function(module, x):
        logits = module.linear(x)
        return pack(loss=logits.pow(2).mean(), logits=logits)

    graph = trace(Function(function), torch.ones(3, 4), training=True)
    assert "aten.mean.default" in graph.op_types
    assert "aten.sum.default" not in graph.op_types
    assert output_bytes(graph) == [4, 16, 48, 64]


def test_the_default_loss_sums_all_floating_results():
    graph = trace(Function(lambda m, x: (m.linear(x), x.long(), m.linear(x[:1]))), torch.ones(3, 4), training=True)
    assert graph.op_types.count("aten.sum.default") == 2
    assert output_bytes(graph) == [4, 16, 16, 48, 64, 96]


def test_what_checkpoint_computes_again_is_there_twice():
    from torch.utils.checkpoint import checkpoint

    def function(module, x):
        return checkpoint(lambda y: module.linear(y).sin().sin(), x, use_reentrant=False)

    kept, dropped = (
        trace(Function(f), torch.ones(3, 4), training=True) for f in (lambda m, x: m.linear(x).sin().sin(), function)
    )
    assert kept.op_types.count("aten.addmm.default") == 1
    assert dropped.op_types.count("aten.addmm.default") == 2
    assert dropped.op_types.count("aten.sin.default") == 2 + 1  # the last one is not needed again
    assert output_bytes(kept) == output_bytes(dropped)


def test_complex_numbers_weigh_two_floats():
    graph = trace(lambda x: torch.fft.rfft(x).abs(), torch.ones(3, 8))
    assert graph.tensor_bytes[graph.activations].tolist() == [3 * 5 * 8, 3 * 5 * 4]


def test_indices_and_masks_are_inputs_like_others():
    tokens, mask = torch.zeros(3, 5, dtype=torch.int64), torch.ones(3, 5, dtype=torch.bool)
    model = Function(lambda m, tokens, mask: (m.embedding(tokens) * mask.unsqueeze(-1)).sum(1))
    model.embedding = nn.Embedding(10, 4)
    graph = trace(model, (tokens, mask), training=True)
    assert persistent_bytes(graph) == [15, 16, 64, 120, 160]


def test_experts_in_batched_products_are_traced():
    """Each of 5 tokens is sent to 2 of 3 experts: a gather of 10 matrices, one batched product."""

    def function(module, x):
        weights, chosen = module.linear(x).softmax(-1).topk(2, dim=-1)
        token = x.repeat_interleave(2, dim=0).unsqueeze(1)
        result = torch.bmm(token, module.experts[chosen.flatten()]).view(5, 2, 4)
        return (result * weights.unsqueeze(-1)).sum(1)

    model = Function(function)
    model.experts = nn.Parameter(torch.ones(4, 4, 4))
    graph = trace(model, torch.ones(5, 4), training=True)
    assert "aten.bmm.default" in graph.op_types
    assert output_bytes(graph) == [4, 16, 64, 80, 256]


def test_a_model_on_the_meta_device_is_no_different_from_a_real_one():
    class Scaled(nn.Module):
        """A tensor that is neither parameter nor buffer; it is on the meta device, too."""

        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)
            self.scale = torch.ones(4)

        def forward(self, x):
            return self.linear(x) * self.scale

    with torch.device("meta"):
        meta = Scaled()
    for training in (False, True):
        graphs = [
            trace(Scaled(), torch.ones(3, 4), training=training),
            trace(meta, torch.ones(3, 4, device="meta"), training=training),
        ]
        assert graphs[0].sha256 == graphs[1].sha256
    assert meta.scale.is_meta


# What a model asks for


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize(
    ("function", "op"),
    [
        (lambda m, x: m.linear(x) if x.sum() > 0 else m.linear(x).sin(), "sin"),
        (lambda m, x: m.linear(x).cos() if torch.equal(x, x) else m.linear(x).sin(), "sin"),
        (lambda m, x: m.linear(x).cos() if torch.tensor(3) > 2 else m.linear(x), "cos"),  # a constant has its value
        (lambda m, x: (m.linear(x) * x.sum().item()).sin(), "sin"),
        (lambda m, x: (m.linear(x) * x.tolist()[2][3]).sin(), "sin"),
        (lambda m, x: m.linear(x)[: int(x.sum()) + 2].sin(), "sin"),
    ],
)
def test_unknown_values_can_be_assumed_false(function, op, training):
    graph = trace(Function(function), torch.ones(3, 4), training=training, data_dependent="assume-false")
    assert f"aten.{op}.default" in graph.op_types
    assert graph.op_types.count("aten.cos.default") == (op == "cos" or training)
    assert not torch.compiler.is_compiling()


def test_models_hear_that_they_are_compiled_only_where_values_are_assumed():
    model = Function(lambda m, x: m.linear(x).sin() if torch.compiler.is_compiling() else m.linear(x))
    for option, op in (("refuse", "addmm"), ("assume-false", "sin")):
        assert trace(model, torch.ones(3, 4), data_dependent=option).op_types[-1] == f"aten.{op}.default"


# Errors


def branch(module, x):
    return module.linear(x) if x.sum() > 0 else x


def write_saved(module, x):
    y = module.linear(x)
    x.add_(1)
    return y


VALUES = "depends on a tensor's values"


@pytest.mark.parametrize(
    ("model", "inputs", "training", "message"),
    [
        (Function(branch), torch.ones(3, 4), False, VALUES),
        (Function(branch), torch.ones(3, 4), True, VALUES),
        (Function(lambda m, x: m.linear(x)[x[:, 0] > 0]), torch.ones(3, 4), False, VALUES),
        (Function(lambda m, x: m.linear(x)[x[:, 0] > 0]), torch.ones(3, 4), True, VALUES),
        (Function(lambda m, x: m.linear(x) * x.sum().item()), torch.ones(3, 4), False, VALUES),
        (nn.Linear(5, 4), torch.ones(3, 4), False, "cannot trace Linear for inference: RuntimeError: "),
        (mlp(), (torch.ones(3, 4), 1, 2), True, "check that model(*example_inputs) runs"),
        (mlp(), {1, 2}, False, "example_inputs must be a tensor, a tuple or list of arguments, or a dict"),
        (mlp(), torch.ones(3, 4).to_sparse(), False, "only dense ones are traced"),
        (Function(write_saved), torch.ones(3, 4), True, "modified by an inplace operation"),
        (Function(lambda m, x: None), torch.ones(3, 4), False, "returns no tensor"),
        (Function(lambda m, x: x.long()), torch.ones(3, 4), True, "returns no floating-point tensor: give a loss"),
        (
            Function(lambda m, x: nn.functional.embedding(x.long(), m.linear.weight, sparse=True)),
            torch.ones(3),
            True,
            "sparse",
        ),
        (Function(lambda m, x: m.linear(x).to_sparse()), torch.ones(3, 4), False, "sparse"),
        (lambda x: x.sin(), torch.ones(3, 4), True, "depends on no parameter or input that requires a gradient"),
    ],
)
def test_a_failing_trace_says_what_to_do_in_one_line(model, inputs, training, message, capfd):
    with pytest.raises(ValueError, match=r"^[^\n]*$") as caught:
        trace(model, inputs, training=training)
    assert message in str(caught.value)
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (lambda output: output, "the loss must be a scalar, not of shape (3, 2): reduce it by sum or mean"),
        (lambda output: 3.0, "the loss must be a tensor, not float"),
        (lambda output: torch.ones(()), "depends on no parameter"),
        (lambda output: output.no_such_method(), "AttributeError"),
    ],
)
def test_a_wrong_loss_is_refused(loss, message):
    with pytest.raises(ValueError, match=r"^cannot trace Sequential for training: ") as caught:
        trace(mlp(), torch.ones(3, 4), loss=loss, training=True)
    assert message in str(caught.value)


def test_the_original_error_is_chained():
    with pytest.raises(ValueError, match="RuntimeError") as caught:
        trace(mlp(), torch.ones(3, 5))
    assert isinstance(caught.value.__cause__, RuntimeError)
