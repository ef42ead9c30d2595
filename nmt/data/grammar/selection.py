"""Which verbs go with which nouns."""

from functools import cache

from nmt.data.grammar import lexicon
from nmt.data.grammar.lexicon import Name, Noun, Verb
from nmt.data.grammar.meaning import NounPhrase, Phrase, Pronoun, heads

CASES = {"acc": "accusative", "dat": "dative"}
VERBS = (*lexicon.ACTIVITIES, *lexicon.DEEDS, *lexicon.FAVORS, *lexicon.WHEREABOUTS)
# What a personal pronoun stands for.
PEOPLE = frozenset(("person", "adult", "familiar", "grownup"))


def kind_of(complement: lexicon.Complement) -> str:
    """`acc`, `dat`, `to`, `at`, `governed` for the object of a prepositional verb, `located` for a place."""
    if not complement.prepositions:
        return complement.kind
    return "located" if complement.prepositions[0][1] else "governed"


@cache
def of_people(*traits: str) -> tuple[Verb, ...]:
    """The verbs that can be said of anyone a pronoun stands for, and that have all of these traits."""
    return tuple(
        verb for verb in VERBS if PEOPLE & set(verb.subject_classes) and verb.traits.issuperset(traits)
    )


@cache
def making(thing: Noun | Name) -> tuple[Verb, ...]:
    """The verbs by which a thing comes to be there."""
    return tuple(
        verb
        for verb in of_people("making")
        if any(kind_of(part) == "acc" and thing in part.fillers for part in verb.complements)
    )


MOVING = ("gehen", "fahren", "laufen")
GOING = tuple(verb for verb in VERBS if verb.lemma in MOVING[:2])
DONE_THERE = tuple(verb for verb in of_people("daily") if verb.places and verb.complements)
ARRIVING = tuple(verb for verb in of_people("sudden") if verb.lemma.endswith("kommen"))
CAUSED = tuple(verb for verb in VERBS if verb.reasons)
# What people set out or try to do.
WILLED = tuple(
    verb for verb in of_people() if verb.traits.isdisjoint(("state", "unwilled", "past", "simple"))
)
# What is hoped or planned, what is promised or forgotten, what is tried.
GRAND = tuple(verb for verb in WILLED if "grand" in verb.traits)
USEFUL = tuple(verb for verb in WILLED if "useful" in verb.traits)
HARD = tuple(verb for verb in WILLED if "hard" in verb.traits)
# What can go on while something else does.
GOING_ON = tuple(verb for verb in of_people("lasting") if "unwilled" not in verb.traits)
# What one says, knows or hopes of others.
REPORTED = tuple(verb for verb in of_people() if "trifle" not in verb.traits)
LIVING = tuple(verb for verb in VERBS if verb.lemma == "wohnen")
# Why one asks.
ASTONISHING = tuple(verb for verb in of_people("unwilled") if verb.traits.isdisjoint(("making", "sudden")))


def familiar(subject: Phrase) -> bool:
    """Whether people know of a subject what it does at home, thinks, or does at the same time as another."""
    return all(
        isinstance(head, Pronoun)
        or "familiar" in (classes := (head.noun if isinstance(head, NounPhrase) else head).classes)
        or "person" not in classes
        for head in heads(subject)
    )


def works(subject: Phrase) -> bool:
    """Whether there is no child among those whom a clause is about."""
    return not any(isinstance(head, NounPhrase) and "young" in head.noun.classes for head in heads(subject))


def suits(verb: Verb, subject: Phrase) -> bool:
    """Whether a verb can be said of a subject."""
    for head in heads(subject):
        if isinstance(head, Pronoun):
            if not PEOPLE & set(verb.subject_classes):
                return False
        elif (head.noun if isinstance(head, NounPhrase) else head) not in verb.subjects:
            return False
    return True
