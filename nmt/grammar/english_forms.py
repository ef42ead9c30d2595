"""English morphology: verbs, pronouns, articles."""

import re
from itertools import pairwise

from nmt.grammar.meaning import Pronoun, Token
from nmt.grammar.word_tables import add_s

# Subject, object, possessive.
PRONOUNS = {
    Pronoun.ME: "I me my",
    Pronoun.YOU: "you you your",
    Pronoun.HE: "he him his",
    Pronoun.SHE: "she her her",
    Pronoun.IT: "it it its",
    Pronoun.WE: "we us our",
    Pronoun.THEY: "they them their",
    Pronoun.WHO: "who who whose",
    Pronoun.WHAT: "what what",
    Pronoun.THIS: "this this",
    Pronoun.THERE: "there there",
}
DETERMINERS = {"": "", "der": "the", "ein": "a", "job": "a", "dies": "this", "welch": "which", "kein": "no"}
PLURALS = {"dies": "these", "ein": ""}
NUMBERS = {"zwei": "two", "drei": "three", "viele": "many"}
# Words that begin with a vowel in writing but a consonant in speech, and the other way round.
CONSONANT_SOUNDS = ("university", "European")
VOWEL_SOUNDS = ("hour", "honest")


def pronoun_form(pronoun: Pronoun, case: int) -> str:
    """A pronoun as a subject (0), as an object (1), or its possessive (2)."""
    return PRONOUNS[pronoun].split()[case]


def determiner_form(determiner: str | Pronoun, plural: bool) -> str:
    """An article or a word like it; there is no `a` in the plural."""
    if isinstance(determiner, Pronoun):
        return pronoun_form(determiner, 2)
    if plural and determiner in PLURALS:
        return PLURALS[determiner]
    return NUMBERS.get(determiner) or DETERMINERS[determiner]


def with_articles(spoken: list[Token]) -> list[Token]:
    """Make `a` into `an` before a vowel sound."""
    return [
        ("an", node) if word == "a" and starts_with_vowel(following) else (word, node)
        for (word, node), (following, _) in pairwise([*spoken, ("", None)])
    ]


def starts_with_vowel(word: str) -> bool:
    """Whether a word is spoken with a vowel first."""
    if word.startswith(VOWEL_SOUNDS):
        return True
    return word[:1] in tuple("aeiouAEIOU") and not word.startswith(CONSONANT_SOUNDS)


def be(tense: str, person: int, plural: bool) -> str:
    """A finite form of `be`."""
    if plural or person == 2:
        return "are" if tense == "present" else "were"
    return ("am" if person == 1 else "is") if tense == "present" else "was"


def simple_form(base: str, past: str, tense: str, person: int, plural: bool) -> str:
    """A finite form in the simple present or past; `-s` for he, she, it."""
    if base == "be":
        return be(tense, person, plural)
    if tense != "present":
        return past
    if person != 3 or plural:
        return base
    return "has" if base == "have" else add_s(base)


def add_ing(base: str) -> str:
    """The form in `-ing`: `running`, `writing`, `lying`."""
    if base.endswith("ie"):
        return base[:-2] + "ying"
    if base in ("begin", "forget") or re.fullmatch("[^aeiou]*[aeiou][bdgmnpt]", base):
        return base + base[-1] + "ing"
    return base + "ing" if base.endswith("ee") else base.removesuffix("e") + "ing"
