"""`nmt compare`: one table of any number of runs, from the record of each."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nmt.config import CompareSettings
from nmt.config.check import as_typed, flatten
from nmt.errors import RunError, naming, one_line
from nmt.evaluation.tables import align_columns, show_interval
from nmt.files.writing import require_new_file, write_atomically
from nmt.reports.drawing.charts import Bar, bar_chart
from nmt.reports.drawing.shapes import cut
from nmt.reports.page import Figure, Table, render
from nmt.reports.run.log import RunLog, curves
from nmt.reports.run.origin import different_rows, side_by_side
from nmt.runs.directory import RunDirectory
from nmt.runs.provenance import TEST, read_scores

MAX_LETTERS = 26
MAX_CHARACTERS = 60  # of a setting in a table


@dataclass(frozen=True)
class RunFacts:
    """The log, the settings and the scores of a run, as far as it recorded them."""

    log: RunLog
    settings: dict[str, Any]  # flat
    scores: dict[str, float]
    intervals: dict[str, tuple[float, float]]

    @property
    def name(self) -> str:
        """The folder of the run, as it was typed."""
        return self.log.name

    @property
    def rank(self) -> float:
        """The first score of the run, by which runs are ordered; -1 where it has none."""
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
        scores = read_scores(run)
    kept = {key: value for key, value in scores.items() if key not in ("loss", "perplexity")}
    return RunFacts(log, dict(flatten(log.config)), kept, intervals)


def describe(runs: Sequence[RunFacts]) -> str:
    """Return tables for people: scores, and the settings in which the runs differ."""
    head, rows = score_rows(runs)
    parts = [align_columns([head, *rows])]
    if different := differing(runs):
        parts.append(align_columns([["settings", *letters(runs)], *different]))
    return "\n\n".join(filter(None, [*parts, text_note(runs)]))


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
            row.append(show_interval(one.intervals.get(name)) or "–")
        log = one.log
        row.append("–" if log.updates is None else str(log.updates))
        row.append("–" if log.minutes is None else f"{log.minutes:.1f}")
        row.append("–" if log.record is None else f"{log.record.parameters:,}")
        rows.append(row)
    return [*head, "updates", "minutes", "parameters"], rows


def differing(runs: Sequence[RunFacts]) -> list[list[str]]:
    """Return the keys whose values are not the same in all runs, each followed by its values."""
    settings = [{key: as_typed(value) for key, value in one.settings.items()} for one in runs]
    rows = side_by_side(settings, sorted(set().union(*settings)))
    return [[key, *_shown(values)] for key, *values in different_rows(rows)]


def _shown(values: Sequence[str]) -> list[str]:
    """Return different values cut to the room that a table has: to their ends, where cut beginnings are alike."""
    beginnings = [cut(value, MAX_CHARACTERS) for value in values]
    if len(set(beginnings)) == len(set(values)):
        return beginnings
    return [cut(value[::-1], MAX_CHARACTERS)[::-1] for value in values]


def letters(runs: Sequence[RunFacts]) -> list[str]:
    """Return a short name for each run: A, B, … Z, 27, 28, …"""
    return [chr(ord("A") + i) if i < MAX_LETTERS else str(i + 1) for i in range(len(runs))]


def label(name: str) -> str:
    """Return what a figure of a record is called."""
    return {"bleu": "BLEU", "chrf": "chrF", "ter": "TER"}.get(name, name.replace("_", " "))


def text_note(runs: Sequence[RunFacts]) -> str:
    """Return a note where scores cannot be compared, being of other texts or computed otherwise; else nothing."""
    scored = [one.settings for one in runs if one.scores]
    ways = {
        tuple((key, str(value)) for key, value in one.items() if key.startswith("evaluation."))
        for one in scored
    }
    records = [one.log.record for one in runs if one.scores and one.log.record is not None]
    facts = [record.data["test"] for record in records if "test" in record.data]
    texts = {one.untagged or one.hash for one in facts}
    if len(texts) > 1:
        return "These scores are not of one and the same test text."
    return (
        "These scores are not computed alike: see evaluation.* among the settings." if len(ways) > 1 else ""
    )


def draw(runs: Sequence[RunFacts]) -> bytes:
    """Return the page about runs."""
    named = [
        replace(one.log, name=f"{letter} {one.name}") for letter, one in zip(letters(runs), runs, strict=True)
    ]
    head, rows = score_rows(runs)
    charts = []
    for name in dict.fromkeys(name for one in runs for name in one.scores):
        drawn = [
            Bar(one.scores[name], one.intervals.get(name)) if name in one.scores else None for one in runs
        ]
        bars = [
            [bar if other is one else None for other in runs] for one, bar in zip(runs, drawn, strict=True)
        ]
        title = f"{label(name)} of the test text"
        highest = math.inf if name == "ter" else 100.0
        drawing = bar_chart(title, letters(runs), bars, "run", label(name), True, highest)
        charts.append(Figure(title, "Whiskers hold 95 %.", drawing))
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
        settings=Table(["key", *letters(runs)], differing(runs), range(1, len(runs) + 1)),
    )
