"""Text that is to be scored: as people write it, not in the pieces that a tokenizer made of it."""

import re
from collections.abc import Sequence

from nmt.errors import DataError

# Marks of pieces that were not put together again; no written language has them there. In HTML, <s>…</s> is struck out;
# "@@ -1 @@" of a patch has a space before.
MARKS = re.compile(
    r"(?P<sentencepiece>▁)|[^\s@](?P<subword_nmt>@@(?=\s|$))|^(?!.+<s>).*?(?P<end></s>)|(?P<joiner>￭)"
)


def find_mark(lines: Sequence[str]) -> tuple[int, str] | None:
    """Return the number of the first line, from 1, that holds a mark of subwords, and the mark."""
    for number, line in enumerate(lines, start=1):
        if found := MARKS.search(line):
            return number, next(mark for mark in found.groups() if mark)
    return None


def require_plain_text(lines: Sequence[str], key: str, origin: str) -> None:
    """Raise DataError, naming the line, for text that still holds marks of subwords: its scores would be too high."""
    if found := find_mark(lines):
        number, mark = found
        raise DataError(
            f"{key}: text without marks of subwords is needed, which only looks like a better translation with them; "
            f"got {mark} in {origin}, line {number}; put the pieces together first"
        )
