"""Four classical random graphs, made acyclic: an edge goes from the op that makes a tensor to an op that reads it.

Every family draws its own parameters, such that ops read two tensors on average, from one to three by the graph. The
nodes of a random graph have an order, and each of its edges goes from the earlier node to the later.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.bool_]


class Family(Enum):
    """The random graphs by name."""

    ERDOS_RENYI = "erdos-renyi"
    BARABASI_ALBERT = "barabasi-albert"
    WATTS_STROGATZ = "watts-strogatz"
    STOCHASTIC_BLOCK = "stochastic-block"

    @classmethod
    def of(cls, value: Family | str) -> Family:
        """The family of that name; raises ``ValueError`` that lists the names."""
        try:
            return cls(value)
        except ValueError:
            names = ", ".join(family.value for family in cls)
            raise ValueError(f"family must be one of {names}, not {value!r}") from None


class Drawn(NamedTuple):
    """Attributes.

    before : bool array, shape (num_ops, num_ops)
        ``before[a, b]`` where op ``b`` reads the tensor of op ``a``; only above the diagonal.
    parameters : dict
        What the family drew, as JSON values.
    """

    before: Matrix
    parameters: dict[str, float]


def draw(family: Family, num_ops: int, rng: np.random.Generator) -> Drawn:
    """Draw a graph of ``num_ops`` ops.

    Examples
    --------
    >>> draw(Family.BARABASI_ALBERT, 4, np.random.default_rng(1)).before.astype(int).tolist()
    [[0, 0, 1, 1], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]]
    """
    return FAMILIES[family](num_ops, rng)


def erdos_renyi(num_ops: int, rng: np.random.Generator) -> Drawn:
    """Every pair is an edge with one chance, by a mean degree from 2 to 6 (Gilbert, Ann. Math. Stat. 30(4), 1959)."""
    degree = rng.uniform(2.0, 6.0)
    chance = min(degree / max(num_ops - 1, 1), 1.0)
    return Drawn(_upper(rng.random((num_ops, num_ops)) < chance), {"degree": degree})


def barabasi_albert(num_ops: int, rng: np.random.Generator) -> Drawn:
    """A new op reads ``links`` earlier ones, one to three, with chances that grow with their degree.

    Barabási and Albert, "Emergence of scaling in random networks", Science 286, 1999. The first ``links`` ops read
    nothing; the order is that of arrival.
    """
    links = min(int(rng.integers(1, 4)), num_ops)
    before = np.zeros((num_ops, num_ops), np.bool_)
    ends = list(range(links))  # every node once for each edge at it, and once at the start
    for op in range(links, num_ops):
        chosen: set[int] = set()
        while len(chosen) < links:
            chosen.add(ends[int(rng.integers(len(ends)))])
        before[sorted(chosen), op] = True
        ends += [*sorted(chosen), *[op] * links]
    return Drawn(before, {"links": links})


def watts_strogatz(num_ops: int, rng: np.random.Generator) -> Drawn:
    """A ring where every node is linked to its two to six nearest, and each link is moved with one chance.

    Watts and Strogatz, "Collective dynamics of small-world networks", Nature 393, 1998. The order is that of the ring.
    """
    neighbours = int(rng.integers(1, 4))
    chance = rng.uniform(0.05, 0.5)
    linked = np.zeros((num_ops, num_ops), np.bool_)
    for step in range(1, min(neighbours, (num_ops - 1) // 2) + 1):
        nodes = np.arange(num_ops)
        linked[nodes, (nodes + step) % num_ops] = linked[(nodes + step) % num_ops, nodes] = True
    for step in range(1, min(neighbours, (num_ops - 1) // 2) + 1):
        for node in np.flatnonzero(rng.random(num_ops) < chance).tolist():
            free = np.flatnonzero(~linked[node] & (np.arange(num_ops) != node))
            other = (node + step) % num_ops
            if len(free) and linked[node, other]:
                new = int(free[rng.integers(len(free))])
                linked[node, other] = linked[other, node] = False
                linked[node, new] = linked[new, node] = True
    return Drawn(_upper(linked), {"neighbours": 2 * neighbours, "chance": chance})


def stochastic_block(num_ops: int, rng: np.random.Generator) -> Drawn:
    """Two to five blocks of random sizes; a pair within one is an edge with a higher chance than a pair across.

    Holland, Laskey and Leinhardt, "Stochastic blockmodels: first steps", Social Networks 5(2), 1983. The mean degree is
    about 2 to 5 within blocks and 0.2 to 1 across. The order is random, so that blocks run beside one another.
    """
    blocks = int(rng.integers(2, 6))
    inside, across = rng.uniform(2.0, 5.0), rng.uniform(0.2, 1.0)
    block = rng.integers(blocks, size=num_ops)
    same = block[:, None] == block[None, :]
    pairs = max(num_ops - 1, 1)
    chance = np.where(same, min(inside * blocks / pairs, 1.0), min(across * blocks / (blocks - 1) / pairs, 1.0))
    return Drawn(
        _upper(rng.random((num_ops, num_ops)) < chance), {"blocks": blocks, "inside": inside, "across": across}
    )


def _upper(matrix: Matrix) -> Matrix:
    return np.triu(matrix, 1)


FAMILIES: dict[Family, Callable[[int, np.random.Generator], Drawn]] = {
    Family.ERDOS_RENYI: erdos_renyi,
    Family.BARABASI_ALBERT: barabasi_albert,
    Family.WATTS_STROGATZ: watts_strogatz,
    Family.STOCHASTIC_BLOCK: stochastic_block,
}
