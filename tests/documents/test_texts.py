"""Plain text, and what holds of texts of every kind: no word is lost, and all that is not text stays as it stood."""

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nmt.decoding.translation import Candidate, Translation
from nmt.documents.document import decode, lines_of
from nmt.documents.formats import SUFFIXES, TEXTS, read_document
from nmt.documents.markdown import read_markdown
from nmt.documents.plain import read_plain
from nmt.documents.subtitles import read_srt
from nmt.errors import DataError


def test_lines_of_plain_text_stay_lines(translate):
    text = "eins zwei\r\n\n  drei\tvier \rfünf"
    assert translate(read_plain(text)) == "EINS ZWEI\r\n\n  DREI VIER \rFÜNF"
    assert lines_of(read_plain(text)) == ["eins zwei", "drei\tvier", "fünf"]


@pytest.mark.parametrize("suffix", [suffix for suffix in TEXTS if suffix not in (".srt", ".vtt")])
def test_a_byte_order_mark_stays_and_is_not_read(translate, suffix):
    text = "# Ein Hund\n\nläuft\n"
    document = read_document(suffix, text.encode("utf-8-sig"))
    assert lines_of(document) == lines_of(read_document(suffix, text.encode()))
    assert translate(document) == "\ufeff" + translate(read_document(suffix, text.encode()))


@pytest.mark.parametrize(
    "words",
    [
        "# nichts",
        "- nichts",
        "1. nichts",
        "> nichts",
        "a * b * c",
        "`x`",
        "<b>",
        "[a](b)",
        "_a_",
        "&amp; x",
        "\\* x",
        "~~x~~",
        "2) x",
        "+ x",
        "=== x",
    ],
)
def test_words_do_not_become_syntax(translate, words):
    def find(line):
        return Translation(line, [Candidate(words, alignment=[])])

    found = translate(read_markdown("Ein Satz.\n"), find)
    assert lines_of(read_markdown(found)) == [words]


@pytest.mark.parametrize(
    ("text", "expected"), [("1. 1\n", "1. EINS\n"), ("- -x\n", "- EINS\n"), ("# #x #\n", "# EINS #\n")]
)
def test_what_says_what_its_syntax_says_is_told_from_it(translate, text, expected):
    def find(line):
        return Translation(line, [Candidate("EINS", alignment=[])])

    assert translate(read_markdown(text), find) == expected


PIECES = st.sampled_from(
    [
        "q",
        "w z",
        " ",
        "\n",
        "\n\n",
        "\r\n",
        "*",
        "**",
        "_",
        "`",
        "``",
        "[",
        "](x)",
        "![",
        "]",
        "# ",
        "- ",
        "> ",
        "1. ",
        "|",
        "---",
        "\t",
        "    ",
        "<b>",
        "</b>",
        "<br>",
        "&amp;",
        "\\",
        "~~~",
        "```",
        "é",
        "  \n",
        "00:01.000 --> 00:02.000",
        "{\\an8}",
        "<i>",
        "</i>",
        "\x0b",
        "\u2028",
    ]
)


@settings(max_examples=300)
@given(st.lists(PIECES, max_size=30).map("".join), st.sampled_from(sorted(TEXTS)))
def test_any_text_is_read_and_comes_back_as_it_was(text, suffix):
    try:
        document = TEXTS[suffix](text)
    except DataError:
        assert suffix in (".srt", ".vtt")
        return
    assert document.write(document.blocks) == text


@settings(max_examples=300)
@given(st.lists(PIECES, max_size=30).map("".join))
def test_no_word_is_lost_when_markdown_is_turned_around(translate, turned, text):
    assume("`" not in text)  # code replaces the whole word that it is a part of
    found = translate(read_markdown(text), turned)
    assert sorted(re.findall(r"[QWZ]", found.upper())) == sorted(re.findall(r"[QWZ]", text.upper()))


def test_long_lines_of_signs_take_no_time():
    for piece in (
        "*",
        "[",
        "](",
        "`",
        "``` `",
        "<a ",
        "_a",
        "![",
        "\\",
        "&",
        "|a",
        "> ",
        "<i>",
        "{\\an",
        "- ",
    ):
        text = piece * (20_000 // len(piece))
        for suffix in (".md", ".txt", ".html"):
            document = TEXTS[suffix](text)
            assert document.write(document.blocks) == text
        cue = read_srt(f"1\n00:00:01,000 --> 00:00:02,000\n{text}\n")
        assert text in cue.write(cue.blocks)


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".html", f"<p {'a' * 400_000}>x</p>"),
        (".html", f"<p {'a ' * 200_000}>x</p>"),
        (".html", f"&#{'1' * 400_000}; x"),
        (".md", f"a{' ' * 400_000}b"),
        (".srt", f"1\n00:00:01,000 --> 00:00:02,000\na{' ' * 400_000}b\n"),
        (".srt", f"1\n00:00:01,000 --> 00:00:02,000\n<{'a' * 400_000}\n"),
    ],
    ids=["name", "names", "number", "spaces", "spaces of a cue", "tag without an end"],
)
def test_what_goes_on_without_an_end_is_read_in_time(suffix, text):
    """Each takes a fraction of a second; a regular expression that starts again at each character takes an hour."""
    document = read_document(suffix, text.encode())
    assert document.write(document.blocks) == text


def test_files_are_utf_8_or_say_what_they_are():
    assert decode("\ufeffHund".encode()) == "\ufeffHund"
    for encoding in ("utf-16-le", "utf-16-be"):
        assert decode("\ufeffHund".encode(encoding)) == "\ufeffHund"
    for content in (b"\xff\xff", "Häuser".encode("latin-1"), b"a\0b"):
        with pytest.raises(DataError, match=r"^file: "):
            decode(content)


@given(st.binary(max_size=200), st.sampled_from(SUFFIXES))
def test_any_bytes_are_a_document_or_none(content, suffix):
    try:
        document = read_document(suffix, content)
    except DataError as error:
        (problem,) = error.problems
    else:
        document.write(document.blocks)
        problem = "file: none"
    assert re.fullmatch("file: .*", problem)


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".txt", "a\n"),
        (".txt", "a\r"),
        (".srt", "00:00:01,000 --> 00:00:02,000\na\n"),
        (".html", "<br>a"),
        (".md", "a\n\n"),
        (".md", "*a* "),
        (".md", "`a` "),
        (".md", "> [a] "),
    ],
)
def test_documents_of_more_marks_than_a_book_are_refused(monkeypatch, suffix, text):
    """Each takes hundreds of bytes of memory once it is read."""
    monkeypatch.setattr("nmt.documents.tags.MAX_TAGS", 1000)
    read_document(suffix, (text * 100).encode())
    with pytest.raises(DataError, match=r"^file: at most 1000 tags are needed in its text; got more$"):
        read_document(suffix, (text * 1100).encode())


def test_tables_whose_rows_are_filled_up_are_bounded_in_all():
    """A table of 2 kB becomes 65,000 cells; a hundred of them would take gigabytes."""
    table = "|a" * 256 + "|\n" + "|-" * 256 + "|\n" + "|b\n" * 256 + "\n"
    document = read_document(".md", table.encode())
    assert document.write(document.blocks) == table
    with pytest.raises(DataError, match=r"^file: at most 1000000 tags are needed"):
        read_document(".md", (table * 100).encode())
