"""Does the graph of a PyTorch model weigh what the model's program weighs when it runs on real tensors?

``python -m tests.fidelity_torch`` runs models of torchvision, timm and transformers, and some written here, op by op on
the CPU, drops every value after its last use, and counts the bytes of the storages that are alive: parameters, buffers,
inputs and optimizer state, and at the worst moment the activations. Next to it stands the peak of the graph in program
order; scratch that an op frees before it returns is on neither side. With ``--check`` a difference of more than a
percent is an error, but for :data:`tests.fidelity_models.UNLIKE`.
"""

import argparse
import fnmatch
import operator
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from regal.cluster import Cluster
from regal.cost.reference import start_memory, trace
from regal.frontends.torch import build_graph
from regal.frontends.torch_capture import Program, capture
from regal.graph import ComputationGraph
from regal.plan import RUN, Plan
from tests.fidelity_models import MODELS, UNLIKE

TOLERANCE = 0.01
MODES = ("inference", "training", "step-momentum", "step-adam")

Gradient = list[torch.Tensor]  # of one, so that the last reader can let it go


def sgd(parameter: torch.Tensor, gradient: Gradient) -> None:
    parameter.add_(gradient.pop(), alpha=-0.1)


def momentum(parameter: torch.Tensor, gradient: Gradient, velocity: torch.Tensor) -> None:
    velocity.mul_(0.9).add_(gradient.pop())
    parameter.add_(velocity, alpha=-0.1)


def adam(parameter: torch.Tensor, gradient: Gradient, mean: torch.Tensor, square: torch.Tensor) -> None:
    mean.lerp_(gradient[0], 0.1)
    square.mul_(0.99)
    one = gradient.pop()
    square.addcmul_(one, one, value=0.01)
    del one
    parameter.addcdiv_(mean, (square.sqrt() / 0.1).add_(1e-8), value=-0.1)


def adamw(parameter: torch.Tensor, gradient: Gradient, mean: torch.Tensor, square: torch.Tensor) -> None:
    parameter.mul_(0.99)
    adam(parameter, gradient, mean, square)


OPTIMIZERS: dict[str, tuple[Callable[..., None], int]] = {
    "sgd": (sgd, 0),
    "momentum": (momentum, 1),
    "adam": (adam, 2),
    "adamw": (adamw, 2),
}
"""What ``torch.optim`` runs for one parameter, but for the gradient, which it would keep, and the tensors of state."""


@dataclass
class Storages:
    """The storages that live, of those that were shown to it; ``fixed`` ones are not counted."""

    fixed: set[int] = field(default_factory=set)
    seen: dict[int, tuple[StorageWeakRef, int]] = field(default_factory=dict)

    def show(self, value: Any) -> bool:
        """Note the storages of the tensors in ``value``; whether one of them is new."""
        storages = [tensor.untyped_storage() for tensor in tensors_of(value)]
        fresh = [storage for storage in storages if storage._cdata not in self.seen]
        for storage in fresh:
            self.seen[storage._cdata] = StorageWeakRef(storage), storage.nbytes()
        return any(storage._cdata not in self.fixed for storage in fresh)

    def fix(self, tensors: Iterable[torch.Tensor]) -> int:
        """Note what is there for good, and return its bytes."""
        storages = {tensor.untyped_storage()._cdata: tensor.untyped_storage() for tensor in tensors}
        storages = {key: storage for key, storage in storages.items() if key not in self.fixed}
        self.fixed.update(storages)
        return sum(storage.nbytes() for storage in storages.values())

    def live_bytes(self) -> int:
        """Bytes of what was shown and is not freed."""
        self.seen = {key: entry for key, entry in self.seen.items() if not entry[0].expired()}
        return sum(size for key, (_, size) in self.seen.items() if key not in self.fixed)


@dataclass
class Measured:
    """``resident`` bytes that are there all the time, and the bytes that live beside them while each op runs."""

    resident: int
    during: list[int]

    @property
    def peak(self) -> int:
        """Bytes at the worst moment."""
        return self.resident + max(self.during, default=0)


def measure(program: Program, mode: str) -> Measured:
    """Run ``program``, and after it the optimizer that ``mode`` names, on real tensors."""
    storages, values = Storages(), {}
    order = list(program.module.graph.nodes)
    last_use = {source: at for at, node in enumerate(order) for source in node.all_input_nodes}
    writes = writes_of(program, order)
    measured = Measured(0, [])
    for at, node in enumerate(order[:-1]):
        if node.op == "call_function":
            args, kwargs = torch.fx.map_arg((node.args, node.kwargs), values.__getitem__)
            with torch.no_grad():
                values[node] = node.target(*args, **kwargs)
            del args, kwargs
            fresh = storages.show(values[node])
            if node in writes:
                write(values, node, writes[node])
            if fresh:
                measured.during.append(storages.live_bytes())
        else:
            name = str(node.target)
            tensor = program.sources[node.name].detach() if node.op == "placeholder" else getattr(program.module, name)
            values[node] = tensor
            measured.resident += storages.fix(tensors_of(tensor)) if node.users else 0
            storages.fix(tensors_of(tensor))
        for source in {*node.all_input_nodes, node}:
            if last_use.get(source, -1) <= at:
                del values[source]
    if mode.startswith("step-"):
        update(program, values, mode.removeprefix("step-"), storages, measured)
    return measured


def tensors_of(value: Any) -> Iterator[torch.Tensor]:
    """The tensors in nested tuples and lists."""
    return (leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor))


def writes_of(program: Program, order: list[torch.fx.Node]) -> dict[torch.fx.Node, dict[int, torch.Tensor]]:
    """What eager execution writes into a tensor of the caller in place: node -> place in its result -> that tensor.

    The program returns such values instead. They can be written as soon as they are there unless a later node still
    looks at the old value, or at a view of it.
    """
    position = {node: at for at, node in enumerate(order)}
    found: dict[torch.fx.Node, dict[int, torch.Tensor]] = {}
    for place, value in program.mutations.items():
        node, index = (value.args[0], value.args[1]) if value.target is operator.getitem else (value, -1)
        aliases = [next(other for other in order if other.name == place)]
        for alias in aliases:
            aliases += [user for user in alias.users if user.op != "output" and shares_storage(user, alias)]
        readers = [user for alias in aliases for user in alias.users if user.op != "output" and user not in aliases]
        if node.op == "call_function" and max(map(position.__getitem__, readers), default=-1) <= position[node]:
            found.setdefault(node, {})[index] = program.sources[place]
    return found


def shares_storage(one: torch.fx.Node, other: torch.fx.Node) -> bool:
    """Whether both hold one tensor each, of one storage."""
    values = one.meta["val"], other.meta["val"]
    return all(isinstance(v, torch.Tensor) for v in values) and (
        values[0].untyped_storage()._cdata == values[1].untyped_storage()._cdata
    )


def write(values: dict[torch.fx.Node, Any], node: torch.fx.Node, targets: dict[int, torch.Tensor]) -> None:
    """Write results of ``node`` into the tensors that they are new values of, and go on with those."""
    results = list(values[node]) if isinstance(values[node], (tuple, list)) else [values[node]]
    for index, tensor in targets.items():
        results[index] = tensor.detach().copy_(results[index])
    values[node] = tuple(results) if isinstance(values[node], (tuple, list)) else results[0]


def update(
    program: Program, values: dict[torch.fx.Node, Any], optimizer: str, storages: Storages, measured: Measured
) -> None:
    """Update one parameter after the other; a gradient ends with the last op that reads it."""
    rule, num_states = OPTIMIZERS[optimizer]
    parameters = {place: program.sources[place].detach() for place in program.parameters if place in program.gradients}
    states = {
        place: [torch.zeros_like(parameter) for _ in range(num_states)] for place, parameter in parameters.items()
    }
    measured.resident += storages.fix(tensors_of(states))
    used = Counter([*program.results, *program.mutations.values(), *program.gradients.values()])
    for place, parameter in parameters.items():
        node = program.gradients[place]
        used[node] -= 1
        gradient = [values[node] if used[node] else values.pop(node)]
        with Watch(storages, measured), torch.no_grad():
            rule(parameter, gradient, *states[place])


class Watch(TorchDispatchMode):
    """Counts after every op that an optimizer runs."""

    def __init__(self, storages: Storages, measured: Measured) -> None:
        super().__init__()
        self.storages, self.measured = storages, measured

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self.storages.show(result)
        self.measured.during.append(self.storages.live_bytes())
        return result


def program_order(graph: ComputationGraph) -> Plan:
    """The plan that runs every op on one device in program order."""
    schedule = np.stack([np.arange(graph.num_ops), np.full(graph.num_ops, RUN)], axis=1)
    return Plan(graph, Cluster.uniform(1), np.zeros(graph.num_ops, np.int32), schedule)


def predicted(graph: ComputationGraph) -> Measured:
    """The same figures from the graph, op by op."""
    plan = program_order(graph)
    resident = start_memory(plan)[0]
    return Measured(resident, [step.during - resident for step in trace(plan)])


def check(program: Program, mode: str) -> tuple[ComputationGraph, Measured, Measured]:
    """The graph of a program, what running it takes, and what the graph says that it takes."""
    graph = build_graph(program, "model", mode)
    return graph, measure(program, mode), predicted(graph)


def main() -> None:
    """Measure the models that are asked for and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="*", metavar="PATTERN", help="models whose name matches, as timm.*")
    parser.add_argument("--modes", default=",".join(MODES), help="comma between them")
    parser.add_argument("--check", action="store_true", help="fail where the difference is above a percent")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    names = [name for name in MODELS if fnmatch.fnmatch(name, arguments.only)]
    print("| model | mode | ops | measured resident | measured peak | graph peak | difference |")
    print("|---|---|---|---|---|---|---|")
    worst = 0.0
    for name in names:
        for mode, (graph, real, ours) in modes_of(name, arguments.modes.split(",")):
            difference = ours.peak / real.peak - 1
            worst = max(worst, 0 if name in UNLIKE else abs(difference))
            row = f"| {name} | {mode} | {graph.num_ops} | {real.resident} | {real.peak} | {ours.peak} |"
            print(f"{row} {100 * difference:+.3f} % |", flush=True)
    print(f"\n{len(names)} models; largest difference {100 * worst:.3f} %")
    if arguments.check and worst > TOLERANCE:
        raise SystemExit(1)


def modes_of(name: str, modes: Iterable[str]) -> Iterator[tuple[str, tuple[ComputationGraph, Measured, Measured]]]:
    """One model in several modes, built anew for each."""
    for mode in modes:
        torch.manual_seed(0)
        model, inputs = MODELS[name]()
        options = {"data_dependent": "assume-false"} if name.startswith("transformers.") else {}
        program = capture(model, inputs, training=mode != "inference", **options)
        yield mode, check(program, mode)


if __name__ == "__main__":
    main()
