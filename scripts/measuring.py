"""Memory, processor time and spread, as several benchmarks measure them."""

import contextlib
import os
import platform
import resource
import statistics
from collections.abc import Sequence
from pathlib import Path

PROCESSES = Path("/proc")


def peak_resident_memory() -> float:
    """Return the peak resident memory of this process, in GB.

    On Linux, the peaks of its child processes are added; memory that they share counts for each.
    """
    if PROCESSES.exists():
        # On Linux, a process inherits ru_maxrss from its parent; VmHWM is of the process alone.
        return sum(_kilobytes(process / "status", "VmHWM") for process in _family("self")) * 1024 / 1e9
    unit = 1 if platform.system() == "Darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def resident_memory(process: int) -> float:
    """Return the resident memory of a process and its child processes, in GB, on Linux.

    Memory that several processes share is divided among them, so it counts once.
    """
    return sum(_kilobytes(member / "smaps_rollup", "Pss") for member in _family(str(process))) * 1024 / 1e9


def private_memory(process: int) -> float:
    """Return the resident memory of a process and its child processes, in GB, without mapped files, on Linux."""
    return sum(_kilobytes(member / "status", "RssAnon") for member in _family(str(process))) * 1024 / 1e9


def processor_seconds(process: int) -> float:
    """Return the processor time of a process and its child processes, in seconds, on Linux."""
    ticks = 0
    for member in _family(str(process)):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
            after_name = (member / "stat").read_text().rpartition(")")[2].split()
            ticks += int(after_name[11]) + int(after_name[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _family(process: str) -> list[Path]:
    started = [
        number
        for path in (PROCESSES / process).glob("task/*/children")
        for number in path.read_text().split()
    ]
    return [PROCESSES / number for number in (process, *started)]


def _kilobytes(file: Path, field: str) -> int:
    """Return a figure of a process, or 0 where it has just ended."""
    try:
        lines = file.read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{field}:")), 0)


def spread(rates: Sequence[float]) -> float:
    """Return the distance between the highest and the lowest rate, as a share of the median."""
    return (max(rates) - min(rates)) / statistics.median(rates)
