"""Random descriptions: what someone or something is, is like, or where it is to be found."""

from dataclasses import replace

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
from nmt.data.grammar.phrases import ANYONE, adjectives_for, predicates_for

DESCRIBED = tuple(noun for noun in NOUNS if predicates_for(noun) and noun.plural is not None)
OCCUPATIONS = tuple(noun for noun in NOUNS if "work" in noun.classes)
# What there is in a place of each class.
FOUND_IN = {"settlement": "building", "park": "plant", "nap": "furniture"}
CONTAINERS = tuple(noun for noun in NOUNS if noun.where is not None and not noun.classes.isdisjoint(FOUND_IN))
COMPARABLE = ("kin", "vehicle", "landmark", "furniture", "fruit", "show", "settlement", "pet")


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
        options = [each for each in predicates_for(noun) if each.rank < 4]
        if not options:
            raise NoClause
        clause = Clause(plain(subject), BE, tense, predicate=self.chance.choose(options))
        if self.chance.happens(0.15):
            return replace(clause, negated=True)
        return self.clauses.with_relatives(clause, 0.6)

    def comparison(self, tense: Tense) -> Clause:
        """`Das Haus ist größer als die Kirche.`"""
        noun = self.chance.choose(DESCRIBED)
        adjectives = [adjective for adjective in predicates_for(noun) if adjective.comparative]
        if not adjectives:
            raise NoClause
        adjective = self.chance.choose(adjectives)
        others = [other for other in DESCRIBED if alike(noun, other) and adjective in predicates_for(other)]
        if not others:
            raise NoClause
        dress = self.clauses.phrasing.dress
        subject = dress(noun, 0.0, known=True, several=False)
        standard = dress(self.chance.choose(others), 0.0, known=True, several=False)
        return Clause(plain(subject), BE, tense, predicate=Comparison(adjective, plain(standard)))

    def occupation(self, tense: Tense) -> Clause:
        """`Anna ist Lehrerin`, `Anna will Lehrerin werden`."""
        work = self.chance.choose(OCCUPATIONS)
        gender = "male" if "male" in work.classes else "female"
        becoming = self.chance.happens(0.4)
        people = [each for each in ANYONE if gender in each.classes and "kin" in each.classes]
        if becoming:
            people = [each for each in people if "young" in each.classes]
        names = [each for each in ANYONE if gender in each.classes and isinstance(each, Name)]
        person = self.chance.choose([*people, *names])
        subject = singular(self.clauses.phrasing.dress(person, 0.0, known=True))
        praise = [each for each in adjectives_for(work) if not each.classes.isdisjoint(("work", "artist"))]
        adjectives = (self.chance.choose(praise),) if self.chance.happens(0.3) else ()
        predicate = NounPhrase(work, Determiner.A if adjectives else Determiner.NONE, adjectives=adjectives)
        if not becoming:
            return Clause(subject, BE, tense, predicate=predicate)
        modal = Modal.WANT
        return Clause(subject, BECOME, tense, modal=modal, predicate=predicate)

    def existence(self) -> Existence:
        """`Es gibt einen Garten hinter dem Haus.`"""
        place = self.chance.choose(CONTAINERS)
        wanted = next(FOUND_IN[kind] for kind in FOUND_IN if kind in place.classes)
        things = [noun for noun in NOUNS if wanted in noun.classes and noun.plural is not None]
        thing = self.chance.choose(things)
        several = False if wanted == "furniture" else None
        phrase = self.clauses.phrasing.dress(thing, self.clauses.richness(), several=several)
        assert isinstance(phrase, NounPhrase)
        determiner = Determiner.A
        if phrase.plural:
            determiner = Determiner.NONE if phrase.number else Determiner.MANY
        tense = self.chance.weigh(((3, Tense.PRESENT), (1, Tense.PAST)))
        found = replace(phrase, determiner=determiner, owner=None)
        return Existence(
            found, tense, self.clauses.phrasing.place(place, 0.3), place_first=self.chance.happens(0.6)
        )


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
