"""Random statements of two clauses that hold together: reasons, what comes first, what goes on meanwhile."""

from dataclasses import replace

from nmt.data.grammar import lexicon
from nmt.data.grammar.agreement import has_relative, person_and_number
from nmt.data.grammar.composition import NoClause
from nmt.data.grammar.elaboration import Elaborator
from nmt.data.grammar.lexicon import BE, CONJUNCTIONS, RAIN, SHINE, SNOW
from nmt.data.grammar.meaning import (
    IT,
    YOU,
    Clause,
    Compound,
    Determiner,
    NounPhrase,
    Phrase,
    Pronoun,
    Statement,
    Tense,
    english_head,
    heads,
    own_triples,
)  # fmt: skip
from nmt.data.grammar.phrases import pronoun_for
from nmt.data.grammar.selection import (
    ARRIVING,
    CAUSED,
    DONE_THERE,
    GOING,
    GOING_ON,
    familiar,
    of_people,
)

PRESENT, PAST, PERFECT, PLUPERFECT, FUTURE = Tense
TOLD = ((1, PRESENT), (1, PAST))
SUN = next(noun for noun in lexicon.NOUNS if "sun" in noun.classes)
# One after another: conjunction, tense of the main clause, tense of the subordinate one.
SEQUENCES = (
    ("bevor", PAST, PAST),
    ("bevor", PRESENT, PRESENT),
    ("nachdem", PAST, PLUPERFECT),
    ("nachdem", PAST, PLUPERFECT),
    ("wenn", FUTURE, PRESENT),
    ("sobald", FUTURE, PRESENT),
)


class Subordinator:
    """Joins clauses by conjunctions, where the second says something about the first."""

    def __init__(self, clauses: Elaborator) -> None:
        self.clauses, self.chance = clauses, clauses.chance

    def because(self) -> Statement | Compound:
        """What someone does because of a state, in one sentence or in two that are joined."""
        if self.chance.happens(0.6):
            return self.caused()
        reason = self.caused()
        if (
            reason.subordinate is None
            or reason.subordinate_first
            or reason.conjunction != CONJUNCTIONS["weil"]
        ):
            raise NoClause
        first, second = reason.clause, reason.subordinate
        if self.chance.happens(0.4):
            return Compound(Statement(first), CONJUNCTIONS["denn"], Statement(second))
        second, first = self.swapped(second, first)
        return Compound(Statement(second), CONJUNCTIONS["deshalb"], Statement(first))

    def caused(self, subject: Phrase | None = None, tense: Tense | None = None) -> Statement:
        """What someone does because of, or in spite of, a state."""
        tense = tense or self.chance.weigh(TOLD)
        clause = self.clauses.clause(tense, 0.4, subject, CAUSED)
        taken_up = pronoun_for(clause.subject)
        if taken_up is None or taken_up == YOU:  # who is spoken to knows why
            raise NoClause
        clause = replace(self.clauses.with_surroundings(clause, 0.3), manner=None, company=None)
        reason = Clause(taken_up, BE, tense, predicate=self.chance.choose(clause.verb.reasons))
        kind = self.chance.choose(("weil", "weil", "weil", "obwohl"))
        if kind == "obwohl":
            if "unwilled" in clause.verb.traits:
                raise NoClause
            reason = replace(reason, negated=True)
        return self.joined(clause, kind, reason)

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

    def sequence(self, subject: Phrase | None = None, tense: Tense | None = None) -> Statement:
        """What someone does before or after something else."""
        conjunction, tense, inner_tense = self.chance.choose(
            [each for each in SEQUENCES if tense in (None, each[1])]
        )
        richness = self.clauses.richness()
        habit = tense is PRESENT
        verbs = of_people("daily")
        main = self.clauses.clause(tense, richness, subject, verbs, habit=habit)
        main = self.clauses.with_surroundings(main, 0.5 * richness)
        taken_up = pronoun_for(main.subject)
        if taken_up is None or (taken_up == YOU and tense is PAST) or not familiar(main.subject):
            raise NoClause
        if tense is FUTURE:
            verbs = ARRIVING
        inner = self.clauses.clause(inner_tense, richness, taken_up, verbs, habit=habit)
        inner = replace(self.clauses.with_surroundings(inner, 0.4 * richness), manner=None)
        self.other(replace(inner, subject=main.subject), main)
        if {english_head(head) for head in heads(main.subject)} & {
            english_head(head) for head in things(inner, False)
        }:
            raise NoClause
        inner = replace(inner, ongoing=False)
        return self.joined(main, conjunction, inner)

    def other(self, clause: Clause, first: Clause, people: bool = False) -> Clause:
        """The clause, if it tells something else than the first one, of other things (and `people`)."""
        mine, yours = ({english_head(head) for head in things(each, people)} for each in (clause, first))
        meals = [each.object for each in (clause, first) if isinstance(each.object, NounPhrase)]
        eaten = len(meals) == 2 and all("food" in each.noun.classes for each in meals)
        if eaten or clause.verb.lemma == first.verb.lemma or mine & yours:
            raise NoClause
        return clause

    def meanwhile(self) -> Statement | Compound:
        """What two people do at the same time."""
        tense = self.chance.weigh(TOLD)
        first, second = (
            self.clauses.clause(tense, self.clauses.richness(), verbs=GOING_ON) for _ in range(2)
        )
        if not (own_person(first.subject) and own_person(second.subject)):
            raise NoClause
        self.other(second, first, people=True)
        if person_and_number(first.subject)[0] == person_and_number(second.subject)[0] == 1:
            raise NoClause
        first, second = replace(first, ongoing=True), replace(second, ongoing=True)
        return self.joined(first, "während", second)

    def interrupted(self) -> Statement:
        """What was going on when something happened."""
        main = replace(self.clauses.clause(PAST, 0.5, verbs=GOING_ON), ongoing=True)
        inner = self.clauses.clause(PAST, 0.5, verbs=of_people("sudden"))
        if not (own_person(inner.subject) and own_person(main.subject)):
            raise NoClause
        return self.joined(
            self.clauses.with_surroundings(main, 0.3), "als", self.other(inner, main, people=True)
        )

    def purpose(self, subject: Phrase | None = None, tense: Tense | None = None) -> Statement:
        """`..., um ein Buch zu lesen.`"""
        tense = tense or self.chance.choose((PRESENT, PAST, PERFECT, FUTURE))
        richness = self.clauses.richness()
        main = self.clauses.clause(tense, richness, subject, GOING)
        goal = main.governed.phrase if main.governed else None
        where = goal.noun if isinstance(goal, NounPhrase) else goal
        verbs = tuple(verb for verb in DONE_THERE if where in verb.places)
        if not verbs:
            raise NoClause
        inner = self.clauses.clause(PRESENT, 0.3, main.subject, verbs)
        if isinstance(inner.object, NounPhrase):
            inner = replace(inner, object=self.clauses.phrasing.unknown(inner.object))
        main = self.clauses.with_front(self.clauses.with_time(main, 0.4))
        return Statement(main, CONJUNCTIONS["um"], inner)


def things(clause: Clause, people: bool) -> list[NounPhrase | lexicon.Name | Pronoun]:
    """Whom and what a clause is about, besides its subject or with it."""
    parts = (clause.governed, clause.company, clause.place)
    phrases: list[Phrase | None] = [clause.object, clause.recipient, *(part.phrase for part in parts if part)]
    return [head for phrase in (*phrases, clause.subject if people else None) for head in heads(phrase)]


def own_person(subject: Phrase) -> bool:
    """Whether a subject is someone known, and nobody whom a pronoun could take up from the clause before."""
    return familiar(subject) and not (isinstance(subject, Pronoun) and subject.person == 3)
