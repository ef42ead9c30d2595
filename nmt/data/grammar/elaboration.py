"""What a clause can say besides: modal verbs, negation, adverbs, relative clauses, what comes first."""

from dataclasses import replace

from nmt.data.grammar import lexicon
from nmt.data.grammar.agreement import is_definite, is_human, shows_case
from nmt.data.grammar.composition import Composer, NoClause
from nmt.data.grammar.meaning import (
    ME,
    WE,
    YOU,
    Clause,
    Determiner,
    Modal,
    NounPhrase,
    Phrase,
    Prepositional,
    Relative,
    Role,
    Tense,
    Together,
    heads,
)
from nmt.data.grammar.phrases import PERSON_NAMES
from nmt.data.grammar.selection import familiar, kind_of, making, of_people, works

TIMES = {
    Tense.PAST: (lexicon.PAST_TIMES, lexicon.DAYS_AGO, lexicon.LONG_AGO),
    Tense.PERFECT: (lexicon.PAST_TIMES, lexicon.DAYS_AGO, lexicon.LONG_AGO),
    Tense.FUTURE: (lexicon.COMING_TIMES, lexicon.DAYS_AHEAD, lexicon.LATER),
}
MODALS = {Tense.PRESENT: tuple(Modal), Tense.PAST: (Modal.CAN, Modal.MUST, Modal.WANT, Modal.MAY)}
# What people say that they do not eat, read, need.
OFTEN_NONE = ("food", "drink", "text", "letter", "music")
ROLES = {"acc": Role.OBJECT, "dat": Role.RECIPIENT, "governed": Role.GOVERNED}


class Elaborator(Composer):
    """Makes clauses, and adds to them what they can say besides."""

    def richness(self) -> float:
        """How much is added to the bare clauses of a sentence."""
        return self.chance.choose((0.1, 0.4, 0.8, 1.2))

    def adorn(self, clause: Clause, richness: float, main: bool = True) -> Clause:
        """Add a modal verb, a negation, adverbs, a place, a relative clause, and choose what comes first."""
        clause = self.with_modal(clause, 0.2)
        if self.chance.happens(0.1):
            clause = self.negate(clause)
        clause = self.with_time(clause, 0.45 + 0.3 * richness)
        if not clause.negated:
            clause = self.with_surroundings(clause, richness)
        if main:
            clause = self.with_front(clause)
        return self.with_relatives(clause, richness)

    def with_modal(self, clause: Clause, probability: float) -> Clause:
        """Perhaps a modal verb, where people do something of their own will."""
        wilful = clause.verb.traits.isdisjoint(("state", "unwilled", "past")) and is_human(clause.subject)
        if not wilful or clause.tense not in MODALS or not self.chance.happens(probability):
            return clause
        return replace(clause, modal=self.chance.choose(MODALS[clause.tense]))

    def negate(self, clause: Clause) -> Clause:
        """`kein` for an object that is new, `nicht` for all else, where that says what it should."""
        thing = clause.object
        others = (clause.subject, clause.recipient, clause.governed.phrase if clause.governed else None)
        # "Es endete nicht" and "sie spielt nicht Karten" are seldom said.
        over = thing is None and (
            not clause.verb.traits.isdisjoint(("past", "unwilled")) or clause.verb.prefix.endswith(" ")
        )
        if (
            over
            or clause.modal in (Modal.WOULD_LIKE, Modal.MUST)
            or not all(other is None or is_definite(other) for other in others)
        ):
            return clause
        if thing is None or is_definite(thing):
            return replace(clause, negated=True)
        usual = not clause.verb.traits.isdisjoint(("daily", "counted", "state"))
        usual &= isinstance(thing, NounPhrase) and not thing.noun.classes.isdisjoint(OFTEN_NONE)
        if not usual or not isinstance(thing, NounPhrase) or thing.number or clause.governed is not None:
            return clause
        return replace(clause, negated=True, object=replace(thing, determiner=Determiner.NO, adjectives=()))

    def with_time(self, clause: Clause, probability: float) -> Clause:
        """Perhaps a time, or that it has just happened."""
        chance, state = self.chance, "state" in clause.verb.traits
        aimless = "unwilled" in clause.verb.traits and clause.verb.traits.isdisjoint(("past", "sudden"))
        willed = "unwilled" not in clause.verb.traits
        recent = clause.tense is Tense.PERFECT and not clause.negated and willed and chance.happens(0.12)
        if recent and clause.object is not None and is_definite(clause.object):
            return replace(clause, frequency=chance.choose(lexicon.RECENT_ADVERBS))
        tense = Tense.FUTURE if clause.modal is not None and clause.tense is Tense.PRESENT else clause.tense
        near, further, far = TIMES.get(tense, ((), (), ()))
        if "grand" in clause.verb.traits:
            times = (*near, *further, *far)
        else:
            going_out = "daily" in clause.verb.traits and not clause.verb.complements
            times = (*near, *further) if going_out else near
        if state or aimless or "trifle" in clause.verb.traits or not times or not chance.happens(probability):
            return clause
        return replace(clause, time=chance.choose(times))

    def as_habit(self, clause: Clause) -> Clause:
        """The clause with a time at which, or a word how often, it happens again and again."""
        if self.chance.happens(0.4):
            return replace(clause, frequency=self.chance.choose(lexicon.FREQUENCIES))
        times = [time for time in lexicon.HABITS if "Arbeit" not in time.lemma or works(clause.subject)]
        return replace(clause, time=self.chance.choose(times))

    def with_surroundings(self, clause: Clause, richness: float) -> Clause:
        """Perhaps a manner, company or a place."""
        chance, verb = self.chance, clause.verb
        several = isinstance(clause.subject, Together) or getattr(clause.subject, "plural", False)
        manners = [manner for manner in verb.manners if not (several and manner.lemma == "allein")]
        if clause.frequency is None and manners and chance.happens(0.05 + 0.2 * richness):
            clause = replace(clause, manner=chance.choose(manners))
        elif "together" in verb.traits and is_human(clause.subject) and chance.happens(0.2 * richness):
            friends = [name for name in PERSON_NAMES if name not in heads(clause.subject)]
            company = Prepositional("mit", "dative", "with", chance.choose(friends))
            clause = replace(clause, company=company)
        if verb.places and clause.company is None and chance.happens(0.1 + 0.4 * richness):
            clause = replace(clause, place=self.phrasing.place(chance.choose(verb.places), richness))
        return clause

    def with_front(self, clause: Clause) -> Clause:
        """Perhaps something other than the subject before the verb."""
        chance = self.chance
        if clause.time is not None and chance.happens(0.45):
            return replace(clause, front=Role.TIME)
        if clause.place is not None and chance.happens(0.15):
            return replace(clause, front=Role.PLACE)
        if clause.modal is None and chance.happens(0.02):
            return replace(clause, front=Role.COMMENT, comment=chance.choose(lexicon.COMMENTS))
        thing = clause.object
        if isinstance(thing, NounPhrase) and thing.determiner in (Determiner.THE, Determiner.THIS):
            clear = shows_case(thing) or shows_case(clause.subject)
            if clear and clause.recipient is None and chance.happens(0.08):
                return replace(clause, front=Role.OBJECT)
        return clause

    def with_relatives(self, clause: Clause, richness: float) -> Clause:
        """Perhaps a relative clause about the subject or the object, where it cannot be read amiss."""
        if self.can_be_told(clause.subject) and self.chance.happens(0.3 * richness):
            return replace(clause, subject=self.with_relative(clause.subject, clause))
        late_time = clause.time is not None and clause.front is not Role.TIME
        crowded = late_time or clause.manner or clause.company or clause.place or clause.governed
        if crowded or clause.negated or not familiar(clause.subject) or not self.can_be_told(clause.object):
            return clause
        if not self.chance.happens(0.7 * richness):
            return clause
        assert clause.object is not None
        return replace(clause, object=self.with_relative(clause.object, clause))

    def can_be_told(self, phrase: Phrase | None) -> bool:
        """Whether a relative clause can tell which one is meant."""
        return isinstance(phrase, NounPhrase) and phrase.determiner is Determiner.THE and phrase.owner is None

    def with_relative(self, phrase: Phrase, main: Clause) -> Phrase:
        """A phrase with a clause about someone, or about how a thing came to be there, if there is one."""
        assert isinstance(phrase, NounPhrase)
        bare = NounPhrase(phrase.noun, Determiner.THE, phrase.plural)
        past = main.tense is Tense.PAST
        states, deeds = (Tense.PAST, Tense.PLUPERFECT) if past else (Tense.PRESENT, Tense.PERFECT)
        narrator = self.chance.choose((ME, YOU, WE))
        if "person" in phrase.noun.classes:
            verb = self.chance.choose(of_people("telling"))
            tense = states if "state" in verb.traits else deeds
            kinds = [kind_of(part) for part in verb.complements if phrase.noun in part.fillers]
            if kinds and kinds[0] in ROLES and self.chance.happens(0.5):
                subject: Phrase = narrator
                filled, role = (kinds[0], bare), ROLES[kinds[0]]
            elif phrase.noun in verb.subjects:
                subject, filled, role = bare, None, Role.SUBJECT
            else:
                return phrase
        else:
            verbs = tuple(verb for verb in making(phrase.noun) if "making" not in main.verb.traits)
            if not verbs:
                return phrase
            verb, tense, subject = self.chance.choose(verbs), deeds, narrator
            filled, role = ("acc", bare), Role.OBJECT
        if verb.lemma == main.verb.lemma:
            return phrase
        try:
            clause = self.clause(tense, 0.0, subject, (verb,), filled=filled)
        except NoClause:
            return phrase
        if role is Role.SUBJECT and clause.object is not None and not shows_case(clause.object):
            return phrase
        return replace(phrase, relative=Relative(clause, role))
