"""What `nmt compare` does: one table of any number of runs, from what each of them recorded."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nmt.config import CompareSettings
from nmt.config.check import as_typed, flatten
from nmt.errors import RunError, naming, one_line
from nmt.evaluation.tables import layout
from nmt.files.reading import read_json
from nmt.files.writing import write_atomically
from nmt.reports.drawing.charts import Bar, bar_chart
from nmt.reports.drawing.shapes import cut
from nmt.reports.page import Figure, Table, render
from nmt.reports.run.log import RunLog, curves
from nmt.runs.directory import RunDirectory, require_new_file
from nmt.runs.provenance import TEST

MAX_LETTERS = 26
MAX_CHARACTERS = 60  # of a setting in a table


@dataclass(frozen=True)
class RunFacts:
    """What a run says of itself; what it does not say is None."""

    log: RunLog
    settings: dict[str, Any]  # flat
    scores: dict[str, float]
    intervals: dict[str, tuple[float, float]]

    @property
    def name(self) -> str:
        """What the run is called: its folder, as it was typed."""
        return self.log.name

    @property
    def test_text(self) -> str | None:
        """The hash of its test text."""
        found = None if self.log.record is None else self.log.record.data.get("test")
        return None if found is None else found.hash

    @property
    def rank(self) -> float:
        """Its first score, with which it is compared."""
        return next(iter(self.scores.values()), -1.0)


def main(settings: CompareSettings) -> None:
    """Print a table of runs, the best first, and write the same as a page where asked."""
    require_new_file("html", settings.html, settings.overwrite)
    found = []
    for name in settings.runs:
        run = RunDirectory.existing(name, "runs")
        with naming("runs"):
            found.append(read_facts(run, name))
    found.sort(key=lambda one: -one.rank)
    print("\n".join(one_line(line) for line in describe(found).split("\n")), flush=True)
    if settings.html is not None:
        write_atomically(Path(settings.html), draw(found))


def read_facts(run: RunDirectory, name: str) -> RunFacts:
    """Return what a run recorded. Raises RunError where that is damaged."""
    log = RunLog.read(run, name)
    scores: dict[str, float] = {}
    intervals: dict[str, tuple[float, float]] = {}
    if log.record is not None and log.record.test is not None:
        scores, intervals = dict(log.record.test.scores), dict(log.record.test.intervals)
    elif log.record is None and (run.path / TEST).exists():  # of an older version
        values = read_json(run.path / TEST)
        scores = {str(key): value for key, value in values.items() if isinstance(value, float)}
    kept = {key: value for key, value in scores.items() if key not in ("loss", "perplexity")}
    return RunFacts(log, dict(flatten(log.config)), kept, intervals)


def describe(runs: Sequence[RunFacts]) -> str:
    """Return tables for people: scores, and the settings in which the runs differ."""
    head, rows = score_rows(runs)
    parts = [layout([head, *rows])]
    keys, cells = differing(runs)
    if keys:
        parts.append(
            layout(
                [["settings", *letters(runs)], *([key, *row] for key, row in zip(keys, cells, strict=True))]
            )
        )
    if note := text_note(runs):
        parts.append(note)
    return "\n\n".join(parts)


def score_rows(runs: Sequence[RunFacts]) -> tuple[list[str], list[list[str]]]:
    """Return the head and the rows of a table of scores, one row for each run."""
    names = list(dict.fromkeys(name for one in runs for name in one.scores))
    if not names:
        raise RunError("runs: a run that has scores is needed; got none that has")
    head = ["run", "", *(column for name in names for column in (label(name), "95 %"))]
    rows = []
    for letter, one in zip(letters(runs), runs, strict=True):
        row = [one.name, letter]
        for name in names:
            row.append(f"{one.scores[name]:.2f}" if name in one.scores else "–")
            low_high = one.intervals.get(name)
            row.append("–" if low_high is None else "[{:.2f}, {:.2f}]".format(*low_high))
        log = one.log
        row.append("–" if log.updates is None else str(log.updates))
        row.append("–" if log.minutes is None else f"{log.minutes:.1f}")
        row.append("–" if log.record is None else f"{log.record.parameters:,}")
        rows.append(row)
    return [*head, "updates", "minutes", "parameters"], rows


def differing(runs: Sequence[RunFacts]) -> tuple[list[str], list[list[str]]]:
    """Return the keys whose values are not the same in all runs, and the values, one row for each key."""
    keys = sorted(set().union(*(one.settings for one in runs)))
    rows = [[_shown(one.settings, key) for one in runs] for key in keys]
    kept = [(key, row) for key, row in zip(keys, rows, strict=True) if len(set(row)) > 1]
    return [key for key, _ in kept], [row for _, row in kept]


def letters(runs: Sequence[RunFacts]) -> list[str]:
    """Return a short name for each run: A, B, … Z, 27, 28, …"""
    return [chr(ord("A") + i) if i < MAX_LETTERS else str(i + 1) for i in range(len(runs))]


def label(name: str) -> str:
    """Return what a figure of a record is called."""
    return {"bleu": "BLEU", "chrf": "chrF", "ter": "TER"}.get(name, name.replace("_", " "))


def text_note(runs: Sequence[RunFacts]) -> str:
    """Say where scores are not of the same text, and so cannot be compared."""
    texts = {one.test_text for one in runs if one.scores and one.test_text is not None}
    return "These scores are not of one and the same test text." if len(texts) > 1 else ""


def draw(runs: Sequence[RunFacts]) -> bytes:
    """Return the page about runs."""
    named = [
        replace(one.log, name=f"{letter} {one.name}") for letter, one in zip(letters(runs), runs, strict=True)
    ]
    head, rows = score_rows(runs)
    charts = []
    for name in dict.fromkeys(name for one in runs for name in one.scores):
        bars: list[list[Bar | None]] = [
            [
                Bar(one.scores[name], one.intervals.get(name))
                if other is one and name in one.scores
                else None
                for other in runs
            ]
            for one in runs
        ]
        title = f"{label(name)} of the test text"
        highest = math.inf if name == "ter" else 100.0
        drawing = bar_chart(title, letters(runs), bars, "run", label(name), True, highest)
        charts.append(Figure(title, "Whiskers hold 95 %.", drawing))
    keys, cells = differing(runs)
    return render(
        "compare.html",
        command="nmt compare",
        title=f"{len(runs)} runs",
        subtitle="",
        names=[one.name for one in named],
        note=text_note(runs)
        or "Of the final translation of each run's test text, as the run recorded it, the best first.",
        scores=Table(head, rows),
        charts=charts,
        curves=curves(named),
        settings=Table(
            ["key", *letters(runs)],
            [[key, *row] for key, row in zip(keys, cells, strict=True)],
            range(1, len(runs) + 1),
        ),
    )


def _shown(values: dict[str, Any], key: str) -> str:
    return cut(as_typed(values.get(key, "–")), MAX_CHARACTERS)
