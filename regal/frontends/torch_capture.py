"""A PyTorch model as one functional graph of ATen ops, recorded on fake tensors: nothing is computed or allocated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, cast

import torch
from torch._functorch.aot_autograd import aot_export_module
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from regal.frontends.torch_guards import TraceError, one_line_errors, quiet

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
    """

    module: torch.fx.GraphModule
    sources: dict[str, torch.Tensor]


def capture(
    model: Callable[..., Any],
    example_inputs: Any,
    *,
    loss: Loss | None = None,
    training: bool = False,
    keep_outputs: bool = True,
) -> Program:
    """Record one step of ``model``; see :func:`regal.frontends.torch.trace` for the arguments.

    Raises
    ------
    TraceError
        When the model cannot be traced; chained from the original error.
    """
    args, kwargs = _arguments(example_inputs)
    leaves, structure = pytree.tree_flatten((args, kwargs))
    module = model if isinstance(model, torch.nn.Module) else None
    names = [name for name, _ in _state(module)]
    places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    sources = (*(tensor for _, tensor in _state(module)), *(leaves[place] for place in places))

    def call(tensors: Tensors) -> Any:
        """Run the model with its state and inputs replaced by ``tensors``."""
        filled = list(leaves)
        for place, tensor in zip(places, tensors[len(names) :], strict=True):
            filled[place] = tensor
        args, kwargs = pytree.tree_unflatten(filled, structure)
        with _SkipIdleDropout():
            if module is None:
                return model(*args, **kwargs)
            state = dict(zip(names, tensors, strict=False))
            return torch.func.functional_call(module, state, args, kwargs, tie_weights=True)

    step: Callable[[Tensors], list[torch.Tensor]]
    if training:
        step = _training_step(call, [source.requires_grad for source in sources], loss, keep_outputs)
    else:
        step = _inference_step(call)
    with one_line_errors(model, training), quiet(), _training_mode(module, training):
        graph_module, inputs = (_aot if training else _export)(_Step(step), _fakes(sources))
    graph_module.graph.eliminate_dead_code()
    return Program(graph_module, dict(zip(inputs, sources, strict=True)))


class _Step(torch.nn.Module):
    """A module without state around a function of tensors, as the tracers want it."""

    def __init__(self, step: Callable[[Tensors], list[torch.Tensor]]) -> None:
        super().__init__()
        self.step = step

    def forward(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        return self.step(tensors)


def _inference_step(call: Callable[[Tensors], Any]) -> Callable[[Tensors], list[torch.Tensor]]:
    def step(tensors: Tensors) -> list[torch.Tensor]:
        returned = list(tensors_in(call(tensors)))
        if not returned:
            raise TraceError("the model returns no tensor: return what it computes")
        return returned

    return step


def _training_step(
    call: Callable[[Tensors], Any], wanted: list[bool], loss: Loss | None, keep_outputs: bool
) -> Callable[[Tensors], list[torch.Tensor]]:
    def step(tensors: Tensors) -> list[torch.Tensor]:
        with torch.enable_grad():
            tensors = tuple(t.detach().requires_grad_(w) for t, w in zip(tensors, wanted, strict=True))
            output = call(tensors)
            value = _scalar(default_loss(output) if loss is None else loss(output))
            parameters = [tensor for tensor in tensors if tensor.requires_grad]
            gradients = torch.autograd.grad(value, parameters, allow_unused=True)
        returned = [value, *(tensors_in(output) if keep_outputs else ())]
        return [tensor.detach() for tensor in returned] + [grad for grad in gradients if grad is not None]

    return step


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


def _export(step: _Step, fakes: Tensors) -> tuple[torch.fx.GraphModule, list[str]]:
    with torch.no_grad():
        exported = torch.export.export(step, fakes, strict=False)
        exported = exported.run_decompositions(_composite_decompositions())
    return cast(torch.fx.GraphModule, exported.graph_module), [
        str(name) for name in exported.graph_signature.user_inputs
    ]


def _composite_decompositions() -> dict[Any, Callable[..., Any]]:
    """Of the decompositions of torch.export only those that eager execution takes as well (``linear`` -> ``addmm``)."""
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    table = torch.export.default_decompositions().items()
    return {op: rule for op, rule in table if has_kernel(op.name(), "CompositeImplicitAutograd")}


def _aot(step: _Step, fakes: Tensors) -> tuple[torch.fx.GraphModule, list[str]]:
    graph_module, signature = aot_export_module(step, fakes, trace_joint=False)
    return cast(torch.fx.GraphModule, graph_module), list(signature.user_inputs)


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
