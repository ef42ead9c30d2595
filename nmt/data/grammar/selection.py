"""Which verbs go with which nouns."""

from functools import cache

from nmt.data.grammar import lexicon
from nmt.data.grammar.lexicon import Name, Noun, Verb
from nmt.data.grammar.meaning import NounPhrase, Phrase, Pronoun, heads

OBJECT_KINDS = ("acc", "dat", "governed")
CASES = {"acc": "accusative", "dat": "dative"}
VERBS = ((2.0, lexicon.ACTIVITIES), (5.0, lexicon.DEEDS), (1.8, lexicon.FAVORS), (2.2, lexicon.WHEREABOUTS))
ALL_VERBS = tuple(verb for _, verbs in VERBS for verb in verbs)


def kind_of(complement: lexicon.Complement) -> str:
    """`acc`, `dat`, `to`, `at`, `governed` for the object of a prepositional verb, `located` for a place."""
    if not complement.prepositions:
        return complement.kind
    return "located" if complement.prepositions[0][1] else "governed"


@cache
def verbs_of(subject: Noun | Name) -> tuple[Verb, ...]:
    """The verbs that can be said of a noun."""
    return tuple(verb for verb in ALL_VERBS if subject in verb.subjects)


@cache
def verbs_about(thing: Noun | Name, kind: str) -> tuple[Verb, ...]:
    """The verbs that a noun can be the object of, by case or preposition (`governed`), or the place."""
    if kind == "place":
        return tuple(verb for verb in ALL_VERBS if thing in verb.places)
    return tuple(
        verb
        for verb in ALL_VERBS
        if any(thing in complement.fillers for complement in verb.complements if kind_of(complement) == kind)
        and (kind != "dat" or len(verb.complements) == 1)
    )


@cache
def verbs_of_people() -> tuple[Verb, ...]:
    """The verbs that can be said of anyone a pronoun stands for."""
    return tuple(verb for verb in ALL_VERBS if not {"person", "adult"}.isdisjoint(verb.subject_classes))


def suits(verb: Verb, subject: Phrase) -> bool:
    """Whether a verb can be said of a subject."""
    for head in heads(subject):
        if isinstance(head, Pronoun):
            if {"person", "adult", "weather"}.isdisjoint(verb.subject_classes):
                return False
        elif (head.noun if isinstance(head, NounPhrase) else head) not in verb.subjects:
            return False
    return True
