"""Which language a text is taken to be of."""

import pytest

from nmt.runs.languages import language
from nmt.serving.languages import Languages

TEXTS = {
    "de": "Zwei Männer sitzen auf einer Bank und lesen Zeitung.",
    "en": "Two men are sitting on a bench and reading the newspaper.",
    "fr": "Deux hommes sont assis sur un banc et lisent le journal.",
    "pb": "Dois homens estão sentados num banco lendo o jornal.",
    "zt": "兩個男人坐在長椅上看報紙。",
    "uk": "Двоє чоловіків сидять на лавці й читають газету.",
}


class Pair:
    def __init__(self, source, target):
        self.source, self.target = language(source), language(target)


def languages(*pairs):
    return Languages(Pair(*pair.split("-")) for pair in pairs)


@pytest.mark.parametrize("code", TEXTS)
def test_a_text_is_of_its_language(code):
    found = languages("de-en", "en-fr", "pb-en", "zt-en", "uk-en").detect(TEXTS[code])
    assert (found[0].code, found[0].confidence > 90) == (code, True)
    assert [one.confidence for one in found] == sorted((one.confidence for one in found), reverse=True)
    assert sum(one.confidence for one in found) <= 100.1


def test_a_text_of_a_language_that_is_not_there_is_of_little_confidence():
    (best, *_) = languages("de-en").detect(TEXTS["uk"])
    assert best.code in {"de", "en"}
    assert best.confidence < 10


def test_text_without_a_word_is_of_no_language():
    for text in ("", " ", "🙂"):
        assert languages("de-en").detect(text) == [("en", 0.0)]
        assert languages("de-fr").detect(text) == [("de", 0.0)]


def test_text_without_a_word_is_of_a_language_with_a_way_to_the_target():
    several = languages("de-en", "de-fr")
    assert several.source_of("🙂 ", language("fr")) == ("de", 0.0)
    assert several.source_of("🙂 ", language("en")) == ("en", 0.0)
    assert several.source_of(TEXTS["en"], language("fr")).code == "en", "which has no way there"


def test_a_language_that_nobody_can_tell_is_taken_for_granted_where_it_is_the_only_one():
    assert languages("gsw-de").detect(TEXTS["de"]) == [("gsw", 0.0)]
    assert languages("gsw-de", "en-de").detect(TEXTS["en"])[0].code == "en"
    assert languages("gsw-tlh", "tlh-gsw").detect(TEXTS["en"]) == [("gsw", 0.0)]
