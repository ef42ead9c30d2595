"""The folder of a sweep: new, or that of the same sweep which was interrupted."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from nmt.config import Settings
from nmt.config.check import read_checked
from nmt.errors import RunError
from nmt.files.reading import is_taken, require_plain
from nmt.files.writing import hold_lock, to_json, write_atomically

FILE = "sweep.json"
SWEEPS = Path("outputs/sweeps")
LOCK = ".lock"  # held by the process that runs the sweep
OF_SUBMITIT = ".submitit"  # pickles, which submitit would load


class SweepFile(Settings):
    """The overrides that a sweep was begun with, without those that only say how it is run.

    `settings` is the format of settings and, after a hyphen, a hash of those of all runs, or of the ends of a search;
    older versions noted none.
    """

    overrides: list[str]
    settings: str | None = None


def choose_folder(given: str | None, fresh: str, overrides: Sequence[str], resume: bool) -> Path:
    """Return the folder of a sweep of these overrides: the given one, the newest that began with them, or a fresh one.

    Nothing is written. Raises RunError where the folder is taken, or holds another sweep.
    """
    if given == "last":
        raise RunError(
            "run: the folder of a sweep is needed, or none with resume=true to go on with the newest; got last"
        )
    if given is None and not resume:
        return Path(fresh)
    if given is None:
        for path in sorted(SWEEPS.glob(f"*/{FILE}"), key=lambda path: path.lstat().st_mtime, reverse=True):
            if _began_with(path.parent, overrides):
                _require_safe(path.parent)
                return path.parent
        raise RunError(
            f"run: the folder of the sweep is needed with resume=true, since none under {SWEEPS} began with the same "
            "settings; got null"
        )
    folder = Path(given)
    found = read_checked(SweepFile, folder / FILE)
    if found is None:
        if is_taken(folder):
            raise RunError(f"run: a new or empty folder is needed for a sweep; got {folder}")
        return folder
    if not resume:
        raise RunError(
            f"run: a new folder is needed, or resume=true to go on; got {folder}, which holds a sweep"
        )
    if found.overrides != list(overrides):
        missing = " ".join(override for override in found.overrides if override not in overrides)
        extra = " ".join(override for override in overrides if override not in found.overrides)
        got = extra or "another order"
        if missing:
            got = f"{extra} and not {missing}" if extra else f"all but {missing}"
        raise RunError(
            f"run: the settings that the sweep in {folder} began with, typed as they were, are needed to go on; "
            f"got {got}"
        )
    _require_safe(folder)
    return folder


@contextmanager
def held(folder: Path, overrides: Sequence[str], settings: str) -> Iterator[None]:
    """Make the folder of a sweep, note what it was begun with, and hold it until the block ends.

    Raises RunError where another process holds it, or has just begun another sweep there, and for other `settings`.
    """
    os.makedirs(folder, exist_ok=True)
    with open(folder / LOCK, "ab") as file:
        # Without locks, as on some file systems, what follows still tells two sweeps apart.
        hold_lock(
            file, RunError(f"run: a sweep that no other process runs is needed; got {folder}, which one does")
        )
        found = read_checked(SweepFile, folder / FILE)
        if found is None:
            write_atomically(folder / FILE, to_json({"overrides": list(overrides), "settings": settings}))
        elif found.overrides != list(overrides):
            raise RunError(
                f"run: a folder of its own is needed; got {folder}, where another sweep began just now"
            )
        elif found.settings != settings and _format_of(found.settings) == _format_of(settings):
            raise RunError(
                f"run: the recipe and the settings in conf/ or --config-dir that the sweep in {folder} began with are "
                "needed to go on; got others"
            )
        yield


def _format_of(settings: str | None) -> str | None:
    return settings and settings.partition("-")[0]


def _began_with(folder: Path, overrides: Sequence[str]) -> bool:
    """Say whether a sweep began with these overrides; False for a sweep that cannot be read."""
    try:
        found = read_checked(SweepFile, folder / FILE)
    except RunError:
        return False
    return found is not None and found.overrides == list(overrides)


def _require_safe(folder: Path) -> None:
    """Raise RunError for a folder whose links could lead writes elsewhere, or that has pickles, which can run code."""
    if os.path.lexists(folder / OF_SUBMITIT):
        raise RunError(
            f"run: a sweep without {OF_SUBMITIT} is needed to go on, since that holds pickles; got {folder}; no job "
            f"that has ended needs it: delete it"
        )
    require_plain(folder)
