"""What a clause can say besides: modal verbs, negation, adverbs, relative clauses, what comes first."""

from dataclasses import replace

from nmt.data.grammar import lexicon
from nmt.data.grammar.agreement import is_definite, is_human, says_no, shows_case
from nmt.data.grammar.composition import TRIES, Composer, NoClause
from nmt.data.grammar.lexicon import Verb, Word
from nmt.data.grammar.meaning import (
    HE,
    ME,
    WE,
    YOU,
    Clause,
    Determiner,
    Modal,
    NounPhrase,
    Phrase,
    Prepositional,
    Pronoun,
    Relative,
    Role,
    Tense,
    Together,
    head_lemma,
    heads,
)
from nmt.data.grammar.phrases import PEOPLE, owner_of
from nmt.data.grammar.selection import verbs_about, verbs_of

TIMES = {
    Tense.PRESENT: lexicon.HABITS,
    Tense.PAST: lexicon.PAST_TIMES,
    Tense.PERFECT: lexicon.RECENT_TIMES,
    Tense.FUTURE: lexicon.COMING_TIMES,
}
TENSES = ((4.0, Tense.PRESENT), (3.0, Tense.PAST), (2.0, Tense.PERFECT), (1.6, Tense.FUTURE))
MODALS = {Tense.PRESENT: tuple(Modal), Tense.PAST: (Modal.CAN, Modal.MUST, Modal.WANT, Modal.MAY)}
# The tenses of a clause inside one of a given tense.
INNER_TENSES = {
    Tense.PRESENT: (Tense.PRESENT, Tense.PERFECT),
    Tense.PAST: (Tense.PAST, Tense.PLUPERFECT),
    Tense.PERFECT: (Tense.PRESENT, Tense.PERFECT),
    Tense.PLUPERFECT: (Tense.PLUPERFECT,),
    Tense.FUTURE: (Tense.PRESENT, Tense.PERFECT),
}


class Elaborator(Composer):
    """Makes clauses, and adds to them what they can say besides."""

    def richness(self) -> float:
        """How much is added to the bare clauses of a sentence."""
        return self.chance.choose((0.1, 0.4, 0.8, 1.2))

    def tense(self) -> Tense:
        """The tense of a main clause."""
        return self.chance.weigh(TENSES)

    def adorn(self, clause: Clause, richness: float, main: bool = True) -> Clause:
        """Add a modal verb, a negation, adverbs, a place, a relative clause, and choose what comes first."""
        clause = self.with_modal(clause)
        chance = self.chance
        if chance.happens(0.1) and self.can_be_negated(clause):
            clause = self.negate(clause)
        clause = self.with_times(clause, 0.25 + 0.45 * richness)
        if not clause.negated:
            clause = self.with_surroundings(clause, richness)
        if main:
            clause = self.with_front(clause)
        return self.with_relatives(clause, richness)

    def with_modal(self, clause: Clause) -> Clause:
        """Perhaps a modal verb, where people do something of their own will."""
        wilful = isinstance(clause.subject, Pronoun | Together) or is_human(clause.subject)
        if clause.modal is not None or not clause.verb.willed or not wilful or says_no(clause.subject):
            return clause
        if clause.tense not in MODALS or not self.chance.happens(0.3):
            return clause
        return replace(clause, modal=self.chance.choose(MODALS[clause.tense]))

    def can_be_negated(self, clause: Clause) -> bool:
        """Whether `nicht` or `kein` would say what it should."""
        if clause.modal is Modal.WOULD_LIKE or not is_definite(clause.subject):
            return False
        things = [clause.object, clause.recipient, clause.governed.phrase if clause.governed else None]
        return all(thing is None or is_definite(thing) or thing is clause.object for thing in things)

    def negate(self, clause: Clause) -> Clause:
        """`kein` for an object that is new, `nicht` for all else."""
        thing = clause.object
        if thing is None or is_definite(thing):
            return replace(clause, negated=True)
        if not isinstance(thing, NounPhrase) or thing.number is not None:
            return clause
        return replace(clause, negated=True, object=replace(thing, determiner=Determiner.NO))

    def with_times(self, clause: Clause, probability: float) -> Clause:
        """Perhaps a time, or how often."""
        chance, tense = self.chance, clause.tense
        if tense is Tense.PLUPERFECT or clause.verb.state:
            return clause
        if not clause.negated and clause.modal is None and chance.happens(0.15):
            if tense in (Tense.PRESENT, Tense.PAST):
                return replace(clause, frequency=chance.choose(lexicon.FREQUENCIES))
            if tense is Tense.PERFECT and not clause.verb.manners:
                return replace(clause, frequency=chance.choose(lexicon.RECENT_ADVERBS))
        if not chance.happens(probability):
            return clause
        times: tuple[Word, ...] = TIMES[tense]
        if clause.modal is not None and tense is Tense.PRESENT:
            times = lexicon.COMING_TIMES
        return replace(clause, time=chance.choose(times))

    def with_surroundings(self, clause: Clause, richness: float) -> Clause:
        """Perhaps a manner, company and a place."""
        chance, verb = self.chance, clause.verb
        if verb.manners and chance.happens(0.1 + 0.2 * richness):
            clause = replace(clause, manner=chance.choose(verb.manners))
        elif verb.together and is_human(clause.subject) and chance.happens(0.05 + 0.15 * richness):
            company = self.phrasing.dress(
                chance.choose(PEOPLE), richness, owner_of(clause.subject), known=True
            )
            if head_lemma(company) not in {head_lemma(head) for head in heads(clause.subject)}:
                clause = replace(clause, company=Prepositional("mit", "dative", "with", company))
        located = clause.governed is not None and bool(clause.governed.english)
        if verb.places and not located and chance.happens(0.1 + 0.45 * richness):
            clause = replace(clause, place=self.phrasing.place(chance.choose(verb.places), richness))
        return clause

    def with_front(self, clause: Clause) -> Clause:
        """Perhaps something other than the subject before the verb."""
        chance = self.chance
        if clause.time is not None and chance.happens(0.45):
            return replace(clause, front=Role.TIME)
        if clause.place is not None and chance.happens(0.15):
            return replace(clause, front=Role.PLACE)
        if chance.happens(0.04):
            return replace(clause, front=Role.COMMENT, comment=chance.choose(lexicon.COMMENTS))
        if chance.happens(0.25):
            return self.with_object_in_front(clause)
        return clause

    def with_object_in_front(self, clause: Clause) -> Clause:
        """An object before the verb, where its form tells that it is no subject."""
        for role, thing in ((Role.OBJECT, clause.object), (Role.RECIPIENT, clause.recipient)):
            if isinstance(thing, NounPhrase) and thing.determiner in (Determiner.THE, Determiner.THIS):
                clear = role is Role.RECIPIENT or shows_case(thing) or shows_case(clause.subject)
                if clear and not (role is Role.RECIPIENT and clause.object is not None):
                    return replace(clause, front=role)
        return clause

    def with_relatives(self, clause: Clause, richness: float) -> Clause:
        """Perhaps a relative clause about the subject or the object, where it cannot be read amiss."""
        subject = self.with_relative(clause.subject, clause.tense, 0.3 * richness, clause.verb)
        if subject is not clause.subject:
            return replace(clause, subject=subject)
        late_time = clause.time is not None and clause.front is not Role.TIME
        crowded = late_time or clause.manner or clause.company or clause.place or clause.governed
        if clause.object is None or crowded or clause.negated:
            return clause
        thing = self.with_relative(clause.object, clause.tense, 0.7 * richness, clause.verb)
        return replace(clause, object=thing)

    def with_relative(
        self, phrase: Phrase, tense: Tense, probability: float, main_verb: Verb | None = None
    ) -> Phrase:
        """A phrase with a relative clause, if it can take one that does not repeat the verb."""
        if not isinstance(phrase, NounPhrase) or phrase.owner is not None or "sun" in phrase.noun.classes:
            return phrase
        if phrase.determiner not in (Determiner.THE, Determiner.A) or not self.chance.happens(probability):
            return phrase
        try:
            relative = self.relative(phrase, tense)
        except NoClause:
            return phrase
        repeated = main_verb is not None and relative.clause.verb.lemma == main_verb.lemma
        return phrase if repeated else replace(phrase, relative=relative)

    def relative(self, phrase: NounPhrase, tense: Tense) -> Relative:
        """A clause about a noun: as subject, as object, or as the place."""
        chance, noun = self.chance, phrase.noun
        bare = NounPhrase(noun, Determiner.THE, phrase.plural)
        inner_tense = chance.choose(INNER_TENSES[tense])
        if verbs_of(noun) and chance.happens(0.5):
            return Relative(self.clause(inner_tense, 0.1, subject=bare), Role.SUBJECT)
        kind = chance.choose(("acc", "acc", "dat", "governed", "place"))
        verbs = verbs_about(noun, kind)
        if not verbs:
            raise NoClause
        if kind == "place":
            clause = self.clause(inner_tense, 0.0, verbs=verbs)
            place = self.phrasing.place(noun, 0.0)
            return Relative(replace(clause, place=replace(place, phrase=bare)), Role.PLACE)
        clause = self.clause_about((kind, bare), verbs, inner_tense)
        role = {"acc": Role.OBJECT, "dat": Role.RECIPIENT, "governed": Role.GOVERNED}[kind]
        return Relative(clause, role)

    def clause_about(self, filled: tuple[str, NounPhrase], verbs: tuple[Verb, ...], tense: Tense) -> Clause:
        """A clause in which a noun is the object, of someone who cannot be taken for it."""
        for _ in range(TRIES):
            verb = self.chance.choose(verbs)
            if not verb.state or tense in (Tense.PRESENT, Tense.PAST):
                clause = self.core(verb, tense, 0.0, self.narrator(), filled)
                if clause is not None:
                    return clause
        raise NoClause

    def narrator(self) -> Phrase:
        """A subject that cannot be taken for an object."""
        if self.chance.happens(0.6):
            return self.chance.choose((ME, YOU, HE, WE))
        man = self.chance.choose(tuple(noun for noun in PEOPLE if noun.gender == "masculine"))
        return self.phrasing.dress(man, 0.2, known=True)
