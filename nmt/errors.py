"""What a user can act on: each error is one line, and the command ends with exit code 2, or 1 where said."""

from collections.abc import Iterator
from contextlib import contextmanager

MAX_SHOWN = 2000  # characters of a message


class UserError(Exception):
    """Something that the user asked for cannot be done; the message says what and what to do instead."""


class SettingsError(UserError):
    """A setting is unknown, missing, of the wrong kind or out of range; `problems` holds one line for each."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class DataError(UserError):
    """A text file or data set is missing, damaged or of no use."""


class RunError(UserError):
    """A run directory is missing, taken, or holds no model that fits."""


class ExportError(UserError):
    """An exported model does not translate as the run does; the command ends with exit code 1."""


class SweepError(UserError):
    """Runs of a sweep have failed; the command ends with exit code 1."""


class VerificationError(UserError):
    """A run is not what it recorded, `problems` says in what; the command ends with exit code 1."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class DeviceError(UserError):
    """The device that was asked for is not there, or cannot compute so."""


@contextmanager
def naming(key: str) -> Iterator[None]:
    """Have errors of a run begin with `key`, where another key than `run` names it."""
    try:
        yield
    except RunError as error:
        raise RunError(f"{key}: {str(error).removeprefix('run: ')}") from None


def one_line(message: object) -> str:
    """Return a message as one line that a terminal only shows, whatever names and values a stranger put into it."""
    shown = "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in str(message)[:MAX_SHOWN]
    )
    return shown if len(str(message)) <= MAX_SHOWN else f"{shown} …"
