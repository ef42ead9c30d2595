"""Random statements of two or more clauses, which belong together according to the tables."""

from itertools import pairwise

from nmt.grammar.meaning import Clause, Link, NounPhrase, Phrase, Pronoun, Sentence, Sub, replace, taken_up
from nmt.grammar.people import acquainted, different, need, noun, resumed, suits
from nmt.grammar.scenes import having
from nmt.grammar.statements import Teller
from nmt.grammar.word_tables import ACTIVITIES, STATES, TIMES, WEATHER, Activity, Fixed

BECAUSE, ALTHOUGH, IF = Fixed("weil", "because"), Fixed("obwohl", "although"), Fixed("wenn", "when")
WHILE, WHEN = Fixed("während", "while"), Fixed("als", "when")
AFTER, BEFORE, IN_ORDER_TO = Fixed("nachdem", "after"), Fixed("bevor", "before"), Fixed("um", "to")
AND, BUT = Fixed("und", "and"), Fixed("aber", "but")
FOR, SO = Fixed("denn", "because"), Fixed("deshalb", "so")
TOLD = {"perfect": 4.0, "past": 1.0}
ANY_TENSE = {"present": 4.0, "perfect": 4.0, "past": 1.0}
DAILY = tuple(activity for activity in ACTIVITIES if activity.order >= 0)


class Joiner(Teller):
    """Makes statements of two or more clauses."""

    def joined(self, main: Clause, sub: Sub, first: float = 0.35) -> Clause:
        """Both clauses in either order; the first one names the person, and the second one has the pronoun."""
        if not self.chance.happens(first):
            return replace(main, subs=(sub,))
        inner, main = sub.clause, replace(main, time=None)
        if inner.subject == taken_up(main.subject):
            main, inner = replace(main, subject=inner.subject), replace(inner, subject=main.subject)
        return replace(main, front="subject", subs=(replace(sub, clause=inner, first=True),))

    def state_of(self, key: str, who: Phrase, tense: str) -> Clause:
        """A clause that someone mentioned before is in a state; `key` is the name that activities have for it."""
        state = self.chance.choose([each for each in STATES if each.key == key])
        return self.clause(state, "present" if tense == "present" else "past", resumed(who))

    def caused(self, subject: Phrase | None, tense: str, rich: float, trifles: bool = False) -> Clause:
        """What someone does because of a state, or in spite of it."""
        activity = self.pick(lacking="" if trifles else "trifle")
        reasons = [*((BECAUSE, key) for key in activity.why), *((ALTHOUGH, key) for key in activity.spite)]
        need(reasons and (tense != "present" or "done" not in activity.traits))
        need(trifles or activity.when != ("year",))
        conjunction, key = self.chance.choose(reasons)
        clause = self.clause(activity, tense, subject, rich=rich)
        who = taken_up(clause.subject)
        need(all(each is None or taken_up(each) != who for each in (clause.object, clause.recipient)))
        return replace(early(clause), subs=(Sub(conjunction, self.state_of(key, clause.subject, tense)),))

    def because(self) -> Sentence:
        """An activity and its reason, as a subordinate clause or as a second main clause."""
        clause = self.caused(None, self.chance.weigh(ANY_TENSE), self.richness() * 0.6, trifles=True)
        sub = clause.subs[0]
        clause = replace(clause, subject=self.with_relative(clause.subject, 0.1), subs=())
        if sub.conjunction is ALTHOUGH or self.chance.happens(0.65):
            return Sentence(self.joined(clause, sub))
        if self.chance.happens(0.5):
            return Sentence(clause, (Link(FOR, sub.clause),))
        first = replace(sub.clause, subject=clause.subject)
        return Sentence(first, (Link(SO, replace(clause, subject=sub.clause.subject)),))

    def weather(self) -> Sentence:
        """What someone does because of the weather, or in spite of it."""
        chance, state, tense = self.chance, self.chance.choose(WEATHER), self.chance.weigh(ANY_TENSE)
        against = state.key == "inside" and state.verb.infinitive != "schneien" and chance.happens(0.25)
        wanted = "outside" if against else state.key
        activity = self.pick("outdoors" if wanted == "outside" else "cosy", lacking="duty trifle")
        places = [place for place in activity.where if wanted in place.kinds]
        need(places)
        habit = tense == "present" and not against and "habit" in activity.traits
        clause = self.clause(activity, tense, habit=habit, rich=0.3, place=chance.choose(places))
        subject: Phrase = Pronoun.IT if state.who == ("es",) else NounPhrase(noun(state.who[0]))
        ongoing = not habit and "state" not in state.traits
        inner = Clause(subject, state.verb, "present" if tense == "present" else "past", ongoing)
        return Sentence(self.joined(clause, Sub(IF if habit else ALTHOUGH if against else BECAUSE, inner)))

    def sequence(self) -> Sentence:
        """What someone did before or after something else."""
        clause = self.in_order(None, self.chance.weigh(TOLD), self.richness(), 0.35)
        return Sentence(clause if clause.subs[0].first else self.fronted(clause, 0.4))

    def in_order(self, subject: Phrase | None, tense: str, rich: float, first: float = 0.0) -> Clause:
        """A clause with `nachdem` or `bevor`."""
        earlier, later = self.ordered(2, 3)
        need("Haus" not in earlier.verb.tail)
        movement = earlier.traits >= {"regular", "before"}
        starting = "regular" in earlier.traits or earlier.order < 2 or "before" not in later.traits
        need(not (starting and movement))
        after = starting or (self.chance.happens(0.4) and not movement)
        activity, other = (later, earlier) if after else (earlier, later)
        main = self.clause(activity, tense, subject, rich=rich * 0.6)
        again = resumed(main.subject)
        need(suits(main.subject, other))
        inner = self.clause(other, "pluperfect" if after else "past", again, rich=rich * 0.4)
        if (
            isinstance(inner.object, NounPhrase)
            and main.place
            and inner.object.noun.german in main.place.german
        ):
            main = replace(main, place=None)
        main = self.with_time(main, activity, 0.3 * rich) if first else main
        return self.joined(main, Sub(AFTER if after else BEFORE, replace(inner, how=None)), first)

    def ordered(self, number: int, apart: int = 4) -> list[Activity]:
        """Activities that the same people can do on one day, in their order, with one meal at most."""
        drawn = sorted((self.chance.choose(DAILY) for _ in range(number)), key=lambda each: each.order)
        for first, second in pairwise(drawn):
            need(2 <= second.order - first.order <= apart)
            need("Haus" not in second.verb.tail or first.order >= 5)
            need("Haus" not in first.verb.tail or "outdoors" not in second.traits)
            need(first.verb.english != second.verb.english or first.verb.english == "go")
        groups = {who for each in drawn for who in each.who}
        need("child" not in groups or not groups & {"adult", "worker"})
        need(sum(not {"hungrig", "durstig"}.isdisjoint(each.why) for each in drawn) <= 1)
        return drawn

    def meanwhile(self) -> Sentence:
        """What two people do at the same time."""
        tense, rich = self.chance.choose(("present", "past")), self.richness() * 0.6
        together = tense == "present" and self.chance.happens(0.2)
        both = self.two(tense, rich, "placed grand", together)
        main, inner = (replace(each, ongoing=True, how=None, time=None) for each in both)
        if together:
            return Sentence(main, (Link(AND, inner),))
        return Sentence(self.joined(main, Sub(WHILE, inner)))

    def two(self, tense: str, rich: float, lacking: str, close: bool = False) -> tuple[Clause, Clause]:
        """What two people do at one time, which the first clause names; if `close`, close in the order of a day."""
        first, second = (self.pick("lasts", lacking=lacking) for _ in range(2))
        need(first.verb.english != second.verb.english and not {*first.why} & {*second.why})
        low, high = sorted((first.order, second.order))
        need(not close or (low >= 0 and high - low <= 2))
        shared = [when for when in first.when if when in second.when]
        need(shared)
        one, other = (self.clause(each, tense, rich=rich) for each in (first, second))
        different(one, other)
        acquainted(one, other)
        times = TIMES[shared[0], "telling" if tense == "past" else "past"]
        other = replace(other, place=None) if other.place == one.place else other
        return replace(one, time=self.chance.choose(times)), other

    def interrupted(self) -> Sentence:
        """What was going on at home when something happened."""
        activity = self.pick("lasts", lacking="grand placed")
        rooms = [place for place in activity.where if "home" in place.kinds]
        need(rooms)
        room = self.chance.choose(rooms) if self.chance.happens(0.5) else None
        main = replace(self.clause(activity, "past", place=room), ongoing=True, how=None)
        inner = replace(self.clause(self.pick("sudden", trades=True), "past", trades=True), how=None)
        if isinstance(inner.subject, NounPhrase):
            inner = replace(inner, subject=replace(inner.subject, adjectives=()))
        different(main, inner)
        acquainted(main, inner)
        return Sentence(self.joined(main, Sub(WHEN, inner)))

    def purpose(self) -> Sentence:
        """`..., um Brot zu kaufen.`"""
        tense = self.chance.weigh({**ANY_TENSE, "future": 1})
        return Sentence(self.fronted(self.going(None, tense, self.richness()), 0.4))

    def going(self, subject: Phrase | None, tense: str, rich: float, away: bool = False) -> Clause:
        """A clause about going somewhere, if `away` not home, to do something there."""
        activity = self.pick("there", lacking="unplanned grand" if away else "unplanned")
        places = [each for each in activity.where if each.going and not (away and "home" in each.kinds)]
        need(places)
        place = self.chance.choose(places)
        verb = self.chance.choose(place.going)
        travel = next(each for each in having() if each.to and each.verb.infinitive == verb)
        who = subject if subject is not None else self.subject(activity, rich=rich)
        main = self.clause(travel, tense, who, place=place)
        main = main if tense == "present" else self.with_time(main, activity, 0.3 + 0.4 * rich)
        inner = self.clause(activity, "present", who, rich=0.2)
        return replace(main, subs=(Sub(IN_ORDER_TO, replace(inner, place=None, how=None)),))

    def left_behind(self) -> Sentence:
        """Where one person went, and what another one did at home, or why that one stayed there."""
        chance, tense = self.chance, self.chance.weigh(TOLD)
        first = self.fronted(self.going(None, tense, 1.0, away=True), 0.7)
        kind = chance.weigh({"duty": 1, "cosy": 1, "placed": 1})
        activity = self.pick(kind, "cosy") if kind == "placed" else self.pick(kind, lacking="placed")
        rooms = [place for place in activity.where if "home" in place.kinds]
        if kind == "duty":
            need("müssen" in activity.may and not activity.where)
            second = replace(self.clause(activity, "past"), modal="müssen")
        else:
            need(rooms)
            second = self.clause(activity, tense, rich=0.3, place=chance.choose(rooms))
        different(first, second)
        acquainted(first, second)
        need(first.subs[0].clause.verb.english != activity.verb.english)
        reasons = (*activity.why, "keine-Zeit") if kind == "placed" else activity.why
        if kind != "duty" and reasons:
            reason = self.state_of(chance.choose(reasons), second.subject, tense)
            second = replace(second, subs=(Sub(BECAUSE, reason),))
        return Sentence(first, (Link(BUT, replace(second, how=None)),))

    def obstacle(self) -> Sentence:
        """What someone wanted to do, but could not."""
        activity = self.pick(lacking="state given")
        need("möchten" in activity.may or (activity.company and "wollen" in activity.may))
        need({"hungrig", "durstig", "müde"}.isdisjoint(activity.why))
        need("year" not in activity.when and "Haus" not in activity.verb.tail)
        clause = self.clause(activity, "past", rich=self.richness() * 0.7)
        clause = self.with_time(replace(clause, modal="wollen"), activity, 0.6, 0.5)
        key = self.chance.choose(("keine-Zeit", "krank", *(("müde",) if "evening" in activity.when else ())))
        return Sentence(clause, (Link(BUT, self.state_of(key, clause.subject, "past")),))


def early(clause: Clause) -> Clause:
    """The clause without `late`, which would not fit."""
    return replace(clause, how=None) if clause.how is not None and clause.how.english == "late" else clause
