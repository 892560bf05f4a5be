"""JAX functions as computation graphs: lowered to HLO by JAX, compiled by XLA if wanted, and read as HLO text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from regal.frontends.hlo import DEFAULT_RATES, load
from regal.frontends.roofline import Rates
from regal.graph import ComputationGraph


def trace(
    function: Callable[..., Any],
    *specs: Any,
    optimized: bool = False,
    mode: str = "inference",
    donate: int | tuple[int, ...] = (),
    name: str | None = None,
    rates: Rates = DEFAULT_RATES,
) -> ComputationGraph:
    """Lower a function of arrays; nothing is computed. See :mod:`regal.frontends.hlo` for what becomes what.

    Parameters
    ----------
    function : callable
        Of arrays, nested in lists, tuples, dicts or other pytrees; what it returns are the graph's outputs.
    specs : jax.ShapeDtypeStruct or arrays, nested likewise
        Shapes and dtypes of the arguments.
    optimized : bool
        Compile it with XLA for the default device: the ops are then fusions, and their order is XLA's own. Otherwise
        the program is read as XLA receives it.
    mode : str
        Written into ``meta``: ``"inference"``, ``"training"`` or ``"step"``.
    donate : int or tuple of int
        Arguments whose storage the results may take, such as parameters and optimizer state in a training step: these
        results become in-place updates.
    name : str, optional
        Of the graph; by default the function's.
    rates : Rates
        Roofline from which runtimes follow.

    Raises
    ------
    ValueError
        As :func:`regal.frontends.hlo.load`; what JAX and the function raise is passed on.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> weight, batch = jax.ShapeDtypeStruct((8, 2), jnp.float32), jax.ShapeDtypeStruct((4, 8), jnp.float32)
    >>> def layer(weight, batch):
    ...     return jnp.tanh(batch @ weight)
    >>> graph = trace(layer, weight, batch)
    >>> graph.op_types, graph.tensor_bytes.tolist()
    (('dot', 'tanh'), [128, 64, 32, 32])
    """
    if name is None:
        name = getattr(function, "__name__", type(function).__name__)
    lowered = jax.jit(function, donate_argnums=donate).lower(*specs)
    text = lowered.compile().as_text() if optimized else lowered.as_text(dialect="hlo")
    graph = load(text, name=name, mode=mode, rates=rates)
    graph.meta["source"] |= {"framework": "jax", "version": jax.__version__}
    if optimized:
        graph.meta["source"]["platform"] = jax.default_backend()
    return graph
