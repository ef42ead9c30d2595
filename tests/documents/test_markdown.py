"""Markdown: what is a line of it, and that its marks stay as they stood."""

import pytest

from nmt.decoding.translation import Candidate, Translation
from nmt.documents.document import lines_of
from nmt.documents.markdown import read_markdown

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
         ["Siehe die Seite und sie hier, [Rest] nicht."],
         "SIEHE [DIE *SEITE*][die *Seite*] UND [SIE][sie] HIER, \\[REST\\] NICHT.\n\n[Die *seite*]: a\n[sie]: b\n"),
        ("| a |\n|--|\n| so [x\\|y] |\n\n[x|y]: u\n", ["a", "so x|y"], "| A |\n|--|\n| SO [X\\|Y][x\\|y] |\n\n[x|y]: u\n"),
        ("Die Zahl 5*3, 2**10 und a[0][i].", ["Die Zahl 5*3, 2**10 und a[0][i]."],
         "DIE ZAHL 5\\*3, 2\\*\\*10 UND A\\[0\\]\\[I\\]."),
        ("ab**cd**ef", ["abcdef"], "**ABCDEF**"),
        ("so** a**b**c", ["so** abc"], "SO\\*\\* **ABC**"),
        # Emphasis between two marks of punctuation ends if it has begun, and begins if it has not.
        ("- **[Name](http://x)**: so", ["Name: so"], "- **[NAME](http://x)**: SO"),
        ("**`--so`**: _(so)_, ja", ["--so: (so), ja"], "**`--so`**: _(SO)_, JA"),
        ("*(*ja*)* und **हिन्दी**: a", ["(ja) und हिन्दी: a"], "*(*JA*)* UND **हिन्दी**: A"),
        # Three signs are two marks, which may end in two places.
        ("**so *hier ~~da~~ und***", ["so hier da und"], "**SO *HIER ~~DA~~ UND***"),
        ("***so** hier* und ***da***", ["so hier und da"], "***SO** HIER* UND ***DA***"),
        ("*so **hier*** und **da**", ["so hier und da"], "*SO **HIER*** UND **DA**"),
        ("Ich ___ und __ ab, a_b", ["Ich ___ und __ ab, a_b"], "ICH \\_\\_\\_ UND \\_\\_ AB, A_B"),
        ("# Die Sprache C \\#", ["Die Sprache C #"], "# DIE SPRACHE C \\#"),
        ("der C:\\Temp\\ da", ["der C:\\Temp\\ da"], "DER C:\\TEMP\\ DA"),
        # Punctuation beside an element is not of it, even if the element has punctuation at its ends.
        ("Nutze `f()`, dann (`(g)`).", ["Nutze f(), dann ((g))."], "NUTZE `f()`, DANN (`(g)`)."),
        ("**„So“**, **so!**, **so**.", ["„So“, so!, so."], "**„SO“**, **SO!**, **SO**."),
        ("[a](<b c.md>) [b](a.md (Titel)) [c](x(y(z)).md) [d](a 's\\'o') [e]( f )", ["a b c d e"],
         "[A](<b c.md>) [B](a.md (Titel)) [C](x(y(z)).md) [D](a 's\\'o') [E]( f )"),
    ],
)  # fmt: skip
def test_marks_of_markdown_are_not_read_and_stay(translate, text, lines, expected):
    document = read_markdown(text)
    assert lines_of(document) == lines
    assert translate(document) == expected


def test_a_backslash_at_the_end_of_a_row_is_text(translate, turned):
    found = translate(read_markdown("da ist der Ordner\nC:\\Temp\\ eins\n"), turned)
    assert found == "EINS C:\\TEMP\\\\\nORDNER DER IST DA\n"
    assert lines_of(read_markdown(found)) == ["EINS C:\\TEMP\\ ORDNER DER IST DA"]


def test_a_comment_does_not_move_to_the_beginning_of_a_row(translate, turned):
    """There it would begin a block of HTML, in which emphasis is no emphasis."""
    text = "eins <!-- a b --> zwei\ndrei <!-- c --> *vier*\n"
    found = translate(read_markdown(text), turned)
    assert found == "*VIER* DREI <!-- c -->\nZWEI EINS <!-- a b -->\n"
    assert lines_of(read_markdown(found)) == ["VIER DREI ZWEI EINS"]


def test_no_space_comes_between_emphasis_and_what_is_in_it(translate):
    assert translate(read_markdown("so **`a` ist `b`**.")) == "SO **`a` IST `b`**."


def test_emphasis_on_nothing_is_not_written(translate):
    """`Ja/Nein` is one word with two emphases, of which only one can go around its translation."""
    assert translate(read_markdown("Wählen Sie **Ja**/**Nein** bitte.")) == "WÄHLEN SIE **JA/NEIN** BITTE."
    assert "![](a.png)" in translate(read_markdown("Ein **![](a.png)** Bild"))


def test_no_letter_of_wrapped_text_is_lost_beside_what_is_kept(translate):
    text = "eins `ls -l` zwei drei vier fünf, und\nsechs sieben `b` acht neun zehn elf\nzwölf dreizehn vierzehn\n"
    found = translate(read_markdown(text))
    assert found.count("\n") == text.count("\n")
    assert found.split() == text.upper().replace("LS -L", "ls -l").replace("`B`", "`b`").split()


@pytest.mark.parametrize("marker", ["1. ", "- ", "> 1. ", "2. - "])
def test_a_cell_in_a_list_is_translated_in_its_place(translate, marker):
    rest = " " * len(marker) if marker[0] != ">" else ">" + " " * (len(marker) - 1)
    text = f"{marker}| 1 | 2 |\n{rest}|---|---|\n{rest}| 1 | b |\n"
    found = translate(read_markdown(text), lambda line: Translation(line, [Candidate(f"x{line}")]))
    assert found == text.replace("1 |", "x1 |").replace("2 |", "x2 |").replace("b |", "xb |")
