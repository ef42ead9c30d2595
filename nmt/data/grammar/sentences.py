"""Random sentences: clauses put together to statements, short and long."""

from collections.abc import Callable
from dataclasses import replace

from nmt.data.grammar import lexicon
from nmt.data.grammar.agreement import has_relative
from nmt.data.grammar.chance import Chance
from nmt.data.grammar.composition import NoClause
from nmt.data.grammar.descriptions import Describer
from nmt.data.grammar.elaboration import INNER_TENSES, Elaborator
from nmt.data.grammar.lexicon import BE, CONJUNCTIONS, OPINIONS, RAIN, SNOW, WHEREABOUTS
from nmt.data.grammar.meaning import (
    IT,
    Clause,
    Compound,
    Content,
    Determiner,
    Modal,
    NounPhrase,
    Phrase,
    Role,
    Sentence,
    Statement,
    Tense,
    Triple,
    own_triples,
)
from nmt.data.grammar.phrases import PEOPLE_ADJECTIVES, pronoun_for
from nmt.data.grammar.questions import Questioner
from nmt.data.grammar.selection import OBJECT_KINDS, kind_of, verbs_of_people

STATES = tuple(adjective for adjective in PEOPLE_ADJECTIVES if "state" in adjective.classes)
GOING = tuple(
    verb for verb in WHEREABOUTS if verb.lemma in ("gehen", "fahren", "laufen", "reisen", "fliegen")
)
ACTING = tuple(
    verb
    for verb in verbs_of_people()
    if verb.willed and any(kind_of(part) in OBJECT_KINDS for part in verb.complements)
)
# What people set out or try to do.
DOING = tuple(verb for verb in verbs_of_people() if verb.willed)
# Which tenses go together: conjunction, tense of the main clause, tense of the subordinate one.
JOINED = (
    (5.0, ("weil", Tense.PRESENT, Tense.PRESENT)),
    (3.0, ("weil", Tense.PAST, Tense.PAST)),
    (2.0, ("obwohl", Tense.PRESENT, Tense.PRESENT)),
    (2.0, ("obwohl", Tense.PAST, Tense.PAST)),
    (3.0, ("wenn", Tense.PRESENT, Tense.PRESENT)),
    (2.0, ("wenn", Tense.FUTURE, Tense.PRESENT)),
    (3.0, ("als", Tense.PAST, Tense.PAST)),
    (2.0, ("während", Tense.PRESENT, Tense.PRESENT)),
    (2.0, ("während", Tense.PAST, Tense.PAST)),
    (1.5, ("bevor", Tense.PRESENT, Tense.PRESENT)),
    (1.5, ("bevor", Tense.PAST, Tense.PAST)),
    (2.0, ("nachdem", Tense.PAST, Tense.PLUPERFECT)),
    (1.0, ("sobald", Tense.FUTURE, Tense.PRESENT)),
    (1.0, ("um", Tense.PRESENT, Tense.PRESENT)),
    (1.0, ("um", Tense.PAST, Tense.PRESENT)),
    (0.6, ("um", Tense.PERFECT, Tense.PRESENT)),
    (0.6, ("um", Tense.FUTURE, Tense.PRESENT)),
)
REASONS = ("weil", "obwohl")


class Author:
    """Makes sentences by chance, of which every triple is one that `accepts` allows."""

    def __init__(self, chance: Chance, accepts: Callable[[Triple], bool]) -> None:
        self.chance = chance
        self.clauses = Elaborator(chance, accepts)
        self.kinds: tuple[tuple[float, Callable[[], Sentence]], ...] = (
            (27, self.simple),
            (6, Describer(self.clauses).description),
            (3, Describer(self.clauses).existence),
            (11, Questioner(self.clauses).question),
            (18, self.joined),
            (11, self.report),
            (6, self.shared),
            (13, self.compound),
            (12, self.long),
        )

    def sentence(self) -> Sentence:
        """A sentence of any kind."""
        while True:
            make = self.chance.weigh(self.kinds)
            try:
                return make()
            except NoClause:
                continue

    def full(self, tense: Tense, richness: float, subject: Phrase | None = None, main: bool = True) -> Clause:
        """A clause with all its trimmings."""
        return self.clauses.adorn(self.clauses.clause(tense, richness, subject), richness, main)

    def simple(self) -> Statement:
        """One main clause."""
        return Statement(self.full(self.clauses.tense(), self.clauses.richness()))

    def joined(self, tense: Tense | None = None) -> Statement:
        """A main clause, in any tense or the one given, with a subordinate clause."""
        options = JOINED if tense is None else [option for option in JOINED if option[1][1] is tense]
        conjunction, main_tense, inner_tense = self.chance.weigh(options)
        richness = self.clauses.richness()
        if conjunction == "um":
            return self.purpose(main_tense, richness)
        main = self.clauses.clause(main_tense, richness, verbs=verbs_of_people())
        first = self.chance.happens(0.35)
        main = self.clauses.adorn(main, richness, main=not first)
        subject = pronoun_for(main.subject)
        if conjunction in REASONS:
            inner = self.reason(inner_tense, subject)
        elif self.chance.happens(0.08) and conjunction in ("wenn", "als"):
            inner = Clause(IT, self.chance.choose((RAIN, SNOW)), inner_tense)
        else:
            inner_subject = subject if self.chance.happens(0.4) else None
            inner = self.scene(inner_tense, richness, inner_subject)
        if first and subject is not None and inner.subject == subject and not has_relative(main.subject):
            swapped = replace(main, subject=subject), replace(inner, subject=main.subject)
            if all(self.clauses.accepts(triple) for clause in swapped for triple in own_triples(clause)):
                main, inner = swapped
        return Statement(main, CONJUNCTIONS[conjunction], inner, first)

    def scene(self, tense: Tense, richness: float, subject: Phrase | None) -> Clause:
        """A clause that only tells what happens, with no time of its own."""
        clause = self.clauses.with_surroundings(self.clauses.clause(tense, richness, subject), richness)
        return self.clauses.with_relatives(clause, richness)

    def reason(self, tense: Tense, subject: Phrase | None) -> Clause:
        """Why, or in spite of what: a state, a wish, the weather."""
        kind = self.chance.weigh(((4, "state"), (3, "wish"), (1, "weather"), (2, "other")))
        if kind == "weather":
            return Clause(IT, self.chance.choose((RAIN, SNOW)), tense)
        if kind == "other" or subject is None:
            return self.full(tense, 0.2, main=False)
        if kind == "state":
            state = self.chance.choose(STATES)
            return Clause(subject, BE, tense, predicate=state, negated=self.chance.happens(0.1))
        clause = self.clauses.clause(tense, 0.2, subject)
        modals = (Modal.MUST, Modal.WANT, Modal.CAN)
        return clause if not clause.verb.willed else replace(clause, modal=self.chance.choose(modals))

    def purpose(self, tense: Tense, richness: float) -> Statement:
        """`..., um ein Buch zu lesen.`"""
        main = self.clauses.clause(tense, richness, verbs=GOING)
        main = self.clauses.with_front(self.clauses.with_times(main, 0.4))
        inner = self.clauses.clause(Tense.PRESENT, richness, main.subject, verbs=ACTING)
        return Statement(main, CONJUNCTIONS["um"], self.bare(inner))

    def bare(self, clause: Clause) -> Clause:
        """A clause that can be an infinitive: it repeats its subject and adds at most a place."""
        return self.clauses.with_surroundings(clause, 0.3)

    def report(self, tense: Tense | None = None) -> Statement:
        """What someone says, knows, hopes, tries."""
        verb = self.chance.choose(OPINIONS)
        tense = tense or self.chance.weigh(((3, Tense.PRESENT), (2, Tense.PAST), (1, Tense.PERFECT)))
        matrix = self.clauses.clause(tense, self.clauses.richness() * 0.7, verbs=(verb,))
        conjunction = self.chance.choose(verb.clauses)
        if conjunction == "zu":
            inner = self.bare(self.clauses.clause(Tense.PRESENT, 0.5, matrix.subject, verbs=DOING))
        else:
            inner_tense = self.chance.choose(
                INNER_TENSES[tense]
                if tense is Tense.PAST
                else (Tense.PRESENT, Tense.PERFECT, Tense.FUTURE, Tense.PAST)
            )
            same = pronoun_for(matrix.subject) if self.chance.happens(0.3) else None
            inner = self.full(inner_tense, self.clauses.richness() * 0.6, same, main=False)
        if inner.verb.lemma == verb.lemma:
            raise NoClause
        matrix = replace(matrix, content=Content(CONJUNCTIONS[conjunction], inner))
        if tense is Tense.PAST and self.chance.happens(0.3):
            matrix = replace(matrix, time=self.chance.choose(lexicon.PAST_TIMES), front=Role.TIME)
        return Statement(matrix)

    def shared(self) -> Compound:
        """Two things that one subject does."""
        tense = self.clauses.tense()
        richness = self.clauses.richness() * 0.6
        first = self.clauses.adorn(self.clauses.clause(tense, richness), richness, main=False)
        if has_relative(first.object) or has_relative(first.subject) or says_nobody(first.subject):
            raise NoClause
        second = self.scene(tense, richness, first.subject)
        if second.verb.lemma == first.verb.lemma:
            raise NoClause
        second = replace(second, subject=first.subject)  # Unsaid, so nothing may be said about it.
        return Compound(Statement(first), CONJUNCTIONS["und"], Statement(second), shared_subject=True)

    def compound(self) -> Compound:
        """Two statements, some with subordinate clauses."""
        tense = self.clauses.tense()
        conjunction = self.chance.choose(("und", "und", "aber", "denn", "deshalb"))
        if conjunction == "deshalb":
            first = self.part(tense, 0.0)
            main = self.full(tense, self.clauses.richness(), pronoun_for(first.clause.subject), main=False)
            return Compound(first, CONJUNCTIONS[conjunction], Statement(main))
        return Compound(self.part(tense, 0.3), CONJUNCTIONS[conjunction], self.part(tense, 0.3))

    def long(self) -> Compound:
        """Two statements, each with a subordinate clause."""
        tense = self.chance.weigh(((3, Tense.PRESENT), (3, Tense.PAST), (1, Tense.FUTURE)))
        conjunction = self.chance.choose(("und", "aber"))
        return Compound(self.part(tense, 1.0), CONJUNCTIONS[conjunction], self.part(tense, 1.0))

    def part(self, tense: Tense, probability: float) -> Statement:
        """One half of a compound, perhaps with a subordinate clause of its own."""
        if not self.chance.happens(probability):
            return Statement(self.full(tense, self.clauses.richness()))
        if tense is not Tense.FUTURE and self.chance.happens(0.3):
            return self.report(tense)
        return self.joined(tense)


def says_nobody(phrase: Phrase) -> bool:
    """Whether a phrase denies or counts out what it stands for, so that it cannot be taken up again."""
    return isinstance(phrase, NounPhrase) and phrase.determiner in (Determiner.NO, Determiner.EVERY)
