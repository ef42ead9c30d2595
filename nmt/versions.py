"""The versions of libraries below which something known is unsafe, and a check where each is needed."""

import re
from importlib.metadata import PackageNotFoundError, version

from nmt.errors import UserError

# Older versions have known faults: mostly, a file from a stranger crashes the reader or runs code.
FLOORS = {
    "ctranslate2": "4.8.1",
    "datasets": "5.0.1",
    "hydra-core": "1.3.6",
    "sentencepiece": "0.2.3",
    "torch": "2.11",
}


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
