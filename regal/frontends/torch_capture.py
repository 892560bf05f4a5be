"""A PyTorch model as one functional graph of ATen ops, recorded on fake tensors: nothing is computed or allocated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, NamedTuple, cast

import torch
from torch._functorch.aot_autograd import aot_export_module
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from regal.frontends.torch_guards import REFUSE, TraceError, assumed_values, one_line_errors, quiet

Tensors = tuple[torch.Tensor, ...]
Loss = Callable[[Any], torch.Tensor]

DROPOUTS = {
    functional.dropout,
    functional.dropout1d,
    functional.dropout2d,
    functional.dropout3d,
    functional.alpha_dropout,
    functional.feature_alpha_dropout,
}


@dataclass(frozen=True)
class Program:
    """One step of a model.

    Attributes
    ----------
    module : torch.fx.GraphModule
        Functional: no op writes to its inputs. Every node holds its fake value in ``meta["val"]``.
    sources : dict
        Placeholder name -> the parameter, buffer or input that it stands for, as the caller has it.
    parameters : dict
        Placeholder name -> name of the model's parameter.
    gradients : dict
        Placeholder name -> the node that holds its gradient, for what requires one and influences the loss.
    mutations : dict
        Placeholder name -> the node that holds what the model writes into it.
    results : tuple of nodes
        The loss and what the model returns.
    """

    module: torch.fx.GraphModule
    sources: dict[str, torch.Tensor]
    parameters: dict[str, str]
    gradients: dict[str, torch.fx.Node]
    mutations: dict[str, torch.fx.Node]
    results: tuple[torch.fx.Node, ...]


def capture(
    model: Callable[..., Any],
    example_inputs: Any,
    *,
    loss: Loss | None = None,
    training: bool = False,
    keep_outputs: bool = True,
    data_dependent: str = REFUSE,
) -> Program:
    """Record one step of ``model``; see :func:`regal.frontends.torch.trace` for the arguments.

    Raises
    ------
    TraceError
        When the model cannot be traced; chained from the original error.
    """
    call = _Call(model, example_inputs, data_dependent)
    step = _TrainingStep(call, loss, keep_outputs) if training else _InferenceStep(call)
    with _tracing(call, training):
        recorded = _record(step, _fakes(call.sources))
        for node in recorded.module.graph.nodes:
            _check(node)
    recorded.module.graph.eliminate_dead_code()
    return _program(recorded, call, step.wanted)


def dry_run(
    model: Callable[..., Any], example_inputs: Any, *, training: bool = False, data_dependent: str = REFUSE
) -> Any:
    """What ``model`` returns, with tensors that have a size and a dtype but no data; nothing is computed.

    Raises
    ------
    TraceError
        When the model does not run on such inputs; chained from the original error.
    """
    call = _Call(model, example_inputs, data_dependent)
    with _tracing(call, training), FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
        return call(_fakes(call.sources))


class _Call:
    """A model as a function of its state and input tensors; ``sources`` are those that the caller has."""

    def __init__(self, model: Callable[..., Any], example_inputs: Any, data_dependent: str) -> None:
        self.model, self.data_dependent = model, data_dependent
        self.module = model if isinstance(model, torch.nn.Module) else None
        self.leaves, self.structure = pytree.tree_flatten(_arguments(example_inputs))
        self.places = [place for place, leaf in enumerate(self.leaves) if isinstance(leaf, torch.Tensor)]
        state = _state(self.module)
        self.names = [name for name, _ in state]
        self.sources = (*(tensor for _, tensor in state), *(self.leaves[place] for place in self.places))

    def __call__(self, tensors: Tensors) -> Any:
        filled = list(self.leaves)
        for place, tensor in zip(self.places, tensors[len(self.names) :], strict=True):
            filled[place] = tensor
        args, kwargs = pytree.tree_unflatten(filled, self.structure)
        with _SkipIdleDropout(), assumed_values(self.data_dependent):
            if self.module is None:
                return self.model(*args, **kwargs)
            state = dict(zip(self.names, tensors, strict=False))
            return torch.func.functional_call(self.module, state, args, kwargs, tie_weights=True)


@contextmanager
def _tracing(call: _Call, training: bool) -> Iterator[None]:
    """Errors of one line, silence, the model in the mode that is wanted, and LSTMs as the ops that they consist of.

    PyTorch's fused LSTM for CPUs cannot be recorded for training: its saved state appears with no size.
    """
    with ExitStack() as stack:
        stack.callback(torch._C._set_mkldnn_enabled, torch._C._get_mkldnn_enabled())
        torch._C._set_mkldnn_enabled(False)
        stack.enter_context(one_line_errors(call.model, training))
        stack.enter_context(quiet())
        stack.enter_context(_training_mode(call.module, training))
        stack.enter_context(_constants_with_data(call.module))
        yield


class _Recorded(NamedTuple):
    """What a tracer gives: names of placeholders, and for nodes that are returned first, whose new values they are."""

    module: torch.fx.GraphModule
    inputs: list[str]
    mutated: list[str]


def _program(recorded: _Recorded, call: _Call, with_gradient: list[int]) -> Program:
    """Say what each returned node is: new values of inputs come first, then results, then gradients."""
    inputs = recorded.inputs
    parameters = {name for name, _ in call.module.named_parameters()} if call.module is not None else set()
    returned = list(recorded.module.graph.output_node().args[0])  # type: ignore[arg-type]
    num_mutated, num_results = len(recorded.mutated), len(returned) - len(with_gradient)
    return Program(
        recorded.module,
        sources=dict(zip(inputs, call.sources, strict=True)),
        parameters={place: name for place, name in zip(inputs, call.names, strict=False) if name in parameters},
        gradients={inputs[at]: node for at, node in zip(with_gradient, returned[num_results:], strict=True)},
        mutations=dict(zip(recorded.mutated, returned[:num_mutated], strict=True)),
        results=tuple(node for node in returned[num_mutated:num_results] if isinstance(node, torch.fx.Node)),
    )


class _InferenceStep(torch.nn.Module):
    """A module without state around the model, as the tracers want it; returns the tensors of its result."""

    def __init__(self, call: _Call) -> None:
        super().__init__()
        self.call = call
        self.wanted: list[int] = []

    def forward(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        with torch.no_grad():
            returned = list(tensors_in(self.call(tensors)))
        if not returned:
            raise TraceError("the model returns no tensor: return what it computes")
        return returned


class _TrainingStep(torch.nn.Module):
    """The same with a loss and gradients; returns the loss, results, and the gradients of the tensors ``wanted``."""

    def __init__(self, call: _Call, loss: Loss | None, keep: bool) -> None:
        super().__init__()
        self.call, self.loss, self.keep = call, loss, keep
        self.requires_grad = [source.requires_grad for source in call.sources]
        self.wanted: list[int] = []

    def forward(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        with torch.enable_grad(), _saved_tensor_hooks():
            tensors = tuple(t.detach().requires_grad_(w) for t, w in zip(tensors, self.requires_grad, strict=True))
            output = self.call(tensors)
            value = _scalar(default_loss(output) if self.loss is None else self.loss(output))
            asked = [at for at, wanted in enumerate(self.requires_grad) if wanted]
            found = torch.autograd.grad(value, [tensors[at] for at in asked], allow_unused=True)
        gradients = {at: gradient for at, gradient in zip(asked, found, strict=True) if gradient is not None}
        self.wanted = list(gradients)
        returned = [value, *(tensors_in(output) if self.keep else ())]
        return [tensor.detach() for tensor in returned] + list(gradients.values())


@contextmanager
def _saved_tensor_hooks() -> Iterator[None]:
    """Let ``torch.utils.checkpoint`` drop and recompute as in eager execution; tracers put such hooks aside."""
    before = torch._C._autograd._saved_tensors_hooks_set_tracing(False)
    try:
        yield
    finally:
        torch._C._autograd._saved_tensors_hooks_set_tracing(before)


def default_loss(output: Any) -> torch.Tensor:
    """``output.loss`` or ``output["loss"]`` where there is one, else the sum of all floating elements returned."""
    found = output.get("loss") if isinstance(output, Mapping) else getattr(output, "loss", None)
    if isinstance(found, torch.Tensor):
        return found
    sums = [tensor.sum() for tensor in tensors_in(output) if tensor.is_floating_point()]
    if not sums:
        raise TraceError("the model returns no floating-point tensor: give a loss")
    total = sums[0]
    for value in sums[1:]:
        total = total + value
    return total


def _scalar(loss: Any) -> torch.Tensor:
    if not isinstance(loss, torch.Tensor):
        raise TraceError(f"the loss must be a tensor, not {type(loss).__name__}")
    if loss.numel() != 1:
        raise TraceError(f"the loss must be a scalar, not of shape {tuple(loss.shape)}: reduce it by sum or mean")
    if not loss.requires_grad:
        raise TraceError("the loss depends on no parameter or input that requires a gradient")
    return loss


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """Every tensor in nested tuples, lists, dicts, dataclasses and registered containers, in order."""
    for leaf in pytree.tree_leaves(value):
        if isinstance(leaf, torch.Tensor):
            yield leaf
        elif is_dataclass(leaf) and not isinstance(leaf, type):
            yield from tensors_in([getattr(leaf, field.name) for field in fields(leaf)])
        elif isinstance(leaf, Mapping):
            yield from tensors_in(list(leaf.values()))


def _record(step: torch.nn.Module, fakes: Tensors) -> _Recorded:
    graph_module, signature = aot_export_module(step, fakes, trace_joint=False)
    return _Recorded(
        cast(torch.fx.GraphModule, graph_module),
        list(signature.user_inputs),
        list(signature.user_inputs_to_mutate.values()),
    )


def _check(node: torch.fx.Node) -> None:
    """Values must be dense and their sizes numbers, and what an op does must show in its outputs."""
    if node.op != "call_function":
        return
    value, where = node.meta.get("val"), f"op {node.name!r} ({node.target}):"
    if any(tensor.layout != torch.strided for tensor in tensors_in(value)):
        raise TraceError(f"{where} its result is sparse: only dense tensors are traced")
    dynamic = isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool))
    if dynamic or any(not isinstance(t.untyped_storage().nbytes(), int) for t in tensors_in(value)):
        raise TraceError(f"{where} its result depends on a tensor's values: use fixed sizes")
    schema = getattr(node.target, "_schema", None)
    if schema is not None and schema.is_mutable:
        raise TraceError(f"{where} it writes to its inputs: use an op that returns its result")


def _arguments(example_inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(example_inputs, torch.Tensor):
        return (example_inputs,), {}
    if isinstance(example_inputs, (tuple, list)):
        return tuple(example_inputs), {}
    if isinstance(example_inputs, Mapping):
        return (), dict(example_inputs)
    found = type(example_inputs).__name__
    raise TraceError(f"example_inputs must be a tensor, a tuple or list of arguments, or a dict by name, not {found}")


def _state(module: torch.nn.Module | None) -> list[tuple[str, torch.Tensor]]:
    """Parameters, then buffers; what is shared between modules comes once."""
    return [] if module is None else [*module.named_parameters(), *module.named_buffers()]


def _fakes(sources: Tensors) -> Tensors:
    """Tensors without data, shaped like ``sources``; the meta device becomes the CPU."""
    for source in sources:
        if source.layout != torch.strided or source.is_quantized:
            raise TraceError(f"a tensor of layout {source.layout} and dtype {source.dtype}: only dense ones are traced")
    with FakeTensorMode(allow_non_fake_inputs=True):
        return tuple(
            torch.empty_strided(
                source.size(), source.stride(), dtype=source.dtype, device="cpu" if source.is_meta else source.device
            )
            for source in sources
        )


class _SkipIdleDropout(TorchFunctionMode):
    """A dropout that drops nothing returns its input, as eager execution does; the tracers would record a copy."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in DROPOUTS and (kwargs.get("p") == 0 or not kwargs.get("training", True)):
            return args[0]
        return func(*args, **kwargs)


@contextmanager
def _training_mode(module: torch.nn.Module | None, training: bool) -> Iterator[None]:
    """Switch the whole model to ``training`` unless it is there already; every submodule is put back afterwards."""
    if module is None or module.training == training:
        yield
        return
    before = {child: child.training for child in module.modules()}
    module.train(training)
    try:
        yield
    finally:
        for child, mode in before.items():
            child.training = mode


@contextmanager
def _constants_with_data(module: torch.nn.Module | None) -> Iterator[None]:
    """Meanwhile constants on the meta device, tensors that are neither parameters nor buffers, are zeros on the CPU."""
    found = [
        (child, name, value)
        for child in (module.modules() if module is not None else ())
        for name, value in vars(child).items()
        if isinstance(value, torch.Tensor) and value.is_meta
    ]
    for child, name, value in found:
        setattr(child, name, torch.zeros_like(value, device="cpu"))
    try:
        yield
    finally:
        for child, name, value in found:
            setattr(child, name, value)
