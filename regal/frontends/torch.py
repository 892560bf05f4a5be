"""PyTorch models: forward, forward and backward, or a whole step with the optimizer's update, through AOTAutograd.

The graph holds ATen ops. A tensor of it is a storage: ops that only look into a storage in another way (views, slices,
expansions, detach, reshapes that do not copy) vanish, and whoever reads such a view reads the storage. Tracing works on
fake tensors: a model larger than the machine, built under ``torch.device("meta")``, is no different from a small one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from regal.frontends import torch_cost
from regal.frontends.roofline import Rates
from regal.frontends.torch_capture import Loss, Program, capture, tensors_in
from regal.frontends.torch_guards import REFUSE, TraceError, mode_name
from regal.frontends.torch_storages import Storages, sources_of
from regal.frontends.torch_update import OPTIMIZERS, Gradient, add_updates, check_optimizer
from regal.graph import ComputationGraph

Workspace = Callable[[Any, tuple[Any, ...], dict[str, Any], Any], int]

DEFAULT_RATES = Rates()
STEP = "step-"
MODES = (mode_name(False), mode_name(True), *(STEP + optimizer for optimizer in OPTIMIZERS))


def trace(
    model: Callable[..., Any],
    example_inputs: Any,
    *,
    loss: Loss | None = None,
    training: bool = False,
    optimizer: str | None = None,
    keep_outputs: bool = True,
    data_dependent: str = REFUSE,
    workspace: Workspace | None = None,
    name: str | None = None,
    rates: Rates = DEFAULT_RATES,
) -> ComputationGraph:
    """Trace one inference or training step of a PyTorch model.

    Parameters, buffers, inputs and constants are persistent tensors, one per storage; weights that are tied are one.
    Outputs of the graph are: in inference what the model returns; in training the loss, what the model returns, and
    the gradient of every parameter (and input) that requires one and influences the loss. What is a view of a
    persistent tensor is no output, for it costs nothing.

    What the model writes into a buffer or input, such as the running statistics of a batch norm, is written there by
    the op that computes it, which comes after all readers of the old value and shares a device with them; only where
    the old value is read later, the new one is an output. What ``torch.utils.checkpoint`` computes again (with
    ``use_reentrant=False``) is there twice.

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
    optimizer : "sgd", "momentum", "adam" or "adamw", optional
        In training, the update of every parameter becomes part of the graph, see :mod:`regal.frontends.torch_update`;
        the optimizer's state is persistent, and the gradients of parameters are no outputs: they end in the update.
    keep_outputs : bool
        Whether, in training, the model's returned values stay in memory until the end as a caller's variable does.
    data_dependent : "refuse" or "assume-false"
        What happens when the model asks for a tensor's values, as ``if mask.all()`` does, which tracing does not
        know: an error, or the answer False or zero.
    workspace : callable, optional
        ``workspace(target, args, kwargs, output)`` returns the bytes of scratch that a call of the ATen op ``target``
        takes, given fake tensors; by default no op takes any. It is not asked about an optimizer's ops.
    name : str, optional
        Of the graph; by default that of the model's class or function.
    rates : Rates
        Runtimes are ``overhead + max(flops / rates.flops, bytes / rates.bandwidth)`` with the flops of matrix
        products, convolutions and attention, and the bytes that an op reads and writes.

    Raises
    ------
    ValueError
        When the model cannot be traced, such as one that branches on a tensor's values, or an option is wrong; one
        line that says what to do, chained from the original error.

    Examples
    --------
    >>> mlp = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    >>> graph = trace(mlp, torch.ones(3, 4), name="mlp")
    >>> graph.op_types
    ('aten.addmm.default', 'aten.relu.default', 'aten.addmm.default')
    >>> graph.tensor_bytes[graph.activations].tolist()
    [96, 96, 24]
    """
    check_optimizer(optimizer, training)
    mode = mode_name(training) if optimizer is None else STEP + optimizer
    graphs = trace_modes(
        model,
        example_inputs,
        (mode,),
        loss=loss,
        keep_outputs=keep_outputs,
        data_dependent=data_dependent,
        workspace=workspace,
        name=name,
        rates=rates,
    )
    return graphs[mode]


def trace_modes(
    model: Callable[..., Any],
    example_inputs: Any,
    modes: Iterable[str] = ("inference", "training"),
    *,
    loss: Loss | None = None,
    keep_outputs: bool = True,
    data_dependent: str = REFUSE,
    workspace: Workspace | None = None,
    name: str | None = None,
    rates: Rates = DEFAULT_RATES,
) -> dict[str, ComputationGraph]:
    """Trace a PyTorch model in several modes; recording, the slow part, is done once without and once with gradients.

    Parameters
    ----------
    modes : iterable of str
        Of ``"inference"``, ``"training"`` and ``"step-NAME"`` with the name of an optimizer.
    model, example_inputs, loss, keep_outputs, data_dependent, workspace, name, rates
        As :func:`trace` takes them.

    Returns
    -------
    dict
        mode -> graph, in the order of ``modes``.

    Raises
    ------
    ValueError
        As :func:`trace` does, and for a mode that is not known.

    Examples
    --------
    >>> mlp = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    >>> graphs = trace_modes(mlp, torch.ones(3, 4), ("inference", "training", "step-sgd"))
    >>> [graph.num_ops for graph in graphs.values()]
    [3, 11, 15]
    """
    modes = tuple(dict.fromkeys(modes))
    for mode in modes:
        if mode not in MODES:
            raise TraceError(f"mode must be one of {', '.join(MODES)}, not {mode!r}")
    if name is None:
        name = getattr(model, "__name__", type(model).__name__)
    programs: dict[bool, Program] = {}
    graphs = {}
    for mode in modes:
        training = mode != mode_name(False)
        if training not in programs:
            programs[training] = capture(
                model,
                example_inputs,
                loss=loss,
                training=training,
                keep_outputs=keep_outputs,
                data_dependent=data_dependent,
            )
        graphs[mode] = build_graph(programs[training], name, mode, rates, workspace)
    return graphs


def build_graph(
    program: Program, name: str, mode: str, rates: Rates = DEFAULT_RATES, workspace: Workspace | None = None
) -> ComputationGraph:
    """Turn a captured program into a graph of storages; raises ``ValueError`` as :func:`trace` does.

    ``mode`` is a label, unless it starts with ``step-``: then the optimizer that it names updates the parameters.
    """
    storages, total_flops = Storages(program), 0
    for node in program.module.graph.nodes:
        if node.op in ("placeholder", "get_attr"):
            storages.add_persistent(node)
        elif node.op == "call_function":
            total_flops += _add_op(storages, node, rates, workspace)
    kept = [*program.results, *program.mutations.values(), *program.gradients.values()]
    source = {"framework": "torch", "version": str(torch.__version__), "mode": mode}
    if mode.startswith(STEP):
        optimizer = mode.removeprefix(STEP)
        source |= {"mode": "step", "optimizer": optimizer}
        updates = _gradients(storages)
        add_updates(storages.ops, list(updates.values()), optimizer, rates)
        kept = [*program.results, *program.mutations.values()]
        kept += [node for place, node in program.gradients.items() if place not in updates]
    builder = storages.ops.builder
    for tensor in {tensor for node in kept for tensor in storages.read(node)} - set(storages.persistent.values()):
        builder.mark_output(tensor)
    storages.ops.colocate()
    builder.name = name
    builder.meta["source"] = {**source, "flops": total_flops, "rates": rates.to_json()}
    return builder.build()


def _gradients(storages: Storages) -> dict[str, Gradient]:
    """Parameters of the model that get a gradient, by placeholder."""
    program, found = storages.program, {}
    for place, node in program.gradients.items():
        if place in program.parameters:
            source, value = program.sources[place], node.meta["val"]
            found[place] = Gradient(
                program.parameters[place],
                storages.persistent[source.untyped_storage()._cdata],
                storages.read(node)[0],
                source.numel() * source.element_size(),
                torch_cost.touched(value),
            )
    return found


def _add_op(storages: Storages, node: torch.fx.Node, rates: Rates, workspace: Workspace | None) -> int:
    """Add the op behind ``node`` unless it is a view, and return its flops."""
    sources = list(sources_of(node))
    inputs = [tensor for source in sources for tensor in storages.read(source)]
    outputs, writes = storages.add_fresh(node)
    if not outputs and not writes:
        return 0
    args, kwargs = torch.fx.map_arg((node.args, node.kwargs), lambda source: source.meta.get("val"))
    output = node.meta["val"]
    flops = torch_cost.flops(node.target, args, kwargs, output)
    moved = torch_cost.moved_bytes(
        node.target,
        [value for source in sources for value in tensors_in(source.meta.get("val"))],
        tensors_in(output),
    )
    storages.ops.add_op(
        str(node.target),
        node.name,
        rates.runtime(flops, moved),
        inputs=inputs,
        outputs=outputs,
        writes=writes,
        workspace=0 if workspace is None else workspace(node.target, args, kwargs, output),
    )
    return flops
