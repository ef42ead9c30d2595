"""The results of a sweep: read from the folders of its runs, and written as a table, as JSON and as TSV."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path
from typing import Any, Literal

from nmt.config import Settings
from nmt.config.check import read_checked
from nmt.errors import RunError, one_line
from nmt.files.reading import read_json
from nmt.files.writing import to_json, write_atomically
from nmt.runs.directory import STATE, RunDirectory, translating_with

logger = logging.getLogger(__name__)

State = Literal["finished", "pruned", "failed", "interrupted", "waiting"]


class JobRecord(Settings):
    """The note that a job leaves when it ends; a job without one has not ended."""

    setting: str
    state: Literal["finished", "pruned", "failed"]
    error: str | None = None


@dataclass(frozen=True)
class RunResult:
    """One run of a sweep. Runs are chosen by their best validation BLEU; test BLEU is only reported."""

    job: int
    setting: str
    state: State
    validation_bleu: float | None = None
    test_bleu: float | None = None
    test_bleu_low: float | None = None  # the ends of the 95 % bootstrap interval
    test_bleu_high: float | None = None
    minutes: float | None = None  # of training, validation included
    updates: int | None = None
    run: str = ""
    error: str | None = None


def record_path(sweep: Path, job: int) -> Path:
    """Return where a job of a sweep notes how it ended."""
    return sweep / "jobs" / f"{job}.json"


def read_record(sweep: Path, job: int) -> JobRecord | None:
    """Return how a job ended, if it did. Raises RunError if that cannot be read."""
    return read_checked(JobRecord, record_path(sweep, job))


def write_record(sweep: Path, job: int, record: JobRecord) -> None:
    """Note how a job ended."""
    path = record_path(sweep, job)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, to_json(record.model_dump()))


def read_result(sweep: Path, job: int, setting: str) -> RunResult:
    """Return the result that a job has up to now."""
    path, record = sweep / str(job), read_record(sweep, job)
    run = RunDirectory(path)
    steps = run.steps()
    saved = _read(run.step_path(steps[-1]) / STATE) if steps else {}
    scores = _read(path / "test.json") if (path / "test.json").exists() else {}
    name = next((name for name in scores if name.endswith("bleu")), "bleu")  # it may be lower_case_bleu
    intervals = scores.get("intervals")
    interval = intervals.get(name) if isinstance(intervals, dict) else None
    ends = dict(enumerate(interval)) if isinstance(interval, list) else {}
    seconds = _number_in(saved, "seconds")
    return RunResult(
        job,
        setting,
        record.state if record else "interrupted" if run.config_path.exists() else "waiting",
        validation_bleu=_number_in(saved, "best_bleu"),
        test_bleu=_number_in(scores, name),
        test_bleu_low=_number_in(ends, 0),
        test_bleu_high=_number_in(ends, 1),
        minutes=None if seconds is None else seconds / 60,
        updates=_number_in(saved, "update"),
        run=str(path),
        error=record.error if record else None,
    )


def _read(path: Path) -> dict[str, Any]:
    """Return the content of a JSON file of a run; nothing for a damaged one, so that the table lists other runs."""
    try:
        return read_json(path)
    except RunError as error:
        logger.warning("%s", one_line(error))
        return {}


def _number_in(values: Mapping[Any, Any], key: object) -> Any:
    value = values.get(key)
    return value if type(value) in (int, float) else None


def best_of(results: Sequence[RunResult]) -> RunResult | None:
    """Return the finished run with the highest validation BLEU, the first among equals."""
    finished = [result for result in results if result.state == "finished"]
    scored = [result for result in finished if result.validation_bleu is not None]
    return max(scored, key=lambda result: result.validation_bleu or 0.0) if scored else None


def table(results: Sequence[RunResult]) -> str:
    """Return the runs as lines of a table, the best one marked, for people."""
    best = best_of(results)
    rows = [("", "job", "setting", "validation BLEU", "test BLEU [95 % interval]", "minutes", "")]
    for result in results:
        test = _number(result.test_bleu)
        if result.test_bleu_low is not None:
            test += f" [{_number(result.test_bleu_low)}, {_number(result.test_bleu_high)}]"
        rows.append(
            (
                "*" if result is best else " ",
                str(result.job),
                one_line(result.setting) or "(as it is)",
                _number(result.validation_bleu),
                test,
                _number(result.minutes),
                "" if result.state == "finished" else result.state,
            )
        )
    widths = [max(1, *map(len, column)) for column in zip(*rows, strict=True)]
    line = "  ".join(f"{{:{side}{width}}}" for side, width in zip("<><><><", widths, strict=True))
    return "\n".join(line.format(*row).rstrip() for row in rows)


def print_results(results: Sequence[RunResult], folder: Path) -> None:
    """Print the table, the best run, the command that translates with it, and the files that hold the same as data."""
    print(table(results))
    best = best_of(results)
    if best is not None:
        print(f"best by validation BLEU: job {best.job}{f', {best.setting}' if best.setting else ''}")
        print(translating_with(best.run))
    print(f"the same as data: {folder / 'results.json'}, {folder / 'results.tsv'}", flush=True)


def write_results(sweep: Path, results: Sequence[RunResult]) -> None:
    """Write results.json and results.tsv into the folder of a sweep."""
    best = best_of(results)
    content = {"best": best and best.job, "runs": [asdict(result) for result in results]}
    write_atomically(sweep / "results.json", to_json(content))
    lines = ["\t".join(field.name for field in fields(RunResult))]
    lines += ["\t".join(map(_cell, astuple(result))) for result in results]
    write_atomically(sweep / "results.tsv", ("\n".join(lines) + "\n").encode())


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _cell(value: object) -> str:
    return "" if value is None else str(value).replace("\t", " ").replace("\n", " ")
