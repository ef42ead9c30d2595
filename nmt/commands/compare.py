"""What `nmt compare` does: one table of any number of runs, from what each of them recorded."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmt.config import CompareSettings
from nmt.config.check import as_typed, flatten
from nmt.errors import RunError, naming, one_line
from nmt.evaluation.tables import layout
from nmt.files.reading import read_json
from nmt.files.writing import write_atomically
from nmt.reports.drawing.charts import Bar, Line, bar_chart, line_chart
from nmt.reports.drawing.page import figure, figures, legend, page, paragraph, section, table
from nmt.runs.directory import RunDirectory, require_new_file
from nmt.runs.metrics import read_metrics
from nmt.runs.provenance import read_record

MAX_LETTERS = 26
MAX_CHARACTERS = 60  # of a setting in a table


@dataclass(frozen=True)
class RunFacts:
    """What a run says of itself; what it does not say is None."""

    name: str
    settings: dict[str, Any]  # flat
    scores: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    test_text: str | None  # its hash
    parameters: int | None
    metrics: list[dict[str, Any]]

    @property
    def minutes(self) -> float | None:
        """How long it trained."""
        seconds = [row.get("seconds") for row in self.metrics]
        known = [float(value) for value in seconds if isinstance(value, (int, float))]
        return known[-1] / 60 if known else None

    @property
    def updates(self) -> int | None:
        """How many updates it trained."""
        numbers = [row.get("update") for row in self.metrics]
        known = [value for value in numbers if isinstance(value, int)]
        return known[-1] if known else None

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
    record = read_record(run)
    scores: dict[str, float] = {}
    intervals: dict[str, tuple[float, float]] = {}
    if record is not None and record.test is not None:
        scores, intervals = dict(record.test.scores), dict(record.test.intervals)
    elif record is None and (run.path / "test.json").exists():  # of an older version
        values = read_json(run.path / "test.json")
        scores = {str(key): value for key, value in values.items() if isinstance(value, float)}
    test_text = None if record is None else record.data.get("test")
    return RunFacts(
        name,
        dict(flatten(run.read_config())),
        {key: value for key, value in scores.items() if key not in ("loss", "perplexity")},
        intervals,
        None if test_text is None else test_text.hash,
        None if record is None else record.parameters,
        read_metrics(run),
    )


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
        row.append("–" if one.updates is None else str(one.updates))
        row.append("–" if one.minutes is None else f"{one.minutes:.1f}")
        row.append("–" if one.parameters is None else f"{one.parameters:,}")
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
    named = [f"{letter} {one.name}" for letter, one in zip(letters(runs), runs, strict=True)]
    head, rows = score_rows(runs)
    charts = []
    for name in list(dict.fromkeys(name for one in runs for name in one.scores)):
        bars: list[list[Bar | None]] = [
            [
                Bar(other.scores[name], other.intervals.get(name))
                if other is one and name in one.scores
                else None
                for other in runs
            ]
            for one in runs
        ]
        title = f"{label(name)} of the test text"
        charts.append(
            figure(
                title, "Whiskers hold 95 %.", bar_chart(title, letters(runs), bars, "run", label(name), True)
            )
        )
    for title, kind, key, y_label, holds in (
        ("Validation BLEU", "validation", "bleu", "BLEU", (0.0,)),
        ("Validation loss", "validation", "loss", "nats per token", ()),
        ("Speed", "training", "tokens_per_second", "tokens/s", (0.0,)),
    ):
        lines = [
            Line(name, *_series(one, kind, key), colour, is_dotted=kind == "validation")
            for colour, (name, one) in enumerate(zip(named, runs, strict=True))
        ]
        charts.append(figure(title, "", line_chart(title, lines, "updates", y_label, y_holds=holds)))
    keys, cells = differing(runs)
    note = (
        text_note(runs)
        or "Of the final translation of each run's test text, as the run recorded it, the best first."
    )
    settings = (
        table(["key", *letters(runs)], [[key, *row] for key, row in zip(keys, cells, strict=True)])
        if keys
        else paragraph("All settings are the same.")
    )
    sections = [
        section("scores", "Scores", note, table(head, rows), figures(*charts)),
        section("settings", "Settings that differ", "From config.json of each run.", settings),
    ]
    return page("nmt compare", f"{len(runs)} runs", "", sections, legend(named))


def _series(one: RunFacts, kind: str, name: str) -> tuple[list[float], list[float]]:
    rows = [row for row in one.metrics if row.get("kind") == kind]
    pairs = [(row.get("update"), row.get(name)) for row in rows]
    kept = [
        (float(x), float(y)) for x, y in pairs if isinstance(x, (int, float)) and isinstance(y, (int, float))
    ]
    return [x for x, _ in kept], [y for _, y in kept]


def _shown(values: dict[str, Any], key: str) -> str:
    shown = as_typed(values.get(key, "–"))
    return shown if len(shown) <= MAX_CHARACTERS else f"{shown[:MAX_CHARACTERS]}…"
