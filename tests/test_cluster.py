import math

import numpy as np
import pytest

from regal.cluster import GIB, MAX_DEVICES, MAX_LINKS, Cluster, Device, Link, parse_size
from regal.files import ParseError

TEXT = """
[[devices]]
memory = "16 GiB"
count = 2

[[devices]]
memory = 1000
speed = 0.5

[default_link]
latency = 1e-6
bandwidth = "12 GB"

[[links]]
from = 0
to = 2
bandwidth = 5
"""


def load(tmp_path, text: str) -> Cluster:
    (tmp_path / "cluster.toml").write_text(text)
    return Cluster.load(tmp_path / "cluster.toml")


def test_the_default_is_that_of_the_papers():
    cluster = Cluster.uniform()
    assert cluster == Cluster((Device(16 * GIB, 1.0),) * 2)
    assert cluster.memory.tolist() == [16 * GIB] * 2
    assert cluster.latency.tolist() == [[0, 0], [0, 0]]
    assert np.isinf(cluster.bandwidth).all()
    assert cluster.is_uniform


def test_a_uniform_cluster_links_every_pair():
    cluster = Cluster.uniform(3, memory=5, speed=2.0, latency=0.5, bandwidth=8.0)
    assert (cluster.num_devices, len(cluster.links)) == (3, 6)
    others = ~np.eye(3, dtype=bool)
    assert set(cluster.latency[others]) == {0.5}
    assert set(cluster.bandwidth[others]) == {8.0}
    assert cluster.speed.tolist() == [2.0] * 3
    assert not Cluster((Device(1), Device(2))).is_uniform


def test_a_file(tmp_path):
    cluster = load(tmp_path, TEXT)
    assert cluster.devices == (Device(16 * GIB), Device(16 * GIB), Device(1000, 0.5))
    assert len(cluster.links) == 6
    assert (cluster.latency[0, 2], cluster.bandwidth[0, 2]) == (0.0, 5.0)
    assert (cluster.latency[2, 0], cluster.bandwidth[2, 0]) == (1e-6, 12e9)
    assert Cluster.from_json(cluster.to_json()) == cluster


def test_json_writes_an_infinite_bandwidth_as_null():
    cluster = Cluster((Device(1), Device(2)), (Link(0, 1, latency=1.0),))
    value = cluster.to_json()
    assert value["links"] == [{"from": 0, "to": 1, "latency": 1.0, "bandwidth": None}]
    assert Cluster.from_json(value) == cluster


@pytest.mark.parametrize(
    ("text", "size"),
    [("0", 0), ("16 GiB", 16 * GIB), ("2kb", 2000), (" 1.5 KiB ", 1536), ("3 TB", 3 * 10**12), (7, 7), (2.5, 2.5)],
)
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "GiB", "1 XB", "-1", "1e9", -1, True, None, math.nan, "1 GiB GiB", "9" * 30])
def test_what_is_no_size(text):
    with pytest.raises(ValueError, match="a size is a number of bytes or text such as '16 GiB', not"):
        parse_size(text)


DEVICES = "[[devices]]\ncount = 2\n"
BROKEN = {
    "no devices": ("", "from 1 to 1024 devices, not 0"),
    "too many devices": (f"[[devices]]\ncount = {MAX_DEVICES}\n[[devices]]\n[default_link]\n", "devices, not 1025"),
    "count zero": ("[[devices]]\ncount = 0", "devices, entry 0: count must be from 1 to 1024, not 0"),
    "count true": ("[[devices]]\ncount = true", "devices, entry 0: count must be from 1 to 1024, not True"),
    "memory negative": ("[[devices]]\nmemory = -1", "not -1"),
    "memory 2^63": ("[[devices]]\nmemory = 9223372036854775808", "from 0 to 2^63 - 1, not 9223372036854775808"),
    "memory a fraction": ("[[devices]]\nmemory = 1.5", "a device's memory must be an integer of bytes"),
    "memory true": ("[[devices]]\nmemory = true", "a size is a number of bytes"),
    "speed zero": ("[[devices]]\nspeed = 0", "a device's speed must be positive and finite, not 0"),
    "speed infinite": ("[[devices]]\nspeed = inf", "a device's speed must be positive and finite, not inf"),
    "speed nan": ("[[devices]]\nspeed = nan", "a device's speed must be positive and finite, not nan"),
    "speed as text": ('[[devices]]\nspeed = "1"', "a device's speed must be positive and finite, not '1'"),
    "unknown key": ("[[devices]]\ncores = 4", "devices, entry 0: unknown key 'cores'"),
    "unknown table": (DEVICES + "[network]\n", "cluster: unknown key 'network'"),
    "devices no list": ("devices = 3", "cluster: devices must be a list, not "),
    "device no table": ("devices = [3]", "devices, entry 0: must be an object, not "),
    "latency negative": (
        DEVICES + "[[links]]\nfrom = 0\nto = 1\nlatency = -1",
        "link from 0 to 1: latency must be finite",
    ),
    "latency infinite": (DEVICES + "[default_link]\nlatency = inf", "link from 0 to 1: latency must be finite seconds"),
    "bandwidth zero": (
        DEVICES + "[[links]]\nfrom = 0\nto = 1\nbandwidth = 0",
        "bandwidth must be positive bytes per second",
    ),
    "link without an end": (
        DEVICES + "[[links]]\nfrom = 0",
        "link from 0 to None: a link connects two device numbers, not None",
    ),
    "link from a list": (
        DEVICES + "[[links]]\nfrom = [0]\nto = 1",
        "link from list of 1 to 1: a link connects two device numbers",
    ),
    "link from true": (DEVICES + "[[links]]\nfrom = true\nto = 0", "a link connects two device numbers, not True"),
    "link out of range": (
        DEVICES + "[[links]]\nfrom = 0\nto = 2",
        "a link names device 2, but the cluster has 2 devices",
    ),
    "link to itself": (DEVICES + "[[links]]\nfrom = 1\nto = 1", "a link connects device 1 to itself"),
    "link twice": (DEVICES + "[[links]]\nfrom = 0\nto = 1\n" * 2, "two links from device 0 to device 1"),
    "default link no table": (
        DEVICES.replace("[[", "default_link = 3\n[["),
        "default_link: must be an object, not ",
    ),
    "no TOML": ("[[", ""),
    "deep": ("a = " + "[" * 5000, ""),
}


@pytest.mark.parametrize("name", BROKEN)
def test_refuses_files(tmp_path, name):
    text, message = BROKEN[name]
    with pytest.raises(ParseError) as caught:
        load(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path}/cluster.toml: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("count", [0, 1025, True, 2.0])
def test_refuses_numbers_of_devices(count):
    with pytest.raises(ValueError, match=rf"from 1 to 1024 devices, not {count!r}"):
        Cluster.uniform(count)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "cluster: must be an object, not list"),
        ({"devices": 1}, "cluster: devices must be a list, not "),
        ({"links": []}, "from 1 to 1024 devices, not 0"),
        ({"devices": [], "nodes": []}, "cluster: unknown key 'nodes'"),
        ({"devices": [5]}, "devices, entry 0: must be an object, not "),
        ({"devices": [{}, {}], "links": [{"from": [0], "to": 1}]}, "a link connects two device numbers"),
    ],
)
def test_refuses_json(value, message):
    with pytest.raises(ValueError, match=message):
        Cluster.from_json(value)


def test_links_are_counted_before_they_are_made(tmp_path):
    assert len(Cluster.uniform(512, bandwidth=1e9).links) == 512 * 511
    message = f"a cluster has at most {MAX_LINKS} links, not 262656"
    with pytest.raises(ValueError, match=message):
        Cluster.uniform(513, latency=0.5)
    with pytest.raises(ValueError, match=message):
        load(tmp_path, "[[devices]]\ncount = 513\n[default_link]\n")
    assert Cluster.uniform(MAX_DEVICES).links == ()


def test_a_key_of_many_parts_is_refused_before_it_is_parsed(tmp_path):
    for part in ("a", '"a.b"', "'.'", '"\\""'):
        with pytest.raises(ValueError, match="nested too deeply"):
            load(tmp_path, " . ".join([part] * 100_000) + " = 1")
    with pytest.raises(ValueError, match="unknown key 'a'"):
        load(tmp_path, ".".join(["a"] * 60) + " = 1")
    assert load(tmp_path, "[[devices]]\n# " + "a." * 30 + "\n").num_devices == 1
