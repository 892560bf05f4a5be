"""Optimizers as graph ops: what ``torch.optim`` runs for each parameter, one tensor at a time.

The ops, their order and their temporary tensors are those of the single-tensor implementations (``foreach=False``),
from the second step on, when the optimizer's state exists:

- ``sgd``: the parameter is moved by its gradient.
- ``momentum``: a velocity is decayed and joined by the gradient; the parameter is moved by it.
- ``adam`` (Kingma & Ba, "Adam: a method for stochastic optimization", ICLR 2015, Algorithm 1): mean and square are
  updated; the root of the square, scaled in a second temporary tensor, divides the mean.
- ``adamw`` (Loshchilov & Hutter, "Decoupled weight decay regularization", ICLR 2019, Algorithm 2): the parameter is
  decayed first.

All ops of one update share a device with the readers of the parameter. The number of the step is a scalar that the
host holds, and no part of the graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from regal.frontends.roofline import Rates
from regal.frontends.torch_guards import TraceError
from regal.frontends.torch_storages import WritingBuilder


class Gradient(NamedTuple):
    """A parameter and what it is to be updated with.

    ``parameter`` and ``gradient`` are tensors of the graph; ``num_bytes`` is the size of the parameter, which may be
    less than its storage's; ``gradient_bytes`` is what reading the gradient moves.
    """

    name: str
    parameter: int
    gradient: int
    num_bytes: int
    gradient_bytes: int


class _Update:
    """The update of one parameter, op by op; every op reads and writes as many bytes as the parameter has."""

    def __init__(self, ops: WritingBuilder, gradient: Gradient, rates: Rates) -> None:
        self.ops, self.name, self.rates = ops, gradient.name, rates
        self.num_bytes = gradient.num_bytes
        self.parameter, self.gradient = gradient.parameter, gradient.gradient
        self.added: list[int] = []
        self.moved = {self.gradient: gradient.gradient_bytes}

    def state(self) -> int:
        """A persistent tensor like the parameter."""
        return self.ops.builder.add_tensor(self.num_bytes)

    def write(self, op: str, target: int, *reads: int) -> int:
        """``target.op(*reads)``, in place; returns ``target``."""
        self._add(op, [target, *reads], [], [target])
        return target

    def compute(self, op: str, *reads: int) -> int:
        """A new temporary tensor from ``reads``."""
        result = self.ops.builder.add_tensor(self.num_bytes)
        self._add(op, list(reads), [result], [])
        return result

    def _add(self, op: str, inputs: list[int], outputs: list[int], writes: list[int]) -> None:
        moved = self.num_bytes + sum(self.moved.get(tensor, self.num_bytes) for tensor in dict.fromkeys(inputs))
        number = self.ops.add_op(
            f"aten.{op}",
            f"{self.name}.update_{len(self.added)}",
            self.rates.runtime(0, moved),
            inputs=inputs,
            outputs=outputs,
            writes=writes,
        )
        self.added.append(number)
        self.ops.together.append((self.added[0], number))


def _sgd(update: _Update) -> None:
    update.write("add_.Tensor", update.parameter, update.gradient)


def _momentum(update: _Update) -> None:
    velocity = update.state()
    update.write("mul_.Tensor", velocity)
    update.write("add_.Tensor", velocity, update.gradient)
    update.write("add_.Tensor", update.parameter, velocity)


def _adam(update: _Update) -> None:
    mean, square = update.state(), update.state()
    update.write("lerp_.Scalar", mean, update.gradient)
    update.write("mul_.Tensor", square)
    update.write("addcmul_.default", square, update.gradient)
    scaled = update.compute("div.Tensor", update.compute("sqrt.default", square))
    update.write("add_.Tensor", scaled)
    update.write("addcdiv_.default", update.parameter, mean, scaled)


def _adamw(update: _Update) -> None:
    update.write("mul_.Tensor", update.parameter)
    _adam(update)


OPTIMIZERS: dict[str, Callable[[_Update], None]] = {
    "sgd": _sgd,
    "momentum": _momentum,
    "adam": _adam,
    "adamw": _adamw,
}


def check_optimizer(name: str | None, training: bool) -> None:
    """Refuse an optimizer that is not known, or one for a graph without gradients."""
    if name is None:
        return
    if name not in OPTIMIZERS:
        raise TraceError(f"optimizer must be one of {', '.join(OPTIMIZERS)}, not {name!r}")
    if not training:
        raise TraceError(f"optimizer {name!r} needs gradients: trace with training=True")


def add_updates(ops: WritingBuilder, gradients: list[Gradient], optimizer: str, rates: Rates) -> None:
    """Append the update of every parameter, in the order of ``gradients``.

    Raises
    ------
    TraceError
        When there is nothing to update.
    """
    if not gradients:
        raise TraceError("no parameter of the model gets a gradient: there is nothing to update")
    for gradient in gradients:
        OPTIMIZERS[optimizer](_Update(ops, gradient, rates))
