"""Random phrases: a noun is given a determiner, a number, adjectives and an owner that suit it."""

from dataclasses import replace
from functools import cache

from nmt.data.grammar.chance import Chance
from nmt.data.grammar.lexicon import ADJECTIVES, NAMES, NOUNS, NUMBERS, Adjective, Name, Noun
from nmt.data.grammar.meaning import (
    HE,
    SHE,
    THEY,
    WE,
    Determiner,
    NounPhrase,
    Phrase,
    Prepositional,
    Pronoun,
    Together,
)

PEOPLE = tuple(noun for noun in NOUNS if "person" in noun.classes)
PERSON_NAMES = tuple(name for name in NAMES if "person" in name.classes)
OWNERS = {"ich": Determiner.MY, "du": Determiner.YOUR, "er": Determiner.HIS, "wir": Determiner.OUR}
ANYONE: tuple[Noun | Name, ...] = (*PEOPLE, *PERSON_NAMES)
# What one says "this" of, out of the blue.
POINTED_AT = ("print", "vehicle", "clothing", "device", "furniture", "song", "image", "building")
KNOWN_DETERMINERS = frozenset(
    (
        Determiner.THE,
        Determiner.THIS,
        Determiner.MY,
        Determiner.YOUR,
        Determiner.HIS,
        Determiner.HER,
        Determiner.OUR,
    )
)


def owner_of(subject: Phrase | None) -> Determiner | None:
    """The possessive that points back to a subject; none for they, neuters, animals and things."""
    match subject:
        case Pronoun(3, False, "feminine"):
            return Determiner.HER
        case Pronoun():
            return None if subject == THEY else OWNERS.get(subject.lemma)
        case NounPhrase() | Name():
            referent = pronoun_for(subject)
            return Determiner.HIS if referent is HE else Determiner.HER if referent is SHE else None
        case _:
            return None


def pronoun_for(subject: Phrase) -> Pronoun | None:
    """The pronoun that takes up a subject, where only one is possible in both languages."""
    match subject:
        case Pronoun():
            return subject
        case Together(members):
            return WE if any(isinstance(member, Pronoun) for member in members) else THEY
        case Name():
            return HE if subject.gender == "masculine" else SHE
        case NounPhrase(noun, determiner, plural):
            if "person" not in noun.classes or determiner is Determiner.NO:
                return None
            if plural:
                return THEY
            return HE if "male" in noun.classes else SHE if "female" in noun.classes else None


@cache
def adjectives_for(noun: Noun) -> tuple[Adjective, ...]:
    """The adjectives that stand before a noun."""
    return tuple(adjective for adjective in ADJECTIVES if not noun.classes.isdisjoint(adjective.classes))


@cache
def predicates_for(noun: Noun | Name) -> tuple[Adjective, ...]:
    """The adjectives that can be said of a noun in a sentence (`der Mann ist müde`)."""
    if isinstance(noun, Noun) and "person" not in noun.classes:
        return adjectives_for(noun)
    return tuple(each for each in ADJECTIVES if not each.classes.isdisjoint(("trait", "character", "state")))


class Phrasing:
    """Makes phrases by chance; `richness` (0 to 1) scales how much is added to a noun."""

    def __init__(self, chance: Chance) -> None:
        self.chance = chance

    def dress(
        self,
        noun: Noun | Name,
        richness: float,
        owner: Determiner | None = None,
        known: bool = False,
        several: bool | None = None,
        any_amount: bool = False,
        counted: bool = False,
    ) -> NounPhrase | Name:
        """A phrase around a noun.

        `owner` is a possessive it may take, `known` keeps it definite, `several` settles its number, `any_amount`
        lets it stand for its kind, where that can be said ("reads books"), and `counted` lets several have a number.
        """
        if isinstance(noun, Name):
            return noun
        chance = self.chance
        countable = noun.plural is not None and "unique" not in noun.classes
        if several is None:
            several = "many" in noun.classes or chance.happens(0.15)
        plural = countable and several
        if "language" in noun.classes:
            return NounPhrase(noun, Determiner.NONE)
        if any_amount and not noun.classes.isdisjoint(("food", "drink", "text", "music", "mail", "show")):
            if countable or noun.plural is None:
                return NounPhrase(noun, Determiner.NONE, countable)
            return NounPhrase(noun, Determiner.A)
        determiner = self.determiner(noun, plural, owner, known)
        number = None
        if plural and determiner is Determiner.NONE:
            if counted:
                number = chance.choose(NUMBERS)
            else:
                determiner = Determiner.THE
        holder: NounPhrase | Name | None = None
        possessed = not noun.classes.isdisjoint(("person", "clothing"))
        if determiner is Determiner.THE and "own" in noun.classes and not possessed and chance.happens(0.2):
            holder = self.holder()
            if isinstance(holder, Name):
                determiner = Determiner.NONE
        return NounPhrase(noun, determiner, plural, number, self.adjectives(noun, richness), holder)

    def unknown(self, phrase: NounPhrase | Name) -> NounPhrase | Name:
        """The same phrase of something that is mentioned for the first time."""
        known = not isinstance(phrase, Name) and phrase.determiner in (Determiner.THE, Determiner.THIS)
        if isinstance(phrase, Name) or not known or phrase.owner is not None:
            return phrase
        alone = "unique" in phrase.noun.classes and "food" not in phrase.noun.classes
        if "person" in phrase.noun.classes or alone:
            return phrase
        many = phrase.plural or phrase.noun.plural is None
        return replace(phrase, determiner=Determiner.NONE if many else Determiner.A)

    def determiner(self, noun: Noun, plural: bool, owner: Determiner | None, known: bool) -> Determiner:
        """A determiner that suits the noun."""
        chance = self.chance
        person = "person" in noun.classes
        if "own" in noun.classes and chance.happens(
            1.0 if person else 0.8 if "clothing" in noun.classes else 0.35
        ):
            if owner is not None and (not person or chance.happens(0.8)):
                return owner
            return chance.weigh(((6, Determiner.MY), (1, Determiner.OUR)))
        if (
            known
            or (plural and person)
            or ("unique" in noun.classes and not noun.classes.isdisjoint(("sun", "person")))
        ):
            return Determiner.THE
        if noun.plural is None and "music" in noun.classes:
            return Determiner.NONE
        if noun.plural is None:
            return chance.weigh(((1, Determiner.THE), (3, Determiner.NONE)))
        if plural:
            return chance.weigh(((5, Determiner.THE), (3, Determiner.NONE)))
        if "person" in noun.classes:
            return chance.weigh(((4, Determiner.THE), (1, Determiner.A)))
        pointed_at = 0 if noun.classes.isdisjoint(POINTED_AT) else 1
        return chance.weigh(((6, Determiner.THE), (5, Determiner.A), (pointed_at, Determiner.THIS)))

    def holder(self) -> NounPhrase | Name:
        """Someone to whom a thing belongs, as a genitive."""
        if self.chance.happens(0.5):
            return self.chance.choose(PERSON_NAMES)
        person = self.chance.choose(PEOPLE)
        return NounPhrase(person, Determiner.MY if "own" in person.classes else Determiner.THE)

    def adjectives(self, noun: Noun, richness: float) -> tuple[Adjective, ...]:
        """None, one or two adjectives, two in the order of their ranks, and only before things."""
        options = adjectives_for(noun)
        if not options or not self.chance.happens(0.45 * richness):
            return ()
        first, second = self.chance.choose(options), self.chance.choose(options)
        if first.rank == second.rank or "person" in noun.classes or not self.chance.happens(0.3):
            return (first,)
        return (first, second) if first.rank < second.rank else (second, first)

    def place(self, noun: Noun | Name, richness: float, whither: bool = False) -> Prepositional:
        """Where something is, or where it goes."""
        if isinstance(noun, Name):
            return Prepositional("nach" if whither else "in", "dative", "to" if whither else "in", noun)
        where = noun.whither if whither else noun.where
        assert where is not None
        german, english = where
        case = "accusative" if whither and german != "zu" else "dative"
        adjectives = self.adjectives(noun, richness / 3)[:1]
        return Prepositional(german, case, english, NounPhrase(noun, Determiner.THE, adjectives=adjectives))
