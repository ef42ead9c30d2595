"""The log file of a run, which also serves as its lock."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from nmt.errors import RunError
from nmt.files.writing import hold_lock

logger = logging.getLogger("nmt")


class LogFile(logging.StreamHandler[IO[str]]):
    """Writes log lines to a file; a line that cannot be written raises an error, as with any other file."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Raise the error, which is being handled."""
        raise


@contextmanager
def log_file(path: Path) -> Iterator[None]:
    """Within the block, write log lines to a file as well, and hold a lock on it against other processes.

    Raises RunError if another process holds it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    file = open(path, "a", encoding="utf-8")  # noqa: SIM115  closed below, where that may fail
    try:
        held = f"run: a run that no other process is training is needed; got {path.parent}, which one is"
        if (error := hold_lock(file, RunError(held))) is not None:
            logger.warning(
                "run: no lock can be had on %s: %s; train it in one process alone", path.parent, error
            )
        handler = LogFile(file)
        handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
        logger.addHandler(handler)
        try:
            yield
        finally:
            logger.removeHandler(handler)
    finally:
        with suppress(OSError):  # lines are flushed one by one; what is left could not be written
            file.close()
