"""What the benchmarks measure alike."""

import contextlib
import os
import platform
import resource
import statistics
from collections.abc import Sequence
from pathlib import Path

PROCESSES = Path("/proc")


def peak_resident_memory() -> float:
    """Return the most memory that this process has had in use, in GB.

    On Linux, what processes that it has started had in use is added; memory that they share counts for each.
    """
    if PROCESSES.exists():
        # Linux hands ru_maxrss down from one process to the next; this figure is a process's alone.
        return sum(_kilobytes(process / "status", "VmHWM") for process in _family("self")) * 1024 / 1e9
    unit = 1 if platform.system() == "Darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def resident_memory(process: int) -> float:
    """Return how much memory a process and those that it has started have in use, in GB, as Linux tells it.

    What several processes share counts once.
    """
    return sum(_kilobytes(member / "smaps_rollup", "Pss") for member in _family(str(process))) * 1024 / 1e9


def private_memory(process: int) -> float:
    """Return how much memory a process and those that it has started hold, in GB, but for what they map of files."""
    return sum(_kilobytes(member / "status", "RssAnon") for member in _family(str(process))) * 1024 / 1e9


def processor_seconds(process: int) -> float:
    """Return for how many seconds a process and those that it has started have used a core, as Linux tells it."""
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
    """Return the distance between the highest and the lowest, as a share of the median."""
    return (max(rates) - min(rates)) / statistics.median(rates)
