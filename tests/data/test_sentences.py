"""Where lines are cut: between sentences of many languages, and inside of sentences."""

import sys
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nmt.data.sentences import cut_into, middle_cut, sentence_splitter, split_by_rules
from nmt.errors import SettingsError

PARAGRAPHS = [
    ["Der Hund schläft.", "Die Katze auch!", "Warum?"],
    ["Am 3. Mai kam Dr. Müller, z.B. mit dem Zug, nach Berlin.", "Er blieb bis 1999.", "Dann ging er."],
    ["He met J. F. Smith of the U.S. Army.", "“Why?” he asked.", "(Nobody knew.)", "¿Y tú?"],
    ["It costs 3.50 euros, at www.example.org.", "That is all…", "... and more"],
    ["Wait ... what?", "Yes."],
    ["今天天气很好。", "我们去公园吧！", "「好吗？」", "好。"],
    ["यह एक वाक्य है।", "यह दूसरा है।"],
    ["هل أنت هنا؟", "نعم."],
    ["ሰላም።", "ደህና ነህ።"],
    ["မင်္ဂလာပါ။", "နေကောင်းလား။"],
    ["ᠰᠠᠶᠢᠨ᠃", "ᠪᠠᠶᠢᠨ᠎ᠠ᠃"],
    ["no capital. so it goes on", "", ""],
]


@pytest.mark.parametrize("sentences", PARAGRAPHS, ids=lambda sentences: sentences[0])
def test_sentences_of_many_languages(sentences):
    sentences = [one for one in sentences if one]
    between = "" if sentences[0].endswith("。") else " "
    assert [one.strip() for one in split_by_rules(between.join(sentences))] == sentences


TEXT = st.text(st.sampled_from("ab A.!?。,;: \t—“”)1é汉：，")) | st.text()


@given(TEXT)
def test_what_is_cut_is_the_whole_when_joined(line):
    assert "".join(split_by_rules(line)) == line


def test_marks_without_an_end_are_read_in_time():
    """A regular expression that starts again at each mark would take an hour."""
    assert split_by_rules(f"Na{'.' * 400_000}x gut. So!") == [f"Na{'.' * 400_000}x gut.", " So!"]


@given(TEXT.filter(lambda line: len(line) > 1))
@example("a：")
@example(" ab")
def test_a_cut_leaves_something_on_both_sides(sentence):
    assert 0 < middle_cut(sentence) < len(sentence)


@pytest.mark.parametrize(
    ("sentence", "first"),
    [
        ("one two, three four; five six, seven eight", "one two, three four;"),
        ("one two three, four five six seven", "one two three,"),
        ("one two three four", "one two"),
        ("x; one two three four five six", "x; one two three"),
        ("onetwothree", "onetw"),
        ("第一部分，第二部分", "第一部分，"),
    ],
)
def test_a_sentence_is_cut_near_its_middle_at_the_strongest_mark(sentence, first):
    assert sentence[: middle_cut(sentence)] == first


@pytest.mark.parametrize("letters", ["ที่", "เด็", "မြို့", "ක්‍ය", "ខ្មែ", "é"])
def test_no_letter_is_cut_from_its_marks(letters):
    sentence = letters * 20
    place = middle_cut(sentence)
    assert place % len(letters) == 0
    assert abs(place - len(sentence) // 2) <= len(letters)


def test_a_library_knows_more_abbreviations_than_the_rules():
    line = "Er mag Obst, z. B. Äpfel. Sie nicht."
    found = sentence_splitter("sentencex:de")(line)
    assert [one.strip() for one in found] == ["Er mag Obst, z. B. Äpfel.", "Sie nicht."]
    assert "".join(found) == line


def test_a_library_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentencex", None)
    with pytest.raises(SettingsError, match=r"^decoding.sentence_splitter: .*pip install 'nmt\[sentencex\]'"):
        sentence_splitter("sentencex:de")


@given(st.text(alphabet="ab .!\n", max_size=200), st.integers(2, 50))
def test_pieces_of_a_line_are_short_and_make_up_the_line(line, most):
    pieces = cut_into(line, most)
    assert "".join(pieces) == line
    assert all(0 < len(piece) <= most for piece in pieces)
    assert all(len(one) + len(other) > most for one, other in pairwise(pieces)), "no two of them fit into one"
