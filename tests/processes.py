"""What Linux says of processes."""

import time
from collections.abc import Iterable
from pathlib import Path


def children_of(process: int) -> list[int]:
    """Return the processes that the first thread of a process has started and not yet heard the end of."""
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def is_running(process: int) -> bool:
    """Whether there is such a process, and more left of it than its end."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def wait_for_end(processes: Iterable[int]) -> None:
    """Return when none of the processes is running; a test has a limit of its own."""
    while any(map(is_running, processes)):
        time.sleep(0.01)
