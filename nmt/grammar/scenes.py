"""One clause by chance: an activity from the tables, with some of what goes with it."""

from collections.abc import Callable
from functools import cache
from typing import TypeAlias

from nmt.grammar.chance import Chance
from nmt.grammar.meaning import (
    Clause,
    NounPhrase,
    Phrase,
    Pronoun,
    Together,
    Triple,
    family_of,
    named,
    replace,
    taken_up,
    triple,
)
from nmt.grammar.tables import (
    ACTIVITIES,
    NAMES,
    NOUNS,
    PERSONS,
    RELATIVES,
    TIMES,
    Activity,
    Fixed,
    Name,
    Noun,
    Place,
    Thing,
)  # fmt: skip

# Those whose private life one knows: people by name, pronouns and family.
PRIVATE = frozenset(("anyone", "adult", "child", "family", "worker"))
GROUPS = {"anyone": {"adult", "child"}}
Weights: TypeAlias = tuple[tuple[float, str | Pronoun], ...]
# How often someone speaks of whose family, and of whom by a pronoun; of a child no one says `I`.
OWNERS: Weights = ((9, Pronoun.ME), (3, Pronoun.WE), (2, Pronoun.HE), (2, Pronoun.SHE))
PET_OWNERS: Weights = ((5, "der"), (4, Pronoun.ME), (1, Pronoun.WE), (1, "ein"))
PRONOUNS = ((4, Pronoun.ME), (2, Pronoun.WE), (3, Pronoun.HE), (3, Pronoun.SHE), (2, Pronoun.THEY))
SECONDS: tuple[Name | Pronoun, ...] = (*NAMES, *(Pronoun.ME,) * 3)
KNOWN = ((30, "pronoun"), (30, "name"), (6, "names"), (48, "family"))
PLURAL_SHARES = {"trade": 0.12, "flower": 0.7}


class NoScene(Exception):
    """No clause could be made of what was asked for; the sentence is begun anew."""


@cache
def noun(german: str) -> Noun:
    """The noun of this lemma."""
    return next(each for each in NOUNS if each.german == german)


@cache
def people(group: str) -> tuple[Noun, ...]:
    """The family, neighbors and friends whom a line of the tables means by `adult`, `child` and the like."""
    return tuple(each for each in NOUNS if each.kinds & GROUPS.get(group, {group}))


@cache
def having(*traits: str, lacking: str = "", strangers: bool = False) -> tuple[Activity, ...]:
    """The activities with all of these traits and none of those that are `lacking`, of people one knows."""
    return tuple(
        each
        for each in ACTIVITIES
        if each.traits.issuperset(traits) and each.traits.isdisjoint(lacking.split())
        if strangers or is_private(each)
    )


def is_private(activity: Activity) -> bool:
    """Whether people one knows do this."""
    return not PRIVATE.isdisjoint(activity.who)


@cache
def histories(thing: Noun) -> tuple[Activity, ...]:
    """The activities by which one comes to have a thing."""
    return tuple(each for each in having("told") if thing in (what.noun for what in each.what))


class Scenes:
    """Makes clauses by chance, of which every triple is one that `accepts` allows."""

    def __init__(self, chance: Chance, accepts: Callable[[Triple], bool]) -> None:
        self.chance = chance
        self.accepts = accepts
        self._allowed: dict[tuple[Activity, str], tuple[Thing, ...]] = {}

    def pick(self, *traits: str, lacking: str = "", strangers: bool = False) -> Activity:
        """An activity with all of these traits."""
        return self.chance.choose(having(*traits, lacking=lacking, strangers=strangers))

    def subject(self, activity: Activity, private: bool = False, rich: float = 0.0) -> Phrase:
        """Someone who does this; a `private` subject is known to who speaks."""
        chance = self.chance
        groups = [who for who in activity.who if who in PRIVATE]
        others = [who for who in activity.who if who not in PRIVATE]
        if private and not groups:
            raise NoScene
        if groups and (private or not others or chance.happens(0.7)):
            return self.known_person(groups[0], rich)
        one = noun(chance.choose(others))
        owner = chance.weigh(PET_OWNERS) if "pet" in one.kinds else "der"
        share = max((PLURAL_SHARES.get(kind, 0.0) for kind in one.kinds), default=0.0)
        return self.dressed(one, owner, chance.happens(share), rich)

    def known_person(self, group: str, rich: float) -> Phrase:
        """Someone by name or pronoun, or of someone's family."""
        chance = self.chance
        match chance.weigh(KNOWN):
            case "pronoun":
                return chance.weigh(PRONOUNS if group != "child" else PRONOUNS[2:])
            case "name":
                return chance.choose(NAMES)
            case "names":
                first, second = chance.choose(NAMES), chance.choose(SECONDS)
                if first is second:
                    raise NoScene
                return Together((first, second))
        if group == "child" and chance.happens(0.2):
            one = noun(chance.choose(("Kinder", "Junge", "Mädchen")))
            return self.dressed(one, "der", "plural" in one.kinds, rich)
        one = chance.choose(people(group))
        owner = "ein" if "one" in one.kinds else chance.weigh(OWNERS)
        if group == "worker":  # no "little brother" goes to work
            return NounPhrase(one, owner, "plural" in one.kinds)
        return self.dressed(one, owner, "plural" in one.kinds, rich)

    def dressed(self, one: Noun, determiner: str | Pronoun, plural: bool, rich: float) -> NounPhrase:
        """A noun with an article, and perhaps with adjectives that suit it."""
        chance, adjectives = self.chance, one.adjectives[:0]
        if one.adjectives and chance.happens(0.1 + 0.35 * rich):
            adjectives = (chance.choose(one.adjectives),)
            second = chance.choose(one.adjectives)
            if chance.happens(0.1) and second.rank > max(adjectives[0].rank, 2) and not PERSONS & one.kinds:
                adjectives = (*adjectives, second)
        return NounPhrase(one, determiner, plural, adjectives)

    def with_relative(self, subject: Phrase, share: float) -> Phrase:
        """A subject, perhaps with a relative clause that says who is meant."""
        if not isinstance(subject, NounPhrase) or subject.plural or not self.chance.happens(share):
            return subject
        kinds = {subject.noun.german, *subject.noun.kinds}
        fitting = [each for each in RELATIVES if not kinds.isdisjoint(each.who)]
        owned = isinstance(subject.determiner, Pronoun)
        if not fitting or (subject.adjectives if owned else subject.determiner != "der"):
            return subject
        activity = self.chance.choose(fitting)
        head = NounPhrase(subject.noun)
        return replace(
            subject, relative=Clause(head, activity.verb, "present", how=self.chance.choose(activity.how))
        )

    def with_history(self, thing: Phrase | None, who: Phrase, share: float) -> Phrase | None:
        """A thing, perhaps with a relative clause that says who bought, wrote or made it; `who` speaks of it."""
        chance = self.chance
        if not isinstance(thing, NounPhrase) or thing.determiner not in ("der", "ein", ""):
            return thing
        if not histories(thing.noun) or not chance.happens(share):
            return thing
        maker, same = chance.choose(histories(thing.noun)), taken_up(who)
        subject = same if same not in (None, Pronoun.IT, Pronoun.WHO) and chance.happens(0.5) else None
        made = self.clause(
            maker,
            "perfect",
            subject,
            private=True,
            rich=0.0,
            thing=NounPhrase(thing.noun, "der", thing.plural),
        )
        if getattr(made.subject, "determiner", Pronoun.ME) not in (Pronoun.ME, Pronoun.WE):
            raise NoScene
        if isinstance(made.subject, Pronoun) and made.subject not in (Pronoun.ME, Pronoun.WE, same):
            raise NoScene
        made = replace(self.with_time(made, maker, 0.7), how=None, place=None, front="object")
        return replace(thing, determiner="der", relative=made)

    def thing(
        self, thing: Thing, activity: Activity, subject: Phrase, rich: float, literal: bool
    ) -> NounPhrase:
        """An object as the tables mention it (`literal`), or with another article, or with adjectives."""
        chance, person = self.chance, bool(PERSONS & thing.noun.kinds)
        owner: str | Pronoun = thing.determiner
        if owner == "mein":
            found = family_of(subject) if "family" in thing.noun.kinds else taken_up(subject)
            if found is None or found == Pronoun.IT:
                raise NoScene
            owner = found if found != Pronoun.WHO else Pronoun.YOU
        elif not (literal or person or "plain" in activity.traits):
            owner = "der" if owner == "ein" and chance.happens(0.25) else owner
            if "given" in activity.traits and owner == "der" and not thing.plural and chance.happens(0.12):
                owner = "dies"
        if "plain" in activity.traits or (literal and owner == "ein"):
            return NounPhrase(thing.noun, owner, thing.plural)
        return self.dressed(thing.noun, owner, thing.plural, rich / 3 if person else rich)

    def person(self, thing: Thing, activity: Activity, subject: Phrase, rich: float) -> Phrase:
        """Someone whom it is done to, at times by a pronoun."""
        if is_private(activity) and self.chance.happens(0.3):
            return self.pronoun_object(subject)
        return self.thing(thing, activity, subject, rich, False)

    def pronoun_object(self, subject: Phrase) -> Pronoun:
        """A pronoun for someone other than the subject."""
        if taken_up(subject) in (Pronoun.ME, Pronoun.WE):
            return Pronoun.HE
        return self.chance.choose((Pronoun.ME, Pronoun.ME, Pronoun.WE))

    def clause(
        self,
        activity: Activity,
        tense: str,
        subject: Phrase | None = None,
        *,
        private: bool = False,
        literal: bool = False,
        habit: bool = False,
        rich: float = 0.5,
        place: Place | None = None,
        thing: NounPhrase | None = None,
    ) -> Clause:
        """A clause in a tense, with as many surroundings as it is `rich`."""
        chance, traits = self.chance, activity.traits
        if "state" in traits and tense not in ("present", "past"):
            raise NoScene
        who = subject if subject is not None else self.subject(activity, private, rich)
        if not suits(who, activity):
            raise NoScene
        made = Clause(
            who, activity.verb, tense, ongoing=tense == "present" and not habit and "state" not in traits
        )
        if activity.what:
            picked = chance.choose(self.allowed(activity, who))
            if PERSONS & picked.noun.kinds and not ("plain" in traits and not activity.verb.preposition):
                made = replace(made, object=self.person(picked, activity, who, rich))
            else:
                made = replace(
                    made, object=thing or self.thing(picked, activity, who, rich, literal or habit)
                )
        if activity.whom:
            made = replace(made, recipient=self.person(chance.choose(activity.whom), activity, who, rich))
        if activity.to:
            made = replace(made, to=(place or chance.choose(activity.to)).whither)
        elif activity.where and (place or "placed" in traits or chance.happens(0.55 * rich)):
            made = replace(made, place=(place or chance.choose(activity.where)).where)
        if activity.company and not isinstance(who, Together) and chance.happens(0.35 * rich):
            made = replace(made, company=chance.choose(activity.company))
        if activity.how and (chance.happens(0.5) or "how" in traits):
            made = replace(made, how=chance.choose(activity.how))
        self.check(made)
        return made

    def allowed(self, activity: Activity, who: Phrase) -> tuple[Thing, ...]:
        """The objects of an activity whose triples with this subject belong to the split."""
        key = activity, named(who)
        if key not in self._allowed:
            self._allowed[key] = tuple(
                each
                for each in activity.what
                if self.accepts((key[1], activity.verb.lemma, each.noun.german))
            )
        if not self._allowed[key]:
            raise NoScene
        return self._allowed[key]

    def check(self, clause: Clause) -> None:
        """Raise NoScene if someone is mentioned twice, or a triple belongs to another split."""
        found = triple(clause)
        if found is not None and not self.accepts(found):
            raise NoScene
        phrases = (clause.subject, clause.object, clause.recipient)
        mentioned = [each.noun for each in phrases if isinstance(each, NounPhrase)]
        if len({each.english for each in mentioned}) < len(mentioned):
            raise NoScene
        for part in (clause.company, clause.place):
            text = part.german if part is not None else ""
            if ("~" in text or "^" in text) and taken_up(clause.subject) in (None, Pronoun.IT, Pronoun.WHO):
                raise NoScene
            if "^" in text and "Familie" not in text and getattr(clause.subject, "plural", False):
                raise NoScene
            if any(each.german in text or (each.plural or "-") in text for each in mentioned):
                raise NoScene

    def with_time(self, clause: Clause, activity: Activity, share: float = 1.0, front: float = 0.0) -> Clause:
        """The clause with a time that its tense has, perhaps in front."""
        if clause.time is not None or not self.chance.happens(share):
            return clause
        if clause.tense in ("past", "perfect", "pluperfect"):
            times = self.times(activity, "past")
        elif clause.tense == "future" or clause.modal:
            times = self.times(activity, "coming")
        elif not clause.ongoing:
            times = self.times(activity, "habit")
        else:
            times = [
                *self.times(activity, "now"),
                *(TIMES["any", "now"] if "lasts" in activity.traits else ()),
            ]
        return self.fronted(replace(clause, time=self.chance.choose(times)), front) if times else clause

    def fronted(self, clause: Clause, share: float) -> Clause:
        """The clause, perhaps with its time in front."""
        may = clause.time is not None and clause.time.german not in ("gerade", "jetzt")
        return replace(clause, front="time") if may and self.chance.happens(share) else clause

    def times(self, activity: Activity, tense: str) -> list[Fixed]:
        """When an activity is done, in a tense; nobody says of a trifle that it was last week."""
        times = [time for when in activity.when for time in TIMES.get((when, tense), ())]
        if "trifle" in activity.traits and tense == "past":
            return [time for time in times if time.german.startswith(("heute", "gestern"))]
        return times


def suits(subject: Phrase, activity: Activity) -> bool:
    """Whether someone does this."""
    if not isinstance(subject, NounPhrase):
        return is_private(activity)
    groups = PRIVATE.intersection(activity.who)
    one = subject.noun
    young = "child" in groups and one.german in ("Kinder", "Junge", "Mädchen")
    return young or one.german in activity.who or any(one in people(group) for group in groups)
