"""What a phrase is to the words around it, in either language."""

from nmt.data.grammar.lexicon import Name
from nmt.data.grammar.meaning import (
    HE,
    INDEFINITE,
    ME,
    WE,
    YOU,
    Determiner,
    NounPhrase,
    Phrase,
    Pronoun,
    Role,
    Together,
    heads,
)
from nmt.data.grammar.phrases import KNOWN_DETERMINERS


def person_and_number(subject: Phrase) -> tuple[int, bool]:
    """The person (1 to 3) that a verb agrees with, and whether it is plural."""
    match subject:
        case Pronoun(person, plural):
            return person, plural
        case Together(members):
            return min(person_and_number(member)[0] for member in members), True
        case NounPhrase(plural=plural):
            return 3, plural
        case Name():
            return 3, False


def says_no(thing: Phrase | None) -> bool:
    """Whether a phrase carries the negation of its clause, as `kein`."""
    return isinstance(thing, NounPhrase) and thing.determiner is Determiner.NO


def is_new(thing: Phrase, role: Role) -> bool:
    """Whether an object is mentioned for the first time, so that it stands late in German."""
    if isinstance(thing, Together):
        return all(is_new(member, role) for member in thing.members)
    if role is not Role.OBJECT or not isinstance(thing, NounPhrase) or thing.owner is not None:
        return False
    return thing.determiner in INDEFINITE


def is_person(thing: Phrase) -> bool:
    """Whether `who` rather than `that` stands for a phrase."""
    return isinstance(thing, NounPhrase) and not thing.noun.classes.isdisjoint(("person", "infant"))


def shows_case(phrase: Phrase | None) -> bool:
    """Whether a German phrase looks different as a subject and as an accusative object."""
    if isinstance(phrase, Pronoun):
        return phrase in (ME, YOU, HE, WE)
    if not isinstance(phrase, NounPhrase) or phrase.plural or phrase.noun.gender != "masculine":
        return False
    return phrase.determiner is not Determiner.NONE


def is_human(phrase: Phrase) -> bool:
    """Whether a phrase stands for people."""
    return isinstance(phrase, Name | Pronoun | Together) or is_person(phrase)


def is_definite(phrase: Phrase) -> bool:
    """Whether a phrase stands for someone or something known."""
    if isinstance(phrase, Together):
        return all(is_definite(member) for member in phrase.members)
    return not isinstance(phrase, NounPhrase) or phrase.determiner in KNOWN_DETERMINERS or bool(phrase.owner)


def has_relative(phrase: Phrase | None) -> bool:
    """Whether a relative clause belongs to a phrase."""
    return any(isinstance(head, NounPhrase) and head.relative is not None for head in heads(phrase))
