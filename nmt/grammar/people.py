"""Groups of people, who of them does which activity, and whether two people can be told apart in one sentence."""

from collections.abc import Iterable
from functools import cache

from nmt.grammar.meaning import Clause, NounPhrase, Phrase, Pronoun, Together, taken_up
from nmt.grammar.word_tables import NOUNS, PERSONS, Activity, Noun

# Groups whose private life a speaker knows: people by name, pronouns and family.
PRIVATE = frozenset(("anyone", "adult", "child", "family", "worker"))
GROUPS = {"anyone": {"adult", "child"}}
# Strangers who do the same as these groups; a sentence names them with an article.
STRANGERS = {"child": "Kind Junge Mädchen", "anyone": "Mann Frau Mann Frau Junge Mädchen Kind"}
SPEAKERS = (Pronoun.ME, Pronoun.WE)
OTHERS = (Pronoun.HE, Pronoun.SHE, Pronoun.THEY)
# Groups of people, and who belongs to them.
BELONGING = {
    "Eltern": {"Mutter", "Vater"},
    "Großeltern": {"Großmutter", "Großvater"},
    "Kinder": {"Sohn", "Tochter"},
    "Freunde": {"Freund", "Freundin"},
    "Nachbarn": {"Nachbar", "Nachbarin"},
}


class NoScene(Exception):
    """Raised where no fitting clause can be made; the author begins the sentence anew."""


def need(condition: object) -> None:
    """Raise NoScene unless a condition holds."""
    if not condition:
        raise NoScene


@cache
def noun(german: str) -> Noun:
    """The noun of this lemma."""
    return next(each for each in NOUNS if each.german == german)


@cache
def people(group: str) -> tuple[Noun, ...]:
    """The family, neighbours and friends whom a line of the tables means by `adult`, `child` and the like."""
    return tuple(each for each in NOUNS if each.kinds & GROUPS.get(group, {group}))


@cache
def strangers(activity: Activity) -> tuple[Noun, ...]:
    """The strangers who do an activity, named with an article: a man, a teacher, a dog."""
    said = [who for who in activity.who if who not in PRIVATE]
    for group in PRIVATE.intersection(activity.who):
        said += STRANGERS.get(group, "Mann Frau").split()
    return tuple(map(noun, said))


def is_private(activity: Activity) -> bool:
    """Whether people whom the speaker knows do this activity."""
    return not PRIVATE.isdisjoint(activity.who)


@cache
def does(one: Noun, activity: Activity) -> bool:
    """Whether a noun can be the subject of an activity."""
    return one in strangers(activity) or any(one in people(group) for group in PRIVATE & {*activity.who})


def suits(subject: Phrase, activity: Activity) -> bool:
    """Whether a phrase can be the subject of an activity."""
    return does(subject.noun, activity) if isinstance(subject, NounPhrase) else is_private(activity)


def is_known(subject: Phrase) -> bool:
    """Whether the speaker knows a subject: by a name, a pronoun, or a possessive."""
    return not isinstance(subject, NounPhrase) or isinstance(subject.determiner, Pronoun)


def is_old(subject: Phrase) -> bool:
    """Whether someone is called old, and so has no grandparents."""
    return isinstance(subject, NounPhrase) and any(each.german == "alt" for each in subject.adjectives)


def overlap(named: Iterable[Noun]) -> bool:
    """Whether a group and one of its members are both named: the grandparents and the grandmother."""
    words = {each.german for each in named}
    return any(group in words and not words.isdisjoint(members) for group, members in BELONGING.items())


def resumed(subject: Phrase) -> Pronoun:
    """The pronoun for someone mentioned before. Raises NoScene for a neuter, `it`, or a noun with `ein`."""
    pronoun = taken_up(subject)
    if pronoun in (None, Pronoun.IT) or getattr(subject, "determiner", "") == "ein":
        raise NoScene
    assert pronoun is not None
    return pronoun


def acquainted(*clauses: Clause) -> None:
    """Raise NoScene if the subject of a clause is a stranger, who cannot know the people of the other clauses."""
    for who in (each.subject for each in clauses):
        need(is_known(who) or not (isinstance(who, NounPhrase) and PERSONS & who.noun.kinds))


def different(first: Clause, second: Clause) -> None:
    """Raise NoScene unless two clauses are about different people who cannot be confused."""
    mine, yours = first.subject, second.subject
    need(yours not in OTHERS and (mine not in OTHERS or taken_up(yours) != mine))
    need(all(getattr(each, "determiner", None) not in OTHERS for each in (mine, yours)))
    need(not {taken_up(mine), taken_up(yours)} <= {*SPEAKERS})
    heads: list[Phrase] = []
    for each in (mine, yours, first.object, second.object, first.recipient, second.recipient):
        heads += each.members if isinstance(each, Together) else (each,) if each is not None else ()
    nouns = [each.noun for each in heads if isinstance(each, NounPhrase)]
    named = [each.noun.english if isinstance(each, NounPhrase) else each for each in heads]
    need(len(set(named)) == len(named) and not overlap(nouns))
    others = {each for each in named if isinstance(each, Pronoun) and each not in SPEAKERS}
    need(not others or isinstance(mine, Pronoun))
