"""A glossary: terms of the source language and how they are to be translated, from a file, found in lines."""

import os
import stat
from collections.abc import Iterator
from typing import NamedTuple

from nmt.data.characters import are_joined
from nmt.data.lines import read_text
from nmt.errors import DataError

MAX_TERM = 200  # characters of a term
MAX_BYTES = 1 << 26


class Found(NamedTuple):
    """A term that was found in a line from `start` to `end`, and its translation."""

    start: int
    end: int
    translation: str


class Glossary:
    """Finds the terms of a glossary in lines: whole words, the longest first, without overlap.

    A term also matches with a capital as its first letter, unless the glossary has a translation of that form, too.
    """

    def __init__(self, terms: dict[str, str]) -> None:
        capital = {term[0].upper() + term[1:]: translation for term, translation in terms.items()}
        self._translations = capital | terms
        lengths: dict[str, set[int]] = {}
        for term in self._translations:
            lengths.setdefault(term[0], set()).add(len(term))
        self._lengths = {first: sorted(some, reverse=True) for first, some in lengths.items()}

    def find(self, line: str) -> Iterator[Found]:
        """Yield the terms of a line in their order."""
        place = 0
        while place < len(line):
            for length in self._lengths.get(line[place], ()):
                translation = self._translations.get(line[place : place + length])
                if translation is not None and is_whole_word(line, place, place + length):
                    yield Found(place, place + length, translation)
                    place += length - 1
                    break
            place += 1


def read_glossary(path: str) -> Glossary:
    """Read a glossary of lines `term<tab>translation`; blank lines and lines that begin with # are skipped.

    Raises DataError, of `decoding.glossary`, for anything else, with the file and the line.
    """
    key = "decoding.glossary"
    # A run from a stranger may name a pipe, which would block the reader.
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        raise DataError(f"{key}: no such file: {path}; decoding.glossary=null translates without") from None
    if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
        raise DataError(f"{key}: a plain file of at most {MAX_BYTES} bytes is needed; got {path}")
    terms: dict[str, str] = {}
    for number, line in enumerate(read_text(path, key), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [" ".join(field.split()) for field in line.split("\t")]
        where = f"{path}, line {number}"
        if len(fields) != 2 or not all(fields):
            raise DataError(
                f"{key}: a term, a tab and its translation are needed; got something else in {where}"
            )
        if max(map(len, fields)) > MAX_TERM:
            raise DataError(f"{key}: terms of at most {MAX_TERM} characters are needed; got more in {where}")
        term, translation = fields
        if terms.setdefault(term, translation) != translation:
            raise DataError(f"{key}: one translation of each term is needed; got another in {where}")
    return Glossary(terms)


def is_whole_word(line: str, start: int, end: int) -> bool:
    """Whether what stands in a line from `start` to `end` neither begins nor ends inside of a word."""
    return not (_is_inside(line, start) or _is_inside(line, end))


def _is_inside(line: str, place: int) -> bool:
    """Whether a place is between two letters or digits of a word, of a script that puts spaces between words."""
    return 0 < place < len(line) and are_joined(line[place - 1], line[place])
