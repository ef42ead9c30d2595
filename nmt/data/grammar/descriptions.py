"""Random descriptions: what someone or something is, is like, or where it is to be found."""

from dataclasses import replace

from nmt.data.grammar import lexicon
from nmt.data.grammar.agreement import has_relative
from nmt.data.grammar.composition import NoClause
from nmt.data.grammar.elaboration import Elaborator
from nmt.data.grammar.lexicon import BE, BECOME, NOUNS, Name, Noun
from nmt.data.grammar.meaning import (
    Clause,
    Comparison,
    Determiner,
    Existence,
    Modal,
    NounPhrase,
    Statement,
    Tense,
)
from nmt.data.grammar.phrases import ANYONE, states_for

DESCRIBED = tuple(noun for noun in NOUNS if states_for(noun) and noun.plural is not None)
OCCUPATIONS = tuple(noun for noun in NOUNS if "work" in noun.classes)
# What there is in a place of each class.
FOUND_IN = {
    "settlement": "building",
    "room": "furniture",
    "nature": "animal",
    "outside": "plant",
    "shop": "food",
}
CONTAINERS = tuple(noun for noun in NOUNS if noun.where is not None and not noun.classes.isdisjoint(FOUND_IN))
COMPARABLE = (
    "person",
    "animal",
    "clothing",
    "vehicle",
    "building",
    "furniture",
    "text",
    "fruit",
    "device",
    "topic",
)


class Describer:
    """Makes sentences with `sein`, `werden` and `es gibt`."""

    def __init__(self, clauses: Elaborator) -> None:
        self.clauses = clauses
        self.chance = clauses.chance

    def description(self) -> Statement:
        """What someone or something is, is like, or becomes."""
        tense = self.chance.weigh(((3, Tense.PRESENT), (2, Tense.PAST)))
        kind = self.chance.weigh(((4, self.likeness), (3, self.comparison), (2, self.occupation)))
        return Statement(kind(tense))

    def likeness(self, tense: Tense) -> Clause:
        """`Das Haus ist alt.`"""
        noun = self.chance.choose(DESCRIBED)
        subject = self.clauses.phrasing.dress(noun, 0.0, known=True)
        phrase = self.clauses.with_relative(plain(subject), tense, 0.25)
        clause = Clause(phrase, BE, tense, predicate=self.chance.choose(states_for(noun)))
        if self.chance.happens(0.15):
            return replace(clause, negated=True)
        if self.chance.happens(0.15):
            return replace(clause, frequency=self.chance.choose(lexicon.FREQUENCIES))
        return clause

    def comparison(self, tense: Tense) -> Clause:
        """`Das Haus ist größer als die Kirche.`"""
        noun = self.chance.choose(DESCRIBED)
        adjectives = [adjective for adjective in states_for(noun) if adjective.comparative]
        if not adjectives:
            raise NoClause
        adjective = self.chance.choose(adjectives)
        others = [other for other in DESCRIBED if alike(noun, other) and adjective in states_for(other)]
        if not others:
            raise NoClause
        dress = self.clauses.phrasing.dress
        subject = dress(noun, 0.0, known=True)
        standard = dress(self.chance.choose(others), 0.0, known=True)
        return Clause(plain(subject), BE, tense, predicate=Comparison(adjective, plain(standard)))

    def occupation(self, tense: Tense) -> Clause:
        """`Anna ist Lehrerin`, `Anna will Lehrerin werden`."""
        work = self.chance.choose(OCCUPATIONS)
        gender = "male" if "male" in work.classes else "female"
        person = self.chance.choose(
            [each for each in ANYONE if gender in each.classes and "work" not in each.classes]
        )
        subject = singular(self.clauses.phrasing.dress(person, 0.0, known=True))
        adjectives = self.clauses.phrasing.adjectives(work, 0.3)[:1]
        predicate = NounPhrase(work, Determiner.A if adjectives else Determiner.NONE, adjectives=adjectives)
        if self.chance.happens(0.6):
            return Clause(subject, BE, tense, predicate=predicate)
        modal = Modal.WANT if tense is Tense.PRESENT else None
        return Clause(subject, BECOME, tense, modal=modal, predicate=predicate)

    def existence(self) -> Existence:
        """`Es gibt einen Garten hinter dem Haus.`"""
        place = self.chance.choose(CONTAINERS)
        wanted = next(FOUND_IN[kind] for kind in FOUND_IN if kind in place.classes)
        things = [noun for noun in NOUNS if wanted in noun.classes and noun.plural is not None]
        phrase = self.clauses.phrasing.dress(self.chance.choose(things), self.clauses.richness())
        assert isinstance(phrase, NounPhrase)
        determiner = phrase.determiner
        if determiner not in (Determiner.A, Determiner.NONE, Determiner.MANY, Determiner.SOME):
            determiner = Determiner.MANY if phrase.plural else Determiner.A
        tense = self.chance.weigh(((3, Tense.PRESENT), (1, Tense.PAST)))
        thing = replace(phrase, determiner=determiner, owner=None)
        described = self.clauses.with_relative(thing, tense, 0.2)
        where = self.clauses.phrasing.place(place, 0.5)
        return Existence(described, tense, where, has_relative(described) or self.chance.happens(0.6))


def plain(phrase: NounPhrase | Name) -> NounPhrase | Name:
    """The same phrase without adjectives."""
    return replace(phrase, adjectives=()) if isinstance(phrase, NounPhrase) else phrase


def singular(phrase: NounPhrase | Name) -> NounPhrase | Name:
    """The same phrase in the singular."""
    if isinstance(phrase, NounPhrase) and phrase.plural:
        return replace(phrase, plural=False, number=None)
    return phrase


def alike(noun: Noun, other: Noun) -> bool:
    """Whether two nouns can be compared."""
    return noun is not other and any(kind in noun.classes and kind in other.classes for kind in COMPARABLE)
