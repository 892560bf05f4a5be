"""How much memory this process ever took."""

import re
import resource
import sys
from pathlib import Path


def peak_memory() -> int:
    """Bytes; on Linux of this program alone, where ``ru_maxrss`` begins with what the parent process had."""
    if sys.platform == "linux":
        found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
        return int(found[1]) * 1024 if found else 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
