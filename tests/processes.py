"""What Linux says of processes."""

import time
from collections.abc import Iterable
from pathlib import Path


def children_of(process: int) -> list[int]:
    """Return the children of the first thread of a process, including those that it has not yet waited for."""
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def is_running(process: int) -> bool:
    """Return whether there is such a process, and it is no zombie, which has ended already."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def wait_for_end(processes: Iterable[int]) -> None:
    """Wait until none of the processes is running; the limit is the timeout of the test."""
    while any(map(is_running, processes)):
        time.sleep(0.01)
