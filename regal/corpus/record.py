"""What a corpus knows of each of its graphs without reading it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from regal.files import ParseError, short


@dataclass(frozen=True)
class Record:
    """Provenance and facts of one graph; JSON values only.

    Attributes
    ----------
    name : str
        Unique in its corpus: package, model and mode.
    framework, framework_version, package, package_version, model, family : str
        Where it comes from; a version is empty where there is none.
    mode : str
        ``"inference"``, ``"training"`` (loss and gradients) or ``"step"`` (with the update); may carry a suffix.
    batch : int
        Examples per step, 0 where the model has no such thing.
    ops, edges, control_inputs, tensors, depth : int
        ``edges`` counts pairs of ops of which one reads what the other makes; ``depth`` the ops on the longest path.
    bytes, persistent_bytes : int
        Of all tensors, and of those without a producer that are read.
    running_time : float
        Seconds of all ops one after the other on a device of speed 1.
    program_order_peak, bound : int
        Peak memory in bytes on one device: of the program order, and a certified lower bound on every order's.
    bound_complete : bool
        Whether the bound is the best of its kind, or time ran out.
    headroom : float
        ``1 - bound / program_order_peak``: what no order can exceed in savings on one device.
    brkga_2k, brkga_20k : int or None
        Peak memory in bytes on two devices that plain BRKGA reaches with 2,000 and 20,000 evaluations; None where it
        was not run.
    opaque_ops : int
        Ops whose inside the frontend does not see (loops, calls to libraries).
    topology_hash, sha256 : str
        See :func:`regal.corpus.topology_hash` and :attr:`regal.ComputationGraph.sha256`.
    """

    name: str
    framework: str
    framework_version: str
    package: str
    package_version: str
    model: str
    family: str
    mode: str
    batch: int
    ops: int
    edges: int
    control_inputs: int
    tensors: int
    depth: int
    bytes: int
    persistent_bytes: int
    running_time: float
    program_order_peak: int
    bound: int
    bound_complete: bool
    headroom: float
    brkga_2k: int | None
    brkga_20k: int | None
    opaque_ops: int
    topology_hash: str
    sha256: str

    @property
    def headroom_class(self) -> str:
        """``"none"`` below 2 % of headroom on one device, ``"some"`` below 10 %, else ``"large"``."""
        return "none" if self.headroom < 0.02 else "some" if self.headroom < 0.1 else "large"

    @property
    def search_headroom(self) -> float | None:
        """Share by which BRKGA's peak on two devices falls from 2,000 to 20,000 evaluations; None where not run."""
        if self.brkga_2k is None or self.brkga_20k is None:
            return None
        return 1.0 - self.brkga_20k / self.brkga_2k if self.brkga_2k else 0.0

    def to_json(self) -> dict[str, Any]:
        """All fields by name."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Any, where: str) -> Record:
        """The record behind JSON values; raises ``ParseError`` that starts with ``where``."""
        if not isinstance(value, dict):
            raise ParseError(f"{where}: a record must be an object, not {short(value)}")
        names = {field.name for field in fields(cls)}
        for name in sorted(names ^ set(value)):
            raise ParseError(f"{where}: the record {'lacks' if name in names else 'has the unknown key'} {name!r}")
        for field in fields(cls):
            allowed = TYPES[str(field.type)]
            found = value[field.name]
            if not isinstance(found, allowed) or (isinstance(found, bool) and bool not in allowed):
                raise ParseError(f"{where}: {field.name} must be {field.type}, not {short(found)}")
        return cls(**value)


TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (float, int),
    "bool": (bool,),
    "int | None": (int, type(None)),
}
