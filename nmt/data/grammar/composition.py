"""Random clauses: a verb, and phrases that can go with it."""

from collections.abc import Callable

from nmt.data.grammar import lexicon
from nmt.data.grammar.chance import Chance
from nmt.data.grammar.lexicon import Name, Noun, Verb
from nmt.data.grammar.meaning import (
    HE,
    ME,
    SHE,
    THEY,
    WE,
    YOU,
    Clause,
    Determiner,
    NounPhrase,
    Phrase,
    Prepositional,
    Pronoun,
    Tense,
    Together,
    Triple,
    english_head,
    heads,
    own_triples,
)
from nmt.data.grammar.phrases import PERSON_NAMES, Phrasing, owner_of
from nmt.data.grammar.selection import CASES, PEOPLE, VERBS, kind_of, suits

OBJECT_PRONOUNS = {"acc": (ME, YOU, HE, WE), "dat": (ME, YOU, HE, WE, THEY)}
TRIES = 60


class NoClause(Exception):
    """No clause could be made of what was asked for; the sentence is begun anew."""


class Composer:
    """Makes clauses by chance, of which every triple is one that `accepts` allows."""

    def __init__(self, chance: Chance, accepts: Callable[[Triple], bool]) -> None:
        self.chance = chance
        self.accepts = accepts
        self.phrasing = Phrasing(chance)

    def clause(
        self,
        tense: Tense,
        richness: float = 0.3,
        subject: Phrase | None = None,
        verbs: tuple[Verb, ...] = VERBS,
        habit: bool = False,
        filled: tuple[str, NounPhrase] | None = None,
    ) -> Clause:
        """A clause in a tense; `subject` or a complement (`filled`: its kind and phrase) may be given."""
        for _ in range(TRIES):
            verb = self.chance.choose(verbs)
            if not verb.suits(tense.value) or (habit and "daily" not in verb.traits):
                continue
            who = subject if subject is not None else self.subject(verb, richness)
            if not suits(verb, who) or (who == YOU and tense is Tense.PAST):
                continue  # People say "you" in the perfect.
            clause = self.core(verb, tense, richness, who, habit, filled)
            if clause is not None:
                return clause
        raise NoClause

    def core(
        self,
        verb: Verb,
        tense: Tense,
        richness: float,
        subject: Phrase,
        habit: bool,
        filled: tuple[str, NounPhrase] | None,
    ) -> Clause | None:
        """A verb with a subject and complements, if nothing is mentioned twice and all triples are accepted."""
        parts: dict[str, Phrase] = {}
        governed: Prepositional | None = None
        for complement in verb.complements:
            kind = kind_of(complement)
            if filled is not None and filled[0] == kind:
                thing: Phrase = filled[1]
            else:
                thing = self.filler(verb, complement, subject, richness, habit)
            parts[kind] = thing
            if kind in ("to", "at"):
                head = thing.noun if isinstance(thing, NounPhrase) else thing
                assert isinstance(head, Noun | Name)
                governed = self.phrasing.place(head, richness, whither=kind == "to")
            elif complement.prepositions:
                german, english = self.chance.choose(complement.prepositions)
                governed = Prepositional(german, CASES[complement.kind], english, thing)
        ongoing = tense is Tense.PRESENT and not habit and verb.traits.isdisjoint(("state", "simple"))
        clause = Clause(
            subject,
            verb,
            tense,
            ongoing,
            object=parts.get("acc"),
            recipient=parts.get("dat"),
            governed=governed,
        )
        phrases = [head for phrase in (subject, *parts.values()) for head in heads(phrase)]
        owners = [head.owner for head in phrases if isinstance(head, NounPhrase) and head.owner is not None]
        mentioned = [english_head(head) for head in (*phrases, *owners)]
        alone = len(set(mentioned)) == len(mentioned)
        return clause if alone and all(self.accepts(triple) for triple in own_triples(clause)) else None

    def subject(self, verb: Verb, richness: float) -> Phrase:
        """A subject that the verb can be said of."""
        chance = self.chance
        if not PEOPLE.isdisjoint(verb.subject_classes):
            if chance.happens(0.25):
                return chance.choose((ME, YOU, HE, SHE, WE, THEY))
            if chance.happens(0.15):
                return chance.choose(PERSON_NAMES)
            if chance.happens(0.06):
                first, second = chance.choose(PERSON_NAMES), chance.choose(PERSON_NAMES)
                return Together((first, ME if first is second else second))
        noun = chance.choose(verb.subjects)
        known = "person" not in noun.classes or chance.happens(0.85)
        return self.phrasing.dress(noun, richness, known=known)

    def filler(
        self, verb: Verb, complement: lexicon.Complement, subject: Phrase, richness: float, habit: bool
    ) -> Phrase:
        """A phrase for a complement of a verb."""
        fillers = complement.fillers
        if isinstance(subject, NounPhrase) and "young" in subject.noun.classes:
            fillers = tuple(noun for noun in fillers if "grown" not in noun.classes)
        noun = self.chance.choose(fillers)
        kind, person = kind_of(complement), "person" in noun.classes
        if kind in OBJECT_PRONOUNS and person and self.chance.happens(0.2):
            return self.object_pronoun(kind, subject)
        relatives = isinstance(subject, NounPhrase) and not subject.noun.classes.isdisjoint(("kin", "friend"))
        owner = None if "making" in verb.traits or (person and relatives) else owner_of(subject)
        if owner is None and not person:
            owner = Determiner.THE
        several = None
        if "clothing" in noun.classes:  # One wears one at a time.
            several = isinstance(subject, Together) or getattr(subject, "plural", False)
        elif kind == "located" or "room" in noun.classes:
            several = False
        if verb.traits.issuperset(("making", "lasting")):
            richness = 0.0  # What is being made is like nothing yet.
        if kind == "located":
            richness = 0.0  # What something lies on tells where, not what it is like.
        known = (
            kind == "located"
            or habit
            or "definite" in verb.traits
            or "room" in noun.classes
            or (person and kind == "dat")
        )
        known = known or ("daily" not in verb.traits and isinstance(noun, Noun) and noun.plural is None)
        any_amount = habit or verb.traits.issuperset(("making", "daily"))
        counted = "counted" in verb.traits
        phrase = self.phrasing.dress(noun, richness, owner, known, several, any_amount, counted)
        return (
            self.phrasing.unknown(phrase) if "making" in verb.traits and self.chance.happens(0.7) else phrase
        )

    def object_pronoun(self, kind: str, subject: Phrase) -> Pronoun:
        """A pronoun for someone who is not among those in the subject."""
        pronouns = [head for head in heads(subject) if isinstance(head, Pronoun)]
        taken = {pronoun.lemma for pronoun in pronouns}
        first_person = any(pronoun.person == 1 for pronoun in pronouns)
        return self.chance.choose(
            [
                pronoun
                for pronoun in OBJECT_PRONOUNS[kind]
                if pronoun.lemma not in taken and not (first_person and pronoun.person == 1)
            ]
        )
