"""Random statements of what someone or something is, and of what there is."""

from nmt.grammar.meaning import Clause, Comparative, NounPhrase, Phrase, Pronoun, Sentence
from nmt.grammar.people import need, people
from nmt.grammar.scenes import OWNERS, Scenes
from nmt.grammar.word_tables import (
    ACTIVITIES,
    ADJECTIVES,
    NAMES,
    NOUNS,
    Fixed,
    fixed,
    read_thing,
    read_verb,
    rows,
)

KINDS = {"quality": 6, "comparison": 2, "profession": 2, "existence": 2, "this": 1}
BE = read_verb("sein (ist, war, ist gewesen)", "be (was, been)")
EXIST = read_verb("geben (gibt, gab, gegeben)", "be")
COMPARED, THERE_IS = ([row[1:] for row in rows("facts") if row[0] == kind] for kind in ("than", "there"))
# Adjectives for films, books and meals, of which sentences are sometimes in the past.
OVER = ("spannend", "langweilig", "interessant", "lustig", "lecker")
OFTEN_TOO = ("groß", "klein", "lang", "kurz", "teuer", "schwer", "leicht")
VERY, TOO = Fixed("sehr", "very"), Fixed("zu", "too")
JOBS = tuple(each for each in NOUNS if "job" in each.kinds)
SHOWN = tuple(each for each in NOUNS if each.adjectives and each.plural and each.kinds <= {"shared"})
MINE = dict.fromkeys(
    each.noun for activity in ACTIVITIES for each in activity.what if each.determiner == "mein"
)
OWNED = tuple(each for each in MINE if each in SHOWN)
PEOPLE = tuple(each for each in people("anyone") if "plural" not in each.kinds)
RELATIVES = tuple(each for each in PEOPLE if "family" in each.kinds)


class Describer(Scenes):
    """Makes descriptions."""

    def description(self) -> Sentence:
        """A description of any kind."""
        clause: Clause = getattr(self, self.chance.weigh(KINDS))()
        return Sentence(clause)

    def quality(self) -> Clause:
        """`Das Haus ist schön.`"""
        chance, person = self.chance, self.chance.happens(0.25)
        one = chance.choose(PEOPLE if person else SHOWN)
        need(one.adjectives)
        quality = chance.choose(one.adjectives)
        need(quality.rank < 4 and quality.english not in ("good", "little", "big" if person else ""))
        owner: str | Pronoun = chance.weigh({"der": 6, "dies": 1})
        if person or (one in OWNED and chance.happens(0.6)):
            owner = chance.weigh(OWNERS)
            need(person or owner != Pronoun.WE or "shared" in one.kinds)
        subject: Phrase = NounPhrase(one, owner)
        if not person:
            subject = self.with_history(subject, subject, 0.6) or subject
        new = quality.german == "neu"
        degrees = (VERY, TOO) if quality.german in OFTEN_TOO and not person else (VERY,)
        degree = chance.choose(degrees) if not new and chance.happens(0.35) else None
        tense = "past" if quality.german in OVER and chance.happens(0.3) else "present"
        return Clause(subject, BE, tense, predicate=quality, how=degree)

    def comparison(self) -> Clause:
        """`Der Zug ist schneller als der Bus.`"""
        chance = self.chance
        adjectives, compared = chance.choose(COMPARED)
        if compared == "people":
            first: Phrase = NounPhrase(chance.choose(RELATIVES), chance.weigh(OWNERS))
            second: Phrase = chance.choose(NAMES)
        else:
            sides = (chance.choose(side.split(",")).strip() for side in compared.split(">"))
            first, second = (NounPhrase(read_thing(each).noun) for each in sides)
        more = ADJECTIVES[chance.choose(adjectives.split())]
        return Clause(first, BE, "present", predicate=Comparative(more, second))

    def profession(self) -> Clause:
        """`Meine Schwester ist Ärztin.`"""
        chance = self.chance
        relative, name = chance.choose(RELATIVES), chance.choose(NAMES)
        need("adult" in relative.kinds)
        subject: Phrase = NounPhrase(relative, chance.weigh(OWNERS))
        feminine = relative.gender == "feminine"
        if chance.happens(0.3):
            subject, feminine = name, name.female
        job = chance.choose([each for each in JOBS if (each.gender == "feminine") == feminine])
        return Clause(subject, BE, "present", predicate=NounPhrase(job, "job"))

    def existence(self) -> Clause:
        """`In unserer Stadt gibt es einen Park.`"""
        where, what = self.chance.choose(THERE_IS)
        thing = read_thing(self.chance.choose(what.split(",")).strip())
        shown = self.dressed(thing.noun, thing.determiner, thing.plural, 1.0)
        front = self.chance.choose(("place", "place", "subject"))
        return Clause(Pronoun.THERE, EXIST, "present", object=shown, place=fixed(where), front=front)

    def this(self) -> Clause:
        """`Das ist mein Bruder.`"""
        own = self.chance.happens(0.6)
        one = self.chance.choose(SHOWN if not own else PEOPLE if self.chance.happens(0.7) else OWNED)
        shown = self.dressed(one, self.chance.weigh(OWNERS) if own else "ein", False, 1.0)
        return Clause(Pronoun.THIS, BE, "present", predicate=shown)
