"""Figures as a page in the folder of a run, to be watched in a browser while it trains."""

from collections.abc import Mapping
from pathlib import Path

from nmt.files.writing import write_atomically
from nmt.runs.directory import RunDirectory

PAGE = "training.html"


class Page:
    """Makes the page again at each validation, from what the run has written by then."""

    def __init__(self, folder: Path, refresh_seconds: int) -> None:
        self.run, self.refresh_seconds = RunDirectory(folder), refresh_seconds

    def log(self, figures: Mapping[str, float], update: int) -> None:
        """Make the page if the figures are of a validation; other figures come often, and wait for the next page."""
        if any(name.startswith("validation/") for name in figures):
            self._write(self.refresh_seconds)

    def close(self, failed: bool = False) -> None:
        """Make the page a last time; browsers no longer reload it."""
        self._write(0)

    def _write(self, refresh_seconds: int) -> None:
        # Only this tracker needs templates, whose import takes a tenth of a second.
        from nmt.reports.run.log import RunLog, training_page

        log = RunLog.read(self.run, self.run.path.resolve().name)
        write_atomically(self.run.path / PAGE, training_page([log], refresh_seconds))
