"""Plain text, subtitles and Markdown: what is a line of them, and that all else stays as it stood."""

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nmt.decoding.translation import Candidate, Translation
from nmt.documents.document import decode, lines_of
from nmt.documents.formats import SUFFIXES, TEXTS, read_document
from nmt.documents.markdown import read_markdown
from nmt.documents.plain import read_plain
from nmt.documents.subtitles import read_srt, read_vtt
from nmt.documents.wrapping import wrap
from nmt.errors import DataError

SRT = (
    "1\r\n00:00:01,000 --> 00:00:02,500\r\n<i>Der alte Mann\r\nschläft</i>.\r\n\r\n"
    "2\r\n00:00:03,000 --> 00:00:04,000 X1:1\r\n{\\an8}- Wer ist da?\r\n- Nur ich,\r\nder Hund.\r\n\r\n"
    "3\r\n00:00:05,000 --> 00:00:06,000\r\n♪\r\n"
)
VTT = (
    "WEBVTT - Ein Film\n\nNOTE das hier bleibt\n\nSTYLE\n::cue { color: red }\n\n"
    "erster\n00:01.000 --> 00:02.000 align:start\n<v Anna>Käse &amp; <c.gelb>Brot</c></v>\n\n"
    "00:00:03.000 --> 00:00:04.000\nIch <00:03.500>gehe\n"
)


def test_lines_of_plain_text_stay_lines(translate):
    text = "eins zwei\r\n\n  drei\tvier \rfünf"
    assert translate(read_plain(text)) == "EINS ZWEI\r\n\n  DREI VIER \rFÜNF"
    assert lines_of(read_plain(text)) == ["eins zwei", "drei\tvier", "fünf"]


def test_subtitles_keep_times_and_places_and_the_number_of_rows(translate, turned):
    document = read_srt(SRT)
    assert lines_of(document) == ["Der alte Mann schläft.", "Wer ist da?", "Nur ich, der Hund.", "♪"]
    found = translate(document, turned)
    kept = re.compile(r"^(\d+|.*-->.*|)$", re.MULTILINE)
    assert kept.findall(found.replace("\r", "")) == kept.findall(SRT.replace("\r", ""))
    assert "<i>SCHLÄFT. MANN\r\nALTE DER</i>" in found
    assert "{\\an8}- DA? IST WER\r\n- HUND. DER\r\nICH, NUR" in found
    assert found.count("\r\n") == found.count("\n") == SRT.count("\n")


def test_what_each_speaker_says_is_a_line_of_its_own(translate, turned):
    cue = "1\n00:00:01,000 --> 00:00:02,000\n{}\n{}\n"
    document = read_srt(cue.format("<i>- Wer ist da?</i>", "<b><i>- Nur ich.</i></b>"))
    assert lines_of(document) == ["- Wer ist da?", "- Nur ich."]
    assert translate(document, turned) == cue.format("<i>DA? IST WER -</i>", "<b><i>ICH. NUR -</i></b>")
    document = read_vtt("WEBVTT\n\n" + cue.format("<v Bob>Wer ist da?", "<v.laut Mary>Nur ich."))
    assert lines_of(document) == ["Wer ist da?", "Nur ich."]
    assert lines_of(read_srt(cue.format("<i>Wer ist", "da? - Nur ich</i>"))) == ["Wer ist da? - Nur ich"]


def test_cues_without_blank_lines_between_are_cues():
    text = "1\n00:00:01,000 --> 00:00:02,000\neins\n2\n00:00:03,000 --> 00:00:04,000\nzwei\n"
    assert lines_of(read_srt(text)) == ["eins", "zwei"]


def test_vtt_keeps_notes_styles_names_and_entities(translate):
    document = read_vtt(VTT)
    assert lines_of(document) == ["Käse & Brot", "Ich gehe"]
    assert translate(document) == (
        VTT.replace("Käse &amp; <c.gelb>Brot", "KÄSE &amp; <c.gelb>BROT").replace(
            "Ich <00:03.500>gehe", "ICH <00:03.500>GEHE"
        )
    )


def test_what_has_no_times_is_no_subtitles():
    for text in ("", "Der Hund", "1\n00:00:01 -> 00:00:02\nHund"):
        with pytest.raises(DataError, match="subtitles with times"):
            read_srt(text)


@given(st.text("ab ", max_size=60), st.integers(1, 6))
def test_rows_are_as_short_as_they_can_be(text, number):
    """Against all ways to divide the words."""
    words = text.split(" ")
    lines = wrap(text, number)
    assert " ".join(lines) == text
    assert len(lines) <= number

    def best(words, number):
        if number == 1 or len(words) == 1:
            return len(" ".join(words))
        ways = [max(len(" ".join(words[:i])), best(words[i:], number - 1)) for i in range(1, len(words))]
        return min([*ways, len(" ".join(words))])

    if len(words) <= 8:
        assert max(map(len, lines)) == best(words, number)


MARKDOWN = """\
---
title: bleibt
---
# Ein *kleiner* Titel mit `code` #

Ein Absatz in
zwei Zeilen, mit **einem [Link zu *uns*](https://a.example/x_(y) "Titel")** darin.\x20\x20
Hartes Ende\\
5 * 3 in einem_langen_namen

> - Zitat und
>   Liste
> - ![Bild](bild.png "so") zwei

1. 1
2. eins &amp; <b>zwei</b> <https://b.example> https://c.example/d_e [^1]

| Kopf | zwei \\| drei |
|:-----|------:|
| `a` | Zelle |

    code der bleibt

```python
code = "bleibt auch"
```

<div>
HTML *bleibt*
</div>

[ref]: https://d.example 'bleibt'

Unter
strichen [siehe][ref]
===
"""  # fmt: skip


def test_markdown_is_read_as_one_sees_it(translate, turned):
    document = read_markdown(MARKDOWN)
    assert lines_of(document) == [
        "Ein kleiner Titel mit code",
        "Ein Absatz in zwei Zeilen, mit einem Link zu uns darin.", "Hartes Ende", "5 * 3 in einem_langen_namen",
        "Zitat und Liste", "Bild zwei", "1",
        "eins & zwei <https://b.example> https://c.example/d_e", "Kopf", "zwei | drei", "Zelle",
        "Unter strichen siehe",
    ]  # fmt: skip
    found = translate(document, turned)
    assert "# `code` MIT TITEL *KLEINER* EIN #" in found
    assert '**[*UNS* ZU LINK](https://a.example/x_(y) "Titel") EINEM**' in found
    assert "\nENDE HARTES\\\nEINEM_LANGEN_NAMEN IN 3 \\* 5\n" in found
    assert '\n> - LISTE UND\n>   ZITAT\n> - ZWEI ![BILD](bild.png "so")\n' in found
    assert "\n| KOPF | DREI \\| ZWEI |\n|:-----|------:|\n| `a` | ZELLE |\n" in found
    assert "\n[SIEHE][ref] STRICHEN\nUNTER\n===\n" in found
    for kept in (
        "title: bleibt",
        "    code der bleibt",
        'code = "bleibt auch"',
        "HTML *bleibt*",
        "[ref]: https://d.example 'bleibt'",
    ):
        assert kept in found
    # Read again, the translation has the same syntax, and so has a translation of it.
    again = read_markdown(found)
    assert [len(line.split()) for line in lines_of(again)] == [
        len(line.split()) for line in lines_of(document)
    ]
    expected = MARKDOWN.upper().replace("5 * 3", "5 \\* 3").replace("&AMP;", "&")
    assert translate(again, turned).upper().split() == expected.split(), "but for where rows end"


@pytest.mark.parametrize(
    ("text", "lines", "expected"),
    [
        ("zwei<br/>Hunde <BR>hier", ["zwei Hunde hier"], "ZWEI<br/>HUNDE<BR>HIER"),
        ("Text <!-- [TODO]: *weg* --> mehr", ["Text mehr"], "TEXT <!-- [TODO]: *weg* --> MEHR"),
        ("- [ ] ein Hund\n- [x] zwei", ["ein Hund", "zwei"], "- [ ] EIN HUND\n- [x] ZWEI"),
        ("tippt ``echo `a` `` und `b`", ["tippt echo `a` und b"], "TIPPT ``echo `a` `` UND `b`"),
        ("Hund[^2] hier.[^3]", ["Hund hier."], "HUND[^2] HIER.[^3]"),
        ("[^2]: Der *Hund*\n schläft.\n[^b]: Zwei", ["Der Hund schläft.", "Zwei"],
         "[^2]: DER *HUND*\n SCHLÄFT.\n[^b]: ZWEI"),
        ("[^b]: Zwei\n\n[b]: https://b.example\n", ["Zwei"], "[^b]: ZWEI\n\n[b]: https://b.example\n"),
        # The text of such a link is its label, too: the label stays, beside the translated text.
        ("Siehe [die *Seite*] und [sie][] hier, [Rest] nicht.\n\n[Die *seite*]: a\n[sie]: b\n",
         ["Siehe die Seite und sie hier, Rest nicht."],
         "SIEHE [DIE *SEITE*][die *Seite*] UND [SIE][sie] HIER, [REST] NICHT.\n\n[Die *seite*]: a\n[sie]: b\n"),
        ("| a |\n|--|\n| so [x\\|y] |\n\n[x|y]: u\n", ["a", "so x|y"], "| A |\n|--|\n| SO [X\\|Y][x\\|y] |\n\n[x|y]: u\n"),
        ("[a](<b c.md>) [b](a.md (Titel)) [c](x(y(z)).md) [d](a 's\\'o') [e]( f )", ["a b c d e"],
         "[A](<b c.md>) [B](a.md (Titel)) [C](x(y(z)).md) [D](a 's\\'o') [E]( f )"),
    ],
)  # fmt: skip
def test_marks_of_markdown_are_not_read_and_stay(translate, text, lines, expected):
    document = read_markdown(text)
    assert lines_of(document) == lines
    assert translate(document) == expected


def test_emphasis_on_nothing_is_not_written(translate):
    """`Ja/Nein` is one word with two emphases, of which only one can go around its translation."""
    assert translate(read_markdown("Wählen Sie **Ja**/**Nein** bitte.")) == "WÄHLEN SIE **JA/NEIN** BITTE."
    assert "![](a.png)" in translate(read_markdown("Ein **![](a.png)** Bild"))


def test_no_letter_of_wrapped_text_is_lost_beside_what_is_kept(translate):
    text = "eins `ls -l` zwei drei vier fünf, und\nsechs sieben `b` acht neun zehn elf\nzwölf dreizehn vierzehn\n"
    found = translate(read_markdown(text))
    assert found.count("\n") == text.count("\n")
    assert found.split() == text.upper().replace("LS -L", "ls -l").replace("`B`", "`b`").split()


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


def test_a_long_cue_is_wrapped_in_time():
    words = ["wort"] * 400_000
    assert wrap(" ".join(words), 1) == [" ".join(words)]
    first, second = wrap(" ".join(words), 2)
    assert len(first) == len(second)


def test_files_are_utf_8_or_say_what_they_are():
    assert decode("\ufeffHund".encode()) == "\ufeffHund"
    assert decode("Hund".encode("utf-16")) == "Hund"
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
