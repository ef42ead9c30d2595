"""What the benchmarks measure alike."""

import platform
import resource
import statistics
from collections.abc import Sequence
from pathlib import Path

PROCESS_STATUS = Path("/proc/self/status")


def peak_resident_memory() -> float:
    """Return the most memory that this process has had in use, in GB."""
    if PROCESS_STATUS.exists():
        # Linux hands ru_maxrss down from the process that started this one; its other figure is this one's alone.
        fields = dict(line.split(":", 1) for line in PROCESS_STATUS.read_text().split("\n") if ":" in line)
        return int(fields["VmHWM"].removesuffix("kB")) * 1024 / 1e9
    unit = 1 if platform.system() == "Darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def spread(rates: Sequence[float]) -> float:
    """Return the distance between the highest and the lowest, as a share of the median."""
    return (max(rates) - min(rates)) / statistics.median(rates)
