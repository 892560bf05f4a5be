import math

from regal.cluster import Cluster, Device
from regal.cost import Cost

CLUSTER = Cluster((Device(100), Device(50)))


def test_the_fullest_device_counts():
    assert Cost((40, 60), 1.0).max_peak_memory == 60
    assert Cost((40, 60), 1.0).peak_utilisation(CLUSTER) == 1.2
    assert Cost((70, 30), 1.0).peak_utilisation(CLUSTER) == 0.7


def test_excess_is_summed_over_the_devices_that_overflow():
    assert Cost((100, 50), 1.0).excess_bytes(CLUSTER) == 0
    assert Cost((100, 50), 1.0).feasible(CLUSTER)
    assert Cost((103, 20), 1.0).excess_bytes(CLUSTER) == 3
    assert Cost((103, 57), 1.0).excess_bytes(CLUSTER) == 10
    assert not Cost((0, 51), 1.0).feasible(CLUSTER)


def test_a_device_without_memory():
    cluster = Cluster((Device(100), Device(0)))
    assert Cost((10, 0), 1.0).peak_utilisation(cluster) == 0.1
    assert Cost((10, 0), 1.0).feasible(cluster)
    assert Cost((10, 1), 1.0).peak_utilisation(cluster) == math.inf
