"""The nearest of some words, for who has mistyped one."""

import difflib
from collections.abc import Sequence
from typing import Any


def nearest(word: Any, choices: Sequence[str]) -> str:
    """Return `; did you mean …?` for the choice that is closest to `word`, or nothing."""
    close = difflib.get_close_matches(str(word), choices, n=1)
    return f"; did you mean {close[0]}?" if close else ""
