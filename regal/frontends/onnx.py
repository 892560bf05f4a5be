"""ONNX models as computation graphs.

How an ONNX model is read:

- Initializers, graph inputs and ``Constant`` nodes are persistent tensors. An initializer that is listed as an input
  too counts once. Only values that some op reads become tensors.
- Reshape, Squeeze, Unsqueeze, Flatten, Identity, and Dropout at inference return their input's storage: they are
  contracted, and whoever reads the view reads the storage. A shape that is computed at run time is read along with it,
  so that the order stays executable. Transpose, Slice and Split copy in ONNX runtimes and stay ops.
- Ops that depend on constants only are folded into persistent tensors holding their outputs, as a runtime does before
  it starts; so are Shape and Size of values whose shape is known. Random ops, ops with bodies, ops outside ONNX's own
  domains and DequantizeLinear, whose point is to keep weights small, are never folded.
- An If whose condition follows from constants and shapes is replaced by the branch that it takes. Any other If, Loop
  and Scan are one opaque op each, which also reads the outer values that its bodies read and the weights that its
  bodies hold. Model-local functions are inlined, where they are written for the model's own opset.
- A sequence takes the bytes of its elements, an optional value those of what it holds.
- A value whose shape cannot be inferred takes ``default_dimension`` for each unknown dimension. Without that, or where
  not even its rank is known, it is as large as the largest computed input of its op, else as its largest input; a state
  that a Loop returns is as large as the one that it starts with. ``meta["source"]["unknown_shapes"]`` counts such
  tensors.
- Optimizer ops of the training domain return new values as ONNX defines them; a Gradient stands for a backward pass
  that the file does not hold, and is opaque. ``training_info`` is not read.
- Elements of less than a byte are packed; a string is 16 bytes, its pointer and length.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from regal.files import ParseError
from regal.frontends.onnx_cost import READS_WHAT_IT_WRITES, Dims, Shape, flops
from regal.frontends.onnx_model import bodies_of, read_model, reads_of, tensors_of
from regal.frontends.onnx_prepare import prepare
from regal.frontends.onnx_sizes import TRAINING_DOMAIN, Sizes
from regal.frontends.roofline import Rates
from regal.graph import ComputationGraph, GraphBuilder

if TYPE_CHECKING:
    import onnx

VIEWS = {"Dropout", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"}
NEVER_FOLDED = {
    *("Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"),
    "DequantizeLinear",
}
OWN_DOMAINS = ("", "ai.onnx.ml")
DEFAULT_RATES = Rates()


def load(
    source: str | Path | onnx.ModelProto,
    *,
    dimensions: Mapping[str, int] | None = None,
    default_dimension: int | None = None,
    contract_views: bool = True,
    fold_constants: bool = True,
    rates: Rates = DEFAULT_RATES,
) -> ComputationGraph:
    """Read an ONNX model; see the module's description for what becomes what.

    Parameters
    ----------
    source : path of a ``.onnx`` file, or a loaded model
        Tensor values and external data are not needed and not read.
    dimensions : mapping from name to size, optional
        Sizes of the model's named dynamic dimensions.
    default_dimension : int, optional
        Size of every dynamic dimension that has no name or is not in ``dimensions``.
    contract_views : bool
        Let readers of a view read its storage; otherwise views are ops that copy.
    fold_constants : bool
        Fold ops that depend on constants only; otherwise they stay ops.
    rates : Rates
        Roofline from which runtimes follow.

    Raises
    ------
    ValueError
        For a source that is no valid model, and for dynamic dimensions of inputs that no option gives a size.

    Examples
    --------
    >>> load("model.onnx", dimensions={"batch": 4})  # doctest: +SKIP
    ComputationGraph('model', ops=105, tensors=210, bytes=12345678)
    """
    where = source if isinstance(source, (str, Path)) else "model"
    try:
        model = prepare(read_model(source), dimensions or {}, default_dimension)
        importer = _Importer(model, Sizes(model, default_dimension), contract_views, fold_constants, rates)
        return importer.run(
            Path(where).stem.encode(errors="replace").decode() if where is source else model.graph.name or "onnx"
        )
    except ParseError:
        raise
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error


class _Importer:
    """Walks the nodes of a prepared model in order and writes tensors and ops."""

    def __init__(self, model: onnx.ModelProto, values: Sizes, contract: bool, fold: bool, rates: Rates) -> None:
        self.model, self.values, self.contract, self.fold, self.rates = model, values, contract, fold, rates
        self.builder = GraphBuilder()
        self.opsets = {entry.domain or "ai.onnx": entry.version for entry in model.opset_import}
        self.used = {name for node in model.graph.node for name in reads_of(node)}
        self.used |= {value.name for value in model.graph.output}
        self.tensors: dict[str, int] = {}
        self.activations: set[str] = set()
        self.storage: dict[str, str] = {}  # view -> the value whose storage it looks into
        self.computed_shape: dict[str, list[int]] = {}  # view -> activations that say how it looks there
        self.flops = 0.0
        self.counts = {"unknown_shapes": 0, "opaque_ops": 0, "folded_ops": 0, "contracted_views": 0}

    def run(self, name: str) -> ComputationGraph:
        """The whole model as a graph."""
        import onnx

        for index, node in enumerate(self.model.graph.node):
            self._add_node(index, node)
        for value in self.model.graph.output:
            storage = self.storage.get(value.name, value.name)
            if storage in self.activations:
                self.builder.mark_output(self.tensors[storage])
        self.builder.name = name
        self.builder.meta["source"] = {
            "framework": "onnx",
            "version": onnx.__version__,
            "mode": self._mode(),
            "ir_version": self.model.ir_version,
            "opset": self.opsets,
            "inputs": [
                self.tensors[value.name] for value in self.model.graph.input if self._holds_examples(value.name)
            ],
            "producer": f"{self.model.producer_name} {self.model.producer_version}".strip(),
            "flops": self.flops,
            "rates": self.rates.to_json(),
            **self.counts,
        }
        return self.builder.build()

    def _mode(self) -> str:
        """What the ops of the training domain make of the model."""
        types = {node.op_type for node in self.model.graph.node if node.domain == TRAINING_DOMAIN}
        return "step" if types - {"Gradient"} else "training" if types else "inference"

    def _holds_examples(self, name: str) -> bool:
        """Whether an input of the model is one of the graph's tensors and no weight."""
        return name in self.tensors and name not in self.values.constants

    def _add_node(self, index: int, node: onnx.NodeProto) -> None:
        inputs, outputs = reads_of(node), [name for name in node.output if name]
        self.values.add(node)
        if node.op_type == "Constant" and node.domain in OWN_DOMAINS:
            value = next((attribute.t for attribute in node.attribute if attribute.HasField("t")), None)
            self.values.constants |= dict.fromkeys(outputs, value)
        elif self.contract and self._is_view(node):
            self._add_view(node)
        elif self.fold and self._is_folded(node, inputs):
            self.values.constants |= dict.fromkeys(outputs)
            self.counts["folded_ops"] += 1
        else:
            self._add_op(index, node, inputs, outputs)

    def _is_view(self, node: onnx.NodeProto) -> bool:
        if node.op_type not in VIEWS or node.domain not in OWN_DOMAINS:
            return False
        if not (node.input and node.input[0] and node.output and node.output[0]):
            return False
        return not self.used.intersection(node.output[1:]) and (node.op_type != "Dropout" or self._at_inference(node))

    def _at_inference(self, node: onnx.NodeProto) -> bool:
        """Whether Dropout passes its input on: before opset 7 an attribute says so, from opset 12 on an input."""
        if self.opsets.get("ai.onnx", 1) < 7:
            return any(attribute.name == "is_test" and attribute.i for attribute in node.attribute)
        if len(node.input) < 3 or not node.input[2]:
            return True
        mode = self.values.constants.get(node.input[2])
        return mode is not None and not any(mode.raw_data) and not any(mode.int32_data)

    def _is_folded(self, node: onnx.NodeProto, inputs: list[str]) -> bool:
        if node.op_type in NEVER_FOLDED or node.domain not in OWN_DOMAINS or any(bodies_of(node)):
            return False
        if node.op_type in ("Shape", "Size") and inputs:
            shape = self.values.shapes.get(inputs[0], Shape())
            if shape.dims is not None and not shape.guessed:
                return True
        return all(name in self.values.constants for name in inputs)

    def _add_view(self, node: onnx.NodeProto) -> None:
        view, source = node.output[0], node.input[0]
        self.storage[view] = self.storage.get(source, source)
        self.values.bytes[view] = self.values.bytes[source]
        if source in self.values.constants:
            self.values.constants[view] = self.values.constants[source]
        computed = [self._reads(name) for name in node.input[1:] if self.storage.get(name, name) in self.activations]
        self.computed_shape[view] = [*self.computed_shape.get(source, []), *(each for row in computed for each in row)]
        self.counts["contracted_views"] += 1

    def _reads(self, name: str) -> list[int]:
        """What reading a value means: its storage, added here where it is persistent, and its computed shape."""
        storage = self.storage.get(name, name)
        if storage not in self.tensors:
            self._add_tensor(storage)
        return [self.tensors[storage], *self.computed_shape.get(name, [])]

    def _add_tensor(self, name: str) -> int:
        self.counts["unknown_shapes"] += name in self.values.unknown
        self.tensors[name] = self.builder.add_tensor(self.values.bytes[name])
        return self.tensors[name]

    def _add_op(self, index: int, node: onnx.NodeProto, inputs: list[str], outputs: list[str]) -> None:
        import onnx.defs

        bodies = list(bodies_of(node))
        weights = [self.values.stored_bytes(tensor) for body in bodies for tensor in tensors_of(body)]
        read = [tensor for name in inputs for tensor in self._reads(name)] + list(map(self.builder.add_tensor, weights))
        written = [self._add_tensor(name) for name in outputs]
        self.activations |= set(outputs)
        hidden = bool(bodies) or (node.domain, node.op_type) == (TRAINING_DOMAIN, "Gradient")
        self.counts["opaque_ops"] += hidden or not onnx.defs.has(node.op_type, node.domain)
        self.builder.add_op(
            f"{node.domain}.{node.op_type}" if node.domain else node.op_type,
            name=node.name or next(iter(outputs), f"{node.op_type}_{index}"),
            inputs=read,
            outputs=written,
            runtime=self._runtime(node, read, written),
        )

    def _runtime(self, node: onnx.NodeProto, read: list[int], written: list[int]) -> float:
        shapes: list[Dims | None] = [self.values.shapes.get(name, Shape()).dims for name in node.input]
        output = self.values.shapes[node.output[0]].dims if node.output and node.output[0] else None
        sizes = [self.builder.tensor_bytes[tensor] for tensor in dict.fromkeys(read)]
        result = sum(self.builder.tensor_bytes[tensor] for tensor in written)
        if node.op_type in READS_WHAT_IT_WRITES and sizes:
            sizes[0] = min(sizes[0], result)
        count = flops(node, shapes, output)
        self.flops += count
        return self.rates.runtime(count, sum(sizes) + result)
