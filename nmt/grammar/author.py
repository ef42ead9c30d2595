"""Random sentences of all kinds."""

from nmt.grammar.descriptions import Describer
from nmt.grammar.joining import AND, BECAUSE, TOLD, Joiner, early
from nmt.grammar.meaning import (
    Clause,
    Link,
    NounPhrase,
    Phrase,
    Pronoun,
    Sentence,
    Sub,
    replace,
    taken_up,
    triples,
)
from nmt.grammar.people import OTHERS, SPEAKERS, NoScene, different, is_known, need, resumed
from nmt.grammar.questions import Questioner
from nmt.grammar.word_tables import OPINIONS, STATES, TIMES, Activity, Fixed

KINDS = {
    "statement": 36, "animal": 5, "habit": 7, "state": 3, "description": 7, "question": 12, "because": 6,
    "weather": 4, "sequence": 6, "meanwhile": 4, "interrupted": 4, "purpose": 4, "report": 16,
    "infinitive": 3, "obstacle": 3, "day": 15, "two_people": 4, "left_behind": 3,
}  # fmt: skip
TO = Fixed("zu", "to")
# English conjunctions of dependent clauses, by the key of the verb; verbs with other keys take infinitives.
CONTENTS = {"dass": "that", "ob": "whether", "warum": "why", "wann": "when", "wo": "where", "hoffen": "that"}
CONJUNCTIONS = {key: Fixed("dass" if key == "hoffen" else key, english) for key, english in CONTENTS.items()}
SAYING = tuple(each for each in OPINIONS if set(each.key.split()) <= CONTENTS.keys())
DOING = tuple(each for each in OPINIONS if each not in SAYING)
# The trait of the activities that someone tries, promises, forgets, has no time for, or plans.
DONE = {
    "versuchen": "try",
    "versprechen": "duty",
    "vergessen": "duty",
    "keine-Zeit": "busy",
    "planen": "grand",
}


class Author(Joiner, Questioner, Describer):
    """Makes random sentences, all of whose triples pass the test `accepts`."""

    def sentence(self) -> Sentence:
        """A sentence of any kind."""
        kind = self.chance.weigh(KINDS)
        while True:
            try:
                made: Sentence = getattr(self, kind)()
                need(all(map(self.accepts, triples(made))))
            except NoScene:
                continue
            return made

    def report(self) -> Sentence:
        """What someone says, knows, asks, hopes."""
        opinion = self.chance.choose(SAYING)
        done, key = "done" in opinion.traits, self.chance.choose(opinion.key.split())
        speaker = None if done or self.chance.happens(0.6) else Pronoun.ME
        matrix = self.clause(opinion, "perfect" if done else "present", speaker, rich=0.2)
        asking = "asking" in opinion.traits
        if asking or "telling" in opinion.traits:
            spoken_to = self.pronoun_object(matrix.subject)
            matrix = replace(matrix, **{"object" if asking else "recipient": spoken_to})
        inner = replace(self.content(key), front="subject")
        need(asking or is_known(matrix.subject))
        need(inner.subject != Pronoun.ME or matrix.object != Pronoun.WE)
        need(key != "ob" or (inner.modal in ("", "können", "müssen") and not inner.negated))
        need(key == "dass" or {inner.object, inner.recipient}.isdisjoint(SPEAKERS))
        self.unlike(matrix, inner, about_oneself=key == "hoffen" or asking)
        if done:
            need(inner.modal not in ("sollen", "möchten") and inner.tense != "future")
            need(inner.tense != "present" or not inner.time)
            inner = replace(
                reported(inner),
                time=None if inner.time and inner.time.german.startswith("heute") else inner.time,
            )
        negated = "denied" in opinion.traits
        return Sentence(replace(matrix, negated=negated, subs=(Sub(CONJUNCTIONS[key], inner),)))

    def content(self, key: str) -> Clause:
        """What is said, known, asked or hoped."""
        chance, rich = self.chance, self.richness()
        match key:
            case "warum":
                return self.clause(self.pick("wonder"), "present", rich=rich * 0.3)
            case "wann":
                return replace(self.clause(self.pick("when"), "present"), how=None)
            case "wo":
                clause = self.clause(self.pick("state", "where"), "present")
                return replace(clause, place=None, company=None)
            case "hoffen":
                activity = self.pick("wish")
                if "unplanned" in activity.traits or chance.happens(0.4):
                    return early(self.clause(activity, "future", rich=rich * 0.5))
                coming = self.coming(self.clause(activity, "present", rich=rich * 0.5), activity)
                return early(replace(coming, ahead=True))
        if key == "dass" and chance.happens(0.25):
            state = chance.choose(STATES)
            return self.denied(self.clause(state, "present", rich=0.5), state)
        if key == "dass" and chance.happens(0.2):
            return self.not_done()
        if chance.happens(0.4):
            return self.elaborate(None, chance.choose(("perfect", "present")), rich)
        return self.told(self.pick(lacking="felt", trades=chance.happens(0.1)), rich, report=True)

    def not_done(self) -> Clause:
        """What someone does not do, or did not do, with a known thing."""
        activity = self.pick("what", lacking="felt unplanned plain state placed how made")
        clause = self.clause(activity, self.chance.choose(("present", "perfect")), rich=1.0, definite=True)
        need(isinstance(clause.object, NounPhrase) and clause.object.determiner == "der")
        need(clause.recipient is None)
        return replace(clause, how=None, company=None, place=None, negated=True)

    def unlike(self, matrix: Clause, inner: Clause, about_oneself: bool) -> None:
        """Raise NoScene if it is unclear who is meant, or if nobody would say this of these people."""
        who, told_of = matrix.subject, inner.subject
        need(about_oneself or taken_up(told_of) not in SPEAKERS)
        if isinstance(told_of, NounPhrase):
            need(told_of.determiner != "ein")
            if told_of.determiner in (Pronoun.HE, Pronoun.SHE):
                need(not isinstance(who, NounPhrase) and taken_up(who) == told_of.determiner)
                inner = replace(inner, subject=replace(told_of, determiner=Pronoun.ME))
        if told_of in (*OTHERS, Pronoun.IT, who):
            need(taken_up(who) == told_of and matrix.verb.infinitive == "sagen")
        else:
            different(matrix, inner)

    def infinitive(self) -> Sentence:
        """What someone tries, promises, plans or forgets to do, or has no time for."""
        opinion = self.chance.choose(DOING)
        tense, planned = "perfect" if "done" in opinion.traits else "present", opinion.key == "planen"
        matrix = self.clause(opinion, tense, rich=0.2)
        inner = self.clause(self.pick(DONE[opinion.key]), "present", matrix.subject, rich=0.3)
        need(not planned or inner.object or inner.to or inner.place)
        inner = replace(inner, how=None, company=None, place=inner.place if planned else None)
        return Sentence(replace(matrix, subs=(Sub(TO, inner),)))

    def elaborate(self, subject: Phrase | None, tense: str, rich: float) -> Clause:
        """What someone does or did, with its reason, with what came before or after, or with a way to a place."""
        kind = self.chance.choose(("why", "where") if tense == "present" else ("why", "where", "when"))
        if kind == "where":
            return self.going(subject, tense, rich)
        return self.caused(subject, tense, rich) if kind == "why" else self.in_order(subject, tense, rich)

    def day(self) -> Sentence:
        """A day of someone: two to four activities, one after another."""
        chance, tense, rich = self.chance, self.chance.weigh(TOLD), 0.4 + 0.6 * self.richness()
        order = self.ordered(chance.weigh({2: 2, 3: 5, 4: 4}))
        first = early(self.clause(order[0], tense, rich=rich))
        who = resumed(first.subject)
        if chance.happens(0.8):
            first = self.fronted(replace(first, time=chance.choose(self.day_times(order, tense))), 0.7)
        rest = [self.clause(each, tense, first.subject, rich=rich * 0.7) for each in order[1:]]
        rest = [replace(each, how=None) for each in rest]
        if any("Haus" in each.verb.tail for each in order):  # nobody goes home from home, or out again
            first, rest = replace(first, place=None), [replace(each, place=None) for each in rest]
        friends = [each.company for each in (first, *rest) if each.company is not None]
        need(len(friends) < 2)
        things = [each.object.noun for each in (first, *rest) if isinstance(each.object, NounPhrase)]
        need(len({*things}) == len(things))
        need(not any(thing.german in friend.german for thing in things for friend in friends))
        places = [each.place for each in (first, *rest) if each.place is not None]
        need(len({*places}) == len(places))
        last = rest.pop()
        if not rest or chance.happens(0.5):
            last = replace(last, time=chance.choose(TIMES["any", "then"]))
        if order[-1].why and chance.happens(0.5):
            last = replace(last, subs=(Sub(BECAUSE, self.state_of(order[-1].why[0], who, "past")),))
        else:
            last = self.about_a_thing(last, order[-1])
        links = [*(Link(None, each, shared=True) for each in rest), Link(AND, last, shared=True)]
        return Sentence(replace(first, subject=self.with_relative(first.subject, 0.3)), tuple(links))

    def day_times(self, order: list[Activity], tense: str) -> tuple[Fixed, ...]:
        """The times at which all of these may have been done."""
        told = "telling" if tense == "past" else "past"
        for when in ("morning", "evening"):
            if all(when in each.when for each in order):
                return TIMES[when, told]
        return TIMES["day" if tense == "past" else "chain", told]

    def two_people(self) -> Sentence:
        """What one person and another one did at the same time."""
        rich = 0.6 + 0.4 * self.richness()
        first, second = self.two(self.chance.weigh(TOLD), rich, "placed trifle grand regular", True)
        need({second.object, second.recipient}.isdisjoint(SPEAKERS))
        first = replace(first, front="time", subject=self.with_relative(first.subject, 0.3))
        return Sentence(first, (Link(AND, second),))


def reported(clause: Clause) -> Clause:
    """A clause as something that was said, with all that depends on it."""
    subs = tuple(replace(sub, clause=reported(sub.clause)) for sub in clause.subs)
    return replace(clause, reported=True, subs=subs)
