"""HTML: what is read of it, and what becomes of its tags in a translation."""

import random
import re
from collections import Counter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nmt.decoding.translation import Candidate, Translation
from nmt.documents.document import lines_of, write_translated
from nmt.documents.html import read_html
from nmt.documents.marked import MAX_WORD, place

TAG = re.compile(r"<[^<>]*>")


def translated(text, find):
    """Return HTML with each line replaced by what `find` returns for it: a translation and its links."""
    document = read_html(text)
    blocks = []
    for content, line in zip(document.blocks, lines_of(document), strict=True):
        target, links = find(line)
        blocks.append(place(content, Translation(line, [Candidate(target, alignment=links)])))
    return document.write(blocks)


def same(line):
    return line, [(i, i) for i in range(len(line.split()))]


def in_capitals(line):
    return line.upper(), same(line)[1]


def reversed_words(line):
    words = line.split()
    return " ".join(reversed(words)), [(len(words) - 1 - j, j) for j in range(len(words))]


def to(target, *links):
    return lambda line: (target, list(links))


@pytest.mark.parametrize(
    ("text", "find", "expected"),
    [
        ("Ein <b>rotes Haus</b> steht", to("A red house stands", (0, 0), (1, 1), (2, 2), (3, 3)), "A <b>red house</b> stands"),
        ("<p>das <i>rote <b>Haus</b></i>.</p>", reversed_words, "<p><i><b>Haus</b>. rote</i> das</p>"),
        ("Ich <a href='x'>rufe</a> dich <b>an</b>", to("I call you", (0, 0), (1, 1), (2, 2)), "I <a href='x'>call</a> you<b></b>"),
        ("a <b>x</b> y z", to("Y X Z A", (2, 0), (1, 1), (3, 2), (0, 3)), "Y <b>X</b> Z A"),
        # One link to a distant word does not spread an element over all words between.
        ("a <b>u v</b> c d e", to("U V A C D W", (1, 0), (2, 1), (0, 2), (3, 3), (4, 4), (1, 5)), "<b>U V</b> A C D W"),
        ("Er sagte (<em>laut</em>).", to("He said (loudly).", (0, 0), (1, 1), (2, 2)), "He said (<em>loudly</em>)."),
        ("Danke <span translate=no>@max</span> sehr", to("Thanks @mex much", (0, 0), (1, 1), (2, 2)),
         "Thanks <span translate=no>@max</span> much"),
        ("ein <code>red</code>-Schild da", to("a sign there", (0, 0), (1, 1), (2, 2)), "a <code>red</code> sign there"),
        ("ein Schild-<code>red</code> da", to("a sign there", (0, 0), (1, 1), (2, 2)), "a sign <code>red</code> there"),
        # An element does not take a copy of its text that belongs to another element, or that another word became.
        ("der <b>neue red</b> <code>red</code>-Hund", to("the new red dog", (0, 0), (1, 1), (2, 2), (3, 3)),
         "the <b>new red</b> <code>red</code> dog"),
        ("im <code>x</code>-Ding ist <code>x</code> da", to("in the thing there is x", (0, 0), (1, 2), (4, 3), (2, 4), (3, 5)),
         "in the <code>x</code> thing there is <code>x</code>"),
        # Pieces of one word each find their own copy; those without one stay apart.
        ("mit <code>ja</code>/<code>nein</code>/<code>ja</code> nun", to("with nein/ja/ja now", (0, 0), (1, 1), (2, 2)),
         "with <code>nein</code>/<code>ja</code>/<code>ja</code> now"),
        ("<i translate=no>Anna</i>-<i translate=no>Lena</i> da", to("Anna-Lena there", (0, 0), (1, 1)),
         "<i translate=no>Anna</i>-<i translate=no>Lena</i> there"),
        ("mit <code>ja</code>/<code>nein</code>/<code>so</code>.", to("with yes/no.", (0, 0), (1, 1)),
         "with <code>ja</code> yes/no.<code>nein</code> <code>so</code>"),
        ("ein <code>ls</code>-Befehl", to("an ls command", (0, 0), (1, 1), (1, 2)), "an <code>ls</code> command"),
        ("Nimm <code>a &lt; b</code> dafür", to("For that take a<b", (1, 3), (4, 0), (4, 1), (0, 2)),
         "For that take <code>a &lt; b</code>"),
        ("eins<br>zwei<hr>drei", in_capitals, "EINS<br>ZWEI<hr>DREI"),
        ("<p>A &amp; B &lt;c&gt;&nbsp;d</p>", in_capitals, "<p>A &amp; B &lt;C&gt;&nbsp;D</p>"),
        ("<script>if (a < b) x()</script><style>p {}</style><pre>a b</pre>ja", in_capitals,
         "<script>if (a < b) x()</script><style>p {}</style><pre>a b</pre>JA"),
        ("<script>'<p>nie</p>' + \"<b>\"</script>ja", in_capitals, "<script>'<p>nie</p>' + \"<b>\"</script>JA"),
        ("<div translate='no'>nie <p>nie</p></div><div>ja</div>", in_capitals, "<div translate='no'>nie <p>nie</p></div><div>JA</div>"),
        # Elements that need no end tag.
        ("<ul><li translate=no>Foo <b>x</b><ul><li>nie<li>nie</ul><li>ja</ul><p>ja", in_capitals,
         "<ul><li translate=no>Foo <b>x</b><ul><li>nie<li>nie</ul><li>JA</ul><p>JA"),
        ("<p class=notranslate>nie <b>nie<p>ja", in_capitals, "<p class=notranslate>nie <b>nie<p>JA"),
        ("<div><p translate=no>nie</i> nie</div>ja", in_capitals, "<div><p translate=no>nie</i> nie</div>JA"),
        ("<table><tr><td translate=no><table><tr><td>nie</table>nie<td>ja<tr translate=no><td>nie<td>nie<tr><td>ja</table>ja",
         in_capitals,
         "<table><tr><td translate=no><table><tr><td>nie</table>nie<td>JA<tr translate=no><td>nie<td>nie<tr><td>JA</table>JA"),
        ("<p translate=no>nie</br>nie</p><p>ja", in_capitals, "<p translate=no>nie</br>nie</p><p>JA"),
        ("<table><tr><td class=notranslate>nie</div>nie</td><td>ja", in_capitals,
         "<table><tr><td class=notranslate>nie</div>nie</td><td>JA"),
        ("<p translate=no>nie<object>nie<p>nie</object>nie</p>ja", in_capitals,
         "<p translate=no>nie<object>nie<p>nie</object>nie</p>JA"),
        ("<ul><li><p translate=no>nie<li>ja</ul>", in_capitals, "<ul><li><p translate=no>nie<li>JA</ul>"),
        ("<p translate=no>nie<dialog>ja</dialog>", in_capitals, "<p translate=no>nie<dialog>JA</dialog>"),
        ("<dl><dt translate=no>nie<dd>ja<dd translate=no>nie</dl>ja", in_capitals,
         "<dl><dt translate=no>nie<dd>JA<dd translate=no>nie</dl>JA"),
        ("<p><b> ja </b> <img src=x> nein</p>", in_capitals, "<p><b>JA</b> <img src=x> NEIN</p>"),
        ("<!--><p>ja</p><!---><p>ja", in_capitals, "<!--><p>JA</p><!---><p>JA"),
        ("<!-- a --><!DOCTYPE html><p title='a>b'>ja", in_capitals, "<!-- a --><!DOCTYPE html><p title='a>b'>JA"),
        ("a\n  <i>b</i>\n c", in_capitals, "A <i>B</i> C"),
        ("<b>ja <i>nein</b> doch</i>", in_capitals, "<b>JA <i>NEIN</b> DOCH</i>"),
        ("<i translate=no>@x</i> <b>y</b>", same, "<i translate=no>@x</i> <b>y</b>"),
    ],
)  # fmt: skip
def test_tags_go_where_their_words_went(text, find, expected):
    assert translated(text, find) == expected


def test_a_page_in_ascii_that_declares_another_encoding_stays_in_ascii():
    for head in (
        '<meta charset="iso-8859-1">',
        "<meta http-equiv=a content='text/html; charset=windows-1252'>",
    ):
        page = f"{head}<p>f&uuml;r mich</p>"
        assert translated(page, to("à l'été")) == f"{head}<p>&#224; l'&#233;t&#233;</p>"
    for head in ("", '<meta charset="UTF-8">', "<meta charset=iso-8859-1><b>ä</b>"):
        assert translated(f"{head}<p>f&uuml;r mich</p>", to("à l'été")).endswith("<p>à l'été</p>")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("<p>私は<ruby>漢字<rp>(</rp><rt>かんじ</rt><rp>)</rp></ruby>を読む。</p>", "私は漢字を読む。"),
        ("Drücken Sie <button>OK</button>, um zu gehen.", "Drücken Sie OK, um zu gehen."),
        ("Ein <my-word>Hund</my-word> schläft.", "Ein Hund schläft."),
    ],
)
def test_what_stands_within_a_sentence_does_not_divide_it(text, line):
    assert lines_of(read_html(text)) == [line]
    assert translated(text, same) == text


def test_without_alignment_words_stay_about_where_they_were():
    assert translated("a <b>b</b> c", lambda line: ("A B C", None)) == "A <b>B</b> C"


NAMES = ["b", "i", "a", "span", "p", "div", "em"]
WORDS = st.text("abcäß. &<>\"'\n,", max_size=8).map(
    lambda text: text.replace("<", "&lt;").replace("&", "&amp;")
)
TREES = st.recursive(
    WORDS
    | st.sampled_from(
        ["<br>", "<img src=x>", "<!-- c -->", "<code>a b</code>", '<b translate="no">c <i>d</i></b>']
    ),
    lambda inner: st.tuples(st.sampled_from(NAMES), st.integers(0, 9), st.lists(inner, max_size=4)).map(
        lambda one: f'<{one[0]} id="{one[1]}">{"".join(one[2])}</{one[0]}>'
    ),
    max_leaves=25,
)


def is_balanced(text):
    opened = []
    for tag in TAG.findall(re.sub(r"<!--.*?-->", "", text)):
        name = re.match(r"</?(\w+)", tag)[1]
        if tag.startswith("</"):
            if not opened or opened.pop() != name:
                return False
        elif name not in ("br", "img"):
            opened.append(name)
    return not opened


@settings(max_examples=300)
@given(st.lists(TREES, max_size=4).map("".join), st.integers(0, 10**6))
@example('&amp;lt;<b id="0"></b><b id="0">&amp;lt; &amp;lt;</b>', 0)  # a place within the words of another
def test_no_tag_is_lost_or_comes_twice_and_all_stay_balanced(text, seed):
    generator, written = random.Random(seed), []

    def anything(line):
        number = generator.randint(0, 12)
        size = len(line.split())
        links = [(generator.randrange(size), j) for j in range(number) if size and generator.random() < 0.8]
        written.append([f"w{j}" for j in range(number)])
        return " ".join(written[-1]), links

    found = translated(text, anything)
    assert Counter(TAG.findall(found)) == Counter(TAG.findall(text))
    assert is_balanced(found)
    if "code" not in text and "translate" not in text:  # which take the place of words
        words = [word for line in written for word in line]
        assert re.findall(r"w\d+", TAG.sub("", found)) == words
    for kept in ("<code>a b</code>", '<b translate="no">c <i>d</i></b>', "<!-- c -->"):
        assert found.count(kept) == text.count(kept)


@settings(max_examples=300)
@given(st.text("<>/!-?&;ab=\"' \n\u00a0#x1", max_size=60) | st.text(max_size=40) | TREES)
def test_what_is_translated_by_itself_is_the_same_byte_for_byte(text):
    assert translated(text, same) == text


@settings(max_examples=300)
@given(st.text("<>/!-?&;abip=\"' \n\u00a0#x1", max_size=60) | st.text(max_size=40))
@example("a <b>&#1</b> b")
@example("&#1")
def test_any_text_is_read_and_lines_have_no_tags_and_no_line_ends(text):
    document = read_html(text)
    for line in lines_of(document):
        assert line.strip()
        assert "\n" not in line
    translated(text, reversed_words)


@pytest.mark.parametrize(
    "piece",
    ["<", "<!--", "<a ", "&", "&#", "</", "<!", "<?", "<b>x", "<code>", "<a href='", "]]>", "<![CDATA["],
)
def test_what_is_repeated_without_an_end_is_read_in_time(piece):
    """Each takes a fraction of a second, and a reader that begins again at each piece would take hours."""
    text = piece * 20_000
    assert translated(text, same) == text


def test_deep_and_long_html_is_read():
    deep = "<b>" * 5000 + "x" + "</b>" * 5000
    assert Counter(TAG.findall(translated(deep, in_capitals))) == Counter(TAG.findall(deep))
    nested = "<b>a " * 2000 + "</b>" * 2000
    assert translated(nested, in_capitals) == nested.replace("a", "A")
    long = "<b>wort</b> <img> " * 3000
    assert translated(long, in_capitals) == ("<b>WORT</b> <img> " * 3000)


def test_many_places_in_one_line_are_found_in_time():
    """Each place looks only at the words beside it; looking at the whole line would take minutes."""
    text = "wort <img> " * 40_000 + "ende"
    assert translated(text, in_capitals) == "WORT <img> " * 40_000 + "ENDE"


def test_elements_of_a_page_without_spaces_are_placed_in_time():
    """Each element looks at few of the words that its one word became; looking at all of them would take minutes."""
    document = read_html("x<code>y</code>" * 20_000)
    (line,) = lines_of(document)
    words = ["wort"] * (len(line) // 6)
    found = Translation(line, [Candidate(" ".join(words), alignment=[(0, j) for j in range(len(words))])])
    written = write_translated(document, [found])
    assert written.count("<code>") == 20_000
    assert written.count("wort") == len(words)


def test_copies_are_looked_for_in_words_and_not_in_lines_without_spaces():
    for num, is_word in ((MAX_WORD // 4, True), (MAX_WORD, False)):
        before, behind = "猫" * num + "、", "、" + "猫" * num
        text = f"{before}x{behind}"
        written = translated("犬<code>x</code>", lambda line, text=text: (text, [(0, 0)]))
        assert written == (f"{before}<code>x</code>{behind}" if is_word else f"{text} <code>x</code>")
