"""Random sentences of all kinds: clauses put together, short and long."""

from collections.abc import Callable
from dataclasses import replace

from nmt.data.grammar.agreement import is_definite
from nmt.data.grammar.chance import Chance
from nmt.data.grammar.composition import TRIES, NoClause
from nmt.data.grammar.descriptions import Describer
from nmt.data.grammar.elaboration import Elaborator
from nmt.data.grammar.lexicon import CONJUNCTIONS, LONG_AGO, OPINIONS
from nmt.data.grammar.meaning import (
    HE,
    IT,
    SHE,
    THEY,
    YOU,
    Clause,
    Compound,
    Content,
    Phrase,
    Pronoun,
    Role,
    Sentence,
    Statement,
    Tense,
    Triple,
)  # fmt: skip
from nmt.data.grammar.phrases import pronoun_for
from nmt.data.grammar.questions import Questioner
from nmt.data.grammar.selection import (
    ASTONISHING,
    GOING_ON,
    GRAND,
    HARD,
    REPORTED,
    USEFUL,
    familiar,
    of_people,
)
from nmt.data.grammar.subordination import (
    FUTURE,
    PAST,
    PERFECT,
    PLUPERFECT,
    PRESENT,
    TOLD,
    Subordinator,
    own_person,
    things,
)

TENSES = ((4.0, PRESENT), (2.0, PAST), (5.0, PERFECT), (1.6, FUTURE))
INTENDED = {
    "hoffen": GRAND, "planen": GRAND, "beschließen": GRAND,
    "versprechen": USEFUL, "vergessen": USEFUL, "versuchen": HARD,
}  # fmt: skip


class Author(Subordinator):
    """Makes sentences by chance, of which every triple is one that `accepts` allows."""

    def __init__(self, chance: Chance, accepts: Callable[[Triple], bool]) -> None:
        super().__init__(Elaborator(chance, accepts))
        describer = Describer(self.clauses)
        self.kinds: tuple[tuple[float, Callable[[], Sentence]], ...] = (
            (24, self.simple),
            (7, self.habit),
            (6, describer.description),
            (2, describer.existence),
            (12, Questioner(self.clauses).question),
            (5, self.because),
            (4, self.weather),
            (7, self.sequence),
            (9, self.meanwhile),
            (4, self.interrupted),
            (4, self.purpose),
            (12, self.report),
            (18, self.shared),
            (55, self.compound),
        )

    def sentence(self) -> Sentence:
        """A sentence of any kind."""
        while True:
            make = self.chance.weigh(self.kinds)
            try:
                return make()
            except NoClause:
                continue

    def simple(self) -> Statement:
        """One main clause."""
        return Statement(self.full(self.chance.weigh(TENSES)))

    def full(self, tense: Tense, main: bool = True) -> Clause:
        """A clause with all its trimmings."""
        richness = self.clauses.richness()
        return self.clauses.adorn(self.clauses.clause(tense, richness), richness, main)

    def habit(self) -> Statement:
        """What someone does again and again."""
        clause = self.clauses.as_habit(
            self.clauses.clause(PRESENT, 0.0, verbs=of_people("daily"), habit=True)
        )
        if clause.time is not None:
            clause = replace(self.clauses.with_surroundings(clause, 0.3), manner=None)
        return Statement(self.clauses.with_front(clause))

    def report(self, tense: Tense | None = None) -> Statement:
        """What someone says, knows, hopes, tries."""
        verb = self.chance.choose(OPINIONS)
        tense = tense or self.chance.weigh(TOLD)
        matrix = self.clauses.clause(tense, self.clauses.richness() * 0.4, verbs=(verb,))
        conjunction = self.chance.choose(verb.clauses)
        if matrix.subject == YOU:  # who is spoken to knows better
            raise NoClause
        if conjunction == "zu":
            if tense is PAST and self.chance.happens(0.5):
                matrix = replace(matrix, tense=PERFECT)
            inner = self.clauses.clause(PRESENT, 0.5, matrix.subject, verbs=INTENDED[verb.lemma])
        else:
            inner_tense = PAST if tense is PAST else self.chance.choose((PRESENT, PRESENT, PERFECT, FUTURE))
            if verb.lemma == "hoffen":
                if tense is PAST:
                    raise NoClause
                inner_tense = FUTURE
            richness = self.clauses.richness()
            wished = (*GRAND, *USEFUL) if verb.lemma == "hoffen" else REPORTED
            verbs = ASTONISHING if conjunction == "warum" else wished
            inner = self.clauses.clause(inner_tense, richness, verbs=verbs)
            if not is_definite(inner.subject) or not familiar(inner.subject):
                raise NoClause
            self.other(inner, matrix, people=True)
            if inner_tense is PAST and "state" not in inner.verb.traits:
                lasting = "lasting" in inner.verb.traits and self.chance.happens(0.5)
                inner = replace(inner, ongoing=True) if lasting else replace(inner, tense=PLUPERFECT)
            if tense is PRESENT:
                inner = self.clauses.with_time(inner, 0.4 * richness)
            if not inner.negated:
                inner = self.clauses.with_surroundings(inner, richness * 0.7)
        if inner.verb.lemma == verb.lemma:
            raise NoClause
        matrix = replace(matrix, content=Content(CONJUNCTIONS[conjunction], inner))
        if conjunction == "ob" and verb.lemma == "wissen":
            matrix = replace(matrix, negated=True)
        return Statement(matrix)

    def shared(self) -> Compound:
        """Two things that one subject does, the second perhaps with a reason or before something else."""
        tense, verbs = self.chance.weigh(((1, PRESENT), (4, PAST))), of_people("daily")
        habit = tense is PRESENT
        first = self.clauses.clause(tense, 0.3, verbs=verbs, habit=habit)
        if not familiar(first.subject):
            raise NoClause
        first = self.clauses.with_surroundings(first, 0.6)
        if habit:
            first = replace(self.clauses.as_habit(first), frequency=None, manner=None)
        else:
            first = self.clauses.with_time(first, 0.6)
        first = self.clauses.with_front(first)
        if first.front not in (Role.SUBJECT, Role.TIME) or first.time in LONG_AGO:
            raise NoClause
        second = Statement(self.clauses.clause(tense, 0.3, first.subject, verbs, habit))
        if not habit and self.chance.happens(0.6):
            make = self.chance.choose((self.caused, self.sequence))
            second = make(first.subject, tense)
        self.other(second.clause, first)
        if second.conjunction == CONJUNCTIONS["obwohl"]:
            raise NoClause
        if second.subordinate is not None:
            self.other(second.subordinate, first)
            if second.subordinate_first or pronoun_for(first.subject) != second.subordinate.subject:
                raise NoClause
        second = replace(second, clause=replace(second.clause, subject=first.subject))
        return Compound(Statement(first), CONJUNCTIONS["und"], second, shared_subject=True)

    def compound(self) -> Compound:
        """Two statements about different people, most with subordinate clauses."""
        tense = self.chance.weigh(TOLD)
        first, second = self.part(tense), self.part(tense)
        if first.subordinate is None:
            raise NoClause
        if not own_person(second.clause.subject) or not own_person(first.clause.subject):
            raise NoClause
        states = [part.subordinate.predicate for part in (first, second) if part.subordinate is not None]
        if len(states) == 2 and states[0] is not None and states[0] == states[1]:
            raise NoClause
        self.other(second.clause, first.clause, people=True)
        for one in (first.clause, first.subordinate):
            for other in (second.clause, second.subordinate):
                if one is not None and other is not None:
                    self.other(replace(other, subject=IT), one)
        heard_of = {head for head in things(second.clause, people=False) if isinstance(head, Pronoun)}
        if pronoun_for(first.clause.subject) == second.clause.subject or heard_of & {HE, SHE, THEY}:
            raise NoClause
        main = first.clause
        if tense is PAST and main.time is None:
            main = self.clauses.with_front(self.clauses.with_time(main, 0.6))
        if main.front not in (Role.SUBJECT, Role.TIME) or main.time in LONG_AGO:
            raise NoClause
        second = replace(second, clause=replace(second.clause, time=None, front=Role.SUBJECT))
        return Compound(replace(first, clause=main), CONJUNCTIONS["und"], second)

    def part(self, tense: Tense) -> Statement:
        """One half of a compound, perhaps with a subordinate clause of its own."""
        for _ in range(TRIES):
            kinds = (self.caused, self.purpose, self.at_leisure)  # in the present, what follows is a habit
            make = self.chance.choose(kinds if tense is PRESENT else (*kinds, self.sequence))
            try:
                part = make(None, tense)
            except NoClause:
                continue
            plain = part.clause.comment is None and not part.subordinate_first
            if plain and part.conjunction != CONJUNCTIONS["obwohl"]:
                return replace(part, clause=self.clauses.with_relatives(part.clause, 0.8))
        raise NoClause

    def at_leisure(self, subject: Phrase | None = None, tense: Tense | None = None) -> Statement:
        """What someone does or did, and where."""
        clause = self.clauses.clause(tense or self.chance.weigh(TOLD), 0.5, subject, GOING_ON)
        return Statement(self.clauses.with_surroundings(clause, 0.7))
