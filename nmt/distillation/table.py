"""Teachers and student side by side: quality, size, speed on one core, and memory."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from nmt.config import EvaluationSettings
from nmt.data.encoding import UTF_8
from nmt.data.lines import read_lines
from nmt.distillation.folder import StudentFolder
from nmt.distillation.measuring import measure, size_of
from nmt.distillation.teachers import Teacher
from nmt.distillation.translations import read_translations, translate
from nmt.evaluation.scoring import Score, score_against
from nmt.evaluation.tables import align_columns
from nmt.memory import MEGABYTE

UNITS = ["weights MB", "words/s/core", "memory MB"]


@dataclass(frozen=True)
class Row:
    """Measurements of one model; those that cannot be known of a server are None."""

    name: str
    split: str
    num_lines: int
    scores: list[Score]
    size: int | None = None  # bytes of weights
    words_per_second: float | None = None  # source words, on one core
    memory: int | None = None  # bytes, at the peak

    def as_dict(self) -> dict[str, Any]:
        """Return it as an object for JSON."""
        return asdict(self)


def measured(
    name: str,
    runs: Sequence[str],
    folder: StudentFolder,
    split: str,
    evaluation: EvaluationSettings,
    search: Mapping[str, Any],
) -> Row:
    """Translate a split of the student's text by a run or an ensemble, and score it. Raises UserError if that fails."""
    source, target = _text(folder, split)
    found = measure(runs, source, search)
    num_words = sum(len(line.split()) for line in source)
    return Row(
        name,
        split,
        len(source),
        _scores(found.translations, target, evaluation),
        size_of(runs),
        num_words / max(found.seconds, 1e-9),
        found.memory,
    )


def measured_server(
    name: str, teacher: Teacher, folder: StudentFolder, split: str, evaluation: EvaluationSettings
) -> Row:
    """Have a server translate a split, and score it; the size and speed of the server cannot be known here."""
    source, target = _text(folder, split)
    read, written = f"{split}.source", f"{split}.jsonl"
    translate(folder, teacher, read, written)
    found = [texts[0] for _, texts in read_translations(folder, read, written)]
    return Row(name, split, len(source), _scores(found, target, evaluation))


def _text(folder: StudentFolder, split: str) -> tuple[list[str], list[str]]:
    paths = (str(folder.text(f"{split}.{side}")) for side in ("source", "target"))
    source, target = (read_lines(path, "student", UTF_8) for path in paths)
    return source, target


def _scores(translations: list[str], target: list[str], evaluation: EvaluationSettings) -> list[Score]:
    return score_against(translations, [target], evaluation)[:2]  # BLEU and chrF


def table(rows: Sequence[Row]) -> str:
    """Return a table of the rows, a model a line, and the signatures of its scores."""
    scores = rows[0].scores
    cells = [["", *(score.name for score in scores), *UNITS]]
    for row in rows:
        figures = [
            "-" if value is None else f"{value / unit:,.{digits}f}"
            for value, unit, digits in (
                (row.size, MEGABYTE, 1),
                (row.words_per_second, 1, 0),
                (row.memory, MEGABYTE, 0),
            )
        ]
        cells.append([row.name, *(f"{score.value:.2f}" for score in row.scores), *figures])
    notes = [f"{score.name:10} {score.signature}" for score in scores]
    lines = f"{'lines':10} {rows[0].num_lines} of the {rows[0].split} text"
    return "\n".join([align_columns(cells), "", *notes, lines])
