"""What a plan costs."""

from __future__ import annotations

from dataclasses import dataclass

from regal.cluster import Cluster


@dataclass(frozen=True)
class Cost:
    """The figures of one plan on one cluster.

    Attributes
    ----------
    peak_memory : tuple of int, length num_devices
        Highest byte count ever noted on each device.
    running_time : float
        Seconds of the performance model from the start to the last op's finish.
    """

    peak_memory: tuple[int, ...]
    running_time: float

    @property
    def max_peak_memory(self) -> int:
        """The peak-memory objective: bytes on the fullest device."""
        return max(self.peak_memory)

    def excess_bytes(self, cluster: Cluster) -> int:
        """Bytes by which the peaks exceed the devices' memory, summed over devices."""
        return sum(max(0, peak - device.memory) for peak, device in zip(self.peak_memory, cluster.devices, strict=True))

    def feasible(self, cluster: Cluster) -> bool:
        """Whether every device's peak fits its memory."""
        return self.excess_bytes(cluster) == 0

    def peak_utilisation(self, cluster: Cluster) -> float:
        """The fullest device's peak as a share of its memory; infinite where a device without memory is used."""
        return max(
            float(peak) / float(device.memory) if device.memory else (float("inf") if peak else 0.0)
            for peak, device in zip(self.peak_memory, cluster.devices, strict=True)
        )
