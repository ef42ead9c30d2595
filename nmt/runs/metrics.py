"""The figures of a run over its updates, one JSON object a line."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nmt.errors import RunError
from nmt.files.reading import parse_json, read_whole_lines
from nmt.files.writing import finite
from nmt.runs.directory import RunDirectory

# Largest file whose lines are held at once: a million updates make 20,000 lines of 300 bytes.
MAX_BYTES = 1 << 26


class Metrics:
    """The file `metrics.jsonl` of a run."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "metrics.jsonl"

    def note(self, figures: Mapping[str, Any]) -> None:
        """Add a line; a number that is not finite becomes null."""
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(finite(figures), allow_nan=False) + "\n")

    def flush(self) -> None:
        """Flush all lines to the disk."""
        if self.path.exists():
            with open(self.path, "rb") as file:
                os.fsync(file.fileno())

    def cut(self, update: int, validation_is_due: bool = False) -> None:
        """Remove the lines after an update: training will write them again, and the last one may be torn.

        Its own validation is removed, too, where that `validation_is_due` again. Lines are read one by one, however
        many there are. Raises RunError if a complete one up to there is damaged.
        """
        if not self.path.exists():
            return
        kept = 0
        try:
            for line, end in read_whole_lines(self.path):
                row = parse_json(line, self.path)
                if row["update"] > update:
                    break
                if validation_is_due and row["update"] == update and row["kind"] == "validation":
                    break
                kept = end
        except (TypeError, KeyError) as error:
            raise RunError(
                f"run: a JSON object with its update on each line is needed; got {self.path}: {error}"
            ) from None
        os.truncate(self.path, kept)
        self.flush()


def read_metrics(run: RunDirectory) -> list[dict[str, Any]]:
    """Return the lines of a run's `metrics.jsonl`, none if it is missing; a torn last line is left out.

    Raises RunError for a file that is damaged or too large.
    """
    path = Metrics(run.path).path
    if not path.exists():
        return []
    rows = []
    for line, end in read_whole_lines(path):
        if end > MAX_BYTES:
            raise RunError(f"run: {path.name} of at most {MAX_BYTES} bytes is needed; got more in {path}")
        rows.append(parse_json(line, path))
    return rows
