"""PyTorch models: an inference graph through torch.export, a forward and backward graph through AOTAutograd.

The graph holds ATen ops. A tensor of it is a storage: ops that only look into a storage in another way (views, slices,
expansions, detach, reshapes that do not copy) vanish, and whoever reads such a view reads the storage. Tracing works on
fake tensors: a model larger than the machine, built under ``torch.device("meta")``, is no different from a small one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from regal.frontends import torch_cost
from regal.frontends.roofline import Rates
from regal.frontends.torch_capture import Loss, Program, capture, tensors_in
from regal.frontends.torch_guards import TraceError, mode_name
from regal.graph import ComputationGraph, GraphBuilder

DEFAULT_RATES = Rates()


def trace(
    model: Callable[..., Any],
    example_inputs: Any,
    *,
    loss: Loss | None = None,
    training: bool = False,
    keep_outputs: bool = True,
    name: str | None = None,
    rates: Rates = DEFAULT_RATES,
) -> ComputationGraph:
    """Trace one inference or training step of a PyTorch model.

    Parameters, buffers, inputs and constants are persistent tensors, one per storage; weights that are tied are one.
    Outputs of the graph are: in inference what the model returns; in training the loss, what the model returns, and
    the gradient of every parameter (and input) that requires one and influences the loss; in both, the new values of
    buffers and inputs that the model updates in place, such as the running statistics of a batch norm. What is a view
    of a persistent tensor is no output, for it costs nothing. What ``torch.utils.checkpoint`` would compute again is
    recorded once: the graph keeps such activations.

    Parameters
    ----------
    model : torch.nn.Module or callable
        A module is traced in the mode that ``training`` says: where ``model.training`` differs, ``model.train`` or
        ``model.eval`` is applied meanwhile. Tensors that a callable closes over are constants without a gradient.
    example_inputs : tensor, tuple or list of positional arguments, or dict of keyword arguments
        Possibly nested; only sizes, strides and dtypes of the tensors matter, and which of them require a gradient.
    loss : callable, optional
        Maps what the model returns to a scalar tensor; used in training only. By default ``output.loss`` (or
        ``output["loss"]``) where there is one, else the sum of all floating-point elements returned.
    training : bool
        Whether the gradients are part of the graph.
    keep_outputs : bool
        Whether, in training, the model's returned values stay in memory until the end as a caller's variable does.
    name : str, optional
        Of the graph; by default that of the model's class or function.
    rates : Rates
        Runtimes are ``overhead + max(flops / rates.flops, bytes / rates.bandwidth)`` with the flops of matrix
        products, convolutions and attention, and the bytes that an op reads and writes.

    Raises
    ------
    ValueError
        When the model cannot be traced, such as one that branches on a tensor's values; one line that says what to
        do, chained from the original error.

    Examples
    --------
    >>> mlp = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    >>> graph = trace(mlp, torch.ones(3, 4), name="mlp")
    >>> graph.op_types
    ('aten.addmm.default', 'aten.relu.default', 'aten.addmm.default')
    >>> graph.tensor_bytes[graph.activations].tolist()
    [96, 96, 24]
    """
    program = capture(model, example_inputs, loss=loss, training=training, keep_outputs=keep_outputs)
    if name is None:
        name = getattr(model, "__name__", type(model).__name__)
    return build_graph(program, name, mode_name(training), rates)


def build_graph(program: Program, name: str, mode: str, rates: Rates = DEFAULT_RATES) -> ComputationGraph:
    """Turn a captured program into a graph of storages; raises ``ValueError`` as :func:`trace` does."""
    storages = _Storages(program)
    builder, total_flops = storages.builder, 0
    builder.name = name
    for node in program.module.graph.nodes:
        if node.op in ("placeholder", "get_attr"):
            storages.add_persistent(node)
        elif node.op == "call_function":
            _refuse_dynamic(node)
            total_flops += _add_op(storages, node, rates)
    persistent = set(storages.persistent.values())
    for node in program.module.graph.output_node().all_input_nodes:
        for tensor in set(storages.read(node)) - persistent:
            builder.mark_output(tensor)
    builder.meta["source"] = {
        "framework": "torch",
        "version": str(torch.__version__),
        "mode": mode,
        "flops": total_flops,
        "rates": rates.to_json(),
    }
    return builder.build()


class _Storages:
    """Which tensor of the graph under construction each storage of the program is.

    Fake values share a storage where the real ones do, which is how views are known (``_unsafe_view`` too, whose schema
    does not say so). Views of a constant are the exception, since PyTorch fakes it anew at every use: there the alias
    annotation of the op's schema tells.
    """

    def __init__(self, program: Program) -> None:
        self.builder = GraphBuilder()
        self.program = program
        self.tensor_of: dict[int, int] = {}
        self.persistent: dict[int, int] = {}  # the caller's storage -> tensor

    def add_persistent(self, node: torch.fx.Node) -> None:
        """Enter a parameter, buffer, input or constant; those that share a storage are one tensor."""
        for value in tensors_in(node.meta.get("val")):
            source = self.program.sources.get(node.name, value)
            if node.op == "get_attr":
                source = getattr(self.program.module, str(node.target))
            storage = source.untyped_storage()
            if storage._cdata not in self.persistent:
                self.persistent[storage._cdata] = self.builder.add_tensor(storage.nbytes())
            self.tensor_of[value.untyped_storage()._cdata] = self.persistent[storage._cdata]

    def add_fresh(self, node: torch.fx.Node) -> list[int]:
        """Enter the storages that ``node`` allocates; none for a view."""
        added = []
        for value in tensors_in(node.meta.get("val")):
            storage = value.untyped_storage()
            if storage._cdata in self.tensor_of:
                continue
            if _is_view(node):
                self.tensor_of[storage._cdata] = self.read(node.all_input_nodes[0])[0]
            else:
                self.tensor_of[storage._cdata] = self.builder.add_tensor(storage.nbytes())
                added.append(self.tensor_of[storage._cdata])
        return added

    def read(self, node: torch.fx.Node) -> list[int]:
        """Tensors that a reader of ``node`` reads."""
        return [self.tensor_of[value.untyped_storage()._cdata] for value in tensors_in(node.meta.get("val"))]


def _is_view(node: torch.fx.Node) -> bool:
    """Whether the schema says that the op returns its first argument's storage."""
    schema = getattr(node.target, "_schema", None)
    return schema is not None and any(result.alias_info is not None for result in schema.returns)


def _add_op(storages: _Storages, node: torch.fx.Node, rates: Rates) -> int:
    """Add the op behind ``node`` unless it is a view, and return its flops."""
    inputs = [tensor for source in node.all_input_nodes for tensor in storages.read(source)]
    outputs = storages.add_fresh(node)
    if not outputs:
        return 0
    args, kwargs = torch.fx.map_arg((node.args, node.kwargs), lambda source: source.meta.get("val"))
    output = node.meta["val"]
    flops = torch_cost.flops(node.target, args, kwargs, output)
    moved = torch_cost.moved_bytes(
        node.target,
        [value for source in node.all_input_nodes for value in tensors_in(source.meta.get("val"))],
        tensors_in(output),
    )
    storages.builder.add_op(
        str(node.target), inputs=inputs, outputs=outputs, name=node.name, runtime=rates.runtime(flops, moved)
    )
    return flops


def _refuse_dynamic(node: torch.fx.Node) -> None:
    """Sizes must be numbers, and what an op does must show in its outputs."""
    value = node.meta.get("val")
    dynamic = isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool))
    if dynamic or any(not isinstance(t.untyped_storage().nbytes(), int) for t in tensors_in(value)):
        raise TraceError(f"op {node.name!r} ({node.target}): its result depends on a tensor's values: use fixed sizes")
    schema = getattr(node.target, "_schema", None)
    if schema is not None and schema.is_mutable:
        raise TraceError(
            f"op {node.name!r} ({node.target}): it writes to its inputs: use an op that returns its result"
        )
