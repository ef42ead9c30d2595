"""Random statements of what someone or something is, and of what there is."""

from nmt.grammar.meaning import Clause, Comparison, NounPhrase, Phrase, Pronoun, Sentence
from nmt.grammar.scenes import OWNERS, NoScene, Scenes, need, people
from nmt.grammar.tables import ACTIVITIES, ADJECTIVES, NAMES, NOUNS, Fixed, fixed, read_thing, read_verb, rows

BE = read_verb("sein (ist, war, ist gewesen)", "be (was, been)")
EXIST = read_verb("geben (gibt, gab, gegeben)", "be")
COMPARED, THERE_IS = ([row[1:] for row in rows("facts") if row[0] == kind] for kind in ("than", "there"))
# What one says of films, books and meals that are over.
OVER = ("spannend", "langweilig", "interessant", "lustig", "lecker")
OFTEN_TOO = ("groß", "klein", "lang", "kurz", "teuer", "schwer", "leicht")
VERY, TOO = Fixed("sehr", "very"), Fixed("zu", "too")
JOBS = tuple(noun for noun in NOUNS if "job" in noun.kinds)
SHOWN = tuple(noun for noun in NOUNS if noun.adjectives and noun.plural and noun.kinds <= {"shared"})
OWNED = {each.noun for activity in ACTIVITIES for each in activity.what if each.determiner == "mein"}
PEOPLE = tuple(noun for noun in people("anyone") if "plural" not in noun.kinds)
RELATIVES = tuple(noun for noun in PEOPLE if "family" in noun.kinds)


class Describer:
    """Makes descriptions by chance."""

    def __init__(self, scenes: Scenes) -> None:
        self.scenes, self.chance = scenes, scenes.chance

    def description(self) -> Sentence:
        """A description of any kind."""
        kinds = (
            (4, self.quality),
            (2, self.comparison),
            (2, self.profession),
            (2, self.existence),
            (1, self.this),
        )
        return Sentence(self.chance.weigh(kinds)())

    def quality(self) -> Clause:
        """`Das Haus ist schön.`"""
        chance, person = self.chance, self.chance.happens(0.25)
        one = chance.choose(PEOPLE if person else SHOWN)
        fitting = [
            each for each in one.adjectives if each.rank < 4 and each.english not in ("good", "little")
        ]
        need(fitting)
        quality = chance.choose(fitting)
        need(not person or quality.english != "big")
        if person or (one in OWNED and chance.happens(0.6)):
            owner = chance.weigh(OWNERS)
            need(person or owner != Pronoun.WE or "shared" in one.kinds)
        else:
            owner = chance.weigh(((6, "der"), (1, "dies")))
        subject: Phrase = NounPhrase(one, owner)
        if not person:
            subject = self.scenes.with_history(subject, subject, 0.6) or subject
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
        return Clause(
            first, BE, "present", predicate=Comparison(ADJECTIVES[chance.choose(adjectives.split())], second)
        )

    def profession(self) -> Clause:
        """`Meine Schwester ist Ärztin.`"""
        chance = self.chance
        relative, name = chance.choose(RELATIVES), chance.choose(NAMES)
        if "adult" not in relative.kinds:
            raise NoScene
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
        shown = self.scenes.dressed(thing.noun, thing.determiner, thing.plural, 1.0)
        front = self.chance.choose(("place", "place", "subject"))
        return Clause(Pronoun.THERE, EXIST, "present", object=shown, place=fixed(where), front=front)

    def this(self) -> Clause:
        """`Das ist mein Bruder.`"""
        chance = self.chance
        own = chance.happens(0.6)
        noun = chance.choose(PEOPLE if own and chance.happens(0.7) else SHOWN)
        return Clause(
            Pronoun.THIS,
            BE,
            "present",
            predicate=self.scenes.dressed(noun, chance.weigh(OWNERS) if own else "ein", False, 1.0),
        )
