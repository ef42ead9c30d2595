"""How runs were made: settings, program, machine, as their folders say."""

from collections.abc import Sequence

from nmt.config.check import as_typed, flatten
from nmt.reports.drawing.page import Section, folded, paragraph, section, table
from nmt.reports.run.measures import Measures


def settings(runs: Sequence[Measures]) -> Section:
    """Return what the runs were made of: where they differ at first, then everything."""
    flat = [{key: as_typed(value) for key, value in flatten(one.config)} for one in runs]
    keys = sorted(set().union(*flat))
    cells = [[key, *(of_run.get(key, "–") for of_run in flat)] for key in keys]
    head = ["key", *(one.name for one in runs)]
    parts = []
    if len(runs) > 1:
        different = [row for row in cells if row[1] != row[2]]
        parts.append(table(head, different, [1, 2]) if different else paragraph("All settings are the same."))
    parts.append(table(["", *(one.name for one in runs)], _facts(runs), list(range(1, len(runs) + 1))))
    parts.append(folded("All settings", table(head, cells, list(range(1, len(runs) + 1)))))
    return section("settings", "How it was made", "From config.json and run.json of the run.", *parts)


def _facts(runs: Sequence[Measures]) -> list[list[str]]:
    rows = {
        "folder": [str(one.run.path) for one in runs],
        "checkpoint": [one.checkpoint for one in runs],
        "search": [one.search for one in runs],
        "parameters": [f"{one.num_parameters:,}" for one in runs],
        "minutes": [one.minutes for one in runs],
    }
    sessions = [one.record.sessions[-1] if one.record else None for one in runs]
    rows["command"] = [" ".join(last.command) if last else "not recorded" for last in sessions]
    rows["started"] = [one.record.sessions[0].started if one.record else "not recorded" for one in runs]
    rows["sessions"] = [str(len(one.record.sessions)) if one.record else "not recorded" for one in runs]
    rows["machine"] = [str(last.machine) if last else "not recorded" for last in sessions]
    rows["versions"] = [
        ", ".join(f"{name} {version}" for name, version in last.versions.items()) if last else "not recorded"
        for last in sessions
    ]
    rows["git"] = [
        (f"{last.git.commit[:12]}{', with changes' if last.git.changed else ''}" if last.git else "none")
        if last
        else "not recorded"
        for last in sessions
    ]
    return [[name, *values] for name, values in rows.items()]
