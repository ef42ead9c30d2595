"""Signs of bad translations, on sentences where a person sees what they are."""

from collections import Counter

import pytest

from nmt.evaluation.signs import count_tokens, find_signs, numbers, rarest, repeats, tokens, word_recall


@pytest.mark.parametrize(
    ("line", "is_repetition"),
    [
        ("the dog dog dog sleeps", True),
        ("the dog dog sleeps", False),
        ("in the house in the house", True),
        ("In the house, in the HOUSE.", True),
        ("in the house and in the garden", False),
        ("a b c d e f a b c d e f", True),
        ("", False),
        ("धीरे-धीरे चलो", False),  # two words alike, whose vowel signs are marks and no letters
        ("धीरे धीरे धीरे", True),
        ("❤️ ☀️ ✈️ ok", False),  # whose variation selectors are marks that stand on no letter
        ("２０００年です。", False),
    ],
)
def test_repetitions(line, is_repetition):
    assert repeats(line) is is_repetition


def test_numbers_are_their_digits():
    assert numbers("1.000 and 1,000 and 3.5, 3,5 in 2024!") == ["1000", "1000", "35", "35", "2024"]
    assert numbers("no number") == []
    assert numbers("10\u00a0000, 1 234 567,89 and in 2019 300 people") == [
        "10000",
        "123456789",
        "2019",
        "300",
    ]


def test_words_have_the_marks_that_stand_on_them():
    assert tokens("हिन्दी में שָׁלוֹם, cafe\u0301_1!") == ["हिन्दी", "में", "שָׁלוֹם", "cafe\u0301_1"]
    assert tokens("می\u200cخواهم น้ำ 我喜欢Linux。") == ["می\u200cخواهم", "น้ำ", "我喜欢Linux"]
    assert tokens("❤\ufe0f 👨\u200d👩 \u0301") == []
    found = find_signs(["кафе\u0301 x2345"], ["hello кафе\u0301 x2345"], ["hello coffee"])
    assert found.untranslated == {0: ["кафе\u0301"]}


def test_findings():
    source = ["Das Haus ist alt.", "Im Jahr 1984", "Der Hund", "Hallo Welt", "Berlin ist groß", "leer", ""]
    hypotheses = ["The Haus is old.", "In the year", "the the the dog", "Hallo Welt", "Berlin is big", "", ""]
    references = ["The house is old.", "In 1984", "The dog", "Hello world", "Berlin is large", "empty", ""]
    found = find_signs(source, hypotheses, references)
    assert found.empty == [5]
    assert found.copies == [3]
    assert found.repetitions == [2]
    assert found.untranslated == {0: ["Haus"], 3: ["Hallo", "Welt"]}  # the reference has Berlin, too
    assert found.numbers_lost == {1: ["1984"]}
    assert found.num_numbers == 1


def test_what_the_reference_does_as_well_is_no_sign():
    line = "bye bye bye Berlin"
    found = find_signs([line], [line], [line])
    assert (found.copies, found.repetitions, found.untranslated) == ([], [], {})


def test_words_found_by_how_often_they_were_seen():
    frequencies = Counter({"the": 100, "dog": 3})
    rows = word_recall(["the dog", "the the cat"], ["the dog", "the zebra dog"], frequencies, [0, 5])
    assert rows == [("0", 0, 1), ("1–5", 1, 2), ("6+", 2, 2)]


def test_the_rarest_word():
    frequencies = count_tokens(["the dog", "the cat", "the the"])
    assert frequencies == {"the": 4, "dog": 1, "cat": 1}
    assert (rarest("the dog", frequencies), rarest("a dog", frequencies), rarest("", frequencies)) == (
        1,
        0,
        0,
    )
