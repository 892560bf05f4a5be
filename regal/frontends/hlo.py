"""XLA programs in HLO text as computation graphs: what JAX lowers, what XLA compiles, what TensorFlow's bridge emits.

How a module is read:

- The parameters of the entry are persistent tensors. So is a constant of more than ``PARAMETER_BYTES`` (64) bytes that
  an op reads; a smaller one (a number, an axis, a key) is a parameter of its reader and no tensor.
- A value that has the storage of another is contracted, and whoever reads it reads that storage: the elements of
  tuples, ``bitcast``, ``opt-barrier``, ``domain``, and ``reshape``, which XLA turns into a bitcast once it has chosen
  layouts. ``copy``, ``transpose``, ``slice`` and ``broadcast`` write storage of their own and stay ops.
- A ``call`` is inlined. A fusion is one op that computes what its body does and moves its operands and results. A loop
  or branch (``while``, ``conditional``) is one op that takes as long as what it runs; elements of the loop's state that
  its body hands on are the storage they were, the others are new. These two and ``custom-call`` are opaque, counted in
  ``meta["source"]["opaque_ops"]``. Computations that an op applies to elements (``reduce``, ``sort``) are part of it.
- ``X-start`` and ``X-done`` are two ops: the first makes the result, the second an empty tensor without which nobody
  may read the result. ``send``, ``recv`` and collectives are ordinary ops.
- What the entry returns are the outputs. A result that the module writes over a parameter (``input_output_alias``,
  donation in JAX) is an in-place update, see :mod:`regal.frontends.hlo_update`.
- ``control-predecessors`` are control inputs. The program order is that of the text: for a scheduled module the order
  in which XLA executes it.
- Instructions that neither the result nor an effect needs are left out, as XLA does before anything else.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from regal.files import ParseError, read_bytes
from regal.frontends.hlo_build import Inliner
from regal.frontends.hlo_cost import Costs
from regal.frontends.hlo_module import Module
from regal.frontends.hlo_text import parse
from regal.frontends.hlo_update import drop_unneeded, drop_unused_tensors, write_in_place
from regal.frontends.roofline import Rates
from regal.graph import ComputationGraph

__all__ = ["instruction_counts", "load", "parse"]

DEFAULT_RATES = Rates()


def load(
    source: str | Path, *, name: str | None = None, mode: str | None = None, rates: Rates = DEFAULT_RATES
) -> ComputationGraph:
    """Read an HLO module; see the module's description for what becomes what.

    Parameters
    ----------
    source : path, or text
        Text begins with ``HloModule``. A file may be gzip.
    name : str, optional
        Of the graph; by default the module's.
    mode : str, optional
        Written into ``meta``: ``"inference"``, ``"training"`` or ``"step"``.
    rates : Rates
        Roofline from which runtimes follow.

    Raises
    ------
    ParseError
        For a file that cannot be read or is no HLO module, whose shapes do not fit, or which is longer when inlined
        than :data:`regal.frontends.hlo_build.MAX_VALUES`; the message names the line.

    Examples
    --------
    >>> graph = load('''HloModule layer
    ... ENTRY main {
    ...   x = f32[4,8]{1,0} parameter(0)
    ...   w = f32[8,2]{1,0} parameter(1)
    ...   product = f32[4,2]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    ...   flat = f32[8]{0} reshape(product)
    ...   ROOT result = f32[8]{0} tanh(flat)
    ... }''')
    >>> graph.op_types, graph.tensor_bytes.tolist(), graph.meta["source"]["flops"]
    (('dot', 'tanh'), [128, 64, 32, 32], 136)
    """
    module, where = _read(source)
    try:
        return _graph(module, where, name, mode, rates)
    except ParseError:
        raise
    except ValueError as error:
        raise ParseError(f"{where}: {error}") from error


def instruction_counts(source: str | Path) -> dict[str, int]:
    r"""Computation -> number of instructions, as XLA counts them, before anything is contracted.

    Raises
    ------
    ParseError
        As :func:`load`.

    Examples
    --------
    >>> instruction_counts("HloModule one\nENTRY main {\n  ROOT x = f32[] parameter(0)\n}")
    {'main': 1}
    """
    return _read(source)[0].instruction_counts()


def _read(source: str | Path) -> tuple[Module, str]:
    if isinstance(source, str) and (source.lstrip().startswith("HloModule") or "\n" in source):
        return parse(source), "HLO text"
    data = read_bytes(source)
    try:
        return parse(data.decode(), str(source)), str(source)
    except UnicodeDecodeError as error:
        raise ParseError(f"{source}: not UTF-8 text at byte {error.start}") from error


def _graph(module: Module, where: str, name: str | None, mode: str | None, rates: Rates) -> ComputationGraph:
    inliner = Inliner(module, Costs(module, rates, where), where)
    result = inliner.run()
    builder = inliner.builder
    for tensor in result.storages():
        if tensor not in inliner.persistent:
            builder.mark_output(tensor)
    if not module.is_scheduled:
        drop_unneeded(builder)
    updates = inliner.updates(result)
    written = write_in_place(builder, updates, fixed_order=module.is_scheduled)
    drop_unused_tensors(builder)
    builder.name = module.name if name is None else name
    source: dict[str, Any] = {"framework": "hlo", "version": "", **({} if mode is None else {"mode": mode})}
    builder.meta["source"] = {
        **source,
        "module": module.name,
        "is_scheduled": module.is_scheduled,
        "instructions": sum(module.instruction_counts().values()),
        "opaque_ops": sum(type_ in ("while", "conditional", "custom-call") for type_ in builder.types),
        "donated": len(updates),
        "updated_in_place": written,
        "flops": inliner.flops,
        "rates": rates.to_json(),
    }
    return builder.build()
