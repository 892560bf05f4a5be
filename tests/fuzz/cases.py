"""Seed -> mutated file, always the same."""

import json
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.fuzz import corpus
from tests.fuzz.graphs import GRAPH_ONLY
from tests.fuzz.plans import PLAN_ONLY
from tests.fuzz.texts import damage
from tests.fuzz.values import ANY_FILE

GRAPH_SHARE = 0.6
VALUES_SHARE = 0.75


@dataclass(frozen=True)
class Case:
    """A mutant: the bytes of a file, or the arguments of a command as JSON.

    Attributes
    ----------
    kind : what the bytes are: ``"graph"``, ``"plan"``, ``"cluster"``, ``"options"`` or ``"onnx"``
    index : the small graph of :mod:`tests.fuzz.corpus` that a graph or plan comes from; -1 for the sample
    """

    seed: int
    kind: str
    index: int
    mutations: tuple[str, ...]
    data: bytes

    @property
    def well_formed(self) -> bool:
        """Whether the bytes are JSON by the letter."""
        try:
            json.loads(self.data.decode(), parse_constant=_refuse)
        except (ValueError, RecursionError):
            return False
        return True


def make_case(seed: int) -> Case:
    """The mutated graph or plan file of a seed."""
    rng = Random(seed)
    kind = "graph" if rng.random() < GRAPH_SHARE else "plan"
    index = -1 if rng.random() < corpus.SAMPLE_SHARE else rng.randrange(len(corpus.small_graphs()))
    text = corpus.graph_text(index) if kind == "graph" else corpus.plan_text(index, rng.randrange(6))
    in_values = rng.random() < VALUES_SHARE
    names: list[str] = []
    if in_values or rng.random() < 0.2:
        value = json.loads(text)
        names += change(value, GRAPH_ONLY if kind == "graph" else PLAN_ONLY, rng)
        text = json.dumps(value)
    data = text.encode()
    if not in_values:
        data, done = damage(data, rng)
        names += done
    return Case(seed, kind, index, tuple(names), data)


def change(value: Any, own: tuple[Any, ...], rng: Random) -> list[str]:
    """Mutate parsed values in place, by mutations of their ``own`` and by general ones; return what was done."""
    names = []
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        mutation = rng.choice(own if own and rng.random() < 0.55 else ANY_FILE)
        names.append(mutation.__name__)
        mutation(value, rng)
    return names


def _refuse(constant: str) -> None:
    raise ValueError(constant)
