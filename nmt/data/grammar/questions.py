"""Random questions."""

from dataclasses import replace

from nmt.data.grammar.agreement import is_definite, is_human, shows_case
from nmt.data.grammar.composition import NoClause
from nmt.data.grammar.elaboration import Elaborator
from nmt.data.grammar.meaning import (
    WHAT,
    WHO,
    Clause,
    Determiner,
    NounPhrase,
    Question,
    Role,
    Tense,
    own_triples,
)


class Questioner:
    """Makes questions for yes or no, for a person or thing, for a time, place or reason."""

    def __init__(self, clauses: Elaborator) -> None:
        self.clauses = clauses
        self.chance = clauses.chance

    def question(self) -> Question:
        """A question for yes or no, for a person or thing, or for a time, place or reason."""
        tense, richness = self.clauses.tense(), self.clauses.richness() / 2
        kind = self.chance.weigh(
            ((4, None), (2, Role.SUBJECT), (3, Role.OBJECT), (1, Role.TIME), (1, Role.REASON))
        )
        if kind is Role.SUBJECT:
            return Question(self.asking(self.clauses.clause(tense, richness, WHO), richness), kind)
        core = self.clauses.clause(tense, richness)
        if core.subject == WHO or not is_definite(core.subject):
            raise NoClause
        if kind is Role.OBJECT:
            return self.question_of_object(core, richness)
        clause = self.asking(core, richness)
        if kind is Role.TIME and tense is Tense.PERFECT:
            raise NoClause
        if kind is Role.TIME:
            clause = replace(clause, time=None, frequency=None)
        if kind is None and self.chance.happens(0.3) and clause.place is not None:
            return Question(replace(clause, place=None), Role.PLACE)
        if kind is Role.REASON and clause.verb.state:
            raise NoClause
        return Question(clause, kind)

    def asking(self, clause: Clause, richness: float) -> Clause:
        """A clause as questions have it: nothing put in front, nothing denied."""
        clause = self.clauses.with_times(self.clauses.with_modal(clause), 0.3)
        return self.clauses.with_surroundings(clause, richness)

    def question_of_object(self, core: Clause, richness: float) -> Question:
        """`Wen`, `was`, `wem` or `welches Buch`, where the answer can be no subject."""
        if core.object is None and core.recipient is not None:
            core = replace(core, recipient=WHO)
            role = Role.RECIPIENT
        elif isinstance(core.object, NounPhrase) and core.recipient is None:
            role = Role.OBJECT
            noun = core.object
            if self.chance.happens(0.4):
                core = replace(core, object=WHO if is_human(noun) else WHAT)
                if core.object == WHAT and not shows_case(core.subject) and not is_human(core.subject):
                    raise NoClause
            else:
                core = replace(
                    core, object=replace(noun, determiner=Determiner.WHICH, number=None, owner=None)
                )
                if not shows_case(core.object) and not shows_case(core.subject):
                    raise NoClause
        else:
            raise NoClause
        if not all(self.clauses.accepts(triple) for triple in own_triples(core)):
            raise NoClause
        return Question(self.asking(core, richness), role)
