"""Where the values of a TensorFlow program are stored, who writes variables, and which reads of them are copies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from regal.frontends.tensorflow_program import Node, Program, called
from regal.frontends.tensorflow_simplify import BODIES, READS, Kind, Source, kinds_of, shared_inputs

MAX_PARTS = 2**10
"""A list of more storages is one of its own."""


@dataclass
class Roles:
    """What each node of a program is.

    Attributes
    ----------
    kinds : list of Kind, by node
    storage : dict
        Value -> the values that allocated what it is stored in: one, or several for a list of tensors. All handles of
        a variable have one storage, and so has what is read through them.
    variables : set
        Storages that are variables.
    writes : dict
        Node -> the variables that it writes.
    copied : set
        Nodes that read a variable whose old value is needed after the variable has got a new one: they copy.
    """

    kinds: list[Kind]
    storage: dict[Source, tuple[Source, ...]]
    variables: set[Source]
    writes: dict[int, list[Source]]
    copied: set[int]

    def stored(self, sources: Iterable[Source]) -> list[Source]:
        """The storages of several values, each once."""
        return list(dict.fromkeys(part for source in sources for part in self.storage[source]))


def roles_of(program: Program) -> Roles:
    """Find the role of every node."""
    roles = Roles(kinds_of(program), {}, set(), {}, set())
    _find_storages(program, roles)
    _find_writes(program, roles)
    _find_copies(program, roles)
    if roles.copied:
        _find_storages(program, roles)
    return roles


def is_reference(node: Node, output: int) -> bool:
    """Whether a value is a handle, or a reference as variables of TensorFlow 1 are."""
    dtype = node.outputs[output].dtype
    return dtype == tf.resource or dtype != dtype.base_dtype


def _find_storages(program: Program, roles: Roles) -> None:
    first: dict[str, Source] = {}  # shared name of a variable -> its first handle
    for at, node in enumerate(program.nodes):
        follows = roles.kinds[at] is Kind.ALIAS and at not in roles.copied
        for output in range(len(node.outputs)):
            parts = tuple(roles.stored(shared_inputs(node, output))) if follows else ()
            if len(parts) > MAX_PARTS:
                roles.kinds[at], parts = Kind.OP, ()
            if at in roles.writes and is_reference(node, output):
                parts = (roles.writes[at][0],)
            roles.storage[at, output] = parts or ((at, output),)
        if roles.kinds[at] is Kind.HANDLE:
            name = node.attr["shared_name"].s.decode(errors="replace") if "shared_name" in node.attr else ""
            variable = first.setdefault(name or f"node {node.name}", (at, 0))
            roles.storage[at, 0] = (variable,)
            roles.variables.add(variable)


def _find_writes(program: Program, roles: Roles) -> None:
    for at, node in enumerate(program.nodes):
        keeps = node.op in READS or (node.op in BODIES and not _body_writes(program, node))
        if roles.kinds[at] is not Kind.OP or keeps:
            continue
        takes_references = any(arg.is_ref for arg in op_def_registry.get(node.op).input_arg)
        written: list[Source] = []
        for source in node.inputs:
            giver = program.nodes[source[0]]
            if giver.outputs[source[1]].dtype == tf.resource or (takes_references and is_reference(giver, source[1])):
                written += [part for part in roles.storage[source] if part in roles.variables]
        if written:
            roles.writes[at] = list(dict.fromkeys(written))
            for output in range(len(node.outputs)):
                if is_reference(node, output):
                    roles.storage[at, output] = (written[0],)


def _body_writes(program: Program, node: Node) -> bool:
    """Whether an op in the body of a loop or branch may write a variable."""
    todo, seen = list(called(node.attr)), set()
    while todo:
        name = todo.pop()
        if name not in program.functions or name in seen:
            continue
        seen.add(name)
        for inner in program.functions[name].node_def:
            todo.extend([inner.op, *called(inner.attr)])
            op_def = op_def_registry.get(inner.op)
            takes = () if op_def is None or inner.op in READS else op_def.input_arg
            if any(arg.is_ref or arg.type == tf.resource.as_datatype_enum for arg in takes):
                return True
    return False


def _find_copies(program: Program, roles: Roles) -> None:
    """Mark the reads of variables whose readers come, in program order, after the variable's next update."""
    version = dict.fromkeys(roles.variables, 0)
    reads: dict[Source, dict[int, tuple[Source, int]]] = {}  # value -> nodes that read for it, what, which version
    for at, node in enumerate(program.nodes):
        if roles.kinds[at] is Kind.ALIAS:
            for output in range(len(node.outputs)):
                for source in shared_inputs(node, output):
                    found = reads.get(source, {})
                    variable = roles.storage[source][0]
                    if variable in version and not found and not is_reference(node, output):
                        found = {at: (variable, version[variable])}
                    if found:
                        reads[at, output] = reads.get((at, output), {}) | found
        elif roles.kinds[at] is Kind.OP:
            roles.copied |= _outdated(version, reads, node.inputs)
        for variable in roles.writes.get(at, ()):
            version[variable] += 1
    roles.copied |= _outdated(version, reads, program.results)


def _outdated(
    version: dict[Source, int], reads: dict[Source, dict[int, tuple[Source, int]]], sources: Iterable[Source]
) -> set[int]:
    """The nodes that read for ``sources`` what has been written since."""
    found = (entry for source in sources for entry in reads.get(source, {}).items())
    return {reader for reader, (variable, seen) in found if version[variable] > seen}
