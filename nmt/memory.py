"""How much memory this process holds, how much logits may take, the unit of sizes, and errors for lack of memory."""

import errno
import os
import resource
import sys
from pathlib import Path

from nmt.errors import first_line

MEGABYTE = 1e6
# Number of logits that exist at once: on the CPU they should fit into its cache, elsewhere into memory.
LOGITS_AT_ONCE = {"cpu": 1 << 22, "cuda": 1 << 27, "mps": 1 << 25}


def positions_at_once(vocabulary_size: int, device: str) -> int:
    """Return for how many positions logits are computed at once, on a device of this type; a power of two."""
    return 1 << max(0, (LOGITS_AT_ONCE[device] // vocabulary_size).bit_length() - 1)


def resident_bytes() -> int:
    """Return the memory that the process holds now; where the system does not tell it, the peak so far."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return pages * os.sysconf("SC_PAGE_SIZE")


def is_out_of_memory(error: Exception) -> bool:
    """Tell whether an error says that there is no memory left, on the device or on the host.

    oneDNN, which computes for PyTorch on CPUs, only says that it could not create or execute something.
    """
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    signs = ("out of memory", "allocate memory", "ALLOC_FAILED", "could not create a", "could not execute a")
    # By its name, since importing PyTorch takes memory, and seconds.
    is_named = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    return is_named or (isinstance(error, RuntimeError) and any(sign in str(error) for sign in signs))


def too_little_memory(error: Exception) -> str:
    """Return the line on such an error, for users."""
    return f"device: more free memory is needed; got {first_line(error)}"
