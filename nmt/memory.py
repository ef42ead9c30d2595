"""How much memory this process holds, and the unit in which memory and sizes are told."""

import os
import resource
import sys
from pathlib import Path

MEGABYTE = 1e6


def resident_bytes() -> int:
    """Return the memory that the process holds now; where the system does not tell it, the peak so far."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return pages * os.sysconf("SC_PAGE_SIZE")
