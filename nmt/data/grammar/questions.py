"""Random questions."""

from dataclasses import replace

from nmt.data.grammar.agreement import is_definite, is_human, shows_case
from nmt.data.grammar.composition import NoClause
from nmt.data.grammar.elaboration import Elaborator
from nmt.data.grammar.meaning import (
    ME,
    WE,
    WHAT,
    WHO,
    Clause,
    Determiner,
    NounPhrase,
    Phrase,
    Question,
    Role,
    Tense,
    heads,
    own_triples,
)
from nmt.data.grammar.selection import LIVING, VERBS, of_people


class Questioner:
    """Makes questions for yes or no, for a person or thing, for a time, place or reason."""

    def __init__(self, clauses: Elaborator) -> None:
        self.clauses = clauses
        self.chance = clauses.chance

    def question(self) -> Question:
        """A question for yes or no, for a person or thing, or for a time, place or reason."""
        tense = self.chance.weigh(((4, Tense.PRESENT), (4, Tense.PERFECT), (1, Tense.FUTURE)))
        kind = self.chance.weigh(
            (
                (4, None),
                (2, Role.SUBJECT),
                (3, Role.OBJECT),
                (1, Role.TIME),
                (1, Role.REASON),
                (1, Role.PLACE),
            )
        )
        if kind is Role.SUBJECT:
            return Question(self.asking(self.clauses.clause(tense, 0.3, WHO, of_people()), kind), kind)
        lives = kind is Role.PLACE and self.chance.happens(0.3)
        clause = self.clauses.clause(tense, 0.3, verbs=LIVING if lives else VERBS)
        clause = replace(clause, subject=self.yours(clause.subject))
        unwilled = "unwilled" in clause.verb.traits
        if unwilled and (tense is not Tense.PERFECT or kind in (Role.TIME, Role.PLACE)):
            raise NoClause
        if "trifle" in clause.verb.traits and kind is not None:
            raise NoClause
        if not is_definite(clause.subject) or any(each in (ME, WE) for each in heads(clause.subject)):
            raise NoClause
        if kind is Role.OBJECT:
            return self.question_of_object(clause)
        if kind is Role.TIME and (clause.ongoing or "state" in clause.verb.traits):
            raise NoClause
        if kind in (Role.TIME, Role.PLACE) and clause.object is not None and not is_definite(clause.object):
            raise NoClause
        if kind is Role.REASON and tense is Tense.FUTURE:
            raise NoClause
        if kind is Role.PLACE:
            if not is_human(clause.subject):
                raise NoClause
            where = clause.governed
            stays = where is not None and (where.german, where.case) in (("in", "dative"), ("auf", "dative"))
            if not stays and (where is not None or not clause.verb.places):
                raise NoClause
            clause = replace(clause, governed=None)
        return Question(self.asking(clause, kind), kind)

    def yours(self, subject: Phrase) -> Phrase:
        """A subject as one asks for it: more often of your family than of mine."""
        of_mine = isinstance(subject, NounPhrase) and subject.determiner in (Determiner.MY, Determiner.OUR)
        if not of_mine or self.chance.happens(0.3):
            return subject
        assert isinstance(subject, NounPhrase)
        return replace(subject, determiner=Determiner.YOUR)

    def asking(self, clause: Clause, kind: Role | None) -> Clause:
        """A clause as questions have it: nothing put in front, nothing denied, no time where it is asked for."""
        if kind in (None, Role.SUBJECT, Role.OBJECT, Role.RECIPIENT):
            clause = self.clauses.with_modal(clause, 0.2)
        if kind is not Role.TIME:
            clause = self.clauses.with_time(clause, 0.3)
        if (
            kind in (Role.PLACE, Role.REASON) and clause.frequency is not None
        ):  # what has just happened is no news
            raise NoClause
        return clause if kind is Role.PLACE else self.clauses.with_surroundings(clause, 0.2)

    def question_of_object(self, core: Clause) -> Question:
        """`Wen`, `was`, `wem` or `welches Buch`, where the answer can be no subject."""
        if core.object is None and core.recipient is not None:
            core = replace(core, recipient=WHO)
            role = Role.RECIPIENT
        elif isinstance(core.object, NounPhrase) and core.recipient is None:
            role = Role.OBJECT
            noun = core.object
            if not noun.noun.classes.isdisjoint(("room", "music")):
                raise NoClause
            if self.chance.happens(0.4) or "language" in noun.noun.classes:
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
        return Question(self.asking(core, role), role)
