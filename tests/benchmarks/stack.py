"""A training step of a stack of equal blocks, as deep as wanted: the graphs that scaling is measured on."""

from __future__ import annotations

from dataclasses import dataclass, field

from regal.graph import ComputationGraph, GraphBuilder

HIDDEN = 4 * 2**20
"""Bytes of one activation between blocks."""
OPS_PER_BLOCK = 42
"""Ops that a block has in the forward and the backward pass together."""


@dataclass
class _Step:
    """A training step in the making: the forward pass is written op by op and remembered for the backward pass."""

    builder: GraphBuilder
    tape: list[tuple[str, list[int], int, int | None]] = field(default_factory=list)

    def forward(self, type: str, inputs: list[int], size: int, weight_size: int = 0) -> int:
        """Add an op that reads activations and, where it has one, a weight; return its output."""
        weight = self.builder.add_tensor(weight_size) if weight_size else None
        output = self.builder.add_tensor(size)
        read = inputs if weight is None else [*inputs, weight]
        self.builder.add_op(type, inputs=read, outputs=[output], runtime=size * 1e-12)
        self.tape.append((type, inputs, output, weight))
        return output

    def backward(self, output: int) -> None:
        """Add the gradients of everything on the tape, last op first."""
        sizes = self.builder.tensor_bytes
        gradient = {output: self._add("loss_gradient", [output], sizes[output])}
        for type, inputs, result, weight in reversed(self.tape):
            arriving = gradient.pop(result)
            if weight is not None:
                self._add(f"{type}_weight_gradient", [arriving, *inputs], sizes[weight], is_output=True)
            for read in inputs:
                saved = [] if type == "add" else inputs
                weights = [] if weight is None else [weight]
                partial = self._add(f"{type}_gradient", [arriving, *saved, *weights], sizes[read])
                both = gradient.get(read)
                gradient[read] = partial if both is None else self._add("accumulate", [both, partial], sizes[read])

    def _add(self, type: str, inputs: list[int], size: int, is_output: bool = False) -> int:
        output = self.builder.add_tensor(size, is_output)
        self.builder.add_op(type, inputs=inputs, outputs=[output], runtime=size * 2e-12)
        return output


def training_stack(num_ops: int) -> ComputationGraph:
    """A transformer's training step with as many blocks as ``num_ops`` ops have room for, one at least.

    Examples
    --------
    >>> training_stack(100).num_ops
    85
    """
    step = _Step(GraphBuilder(f"training-stack-{num_ops}"))
    x = step.builder.add_tensor(HIDDEN)
    for _ in range(max(num_ops // OPS_PER_BLOCK, 1)):
        normed = step.forward("norm", [x], HIDDEN)
        query, key, value = (step.forward("linear", [normed], HIDDEN, HIDDEN // 2) for _ in range(3))
        scores = step.forward("softmax", [step.forward("matmul", [query, key], 2 * HIDDEN)], 2 * HIDDEN)
        mixed = step.forward("matmul", [scores, value], HIDDEN)
        x = step.forward("add", [x, step.forward("linear", [mixed], HIDDEN, HIDDEN // 2)], HIDDEN)
        wide = step.forward("linear", [step.forward("norm", [x], HIDDEN)], 4 * HIDDEN, 2 * HIDDEN)
        narrow = step.forward("linear", [step.forward("gelu", [wide], 4 * HIDDEN)], HIDDEN, 2 * HIDDEN)
        x = step.forward("add", [x, narrow], HIDDEN)
    step.backward(x)
    return step.builder.build()
