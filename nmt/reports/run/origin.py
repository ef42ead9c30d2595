"""How runs were made: their settings, and what else is known of them, side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nmt.config.check import as_typed, flatten
from nmt.reports.page import Table

UNKNOWN = "–"


@dataclass(frozen=True)
class Origin:
    """Tables with a column for each run."""

    different: Table | None  # settings in which the runs differ
    facts: Table
    settings: Table


def origin(runs: Sequence[tuple[str, Mapping[str, Any], Mapping[str, str]]]) -> Origin:
    """Return tables of runs, each given by its name, its settings and what else is known of it."""
    names = [name for name, _, _ in runs]
    flat = [{key: as_typed(value) for key, value in flatten(config)} for _, config, _ in runs]
    rows = side_by_side(flat, sorted(set().union(*flat)))
    facts = [own for *_, own in runs]
    return Origin(
        _table("key", names, different_rows(rows)) if len(runs) > 1 else None,
        _table("", names, side_by_side(facts, list(dict.fromkeys(key for own in facts for key in own)))),
        _table("key", names, rows),
    )


def different_rows(rows: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """Return the rows whose values are not the same in all runs."""
    return [row for row in rows if len(set(row[1:])) > 1]


def side_by_side(runs: Sequence[Mapping[str, str]], keys: Sequence[str]) -> list[list[str]]:
    """Return a row for each key, with the value of each run, or UNKNOWN, after it."""
    return [[key, *(of_run.get(key, UNKNOWN) for of_run in runs)] for key in keys]


def _table(first: str, names: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    return Table([first, *names], rows, range(1, len(names) + 1))
