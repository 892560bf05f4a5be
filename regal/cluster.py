"""Devices and the links between them."""

from __future__ import annotations

import math
import re
import sys
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from regal.files import ParseError, read_bytes, short

GIB = 2**30
DEFAULT_MEMORY = 16 * GIB
MAX_DEVICES = 1024
MAX_LINKS = 2**18
DOTTED_KEY = re.compile(rb"""(?<![\w-])(?:(?:[\w-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')[ \t]*\.[ \t]*){64}""")
"""A key of more parts than any cluster has; the TOML parser's time grows with the square of their number."""
UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
UNITS |= {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}


def _number(value: Any) -> float:
    """``value`` as a float; NaN, which every comparison refuses, where it is no number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


@dataclass(frozen=True)
class Device:
    """One device.

    Attributes
    ----------
    memory : int
        Capacity in bytes, from 0 to 2^63 - 1.
    speed : float
        Ops take ``runtime / speed`` seconds here; positive and finite.
    """

    memory: int = DEFAULT_MEMORY
    speed: float = 1.0

    def __post_init__(self) -> None:
        if isinstance(self.memory, bool) or not isinstance(self.memory, int) or not 0 <= self.memory < 2**63:
            raise ValueError(
                f"a device's memory must be an integer of bytes from 0 to 2^63 - 1, not {short(self.memory)}"
            )
        if not 0 < _number(self.speed) < math.inf:
            raise ValueError(f"a device's speed must be positive and finite, not {short(self.speed)}")
        object.__setattr__(self, "speed", float(self.speed))


@dataclass(frozen=True)
class Link:
    """The way from one device to another; links have a direction.

    Attributes
    ----------
    source, target : int
        Device numbers.
    latency : float
        Seconds, not negative.
    bandwidth : float
        Bytes per second, positive; infinite by default.
    """

    source: int
    target: int
    latency: float = 0.0
    bandwidth: float = math.inf

    def __post_init__(self) -> None:
        for end in (self.source, self.target):
            if isinstance(end, bool) or not isinstance(end, int):
                self._refuse(f"a link connects two device numbers, not {short(end)}")
        if not 0 <= _number(self.latency) < math.inf:
            self._refuse(f"latency must be finite seconds, not negative, not {short(self.latency)}")
        if not _number(self.bandwidth) > 0:
            self._refuse(f"bandwidth must be positive bytes per second, not {short(self.bandwidth)}")
        object.__setattr__(self, "latency", float(self.latency))
        object.__setattr__(self, "bandwidth", float(self.bandwidth))

    def _refuse(self, text: str) -> NoReturn:
        raise ValueError(f"link from {short(self.source)} to {short(self.target)}: {text}")


@dataclass(frozen=True)
class Cluster:
    """Devices and the links between them; a pair without a link is connected for free.

    Examples
    --------
    >>> cluster = Cluster.uniform(2, memory=8 * 2**30, bandwidth=12e9)
    >>> cluster.num_devices, cluster.bandwidth.tolist()
    (2, [[inf, 12000000000.0], [12000000000.0, inf]])
    """

    devices: tuple[Device, ...]
    links: tuple[Link, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "devices", tuple(self.devices))
        object.__setattr__(self, "links", tuple(self.links))
        _check_links(len(self.links))
        n = len(self.devices)
        if not 1 <= n <= MAX_DEVICES:
            raise ValueError(f"a cluster has from 1 to {MAX_DEVICES} devices, not {n}")
        seen = set()
        for link in self.links:
            for end in (link.source, link.target):
                if not 0 <= end < n:
                    raise ValueError(f"a link names device {short(end)}, but the cluster has {n} devices")
            if link.source == link.target:
                raise ValueError(f"a link connects device {link.source} to itself")
            if (link.source, link.target) in seen:
                raise ValueError(f"two links from device {link.source} to device {link.target}")
            seen.add((link.source, link.target))

    @classmethod
    def uniform(
        cls,
        num_devices: int = 2,
        memory: int = DEFAULT_MEMORY,
        speed: float = 1.0,
        latency: float = 0.0,
        bandwidth: float = math.inf,
    ) -> Cluster:
        """Equal devices, every pair linked alike; the defaults are the setting of the REGAL paper's tables."""
        if isinstance(num_devices, bool) or not isinstance(num_devices, int) or not 1 <= num_devices <= MAX_DEVICES:
            raise ValueError(f"a cluster has from 1 to {MAX_DEVICES} devices, not {short(num_devices)}")
        links: list[Link] = []
        if latency != 0 or bandwidth != math.inf:
            _check_links(num_devices * (num_devices - 1))
            pairs = [(a, b) for a in range(num_devices) for b in range(num_devices) if a != b]
            links = [Link(a, b, latency, bandwidth) for a, b in pairs]
        return cls((Device(memory, speed),) * num_devices, tuple(links))

    @property
    def num_devices(self) -> int:
        """Number of devices."""
        return len(self.devices)

    @cached_property
    def memory(self) -> NDArray[np.int64]:
        """int64 array, shape (num_devices,): capacities in bytes."""
        return np.array([device.memory for device in self.devices], np.int64)

    @cached_property
    def speed(self) -> NDArray[np.float64]:
        """float64 array, shape (num_devices,)."""
        return np.array([device.speed for device in self.devices], np.float64)

    @cached_property
    def latency(self) -> NDArray[np.float64]:
        """float64 array, shape (num_devices, num_devices): seconds from row to column."""
        result = np.zeros((self.num_devices, self.num_devices))
        for link in self.links:
            result[link.source, link.target] = link.latency
        return result

    @cached_property
    def bandwidth(self) -> NDArray[np.float64]:
        """float64 array, shape (num_devices, num_devices): bytes per second from row to column."""
        result = np.full((self.num_devices, self.num_devices), math.inf)
        for link in self.links:
            result[link.source, link.target] = link.bandwidth
        return result

    @property
    def is_uniform(self) -> bool:
        """Whether all devices are equal."""
        return len(set(self.devices)) == 1

    @classmethod
    def load(cls, path: str | Path) -> Cluster:
        """Read a TOML file.

        ``[[devices]]`` tables hold ``memory`` (bytes, or text such as ``"16 GiB"``), ``speed`` and ``count`` (equal
        devices, default 1); ``[[links]]`` tables hold ``from``, ``to``, ``latency`` (seconds) and ``bandwidth``
        (bytes per second, or text such as ``"12 GB"``); an optional ``[default_link]`` holds ``latency`` and
        ``bandwidth`` of every pair that no ``[[links]]`` names.

        Raises
        ------
        ValueError
            For a file that breaks the format.
        """
        data = read_bytes(path, limit=2**20)
        try:
            return cls._from_toml(_parse_toml(data))
        except ValueError as error:
            raise ParseError(f"{path}: {error}") from error

    @classmethod
    def _from_toml(cls, value: dict[str, Any]) -> Cluster:
        _only(value, {"devices", "links", "default_link"}, "cluster")
        devices: list[Device] = []
        for entry, table in enumerate(_tables(value, "devices")):
            where = f"devices, entry {entry}"
            _only(table, {"memory", "speed", "count"}, where)
            count = table.get("count", 1)
            if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MAX_DEVICES:
                raise ValueError(f"{where}: count must be from 1 to {MAX_DEVICES}, not {short(count)}")
            devices += [_device(table, where)] * count
        default_links: dict[tuple[int, int], Link] = {}
        if len(devices) <= MAX_DEVICES and (default := value.get("default_link")) is not None:
            _only(default, {"latency", "bandwidth"}, "default_link")
            _check_links(len(devices) * (len(devices) - 1))
            pairs = [(a, b) for a in range(len(devices)) for b in range(len(devices)) if a != b]
            default_links = {pair: _link(*pair, default) for pair in pairs}
        links = []
        for table in _tables(value, "links"):
            _only(table, {"from", "to", "latency", "bandwidth"}, "links")
            link = _link(table.get("from"), table.get("to"), table)
            default_links.pop((link.source, link.target), None)
            links.append(link)
        return cls(tuple(devices), (*default_links.values(), *links))

    def to_json(self) -> dict[str, Any]:
        """JSON values: ``{"devices": [{"memory", "speed"}...], "links": [{"from", "to", "latency", "bandwidth"}...]}``.

        An infinite bandwidth is written as null.
        """
        devices = [{"memory": device.memory, "speed": device.speed} for device in self.devices]
        links = [
            {
                "from": link.source,
                "to": link.target,
                "latency": link.latency,
                "bandwidth": None if link.bandwidth == math.inf else link.bandwidth,
            }
            for link in self.links
        ]
        return {"devices": devices, "links": links}

    @classmethod
    def from_json(cls, value: Any) -> Cluster:
        """The cluster behind JSON values as :meth:`to_json` writes them; raises ``ValueError``."""
        _only(value, {"devices", "links"}, "cluster")
        devices = []
        for entry, table in enumerate(_tables(value, "devices")):
            where = f"devices, entry {entry}"
            _only(table, {"memory", "speed"}, where)
            if isinstance(table.get("memory"), str):
                raise ValueError(f"{where}: memory must be a number of bytes, not {short(table['memory'])}")
            devices.append(_device(table, where))
        links = []
        for table in _tables(value, "links"):
            _only(table, {"from", "to", "latency", "bandwidth"}, "links")
            bandwidth = math.inf if table.get("bandwidth") is None else table["bandwidth"]
            ends: tuple[Any, Any] = (table.get("from"), table.get("to"))
            links.append(Link(*ends, table.get("latency", 0.0), bandwidth))
        return cls(tuple(devices), tuple(links))


def parse_size(value: int | float | str) -> int | float:
    """Bytes behind a number or text such as ``"16 GiB"``, ``"12.5GB"``; raises ``ValueError``.

    Examples
    --------
    >>> parse_size("16 GiB"), parse_size("1.5 kB"), parse_size(7)
    (17179869184, 1500, 7)
    """
    if _number(value) >= 0:
        return value  # type: ignore[return-value]
    match = re.fullmatch(r"\s*(\d{1,20}(?:\.\d{1,20})?)\s*([a-zA-Z]*)\s*", value) if isinstance(value, str) else None
    if match is None or match[2].lower() not in UNITS:
        raise ValueError(f"a size is a number of bytes or text such as '16 GiB', not {short(value)}")
    unit = UNITS[match[2].lower()]
    return round(float(match[1]) * unit) if "." in match[1] else int(match[1]) * unit


def _parse_toml(data: bytes) -> dict[str, Any]:
    if DOTTED_KEY.search(data):
        raise ValueError("nested too deeply")
    try:
        return tomllib.loads(data.decode())
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 text at byte {error.start}") from error
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"not TOML: {error}") from error
    except ValueError as error:
        raise ValueError(f"an integer of more than {sys.get_int_max_str_digits()} digits") from error


def _device(table: dict[str, Any], where: str) -> Device:
    try:
        memory = parse_size(table.get("memory", DEFAULT_MEMORY))
        return Device(memory, table.get("speed", 1.0))  # type: ignore[arg-type]
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error


def _check_links(count: int) -> None:
    if count > MAX_LINKS:
        raise ValueError(f"a cluster has at most {MAX_LINKS} links, not {count}; a pair without a link is free")


def _link(source: Any, target: Any, table: dict[str, Any]) -> Link:
    try:
        bandwidth = parse_size(table["bandwidth"]) if "bandwidth" in table else math.inf
    except ValueError as error:
        raise ValueError(f"link from {short(source)} to {short(target)}: {error}") from error
    return Link(source, target, table.get("latency", 0.0), bandwidth)


def _tables(value: dict[str, Any], key: str) -> list[dict[str, Any]]:
    tables = value.get(key, [])
    if not isinstance(tables, list):
        raise ValueError(f"cluster: {key} must be a list, not {short(tables)}")
    return tables


def _only(value: Any, known: set[str], where: str) -> None:
    if not isinstance(value, dict):
        raise ValueError(f"{where}: must be an object, not {short(value)}")
    for key in value:
        if key not in known:
            raise ValueError(f"{where}: unknown key {short(key)}")
