"""Stand-ins for translators, which show what becomes of a document."""

import pytest

from nmt.decoding.translation import Candidate, Translation
from nmt.documents.document import lines_of, write_translated


def of_words(line, words, links):
    return Translation(line, [Candidate(" ".join(words), alignment=links)])


def in_capitals(line):
    words = line.split()
    return of_words(line, [word.upper() for word in words], [(i, i) for i in range(len(words))])


def backwards(line):
    """Return a line with its words in reverse order, in capitals."""
    words = line.split()
    last = len(words) - 1
    return of_words(
        line, [word.upper() for word in reversed(words)], [(last - j, j) for j in range(len(words))]
    )


@pytest.fixture(scope="session")
def translate():
    """Return a function that writes a document with each line translated word by word."""

    def write(document, find=in_capitals):
        return write_translated(document, [find(line) for line in lines_of(document)])

    return write


@pytest.fixture(scope="session")
def turned():
    """Return the stand-in that reverses the words of a line."""
    return backwards
