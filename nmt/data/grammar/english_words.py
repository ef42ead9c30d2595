"""English morphology: verbs, plurals, pronouns, articles."""

import re
from itertools import pairwise

from nmt.data.grammar.lexicon import Noun, Verb, add_s
from nmt.data.grammar.meaning import Determiner, Pronoun, Tense

PRONOUNS = {
    "ich": ("I", "me"),
    "du": ("you", "you"),
    "er": ("he", "him"),
    "sie": ("she", "her"),
    "es": ("it", "it"),
    "wir": ("we", "us"),
    "wer": ("who", "who"),
    "was": ("what", "what"),
}
DETERMINERS = {
    Determiner.NONE: "",
    Determiner.THIS: "this",
    Determiner.NO: "no",
    Determiner.WHICH: "which",
    Determiner.MANY: "many",
    Determiner.THE: "the",
    Determiner.A: "a",
    Determiner.MY: "my",
    Determiner.YOUR: "your",
    Determiner.HIS: "his",
    Determiner.HER: "her",
    Determiner.OUR: "our",
}
# Written with a vowel but spoken with a consonant first, and the other way round.
CONSONANT_SOUNDS = ("university", "European")
VOWEL_SOUNDS = ("hour", "honest")
BE = {
    Tense.PRESENT: {(1, False): "am", (3, False): "is"},
    Tense.PAST: {(1, False): "was", (3, False): "was"},
}


def pronoun_form(pronoun: Pronoun, subject: bool) -> str:
    """A pronoun as the subject or as an object."""
    if pronoun.plural and pronoun.person == 3:
        return "they" if subject else "them"
    return PRONOUNS[pronoun.lemma][0 if subject else 1]


def determiner_form(determiner: Determiner, plural: bool) -> str:
    """An article or a word like it; `a` is settled later by `choose_article`."""
    if determiner is Determiner.THIS and plural:
        return "these"
    return DETERMINERS[determiner]


def noun_form(noun: Noun, plural: bool) -> str:
    """A noun in the singular or plural."""
    return noun.english_plural if plural else noun.english


def possessive(words: list[str]) -> list[str]:
    """Add `'s`, or `'` after a plural in `-s`, to the last word."""
    plural_s = words[-1].endswith("s") and not words[-1].endswith("ss")
    return [*words[:-1], words[-1] + ("'" if plural_s else "'s")]


def choose_article(words: list[str]) -> list[str]:
    """Make `a` into `an` before a vowel sound."""
    return [
        "an" if word == "a" and starts_with_vowel(following) else word
        for word, following in pairwise([*words, ""])
    ]


def starts_with_vowel(word: str) -> bool:
    """Whether a word is spoken with a vowel first."""
    if word.startswith(VOWEL_SOUNDS):
        return True
    return word[:1] in tuple("aeiouAEIOU") and not word.startswith(CONSONANT_SOUNDS)


def be(tense: Tense, person: int, plural: bool) -> str:
    """A finite form of `be`."""
    return BE[tense].get((person, plural), "are" if tense is Tense.PRESENT else "were")


def third_person(base: str, person: int, plural: bool) -> str:
    """A present form: with `-s` for he, she, it."""
    if person != 3 or plural:
        return base
    return "has" if base == "have" else add_s(base)


def add_ing(base: str) -> str:
    """The form in `-ing`: `running`, `writing`, `lying`."""
    if base.endswith("ie"):
        return base[:-2] + "ying"
    if base in ("begin", "forget") or re.fullmatch("[^aeiou]*[aeiou][bdgmnpt]", base):
        return base + base[-1] + "ing"
    return base.removesuffix("e") + "ing" if not base.endswith("ee") else base + "ing"


def simple_form(verb: Verb, tense: Tense, person: int, plural: bool) -> str:
    """A finite form in the simple present or past."""
    if verb.english.base == "be":
        return be(tense, person, plural)
    if tense is Tense.PAST:
        return verb.english.past
    return third_person(verb.english.base, person, plural)
