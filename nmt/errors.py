"""Errors that a user can act on: a line for each problem; the exit code is 2, or 1 where a class says so."""

import difflib
import errno
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

MAX_SHOWN = 2000  # characters of a message
# Errors of the system that keep any file from being written: no room, a quota, a limit on sizes, a broken disk.
WRITE_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


class UserError(Exception):
    """Something that the user asked for cannot be done; each of `problems` is one line, with what to do instead."""

    exit_code = 2

    def __init__(self, *problems: str) -> None:
        super().__init__(*problems)
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join(self.problems)


class SettingsError(UserError):
    """A setting is unknown, missing, of the wrong kind or out of range."""


class DataError(UserError):
    """A text file or data set is missing, damaged or of no use."""


class RunError(UserError):
    """A run directory is missing, taken, or holds no model that fits."""


class DeviceError(UserError):
    """The requested device does not exist, has too little memory, or cannot compute as requested."""


class ExportError(UserError):
    """An exported model does not translate as the run does."""

    exit_code = 1


class SweepError(UserError):
    """Runs of a sweep have failed."""

    exit_code = 1


class VerificationError(UserError):
    """A run is not what it recorded."""

    exit_code = 1


@contextmanager
def naming(key: str) -> Iterator[None]:
    """Make each RunError of the block begin with `key`, the setting that names the run, in place of `run`."""
    try:
        yield
    except RunError as error:
        raise RunError(f"{key}: {str(error).removeprefix('run: ')}") from None


def one_line(message: object) -> str:
    """Return a message as one line that cannot control a terminal, whatever a stranger put into names and values."""
    shown = "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in str(message)[:MAX_SHOWN]
    )
    return shown if len(str(message)) <= MAX_SHOWN else f"{shown} …"


def first_line(error: BaseException) -> str:
    """Return the first line of a library's error, or its class name without one; the rest is for its authors."""
    return (str(error).strip() or type(error).__name__).split("\n")[0]


def nearest(word: Any, choices: Sequence[str]) -> str:
    """Return `; did you mean …?` for the choice that is closest to `word`, or nothing."""
    meant = {"gpu": "cuda"}.get(str(word).lower())  # which no similarity tells
    close = [meant] if meant in choices else difflib.get_close_matches(str(word), choices, n=1)
    return f"; did you mean {close[0]}?" if close else ""
