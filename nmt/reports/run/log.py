"""The log of a run as a page shows it, during and after training: no model is loaded, nothing is translated."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from nmt.reports.drawing.charts import Line, line_chart
from nmt.reports.drawing.shapes import show
from nmt.reports.page import Figure, render
from nmt.reports.run.origin import origin
from nmt.runs.directory import CONFIDENCE, RunDirectory
from nmt.runs.metrics import read_metrics
from nmt.runs.provenance import TEST, RunRecord, read_record

SHARE = (0.0, 1.0)  # what an axis of percent shows at least

Series = tuple[list[float], list[float]]


@dataclass(frozen=True)
class RunLog:
    """A run's settings, its record, and the lines of its metrics.jsonl."""

    name: str
    folder: str
    config: dict[str, Any]
    record: RunRecord | None
    rows: list[dict[str, Any]]
    has_ended: bool  # with a final translation, where it has a text for one

    @classmethod
    def read(cls, run: RunDirectory, name: str) -> "RunLog":
        """Read what a run recorded. Raises RunError where that is damaged."""
        record = read_record(run)
        has_no_test = record is not None and "test" not in record.data
        # What a training writes last: the scores of its test, or its curves of confidence where it has no test text.
        has_ended = (run.path / TEST).exists() or (has_no_test and (run.path / CONFIDENCE).exists())
        return cls(name, str(run.path), run.read_config(), record, read_metrics(run), has_ended)

    @property
    def minutes(self) -> float | None:
        """How long training took so far; None where its log says nothing."""
        known = [float(value) for row in self.rows if _is_number(value := row.get("seconds"))]
        return known[-1] / 60 if known else None

    @property
    def updates(self) -> int | None:
        """How many updates it trained so far."""
        known = [value for row in self.rows if isinstance(value := row.get("update"), int)]
        return known[-1] if known else None

    def series(self, kind: str, name: str, over: str = "update") -> Series:
        """Return a figure of the log over another one, without rows in which either is no number."""
        rows = [row for row in self.rows if row.get("kind") == kind]
        pairs = [(row.get(over), row.get(name)) for row in rows]
        kept = [(float(x), float(y)) for x, y in pairs if _is_number(x) and _is_number(y)]
        return [x for x, _ in kept], [y for _, y in kept]


def curves(logs: Sequence[RunLog]) -> list[Figure]:
    """Return charts of how training went, from the logs."""

    def over(kind: str, name: str, by: str = "update", scale: float = 1.0) -> list[Line]:
        lines = []
        is_checked = kind == "validation"  # a point now and then: each is marked
        for colour, one in enumerate(logs):
            xs, ys = one.series(kind, name, by)
            is_dashed = is_checked and name == "loss"  # drawn beside the loss of training
            said = f"{one.name}, {kind}"
            lines.append(Line(said, [x * scale for x in xs], ys, colour, is_dashed, is_checked))
        return lines

    losses = over("training", "negative_log_likelihood") + over("validation", "loss")
    bleu, by_minutes = over("validation", "bleu"), over("validation", "bleu", "seconds", 1 / 60)
    rate, speed, norm = (
        over("training", name) for name in ("learning_rate", "tokens_per_second", "gradient_norm")
    )
    cost = "The same validations by minutes of training: what it costs to get there."
    free: tuple[tuple[float, ...], float] = ((), math.inf)
    from_zero, percent = ((0.0,), math.inf), (SHARE, 100.0)
    return [
        Figure(title, note, line_chart(title, lines, x, y, y_holds=holds, highest=highest))
        for title, note, lines, x, y, (holds, highest) in (
            (
                "Loss",
                "Training as a line, validation dashed with dots.",
                losses,
                "updates",
                "nats per token",
                free,
            ),
            ("BLEU", "Greedy, on the validation text.", bleu, "updates", "BLEU", percent),
            ("BLEU over time", cost, by_minutes, "minutes", "BLEU", percent),
            ("Learning rate", "", rate, "updates", "rate", from_zero),
            (
                "Speed",
                "Target tokens a second, validation left out.",
                speed,
                "updates",
                "tokens/s",
                from_zero,
            ),
            ("Norm of the gradient", "Before it is cut to its limit.", norm, "updates", "norm", from_zero),
        )
    ]


def training_page(logs: Sequence[RunLog], refresh_seconds: int = 0) -> bytes:
    """Return a page of what the logs say, which a browser loads again every `refresh_seconds`; 0: never."""
    tiles = []
    for one in logs:
        of = f" of {one.name}" if len(logs) > 1 else ""
        for key, form, name in (("bleu", ".2f", "BLEU"), ("loss", ".3f", "loss")):
            if found := one.series("validation", key)[1]:
                tiles.append((f"{found[-1]:{form}}", f"{name} of the last validation{of}"))
        if one.updates is not None:
            tiles.append((f"{one.updates:,}", f"updates{of}"))
        if one.minutes is not None:
            tiles.append((show(round(one.minutes, 1)), f"minutes of training{of}"))
    return render(
        "training.html",
        command="nmt report",
        title=" against ".join(one.name for one in logs),
        subtitle="What the log says so far: nothing was translated for this page.",
        names=[one.name for one in logs],
        headline=tiles,
        curves=curves(logs),
        made=origin([(one.name, one.config, facts_of(one)) for one in logs]),
        refresh_seconds=refresh_seconds,
    )


def facts_of(one: RunLog) -> dict[str, str]:
    """Return how a run was made, as its record says."""
    facts = {"folder": one.folder, "minutes": "" if one.minutes is None else f"{one.minutes:.1f}"}
    if one.record is None:
        return facts | {"command": "not recorded"}
    last = one.record.sessions[-1]
    return facts | {
        "parameters": f"{one.record.parameters:,}",
        "command": " ".join(last.command),
        "started": one.record.sessions[0].started,
        "sessions": str(len(one.record.sessions)),
        "machine": str(last.machine),
        "versions": ", ".join(f"{name} {version}" for name, version in last.versions.items()),
        "git": f"{last.git.commit[:12]}{', with changes' if last.git.changed else ''}"
        if last.git
        else "none",
    }


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
