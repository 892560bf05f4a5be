import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from regal.frontends.roofline import Rates  # noqa: E402
from regal.frontends.torch import trace  # noqa: E402

OPTIMIZERS = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, foreach=False),
    "momentum": lambda parameters: torch.optim.SGD(parameters, momentum=0.9, foreach=False),
    "adam": lambda parameters: torch.optim.Adam(parameters, foreach=False),
    "adamw": lambda parameters: torch.optim.AdamW(parameters, foreach=False),
}


def mlp():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


def step(model, optimizer, **options):
    return trace(model, torch.ones(3, 4), training=True, optimizer=optimizer, **options)


class Linear(nn.Module):
    """``x @ weight`` alone: one parameter of 64 bytes."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4, 4))

    def forward(self, x):
        return x @ self.weight


class Recorded(TorchDispatchMode):
    """Ops that an optimizer runs, with the size of what they write, but for the counter of its steps."""

    def __init__(self):
        super().__init__()
        self.ops = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor) and result.dim():
            self.ops.append((str(func), result.nbytes))
        return result


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_ops_are_those_that_torch_optim_runs(name):
    model = mlp()
    graph = step(model, name)
    optimizer = OPTIMIZERS[name](model.parameters())
    model(torch.ones(3, 4)).sum().backward()
    optimizer.step()
    with Recorded() as recorded:
        optimizer.step()
    start = trace(model, torch.ones(3, 4), training=True).num_ops
    updates = range(start, graph.num_ops)
    sizes = graph.tensor_bytes
    found = [(graph.op_types[op], int(sizes[graph.inputs[op][0]])) for op in updates]
    assert found == recorded.ops


def test_sgd_by_hand():
    """Readers of the weight come first, then the update, on their device; the gradient is no output.

    x, weight ──> mm ╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╮
    sum, ones ──> mm_1 (gradient) ──> add_ (weight)
    """
    graph = step(Linear(), "sgd", name="tiny")
    *_, mm, update = sorted(range(graph.num_ops), key=lambda op: (graph.op_names[op].startswith(("mm", "weight")), op))
    forward = graph.op_names.index("mm")
    assert graph.op_types[update] == "aten.add_.Tensor"
    assert graph.op_names[update] == "weight.update_0"
    weight = next(t for t in graph.inputs[forward] if graph.tensor_bytes[t] == 64)
    gradient = int(graph.outputs[mm][0])
    assert set(graph.inputs[update].tolist()) == {int(weight), gradient}
    assert len(graph.outputs[update]) == 0
    assert graph.control_inputs[update].tolist() == [forward]
    assert [op for op in range(graph.num_ops) if graph.colocation[op] >= 0] == [forward, update]
    assert graph.colocation[forward] == graph.colocation[update]
    assert not graph.is_output[gradient]
    assert sorted(graph.tensor_bytes[graph.is_output].tolist()) == [4, 48]  # loss, result
    assert graph.meta["source"]["mode"] == "step"
    assert graph.meta["source"]["optimizer"] == "sgd"


def test_adam_by_hand():
    """Mean m and square v are persistent; root and scaled root are temporaries; writes are ordered.

    lerp_ m          mul_ v ╌> addcmul_ v ╌> sqrt ──> div ──> add_ ╌╮
      ╰╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌> addcdiv_ <╌╌╌╌╌╌╌╌╯
    """
    graph = step(Linear(), "adam")
    ops = [op for op in range(graph.num_ops) if graph.op_names[op].startswith("weight.")]
    short = [graph.op_types[op].split(".")[1] for op in ops]
    assert short == ["lerp_", "mul_", "addcmul_", "sqrt", "div", "add_", "addcdiv_"]
    waits = {
        short[at]: [short[ops.index(other)] for other in graph.control_inputs[op] if other in ops]
        for at, op in enumerate(ops)
    }
    assert waits == {
        "lerp_": [],
        "mul_": [],
        "addcmul_": ["mul_"],
        "sqrt": ["addcmul_"],
        "div": [],
        "add_": [],
        "addcdiv_": ["lerp_", "add_"],
    }
    assert [len(graph.outputs[op]) for op in ops] == [0, 0, 0, 1, 1, 0, 0]
    assert sorted(graph.tensor_bytes[graph.producer < 0].tolist()) == [48, 64, 64, 64]
    forward = graph.op_names.index("mm")
    assert forward in graph.control_inputs[ops[-1]]
    assert len({int(graph.colocation[op]) for op in (*ops, forward)}) == 1


def test_parameters_that_an_op_reads_together_share_a_device():
    """addmm reads weight and bias: both updates are where it is; the other layer is free to be elsewhere."""
    graph = step(mlp(), "momentum")
    groups = {}
    for name, group in zip(graph.op_names, graph.colocation.tolist(), strict=True):
        groups.setdefault(group, set()).add(name)
    free = groups.pop(-1)
    assert "relu" in free
    first, second = groups.values()
    assert {"addmm", "0.weight.update_0", "0.bias.update_2"} <= first
    assert {"addmm_1", "mm", "2.weight.update_0", "2.bias.update_2"} <= second


def test_state_is_persistent_and_weighs_as_much_as_the_parameters():
    model = mlp()
    weights = sum(parameter.nbytes for parameter in model.parameters())
    base = trace(model, torch.ones(3, 4), training=True)
    for name, states in (("sgd", 0), ("momentum", 1), ("adam", 2), ("adamw", 2)):
        graph = step(model, name)
        more = graph.tensor_bytes[graph.producer < 0].sum() - base.tensor_bytes[base.producer < 0].sum()
        assert more == states * weights
        assert sorted(graph.tensor_bytes[graph.is_output].tolist()) == [4, 24]


def test_runtimes_are_the_bytes_that_the_ops_move():
    rates = Rates(flops=1.0, bandwidth=1.0, overhead=0.0)
    graph = step(Linear(), "adam", rates=rates)
    runtime = dict(zip(graph.op_names, graph.runtime.tolist(), strict=True))
    moved = [runtime[f"weight.update_{number}"] / 64 for number in range(7)]
    assert moved == [3, 2, 3, 2, 2, 2, 4]


def test_tied_weights_are_updated_once_and_unused_ones_never():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.other, self.unused = (nn.Linear(4, 4, bias=False) for _ in range(3))
            self.other.weight = self.one.weight

        def forward(self, x):
            return self.other(self.one(x))

    graph = step(Tied(), "sgd")
    assert [name for name in graph.op_names if "update" in name] == ["one.weight.update_0"]
    assert len(graph.control_inputs[graph.num_ops - 1]) == 3  # twice forward, once backward


def test_parameters_of_one_storage_are_updated_one_after_the_other():
    model = Linear()
    model.other = nn.Parameter(model.weight.detach().t())
    model.forward = lambda x: x @ model.weight @ model.other
    graph = step(model, "sgd")
    first, second = graph.num_ops - 2, graph.num_ops - 1
    assert first in graph.control_inputs[second]
    assert sorted(graph.tensor_bytes[graph.producer < 0].tolist()) == [48, 64]


def test_frozen_parameters_stay_and_gradients_of_inputs_are_outputs():
    model = mlp()
    model[0].requires_grad_(False)
    graph = trace(model, torch.ones(3, 4, requires_grad=True), training=True, optimizer="sgd")
    assert {name.rpartition(".")[0] for name in graph.op_names if "update" in name} == {"2.weight", "2.bias"}
    assert sorted(graph.tensor_bytes[graph.is_output].tolist()) == [4, 24, 48]


def test_nothing_to_update_is_an_error():
    with pytest.raises(ValueError, match="no parameter of the model gets a gradient: there is nothing to update"):
        trace(lambda x: x.sin(), torch.ones(3, requires_grad=True), training=True, optimizer="sgd")
