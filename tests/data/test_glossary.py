"""A glossary: what its file may be, and which terms of a line it finds."""

import os

import pytest

from nmt.data.glossary import Glossary, read_glossary
from nmt.errors import DataError

TERMS = {
    "Haus": "house",
    "altes Haus": "old house",
    "haus": "HOUSE",
    "data": "Daten",
    "C++": "C plus plus",
    "東京": "Tokyo",
    "Fahr": "drive",
    "कल": "yesterday",
    "cafe": "coffee",
    "น": "letter",
}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Ein Haus.", ["house"]),
        ("Ein altes Haus, ein Haus", ["old house", "house"]),  # the longest first
        ("Ein haus am Rathaus", ["HOUSE"]),  # case matters, and only whole words count
        ("Data und data, DATA", ["Daten", "Daten"]),  # a capital at the beginning is allowed
        ("C++ und C++11", ["C plus plus", "C plus plus"]),
        ("私は東京都に住む", ["Tokyo"]),  # no spaces between words
        ("Fahrrad, Hausfahr", []),
        ("कला अच्छी है", []),  # art: the last letter has a vowel sign
        ("कल, cafe", ["yesterday", "coffee"]),
        ("cafe\u0301", []),  # with an accent of its own
        ("น้ำ", []),  # no spaces between words, but a tone mark
        ("", []),
    ],
)
def test_terms_are_found_as_whole_words_the_longest_first(line, expected):
    found = list(Glossary(TERMS).find(line))
    assert [one.translation for one in found] == expected
    assert all(line[one.start : one.end].lower() in map(str.lower, TERMS) for one in found)


def test_a_file_has_comments_and_blank_lines(tmp_path):
    path = tmp_path / "terms.tsv"
    path.write_text("# German\tEnglish\n\nHund \tdog\r\n  ein  Buch\ta  book\nHund\tdog\n", encoding="utf-8")
    glossary = read_glossary(str(path))
    assert [one.translation for one in glossary.find("Hund und ein Buch")] == ["dog", "a book"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"a\tb\nno tab\n",
            "a term, a tab and its translation are needed; got something else in {path}, line 2",
        ),
        (b"a\tb\tc\n", "a term, a tab and its translation are needed; got something else in {path}, line 1"),
        (b"\n\t b\n", "a term, a tab and its translation are needed; got something else in {path}, line 2"),
        (b"a\tb\n\na\tc\n", "one translation of each term is needed; got another in {path}, line 3"),
        (b"a\t" + b"b" * 201, "terms of at most 200 characters are needed; got more in {path}, line 1"),
        (b"a\tb\nb\t\xff\n", "UTF-8 text is needed; got byte 0xff in {path}, line 2"),
    ],
)
def test_what_is_no_glossary_is_refused_with_its_line(content, message, tmp_path):
    path = tmp_path / "terms.tsv"
    path.write_bytes(content)
    with pytest.raises(DataError) as error:
        read_glossary(str(path))
    assert str(error.value) == f"decoding.glossary: {message.format(path=path)}"


def test_a_path_that_a_stranger_named_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "", "missing", "a\0b"):
        with pytest.raises(DataError, match=r"decoding\.glossary: (no such file|a plain file)"):
            read_glossary(str(tmp_path / name))
