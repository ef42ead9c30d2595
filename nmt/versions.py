"""Libraries: the extras of nmt that bring some, and the versions below which something known is unsafe."""

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
    """Raise SettingsError, of `key`, with the extra that has it, where a library that is imported within is not there.

    `instead` is what does without.
    """
    try:
        yield
    except ImportError as error:
        otherwise = f", or {instead}" if instead else ""
        raise SettingsError(
            f"{key}: the extra `{extra}` is needed: pip install 'nmt[{extra}]'{otherwise}; got {error}"
        ) from None


def require(name: str) -> None:
    """Raise UserError, with both versions, where an installed package is older than is safe, or not there."""
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
    """Return 2.11.1 for `2.11.1+cpu`; what is no number, and all behind it, does not count."""
    leading = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(int(number) for number in leading[0].split(".")) if leading else ()
