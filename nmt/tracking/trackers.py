"""Trackers, which show figures while training runs: the interface, and what they have in common."""

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import pydantic

from nmt.config.check import read_checked
from nmt.errors import first_line

logger = logging.getLogger(__name__)

FILE = "tracking.json"


class Tracker(Protocol):
    """Something that shows figures over the updates of a run."""

    def log(self, figures: Mapping[str, float], update: int) -> None:
        """Show figures of an update, by names such as `training/loss`; updates never decrease."""

    def close(self, failed: bool = False) -> None:
        """Write what is not written yet, and whether the run has failed; nothing can be shown afterwards."""


def name_of(folder: Path) -> str:
    """Return the name of a run for people: that of its folder, with that of its sweep before a mere number."""
    whole = folder.resolve()
    return f"{whole.parent.name}/{whole.name}" if whole.name.isdecimal() else whole.name


class NoTracker:
    """Shows nothing."""

    def log(self, figures: Mapping[str, float], update: int) -> None:
        """Do nothing."""

    def close(self, failed: bool = False) -> None:
        """Do nothing."""


class Lenient:
    """A tracker whose first failure is logged and ends only the tracker: a server may be away, a library may change."""

    def __init__(self, tracker: Tracker) -> None:
        self.tracker = tracker

    def log(self, figures: Mapping[str, float], update: int) -> None:
        """Show figures, unless that has failed before."""
        try:
            self.tracker.log(figures, update)
        except Exception as error:
            self._give_up(error)

    def close(self, failed: bool = False) -> None:
        """Close the tracker, unless it has failed before."""
        try:
            self.tracker.close(failed)
        except Exception as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        logger.warning("tracking: %s; nothing more is shown, and training goes on", first_line(error))
        self.tracker = NoTracker()


class Mark(pydantic.BaseModel):
    """Memory of a tracker: the id of its run there and, where the service cannot tell, the figures last sent."""

    model_config = pydantic.ConfigDict(extra="forbid")

    kind: str
    id: str = pydantic.Field(pattern="^[a-z0-9]{8,64}$")
    update: int = -1
    kinds: list[str] = []  # of what was sent of that update, such as `training` and `validation`


def read_mark(folder: Path, kind: str) -> Mark | None:
    """Return the mark in the folder of a run, None if it has none of this kind. Raises RunError if it is damaged."""
    mark = read_checked(Mark, folder / FILE)
    return mark if mark is not None and mark.kind == kind else None


def write_mark(folder: Path, mark: Mark) -> None:
    """Write the mark into the folder of a run; it is not flushed, which would take longer than an update."""
    temporary = folder / f".{FILE}.{os.getpid()}"
    temporary.write_text(mark.model_dump_json() + "\n", encoding="utf-8")
    os.replace(temporary, folder / FILE)


class OnlyNew:
    """Hands on only those figures that were not sent before a run was killed and resumed.

    A resumed run computes the same figures again, except for times, and the service cannot take back the first ones.
    Only figures of the update at which a process was killed, sent but not yet marked, may be sent twice.
    """

    def __init__(self, tracker: Tracker, folder: Path, mark: Mark) -> None:
        self.tracker, self.folder, self.mark = tracker, folder, mark
        self.sent_before = mark.model_copy()
        write_mark(folder, mark)

    def log(self, figures: Mapping[str, float], update: int) -> None:
        """Hand on figures of an update that is new."""
        kinds = sorted({name.split("/")[0] for name in figures})
        before = self.sent_before
        if update < before.update or (update == before.update and set(kinds) <= set(before.kinds)):
            return
        self.tracker.log(figures, update)
        sent = self.mark.kinds if update == self.mark.update else []
        self.mark = self.mark.model_copy(update={"update": update, "kinds": sorted({*sent, *kinds})})
        write_mark(self.folder, self.mark)

    def close(self, failed: bool = False) -> None:
        """Close the tracker."""
        self.tracker.close(failed)
