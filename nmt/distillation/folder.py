"""The folder of a student: a run, and beside it the translations of its teachers and the outcome of each step."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pydantic

from nmt.config import DistilSettings
from nmt.errors import RunError
from nmt.files.reading import read_json, require_plain
from nmt.files.writing import hold_lock, to_json, write_atomically
from nmt.runs.directory import CONFIG, DISTILLED
from nmt.runs.languages import NAMES
from nmt.runs.migration import FORMAT, migrate

logger = logging.getLogger(__name__)

SETTINGS, STEPS = "distil.json", "steps.json"
# Names under which these files are written, before they get their own.
UNFINISHED = re.compile(r"\.(distil|steps|read|train|translations|reversed)\.[a-zA-Z_-]+\.[0-9]+")
LOCK = ".lock"  # held by the process that makes the student
LANGUAGES = "languages"  # outcome: the code of the language of each side, where it is known
# The texts: what teachers read, what they made of it, and the pairs that were chosen from that.
READ, REFERENCE = "read.source", "read.target"
TRANSLATIONS, REVERSED = "translations.jsonl", "reversed.jsonl"
SOURCE, TARGET, LINKS = "train.source", "train.target", "train.links"


class TextOutcome(pydantic.BaseModel):
    """How many pairs were written, and which splits beside them."""

    pairs: int = pydantic.Field(ge=0)
    splits: list[Literal["validation", "test"]]


class TableOutcome(pydantic.BaseModel):
    """What was measured, and the lines that tell it."""

    of: dict[str, Any]
    lines: list[str]


class Outcomes(pydantic.BaseModel):
    """The outcomes that are looked into; others are compared with what they should be."""

    text: TextOutcome | None = None
    table: TableOutcome | None = None


class StudentFolder:
    """A folder that `nmt distil` fills, step by step; the outcome of a step is saved when all its files are written."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self.distilled = self.path / DISTILLED
        self.exported = self.path / "exported"

    @property
    def is_in_training(self) -> bool:
        """Whether the student's own training has begun."""
        return (self.path / CONFIG).is_file()

    def text(self, name: str) -> Path:
        """Return the path of a text, for example of READ or of TARGET.

        It ends in the code of its language, where that is known, as in train.de, so that the student knows it, too.
        """
        stem, _, side = name.rpartition(".")
        return self.distilled / f"{stem}.{self._languages().get(side, side)}"

    def _languages(self) -> dict[str, str]:
        """Return the code of the language of each side that is known. Raises RunError for what is no such code."""
        found = self.outcome(LANGUAGES) or {}
        if not isinstance(found, dict) or not {str(code) for code in found.values()} <= NAMES.keys():
            raise RunError(f"student: codes of languages are needed in {self.distilled / STEPS}; got {found}")
        return found

    def read_settings(self) -> dict[str, Any] | None:
        """Return the settings with which the student was begun, not yet checked; None where it was not begun."""
        path = self.path / SETTINGS
        if not path.is_file():
            return None
        require_plain(self.path)
        values = migrate(read_json(path))
        if values.pop("format", None) != FORMAT:
            raise RunError(f"student: settings of format {FORMAT} are needed; got others in {path}")
        return values

    @contextmanager
    def held(self, settings: DistilSettings) -> Iterator[None]:
        """Make the folder, save the settings, and hold it until the block ends.

        Raises RunError for a folder in use without `resume`, that is not a student's, or that another process holds.
        """
        is_begun = (self.path / SETTINGS).is_file()
        if is_begun and not settings.resume:
            raise RunError(f"student: a new folder is needed, or resume=true to go on; got {self.path}")
        if not is_begun and not self._is_new():
            raise RunError(f"student: a new folder, or one with {SETTINGS}, is needed; got {self.path}")
        self.distilled.mkdir(parents=True, exist_ok=True)
        held = f"student: another student is needed; got {self.path}, which another process is making"
        with open(self.distilled / LOCK, "ab") as file:
            if (error := hold_lock(file, RunError(held))) is not None:
                logger.warning("student: no lock on %s: %s; make it in one process alone", self.path, error)
            values = settings.model_dump(mode="json", exclude={"resume"})
            self._clear_unfinished()
            write_atomically(self.path / SETTINGS, to_json({"format": FORMAT, **values}))
            yield

    def _is_new(self) -> bool:
        """Whether there is nothing here but what a killed process leaves that was about to save the settings."""
        left = {self.distilled, self.distilled / LOCK}
        found = self.path.rglob("*") if self.path.is_dir() else [self.path] if self.path.exists() else []
        return all(path in left or UNFINISHED.fullmatch(path.name) for path in found)

    def _clear_unfinished(self) -> None:
        """Remove the unfinished files of killed processes."""
        for path in (*self.path.iterdir(), *self.distilled.iterdir()):
            if UNFINISHED.fullmatch(path.name) and path.is_file():
                path.unlink()

    def outcome(self, step: str) -> Any:
        """Return the outcome of a step; None where it is not finished."""
        return self._steps().get(step)

    def finish(self, step: str, outcome: Any) -> None:
        """Save the outcome of a step whose files are whole now."""
        write_atomically(self.distilled / STEPS, to_json(self._steps() | {step: outcome}))

    def _steps(self) -> dict[str, Any]:
        path = self.distilled / STEPS
        steps = read_json(path) if path.is_file() else {}
        try:
            Outcomes.model_validate(steps)
        except pydantic.ValidationError as error:
            key = ".".join(map(str, error.errors()[0]["loc"]))
            raise RunError(
                f"student: a readable {STEPS} is needed; got {path}: {key}: {error.errors()[0]['msg']}"
            ) from None
        return steps
