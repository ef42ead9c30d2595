"""Random clauses: an activity from the tables, with some of the parts that go with it."""

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
    agreement,
    family_of,
    named,
    replace,
    taken_up,
    triple,
)
from nmt.grammar.people import (
    PRIVATE,
    SPEAKERS,
    is_known,
    is_old,
    is_private,
    need,
    overlap,
    people,
    strangers,
    suits,
)
from nmt.grammar.word_tables import (
    ACTIVITIES,
    NAMES,
    PERSONS,
    RELATIVES,
    TIMES,
    Activity,
    Fixed,
    Name,
    Noun,
    Place,
    Thing,
)

Owners: TypeAlias = dict[str | Pronoun, float]
# Weights of owners and articles of nouns, and of pronouns; a child is never called `I`.
OWNERS: Owners = {Pronoun.ME: 9, Pronoun.WE: 3, Pronoun.HE: 2, Pronoun.SHE: 2}
PET_OWNERS: Owners = {"der": 6, Pronoun.ME: 3, Pronoun.WE: 1, "ein": 1}
ARTICLES: Owners = {"der": 14, "ein": 0.7, "dies": 0.5}
CHILDREN = {Pronoun.HE: 3.0, Pronoun.SHE: 3.0, Pronoun.THEY: 2.0}
PRONOUNS = {Pronoun.ME: 4.0, Pronoun.WE: 2.0} | CHILDREN
SECONDS: tuple[Name | Pronoun, ...] = (*NAMES, *(Pronoun.ME,) * 3)
KNOWN = {"pronoun": 30, "name": 30, "names": 6, "family": 40}
PLURAL_SHARES = {"trade": 0.12, "stranger": 0.07, "young": 0.1, "pet": 0.05, "flower": 0.7}


@cache
def having(*traits: str, lacking: str = "", trades: bool = False) -> tuple[Activity, ...]:
    """The activities with all of these traits and none of `lacking`; with `trades`, those of strangers alone, too."""
    return tuple(
        each
        for each in ACTIVITIES
        if each.traits.issuperset(traits) and each.traits.isdisjoint(lacking.split())
        if trades or is_private(each)
    )


@cache
def histories(thing: Noun) -> tuple[Activity, ...]:
    """The activities by which one comes to have a thing."""
    return tuple(each for each in having("told") if thing in (what.noun for what in each.what))


class Scenes:
    """Makes random clauses, all of whose triples pass the test `accepts`."""

    def __init__(self, chance: Chance, accepts: Callable[[Triple], bool]) -> None:
        self.chance = chance
        self.accepts = accepts
        self._allowed: dict[tuple[Activity, str], tuple[Thing, ...]] = {}

    def pick(self, *traits: str, lacking: str = "", trades: bool = False) -> Activity:
        """An activity with all of these traits."""
        return self.chance.choose(having(*traits, lacking=lacking, trades=trades))

    def subject(self, activity: Activity, trades: bool = False, rich: float = 0.0) -> Phrase:
        """Someone who does this: mostly a person the speaker knows; with `trades`, more often a stranger."""
        chance = self.chance
        group = next((who for who in activity.who if who in PRIVATE), None)
        need(group or trades)
        if group and not chance.happens(0.35 if trades else 0.14):
            return self.known_person(group, rich)
        one = chance.choose(strangers(activity))
        need(trades or "trade" not in one.kinds)
        owner: str | Pronoun = "der"
        if "pet" in one.kinds or (trades and one.kinds):
            owner = chance.weigh(PET_OWNERS if "pet" in one.kinds else ARTICLES)
        share = max((PLURAL_SHARES.get(kind, 0.0) for kind in one.kinds), default=0.0)
        rich = 1.0 if "pet" in one.kinds else 0.3 + 0.7 * rich
        if not one.kinds and "how" in activity.traits:
            return NounPhrase(one)
        return self.dressed(one, owner, owner != "ein" and chance.happens(share), rich)

    def known_person(self, group: str, rich: float) -> Phrase:
        """Someone by name or pronoun, or of someone's family."""
        chance = self.chance
        match chance.weigh(KNOWN):
            case "pronoun":
                return chance.weigh(CHILDREN if group == "child" else PRONOUNS)
            case "name":
                return chance.choose(NAMES)
            case "names":
                first, second = chance.choose(NAMES), chance.choose(SECONDS)
                need(first is not second)
                return Together((first, second))
        one = chance.choose(people(group))
        plural, owner = "plural" in one.kinds, "ein" if "one" in one.kinds else chance.weigh(OWNERS)
        if plural or group in ("worker", "adult"):  # no "little brother" goes to work
            return NounPhrase(one, owner, plural)
        return self.dressed(one, owner, False, rich)

    def dressed(self, one: Noun, determiner: str | Pronoun, plural: bool, rich: float) -> NounPhrase:
        """A noun with an article, and perhaps with adjectives that suit it."""
        chance, adjectives = self.chance, one.adjectives[:0]
        if one.adjectives and chance.happens(0.15 + 0.35 * rich):
            adjectives = (chance.choose(one.adjectives),)
            second = chance.choose(one.adjectives)
            if chance.happens(0.1) and second.rank > max(adjectives[0].rank, 2) and not PERSONS & one.kinds:
                adjectives = (*adjectives, second)
        return NounPhrase(one, determiner, plural, adjectives)

    def with_relative(self, subject: Phrase, share: float, doing: Activity | None = None) -> Phrase:
        """A subject, perhaps with a relative clause that says who is meant."""
        if not isinstance(subject, NounPhrase) or subject.plural or not self.chance.happens(share):
            return subject
        kinds = {subject.noun.german, *subject.noun.kinds}
        fitting = [each for each in RELATIVES if not kinds.isdisjoint(each.who)]
        owned = isinstance(subject.determiner, Pronoun)
        if not fitting or (subject.adjectives if owned else subject.determiner != "der"):
            return subject
        activity = self.chance.choose(fitting)
        need(doing is None or doing.verb.infinitive != activity.verb.infinitive)
        told = Clause(
            NounPhrase(subject.noun), activity.verb, "present", how=self.chance.choose(activity.how)
        )
        return replace(subject, relative=told)

    def with_history(
        self, thing: Phrase | None, who: Phrase, share: float, tense: str = "perfect"
    ) -> Phrase | None:
        """A thing, perhaps with a relative clause that says who bought, wrote or made it; `who` is the subject."""
        chance = self.chance
        if not isinstance(thing, NounPhrase) or thing.determiner not in ("der", "ein", ""):
            return thing
        if not histories(thing.noun) or not chance.happens(share):
            return thing
        maker, same = chance.choose(histories(thing.noun)), taken_up(who)
        subject = same if same not in (None, Pronoun.IT, Pronoun.WHO) and chance.happens(0.5) else None
        bare = NounPhrase(thing.noun, "der", thing.plural)
        made = self.clause(maker, tense, subject, thing=bare)
        need(getattr(made.subject, "determiner", Pronoun.ME) in SPEAKERS)
        need(not isinstance(made.subject, Pronoun) or made.subject in (*SPEAKERS, same))
        made = self.with_time(made, maker, 0.7 if tense == "perfect" else 0.0)
        made = replace(made, how=None, place=None, front="object")
        return replace(thing, determiner="der", relative=made)

    def thing(
        self, thing: Thing, activity: Activity, subject: Phrase, rich: float, definite: bool
    ) -> NounPhrase:
        """An object as the tables mention it, or with another article, or with adjectives."""
        chance, person = self.chance, bool(PERSONS & thing.noun.kinds)
        owner: str | Pronoun = thing.determiner
        if owner == "mein":
            found = family_of(subject) if "family" in thing.noun.kinds else taken_up(subject)
            need(found not in (None, Pronoun.IT))
            many = agreement(subject)[1] and not (thing.plural or person or "shared" in thing.noun.kinds)
            need(not many or found == Pronoun.WHO)
            owner = found if found is not None and found != Pronoun.WHO else Pronoun.YOU
        elif definite and owner in ("ein", "der") and not person and "plain" not in activity.traits:
            share = 0.12 if "given" in activity.traits and not thing.plural else 0.0
            owner = "dies" if chance.happens(share) else "der"
        if "plain" in activity.traits:
            return NounPhrase(thing.noun, owner, thing.plural)
        if definite:
            rich = max(rich, 0.8)
        made = self.dressed(thing.noun, owner, thing.plural, rich / 3 if person else rich)
        if {"old", "made"} & activity.traits:  # nobody repairs what is new, or builds what is old
            old = "old" in activity.traits
            return replace(made, adjectives=tuple(a for a in made.adjectives if (a.german == "alt") == old))
        return made

    def person(self, thing: Thing, activity: Activity, subject: Phrase, rich: float) -> Phrase:
        """The person to whom it is done, sometimes as a pronoun."""
        if is_private(activity) and is_known(subject) and self.chance.happens(0.3):
            return self.pronoun_object(subject)
        return self.thing(thing, activity, subject, rich, False)

    def pronoun_object(self, subject: Phrase) -> Pronoun:
        """A pronoun for someone other than the subject."""
        if taken_up(subject) in SPEAKERS:
            return Pronoun.HE
        return self.chance.choose((Pronoun.ME, Pronoun.ME, Pronoun.WE))

    def clause(
        self,
        activity: Activity,
        tense: str,
        subject: Phrase | None = None,
        *,
        rich: float = 0.0,
        trades: bool = False,
        definite: bool = False,
        habit: bool = False,
        place: Place | None = None,
        thing: NounPhrase | None = None,
    ) -> Clause:
        """A clause in a tense; `rich` (0 to 1) makes optional parts likelier; a `definite` object is known already."""
        chance, traits = self.chance, activity.traits
        need("state" not in traits or tense in ("present", "past"))
        who = subject if subject is not None else self.subject(activity, trades, rich)
        need(suits(who, activity))
        need("single" not in traits or not agreement(who)[1])
        now = tense == "present" and not habit
        need("unaware" not in traits or not now or taken_up(who) not in SPEAKERS)
        parts: dict[str, object] = {}
        if activity.what:
            picked = chance.choose(self.allowed(activity, who))
            by_pronoun = PERSONS & picked.noun.kinds and ("plain" not in traits or activity.verb.preposition)
            if by_pronoun:
                parts["object"] = self.person(picked, activity, who, rich)
            else:
                parts["object"] = thing or self.thing(picked, activity, who, rich, definite)
        if activity.whom:
            parts["recipient"] = self.person(chance.choose(activity.whom), activity, who, rich)
        if activity.to:
            parts["to"] = (place or chance.choose(activity.to)).whither
        elif activity.where and (place or "placed" in traits or chance.happens(0.55 * rich)):
            parts["place"] = (place or chance.choose(activity.where)).where
        if activity.company and not isinstance(who, Together) and chance.happens(0.35 * rich):
            parts["company"] = chance.choose(activity.company)
        if activity.how and (chance.happens(0.5) or "how" in traits):
            parts["how"] = chance.choose(activity.how)
        made = replace(
            Clause(who, activity.verb, tense, now and traits.isdisjoint(("state", "timetable"))), **parts
        )
        self.check(made)
        return made

    def allowed(self, activity: Activity, who: Phrase) -> tuple[Thing, ...]:
        """The objects of an activity whose triples with this subject belong to the split."""
        key = activity, named(who)
        if key not in self._allowed:
            start = key[1], activity.verb.lemma
            self._allowed[key] = tuple(
                each for each in activity.what if self.accepts((*start, each.noun.german))
            )
        need(self._allowed[key])
        return self._allowed[key]

    def check(self, clause: Clause) -> None:
        """Raise NoScene if someone is mentioned twice, or a triple belongs to another split."""
        found = triple(clause)
        need(found is None or self.accepts(found))
        phrases = (clause.subject, clause.object, clause.recipient)
        mentioned = [each.noun for each in phrases if isinstance(each, NounPhrase)]
        need(len({each.english for each in mentioned}) == len(mentioned) and not overlap(mentioned))
        old = any("grand" in each.kinds for each in mentioned[:1]) or is_old(clause.subject)
        need(not old or not any("grand" in each.kinds for each in mentioned[1:]))
        words = {
            word
            for each in mentioned
            for word in (each.german, each.plural, each.english, each.english_plural)
        }
        for part in filter(None, (clause.company, clause.place)):
            text = part.german
            owned = "~" in text or "^" in text
            need("Familie" not in text or not any("family" in each.kinds for each in mentioned))
            need(not owned or taken_up(clause.subject) not in (None, Pronoun.IT, Pronoun.WHO))
            need("^" not in text or "Familie" in text or not getattr(clause.subject, "plural", False))
            need(not any(word in f"{text} {part.english}" for word in words if word))

    def with_time(self, clause: Clause, activity: Activity, share: float = 1.0, front: float = 0.0) -> Clause:
        """The clause, with probability `share` with a time that fits its tense, perhaps in front."""
        if clause.time is not None or not self.chance.happens(share):
            return clause
        if clause.tense == "past" and not clause.modal and "state" not in activity.traits:
            times, front = self.times(activity, "telling"), 0.8
        elif clause.tense in ("past", "perfect", "pluperfect"):
            times = self.times(activity, "past")
        elif clause.tense == "future" or clause.modal:
            times = self.times(activity, "coming")
        elif not clause.ongoing:
            times = self.times(activity, "habit")
        else:
            lasts = "lasts" in activity.traits
            times = list(TIMES["any", "now"]) if lasts else self.times(activity, "now")
        if clause.how is not None:  # not `morgen früh früh`
            times = [each for each in times if clause.how.german not in each.german]
        return self.fronted(replace(clause, time=self.chance.choose(times)), front) if times else clause

    def fronted(self, clause: Clause, share: float) -> Clause:
        """The clause, perhaps with its time in front."""
        may = clause.time is not None and clause.time.german not in ("gerade", "jetzt")
        return replace(clause, front="time") if may and self.chance.happens(share) else clause

    def times(self, activity: Activity, tense: str) -> list[Fixed]:
        """The times of an activity in a tense; nobody says of a trifle that it was last week."""
        times = [time for when in activity.when for time in TIMES.get((when, tense), ())]
        if "trifle" in activity.traits and tense == "past":
            return [time for time in times if time.german.startswith(("heute", "gestern"))]
        return times
