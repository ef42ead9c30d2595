"""Random sentences of all kinds."""

from collections.abc import Callable

from nmt.grammar.chance import Chance
from nmt.grammar.descriptions import Describer
from nmt.grammar.joining import AND, BECAUSE, TOLD, Joiner
from nmt.grammar.meaning import (
    Clause,
    Link,
    NounPhrase,
    Phrase,
    Pronoun,
    Sentence,
    Sub,
    Triple,
    clauses,
    replace,
    taken_up,
)
from nmt.grammar.questions import Questioner
from nmt.grammar.scenes import NoScene
from nmt.grammar.statements import different, resumed
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
            (26, self.statement),
            (7, self.habit),
            (3, self.state),
            (5, Describer(self).description),
            (11, Questioner(self).question),
            (6, self.because),
            (5, self.weather),
            (6, self.sequence),
            (5, self.meanwhile),
            (4, self.interrupted),
            (4, self.purpose),
            (13, self.report),
            (3, self.infinitive),
            (3, self.obstacle),
            (18, self.day),
            (22, self.two_people),
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
        matrix = self.clause(opinion, "perfect" if done else "present", private=True, rich=0.2)
        if "telling" in opinion.traits:
            matrix = replace(matrix, recipient=self.pronoun_object(matrix.subject))
        if "asking" in opinion.traits:
            matrix = replace(matrix, object=self.pronoun_object(matrix.subject))
        inner = replace(self.content(key), front="subject")
        self.unlike(matrix, inner, about_oneself=key == "hoffen" or "asking" in opinion.traits)
        if done:
            if (
                inner.modal in ("sollen", "möchten")
                or inner.tense == "future"
                or (inner.tense == "present" and inner.time)
            ):
                raise NoScene
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
        return self.told(self.pick(strangers=chance.happens(0.1)), rich, report=True)

    def unlike(self, matrix: Clause, inner: Clause, about_oneself: bool) -> None:
        """Raise NoScene if one cannot tell who is meant, or nobody would say this of those."""
        who, told_of = matrix.subject, inner.subject
        if taken_up(told_of) in (Pronoun.ME, Pronoun.WE) and not about_oneself:
            raise NoScene
        if isinstance(told_of, NounPhrase):
            if told_of.determiner == "ein" or (
                told_of.determiner in (Pronoun.HE, Pronoun.SHE) and isinstance(who, NounPhrase)
            ):
                raise NoScene
            if told_of.determiner in (Pronoun.HE, Pronoun.SHE):
                if taken_up(who) != told_of.determiner:
                    raise NoScene
                inner = replace(inner, subject=replace(told_of, determiner=Pronoun.ME))
        if isinstance(told_of, Pronoun) and told_of in (
            Pronoun.HE,
            Pronoun.SHE,
            Pronoun.THEY,
            Pronoun.IT,
            who,
        ):
            if taken_up(who) != told_of or matrix.verb.infinitive != "sagen":
                raise NoScene
        else:
            different(matrix, inner)

    def infinitive(self) -> Sentence:
        """What someone tries, promises, plans or forgets to do, or has no time for."""
        opinion = self.chance.choose(DOING)
        matrix = self.clause(
            opinion, "perfect" if "done" in opinion.traits else "present", private=True, rich=0.2
        )
        inner = self.clause(self.pick(DONE[opinion.key]), "present", matrix.subject, rich=0.3, literal=True)
        return Sentence(replace(matrix, subs=(Sub(TO, replace(inner, how=None)),)))

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
        who = resumed(first.subject)
        if any("Haus" in each.verb.tail for each in order):
            first = replace(first, place=None)  # nobody goes home from home
        if chance.happens(0.8):
            first = self.fronted(replace(first, time=chance.choose(self.day_times(order))), 0.7)
        rest = [
            replace(self.clause(each, tense, first.subject, rich=rich * 0.7), how=None) for each in order[1:]
        ]
        last = rest.pop()
        if chance.happens(0.5):
            last = replace(last, time=chance.choose(TIMES["any", "then"]))
        if order[-1].why and chance.happens(0.5):
            last = replace(last, subs=(Sub(BECAUSE, self.state_of(order[-1].why[0], who, "past")),))
        else:
            last = self.about_a_thing(last, order[-1])
        links = [*(Link(None, each, shared=True) for each in rest), Link(AND, last, shared=True)]
        return Sentence(replace(first, subject=self.with_relative(first.subject, 0.3)), tuple(links))

    def day_times(self, order: list[Activity]) -> list[Fixed]:
        """When all of these were done."""
        shared = set.intersection(*(set(each.when) for each in order))
        times = [time for when in ("morning", "evening") if when in shared for time in TIMES[when, "past"]]
        return times or list(TIMES["chain", "past"])

    def two_people(self) -> Sentence:
        """What one person did, and what another one did and why, or where to."""
        chance, tense, rich = self.chance, self.chance.weigh(TOLD), 0.6 + 0.4 * self.richness()
        if chance.happens(0.4):
            first = self.clause(self.pick("lasts", lacking="trifle"), tense, private=True, rich=rich)
        else:
            first = self.elaborate(None, tense, rich)
        if chance.happens(0.8):
            first = self.fronted(replace(first, time=chance.choose(TIMES["chain", "past"])), 0.8)
        second = replace(self.elaborate(None, tense, rich), time=None, front="subject")
        different(first, second)
        said = [each.verb.lemma for main in (first, second) for each in clauses(main)]
        if len(set(said)) < len(said):
            raise NoScene
        first = replace(first, subject=self.with_relative(first.subject, 0.5))
        second = replace(second, subject=self.with_relative(second.subject, 0.3))
        return Sentence(first, (Link(AND, second),))


def reported(clause: Clause) -> Clause:
    """A clause as something that was said, with all that depends on it."""
    subs = tuple(replace(sub, clause=reported(sub.clause)) for sub in clause.subs)
    return replace(clause, reported=True, subs=subs)


def starts(time: Fixed | None, word: str) -> bool:
    """Whether a time begins with a word."""
    return time is not None and time.german.startswith(word)
