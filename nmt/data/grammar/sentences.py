"""Random sentences: clauses put together to statements, short and long."""

from collections.abc import Callable
from dataclasses import replace

from nmt.data.grammar import lexicon
from nmt.data.grammar.agreement import has_relative, is_definite
from nmt.data.grammar.chance import Chance
from nmt.data.grammar.composition import NoClause
from nmt.data.grammar.descriptions import Describer
from nmt.data.grammar.elaboration import Elaborator
from nmt.data.grammar.lexicon import BE, CONJUNCTIONS, OPINIONS, RAIN, SHINE, SNOW
from nmt.data.grammar.meaning import (
    IT,
    YOU,
    Clause,
    Compound,
    Content,
    Determiner,
    NounPhrase,
    Phrase,
    Pronoun,
    Role,
    Sentence,
    Statement,
    Tense,
    Triple,
    english_head,
    heads,
    own_triples,
)  # fmt: skip
from nmt.data.grammar.phrases import pronoun_for
from nmt.data.grammar.questions import Questioner
from nmt.data.grammar.selection import (
    ARRIVING,
    ASTONISHING,
    BRIEF,
    CAUSED,
    DONE_THERE,
    GOING,
    GRAND,
    WILLED,
    of_people,
)

PRESENT, PAST, PERFECT, PLUPERFECT, FUTURE = Tense
TENSES = ((4.0, PRESENT), (2.0, PAST), (5.0, PERFECT), (1.6, FUTURE))
TOLD = ((1, PRESENT), (1, PAST))
SUN = next(noun for noun in lexicon.NOUNS if "sun" in noun.classes)
INTENDED = {"hoffen": GRAND, "planen": GRAND, "versuchen": BRIEF, "vergessen": BRIEF}
# One after another: conjunction, tense of the main clause, tense of the subordinate one.
SEQUENCES = (
    ("bevor", PAST, PAST),
    ("bevor", PRESENT, PRESENT),
    ("nachdem", PAST, PLUPERFECT),
    ("nachdem", PAST, PLUPERFECT),
    ("wenn", FUTURE, PRESENT),
    ("sobald", FUTURE, PRESENT),
)


class Author:
    """Makes sentences by chance, of which every triple is one that `accepts` allows."""

    def __init__(self, chance: Chance, accepts: Callable[[Triple], bool]) -> None:
        self.chance = chance
        self.clauses = Elaborator(chance, accepts)
        describer = Describer(self.clauses)
        self.kinds: tuple[tuple[float, Callable[[], Sentence]], ...] = (
            (32, self.simple),
            (7, self.habit),
            (6, describer.description),
            (2, describer.existence),
            (12, Questioner(self.clauses).question),
            (5, self.caused),
            (4, self.weather),
            (7, self.sequence),
            (7, self.meanwhile),
            (4, self.interrupted),
            (4, self.purpose),
            (12, self.report),
            (5, self.shared),
            (12, self.compound),
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

    def caused(self) -> Statement | Compound:
        """What someone does because of, or in spite of, a state."""
        tense = self.chance.weigh(TOLD)
        clause = self.clauses.clause(tense, 0.4, verbs=CAUSED)
        taken_up = pronoun_for(clause.subject)
        if taken_up is None or (taken_up == YOU and tense is PAST):
            raise NoClause
        clause = replace(self.clauses.with_surroundings(clause, 0.3), manner=None, company=None)
        reason = Clause(taken_up, BE, tense, predicate=self.chance.choose(clause.verb.reasons))
        kind = self.chance.choose(("weil", "weil", "denn", "deshalb", "obwohl", "aber"))
        if kind in ("obwohl", "aber"):
            if "unwilled" in clause.verb.traits:
                raise NoClause
            reason = replace(reason, negated=True)
        if kind == "weil" or kind == "obwohl":
            return self.joined(clause, kind, reason)
        first, second = clause, reason
        if kind != "denn":
            first, second = self.swapped(clause, reason)
            first, second = second, first
        return Compound(Statement(first), CONJUNCTIONS[kind], Statement(second))

    def joined(self, main: Clause, conjunction: str, inner: Clause) -> Statement:
        """A main and a subordinate clause in either order; whoever comes first is named."""
        first = self.chance.happens(0.35)
        if first and pronoun_for(main.subject) == inner.subject and not has_relative(main.subject):
            main, inner = self.swapped(main, inner)
        return Statement(main, CONJUNCTIONS[conjunction], inner, first)

    def swapped(self, main: Clause, inner: Clause) -> tuple[Clause, Clause]:
        """Two clauses whose subjects, a name and its pronoun, have changed places."""
        swapped = replace(main, subject=inner.subject), replace(inner, subject=main.subject)
        if not all(self.clauses.accepts(triple) for clause in swapped for triple in own_triples(clause)):
            raise NoClause
        return swapped

    def weather(self) -> Statement:
        """What the weather is a reason for, or none against."""
        tense = self.chance.weigh(TOLD)
        clause = self.clauses.clause(tense, 0.2, verbs=of_people("daily", "lasting"))
        outside = [
            place
            for place in clause.verb.places
            if not place.classes.isdisjoint(("outside", "walk")) and "person" not in place.classes
        ]
        inside = [place for place in clause.verb.places if "lounge" in place.classes]
        sunny = self.chance.happens(0.5)
        if sunny or (outside and self.chance.happens(0.3)):
            places, conjunction = outside, "weil" if sunny else "obwohl"
        else:
            places, conjunction = inside, "weil"
        if not places:
            raise NoClause
        if conjunction == "weil" and tense is PRESENT and self.chance.happens(0.5):
            conjunction, clause = "wenn", replace(clause, ongoing=False)
        clause = replace(clause, place=self.clauses.phrasing.place(self.chance.choose(places), 0.0))
        ongoing = conjunction != "wenn"
        if sunny:
            inner = Clause(NounPhrase(SUN, Determiner.THE), SHINE, tense, ongoing)
        else:
            inner = Clause(IT, self.chance.choose((RAIN, RAIN, SNOW)), tense, ongoing)
        return self.joined(clause, conjunction, inner)

    def sequence(self) -> Statement:
        """What someone does before or after something else."""
        conjunction, tense, inner_tense = self.chance.choose(SEQUENCES)
        richness = self.clauses.richness()
        habit = tense is PRESENT
        verbs = of_people("daily")
        main = self.clauses.clause(tense, richness, verbs=verbs, habit=habit)
        subject = pronoun_for(main.subject)
        if subject is None or (subject == YOU and tense is PAST):
            raise NoClause
        if tense is FUTURE:
            verbs = ARRIVING
        inner = self.clauses.clause(inner_tense, richness, subject, verbs, habit=habit)
        inner = replace(self.other(inner, main), ongoing=False)
        return self.joined(main, conjunction, inner)

    def other(self, clause: Clause, first: Clause, people: bool = False) -> Clause:
        """The clause, if it tells something else than the first one, of other things (and `people`)."""
        mine, yours = ({english_head(head) for head in things(each, people)} for each in (clause, first))
        if clause.verb.lemma == first.verb.lemma or mine & yours:
            raise NoClause
        return clause

    def meanwhile(self) -> Statement | Compound:
        """What two people do at the same time."""
        tense = self.chance.weigh(TOLD)
        first, second = (
            self.clauses.clause(tense, self.clauses.richness(), verbs=of_people("lasting")) for _ in range(2)
        )
        if not own_person(first.subject) or not own_person(second.subject):
            raise NoClause
        self.other(second, first, people=True)
        first, second = replace(first, ongoing=True), replace(second, ongoing=True)
        return self.joined(first, "während", second)

    def interrupted(self) -> Statement:
        """What was going on when something happened."""
        main = replace(self.clauses.clause(PAST, 0.5, verbs=of_people("lasting")), ongoing=True)
        inner = self.clauses.clause(PAST, 0.5, verbs=of_people("sudden"))
        if not own_person(inner.subject) or not own_person(main.subject):
            raise NoClause
        return self.joined(
            self.clauses.with_surroundings(main, 0.3), "als", self.other(inner, main, people=True)
        )

    def purpose(self) -> Statement:
        """`..., um ein Buch zu lesen.`"""
        tense = self.chance.choose((PRESENT, PAST, PERFECT, FUTURE))
        richness = self.clauses.richness()
        main = self.clauses.clause(tense, richness, verbs=GOING)
        goal = main.governed.phrase if main.governed else None
        where = goal.noun if isinstance(goal, NounPhrase) else goal
        verbs = tuple(verb for verb in DONE_THERE if where in verb.places)
        if not verbs:
            raise NoClause
        inner = self.clauses.clause(PRESENT, richness, main.subject, verbs)
        main = self.clauses.with_front(self.clauses.with_time(main, 0.4))
        return Statement(main, CONJUNCTIONS["um"], inner)

    def report(self, tense: Tense | None = None) -> Statement:
        """What someone says, knows, hopes, tries."""
        verb = self.chance.choose(OPINIONS)
        tense = tense or self.chance.weigh(TOLD)
        matrix = self.clauses.clause(tense, self.clauses.richness() * 0.4, verbs=(verb,))
        conjunction = self.chance.choose(verb.clauses)
        if conjunction == "zu":
            if tense is PAST and self.chance.happens(0.5):
                matrix = replace(matrix, tense=PERFECT)
            inner = self.clauses.clause(PRESENT, 0.5, matrix.subject, verbs=INTENDED.get(verb.lemma, WILLED))
        else:
            inner_tense = self.chance.choose(
                (PAST, PLUPERFECT) if tense is PAST else (PRESENT, PRESENT, PERFECT, FUTURE)
            )
            if verb.lemma == "hoffen":
                if tense is PAST:
                    raise NoClause
                inner_tense = FUTURE
            richness = self.clauses.richness()
            verbs = ASTONISHING if conjunction == "warum" else of_people()
            inner = self.clauses.clause(inner_tense, richness, verbs=verbs)
            if not is_definite(inner.subject):
                raise NoClause
            self.other(inner, matrix, people=True)
            if inner_tense is PAST and "lasting" in inner.verb.traits:
                inner = replace(inner, ongoing=True)
            if conjunction == "dass" and self.chance.happens(0.15):
                inner = self.clauses.negate(inner)
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
        """Two things that one subject does."""
        tense, verbs = self.chance.weigh(TOLD), of_people("daily")
        habit = tense is PRESENT
        first = self.clauses.clause(tense, 0.3, verbs=verbs, habit=habit)
        second = self.other(self.clauses.clause(tense, 0.3, first.subject, verbs, habit), first)
        time = self.chance.choose(lexicon.HABITS) if habit else None
        first = replace(first, time=time) if habit else self.clauses.with_time(first, 0.4)
        first = self.clauses.with_front(first)
        if first.front not in (Role.SUBJECT, Role.TIME):
            raise NoClause
        return Compound(Statement(first), CONJUNCTIONS["und"], Statement(second), shared_subject=True)

    def compound(self) -> Compound:
        """Two statements about different people, some with subordinate clauses."""
        tense = self.chance.weigh(TOLD)
        first, second = self.part(tense), self.part(tense)
        if not own_person(second.clause.subject):
            raise NoClause
        self.other(second.clause, first.clause, people=True)
        return Compound(first, CONJUNCTIONS["und"], second)

    def part(self, tense: Tense) -> Statement:
        """One half of a compound, perhaps with a subordinate clause of its own."""
        for _ in range(60):
            make = self.chance.choose((self.caused, self.purpose, self.at_leisure))
            try:
                part = make()
            except NoClause:
                continue
            if not isinstance(part, Statement) or part.clause.tense is not tense:
                continue
            plain = part.clause.comment is None and not part.subordinate_first
            if plain and part.conjunction != CONJUNCTIONS["obwohl"]:
                return part
        raise NoClause

    def at_leisure(self) -> Statement:
        """What someone does or did, and where."""
        clause = self.clauses.clause(self.chance.weigh(TOLD), 0.5, verbs=of_people("lasting"))
        return Statement(self.clauses.with_surroundings(clause, 0.7))


def things(clause: Clause, people: bool) -> list[NounPhrase | lexicon.Name | Pronoun]:
    """Whom and what a clause is about, besides its subject or with it."""
    parts = (clause.governed, clause.company, clause.place)
    phrases: list[Phrase | None] = [clause.object, clause.recipient, *(part.phrase for part in parts if part)]
    return [head for phrase in (*phrases, clause.subject if people else None) for head in heads(phrase)]


def own_person(subject: Phrase) -> bool:
    """Whether a subject is nobody whom a pronoun could take up from the clause before."""
    return not isinstance(subject, Pronoun) or subject.person != 3
