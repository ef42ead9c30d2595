"""Random sentences of all kinds."""

from collections.abc import Callable

from nmt.grammar.chance import Chance
from nmt.grammar.descriptions import Describer
from nmt.grammar.joining import AND, BECAUSE, BUT, TOLD, Joiner
from nmt.grammar.meaning import (
    Clause,
    Link,
    NounPhrase,
    Phrase,
    Pronoun,
    Sentence,
    Sub,
    Triple,
    replace,
    taken_up,
)
from nmt.grammar.questions import Questioner
from nmt.grammar.scenes import OTHERS, NoScene, having, need
from nmt.grammar.statements import acquainted, different, resumed
from nmt.grammar.tables import OPINIONS, STATES, TIMES, Activity, Fixed

TO = Fixed("zu", "to")
# What a clause that depends on a verb begins with, by the key of that verb; those of other keys are infinitives.
CONTENTS = {"dass": "that", "ob": "whether", "warum": "why", "wann": "when", "wo": "where", "hoffen": "that"}
CONJUNCTIONS = {key: Fixed("dass" if key == "hoffen" else key, english) for key, english in CONTENTS.items()}
SAYING = tuple(each for each in OPINIONS if set(each.key.split()) <= CONTENTS.keys())
DOING = tuple(each for each in OPINIONS if each not in SAYING)
# What one tries, promises, forgets, has no time for, plans: traits of it.
DONE = {
    "versuchen": "try",
    "versprechen": "duty",
    "vergessen": "duty",
    "keine-Zeit": "busy",
    "planen": "grand",
}


class Author(Joiner):
    """Makes sentences by chance, of which every triple is one that `accepts` allows."""

    def __init__(self, chance: Chance, accepts: Callable[[Triple], bool]) -> None:
        super().__init__(chance, accepts)
        self.kinds: tuple[tuple[float, Callable[[], Sentence]], ...] = (
            (36, self.statement),
            (4, self.animal),
            (7, self.habit),
            (3, self.state),
            (5, Describer(self).description),
            (12, Questioner(self).question),
            (6, self.because),
            (4, self.weather),
            (6, self.sequence),
            (4, self.meanwhile),
            (4, self.interrupted),
            (4, self.purpose),
            (16, self.report),
            (3, self.infinitive),
            (3, self.obstacle),
            (14, self.day),
            (4, self.two_people),
            (3, self.left_behind),
        )

    def sentence(self) -> Sentence:
        """A sentence of any kind."""
        make = self.chance.weigh(self.kinds)
        while True:
            try:
                return make()
            except NoScene:
                continue

    def report(self) -> Sentence:
        """What someone says, knows, asks, hopes."""
        opinion = self.chance.choose(SAYING)
        done, key = "done" in opinion.traits, self.chance.choose(opinion.key.split())
        speaker = None if done or self.chance.happens(0.6) else Pronoun.ME
        matrix = self.clause(opinion, "perfect" if done else "present", speaker, private=True, rich=0.2)
        asking = "asking" in opinion.traits
        if asking or "telling" in opinion.traits:
            spoken_to = self.pronoun_object(matrix.subject)
            matrix = replace(matrix, **{"object" if asking else "recipient": spoken_to})
        inner = replace(self.content(key), front="subject")
        need(key == "dass" or {inner.object, inner.recipient}.isdisjoint((Pronoun.ME, Pronoun.WE)))
        need(key != "hoffen" or not starts(inner.how, "spät"))
        self.unlike(matrix, inner, about_oneself=key == "hoffen" or asking)
        if done:
            need(inner.modal not in ("sollen", "möchten") and inner.tense != "future")
            need(inner.tense != "present" or not inner.time)
            inner = replace(reported(inner), time=None if starts(inner.time, "heute") else inner.time)
        negated = "denied" in opinion.traits
        return Sentence(replace(matrix, negated=negated, subs=(Sub(CONJUNCTIONS[key], inner),)))

    def content(self, key: str) -> Clause:
        """What is said, known, asked or hoped."""
        chance, rich = self.chance, self.richness()
        match key:
            case "warum":
                return self.clause(self.pick("wonder"), "present", private=True, rich=rich * 0.3)
            case "wann":
                return replace(self.clause(self.pick("when"), "present", private=True, rich=0.0), how=None)
            case "wo":
                clause = self.clause(self.pick("state", "where"), "present", private=True, rich=0.0)
                return replace(clause, place=None, company=None)
            case "hoffen":
                activity = self.pick("wish")
                if "unplanned" in activity.traits or chance.happens(0.4):
                    return self.clause(activity, "future", private=True, rich=rich * 0.5)
                return self.coming(self.clause(activity, "present", private=True, rich=rich * 0.5), activity)
        if key == "dass" and chance.happens(0.25):
            state = chance.choose(STATES)
            return self.denied(self.clause(state, "present", private=True), state)
        if chance.happens(0.4):
            return self.elaborate(None, chance.choose(("perfect", "present")), rich)
        return self.told(self.pick(trades=chance.happens(0.1)), rich, report=True)

    def unlike(self, matrix: Clause, inner: Clause, about_oneself: bool) -> None:
        """Raise NoScene if one cannot tell who is meant, or nobody would say this of those."""
        who, told_of = matrix.subject, inner.subject
        need(about_oneself or taken_up(told_of) not in (Pronoun.ME, Pronoun.WE))
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
        matrix = self.clause(
            opinion, "perfect" if "done" in opinion.traits else "present", private=True, rich=0.2
        )
        inner = self.clause(self.pick(DONE[opinion.key]), "present", matrix.subject, rich=0.3)
        need(opinion.key != "planen" or inner.object or inner.to or inner.place)
        return Sentence(
            replace(
                matrix,
                subs=(
                    Sub(TO, replace(inner, how=None, place=inner.place if opinion.key == "planen" else None)),
                ),
            )
        )

    def elaborate(self, subject: Phrase | None, tense: str, rich: float) -> Clause:
        """What someone does or did, and why, or before or after what, or where to."""
        kind = self.chance.choose(("why", "where") if tense == "present" else ("why", "where", "when"))
        if kind == "where":
            return self.going(subject, tense, rich)
        return self.caused(subject, tense, rich) if kind == "why" else self.in_order(subject, tense, rich)

    def day(self) -> Sentence:
        """One day of someone: two to four things one after another."""
        chance, tense, rich = self.chance, self.chance.weigh(TOLD), 0.4 + 0.6 * self.richness()
        order = self.ordered(chance.weigh(((2, 2), (5, 3), (3, 4))))
        first = self.clause(order[0], tense, private=True, rich=rich)
        first = replace(first, how=None) if starts(first.how, "spät") else first
        who = resumed(first.subject)
        if any("Haus" in each.verb.tail for each in order):
            first = replace(first, place=None)  # nobody goes home from home
        if chance.happens(0.8):
            first = self.fronted(replace(first, time=chance.choose(self.day_times(order, tense))), 0.7)
        rest = [
            replace(self.clause(each, tense, first.subject, rich=rich * 0.7), how=None) for each in order[1:]
        ]
        last = rest.pop()
        if not rest or chance.happens(0.5):
            last = replace(last, time=chance.choose(TIMES["any", "then"]))
        if order[-1].why and chance.happens(0.5):
            last = replace(last, subs=(Sub(BECAUSE, self.state_of(order[-1].why[0], who, "past")),))
        else:
            last = self.about_a_thing(last, order[-1])
        links = [*(Link(None, each, shared=True) for each in rest), Link(AND, last, shared=True)]
        return Sentence(replace(first, subject=self.with_relative(first.subject, 0.3)), tuple(links))

    def day_times(self, order: list[Activity], tense: str) -> list[Fixed]:
        """When all of these were done."""
        told = "telling" if tense == "past" else "past"
        shared = set.intersection(*(set(each.when) for each in order))
        times = [time for when in ("morning", "evening") if when in shared for time in TIMES[when, told]]
        return times or list(TIMES["day", told] if tense == "past" else TIMES["chain", told])

    def two_people(self) -> Sentence:
        """What one person and another one did at the same time, and perhaps why."""
        tense = self.chance.weigh(TOLD)
        first, second = self.two(tense, 0.6 + 0.4 * self.richness(), "placed trifle grand regular", True)
        need({second.object, second.recipient}.isdisjoint((Pronoun.ME, Pronoun.WE)))
        first = replace(first, front="time", subject=self.with_relative(first.subject, 0.3))
        return Sentence(first, (Link(AND, replace(second, time=None)),))

    def left_behind(self) -> Sentence:
        """Where one person went, and what kept another one at home."""
        tense = self.chance.weigh(TOLD)
        first = self.going(None, tense, 1.0, away=True)
        staying = next(each for each in having("placed", "cosy") if each.why)
        second = self.clause(staying, tense, private=True, rich=0.0)
        different(first, second)
        need(acquainted(first.subject, second.subject))
        reason = self.chance.choose((*staying.why, "keine-Zeit"))
        sub = Sub(BECAUSE, self.state_of(reason, second.subject, tense))
        return Sentence(self.fronted(first, 0.7), (Link(BUT, replace(second, subs=(sub,), how=None)),))


def reported(clause: Clause) -> Clause:
    """A clause as something that was said, with all that depends on it."""
    subs = tuple(replace(sub, clause=reported(sub.clause)) for sub in clause.subs)
    return replace(clause, reported=True, subs=subs)


def starts(time: Fixed | None, word: str) -> bool:
    """Whether a time begins with a word."""
    return time is not None and time.german.startswith(word)
