"""Libraries: the extras of nmt that install some, and the lowest version of each that has no known faults."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version

from nmt.errors import SettingsError, UserError

# Older versions have known faults: mostly, a file from a stranger crashes the reader or runs code.
FLOORS = {
    "ctranslate2": "4.8.1",
    "datasets": "5.0.1",
    "hydra-core": "1.3.6",
    "sentencepiece": "0.2.3",
    "torch": "2.11",
}


@contextmanager
def importing(extra: str, key: str, instead: str = "") -> Iterator[None]:
    """Raise SettingsError, naming `key` and the extra to install, where an import in the block fails.

    `instead` says what works without the library.
    """
    try:
        yield
    except ImportError as error:
        otherwise = f", or {instead}" if instead else ""
        raise SettingsError(
            f"{key}: the extra `{extra}` is needed: pip install 'nmt[{extra}]'{otherwise}; got {error}"
        ) from None


def require(name: str) -> None:
    """Raise UserError, with both versions, where a package is missing or older than its lowest safe version."""
    floor = FLOORS[name]
    try:
        installed = version(name)
    except PackageNotFoundError:
        installed = "none"
    if _numbers(installed) < _numbers(floor):
        raise UserError(
            f"{name}: version {floor} or later is needed, since older ones are not safe; got {installed}; "
            f"pip install '{name}>={floor}'"
        )


def _numbers(text: str) -> tuple[int, ...]:
    """Return the leading numbers of a version: (2, 11, 1) for `2.11.1+cpu`, () for one that begins with no number."""
    leading = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(int(number) for number in leading[0].split(".")) if leading else ()
