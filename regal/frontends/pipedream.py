r"""Profiles of PipeDream, ``graph.txt``: layers with their times, activations and parameters.

The file has a line per layer and, indented, a line per edge::

    node4 -- Linear(in_features=8, out_features=2) -- forward_compute_time=0.453, backward_compute_time=0.474,
      activation_size=1024.0, parameter_size=72.0          (in one line; " -- stage_id=0" may end it)
    \tnode3 -- node4

Times are in milliseconds, sizes in bytes; ``[6291456.0; 131072.0]`` is the activation of a layer that returns several
tensors, of which the profile does not say who reads which: it is one tensor of their sum, as PipeDream takes it.

How it is read:

- A layer is an op, its activation the op's output, its parameters a persistent tensor. The type is the layer's name.
- A layer without parameters that reads nothing is an input of the model: its activation is a persistent tensor, and the
  time measured there, which is that of loading data, does not count.
- What nobody reads is an output of the graph.
- For training, every layer that has parameters, or reads what depends on some, has a backward op too. It reads what
  the layer read, its parameters, and the gradients of its activation, one from each reader's backward op; a layer that
  nobody reads starts from its own activation. It makes the gradients of what the layer read, and that of its
  parameters, which is an output of the graph. The profile does not say what a layer keeps for its backward op; this is
  what PipeDream's runtime keeps, the inputs of a layer.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from regal.files import ParseError, read_bytes, short
from regal.graph import ComputationGraph, GraphBuilder
from regal.graph.checks import MAX_SIZE

SECONDS = 1e-3
"""Seconds of a unit of time in a profile."""
MAX_TEXT = 16 * 2**20
"""Longest file in bytes; profiles of a thousand layers have a hundredth."""
SEPARATOR = " -- "
FIELDS = ("forward_compute_time", "backward_compute_time", "activation_size", "parameter_size")


def load(path: str | Path, *, training: bool = True) -> ComputationGraph:
    """Read a profile; see the module's description for what becomes what.

    Parameters
    ----------
    path : path of a text file, plain or gzip
        The graph has the file's name, or that of its folder where the file is called ``graph.txt`` as most are.
    training : bool
        Whether the backward ops are part of the graph.

    Raises
    ------
    ParseError
        For a file that is no profile; the message names the line.

    Examples
    --------
    >>> load("profiles/vgg16/graph.txt", training=False)  # doctest: +SKIP
    ComputationGraph('vgg16', ops=40, tensors=57, bytes=15312649380)
    """
    path = Path(path)
    name = path.stem if path.stem != "graph" else path.absolute().parent.name
    name = name.encode(errors="replace").decode()
    return parse(read_bytes(path, MAX_TEXT), str(path), name, training=training)


def parse(data: bytes, where: str = "text", name: str = "graph", *, training: bool = True) -> ComputationGraph:
    r"""The graph behind a text; ``where`` begins the messages of what :func:`load` raises.

    Examples
    --------
    >>> times = "forward_compute_time=1.0, backward_compute_time=2.0"
    >>> text = f"a -- Input -- {times}, activation_size=8.0, parameter_size=0.0\n"
    >>> text += f"b -- Linear(4, 2) -- {times}, activation_size=4.0, parameter_size=32.0\n\ta -- b\n"
    >>> parse(text.encode()).op_types
    ('Linear', 'Linear.backward')
    """
    layers, reads = _read_lines(data, where)
    try:
        return _build(layers, reads, name, training)
    except ValueError as error:
        raise ParseError(f"{where}: {error}") from error


class _Layer(NamedTuple):
    """A line: seconds and bytes."""

    type: str
    forward: float
    backward: float
    activation: int
    parameters: int


def _read_lines(data: bytes, where: str) -> tuple[dict[str, _Layer], dict[str, list[str]]]:
    """Layers by name, and for each the layers that it reads."""
    layers: dict[str, _Layer] = {}
    reads: dict[str, list[str]] = {}
    edges: list[tuple[int, str, str]] = []
    for number, line in enumerate(io.BytesIO(data), start=1):
        try:
            text = line.decode()
            if text.strip() and text[0].isspace():
                edges.append((number, *_edge(text.strip())))
            elif text.strip():
                key, layer = _layer(text.strip())
                if key in layers:
                    raise ValueError(f"a second layer {short(key)}")
                layers[key] = layer
        except UnicodeDecodeError as error:
            raise ParseError(f"{where}: line {number}: not UTF-8 text") from error
        except ValueError as error:
            raise ParseError(f"{where}: line {number}: {error}") from error
    for number, producer, consumer in edges:
        for key in (producer, consumer):
            if key not in layers:
                raise ParseError(f"{where}: line {number}: there is no layer {short(key)}")
        reads.setdefault(consumer, []).append(producer)
    return layers, {key: list(dict.fromkeys(reads.get(key, []))) for key in layers}


def _edge(text: str) -> tuple[str, str]:
    ends = text.split(SEPARATOR)
    if len(ends) != 2:
        raise ValueError(f"an edge is two layers with {SEPARATOR.strip()} between them, not {short(text)}")
    return ends[0], ends[1]


def _layer(text: str) -> tuple[str, _Layer]:
    head, found, values = text.rpartition(f"{SEPARATOR}{FIELDS[0]}=")
    key, separator, description = head.partition(SEPARATOR)
    pairs = [pair.split("=") for pair in f"{FIELDS[0]}={values}".partition(SEPARATOR)[0].split(", ")]
    if not found or not separator or not key or [pair[0] for pair in pairs] != list(FIELDS):
        raise ValueError(f"a layer is a name, a description and {', '.join(FIELDS)}, not {short(text)}")
    found_values = dict(pair for pair in pairs if len(pair) == 2)
    activation = found_values.get("activation_size", "")
    parts = activation[1:-1].split("; ") if activation.startswith("[") and activation.endswith("]") else [activation]
    return key, _Layer(
        description.partition("(")[0] or "layer",
        _number(found_values, "forward_compute_time") * SECONDS,
        _number(found_values, "backward_compute_time") * SECONDS,
        sum(_size({"activation_size": part}, "activation_size") for part in parts),
        _size(found_values, "parameter_size"),
    )


def _number(values: Mapping[str, str], field: str) -> float:
    text = values.get(field, "")
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise ValueError(f"{field} must be a finite number, not negative, not {short(text)}")
    return number


def _size(values: Mapping[str, str], field: str) -> int:
    size = _number(values, field)
    if not size.is_integer() or size >= MAX_SIZE:
        raise ValueError(f"{field} must be whole bytes below 2^53, not {short(values[field])}")
    return int(size)


def _build(layers: dict[str, _Layer], reads: dict[str, list[str]], name: str, training: bool) -> ComputationGraph:
    builder = GraphBuilder(name)
    inputs = {key for key, layer in layers.items() if not reads[key] and not layer.parameters}
    order = _sorted(layers, reads, inputs)
    activation = {key: builder.add_tensor(layers[key].activation) for key in (*sorted(inputs), *order)}
    parameters = {key: builder.add_tensor(layers[key].parameters) for key in order if layers[key].parameters}
    for key in order:
        own = [parameters[key]] if key in parameters else []
        builder.add_op(
            layers[key].type,
            name=key,
            inputs=[*(activation[other] for other in reads[key]), *own],
            outputs=[activation[key]],
            runtime=layers[key].forward,
        )
    read = {other for key in order for other in reads[key]}
    for key in order:
        if key not in read:
            builder.mark_output(activation[key])
    if training:
        _add_backward(builder, layers, reads, order, activation, parameters)
    mode = "training" if training else "inference"
    builder.meta["source"] = {"framework": "pipedream", "mode": mode, "inputs": len(inputs)}
    return builder.build()


def _sorted(layers: dict[str, _Layer], reads: dict[str, list[str]], inputs: set[str]) -> list[str]:
    """The layers but the inputs in a program order, that of the file with as few moves as needed."""
    order = GraphBuilder()
    number = {key: op for op, key in enumerate(key for key in layers if key not in inputs)}
    for key in number:
        order.add_op("layer", name=key, control_inputs=[number[other] for other in reads[key] if other in number])
    order.sort()
    return order.names


def _add_backward(
    builder: GraphBuilder,
    layers: dict[str, _Layer],
    reads: dict[str, list[str]],
    order: list[str],
    activation: dict[str, int],
    parameters: dict[str, int],
) -> None:
    """Backward ops in reverse order; only those behind parameters have one."""
    differentiable: set[str] = set()
    for key in order:
        if key in parameters or not differentiable.isdisjoint(reads[key]):
            differentiable.add(key)
    gradients: dict[str, list[int]] = {}  # of each layer's activation
    for key in reversed([key for key in order if key in differentiable]):
        outputs = []
        for other in reads[key]:
            if other in differentiable:
                outputs.append(builder.add_tensor(layers[other].activation))
                gradients.setdefault(other, []).append(outputs[-1])
        own = [parameters[key]] if key in parameters else []
        builder.add_op(
            f"{layers[key].type}.backward",
            name=f"{key}.backward",
            inputs=[*gradients.get(key, [activation[key]]), *(activation[other] for other in reads[key]), *own],
            outputs=[*outputs, *(builder.add_tensor(layers[key].parameters, is_output=True) for _ in own)],
            runtime=layers[key].backward,
        )
