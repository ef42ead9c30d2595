"""Random clauses: a verb, and phrases that can go with it."""

from collections.abc import Callable
from dataclasses import replace

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
    head_lemma,
    heads,
)
from nmt.data.grammar.phrases import ANYONE, Phrasing, owner_of
from nmt.data.grammar.selection import CASES, OBJECT_KINDS, VERBS, kind_of, suits, verbs_of, verbs_of_people

OBJECT_PRONOUNS = {"accusative": (ME, YOU, HE, WE), "dative": (ME, YOU, HE, WE, THEY)}
TRIES = 60
CORE_TRIES = 12


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
        richness: float,
        subject: Phrase | None = None,
        verbs: tuple[Verb, ...] | None = None,
        filled: tuple[str, NounPhrase] | None = None,
    ) -> Clause:
        """A clause in a tense; `subject` or a complement (`filled`: its kind and phrase) may be given."""
        for _ in range(TRIES):
            verb = self.verb(subject, verbs)
            if verb.state and tense not in (Tense.PRESENT, Tense.PAST):
                continue
            if subject is not None and not suits(verb, subject):
                continue
            clause = self.core(verb, tense, richness, subject, filled)
            if clause is not None:
                return clause
        raise NoClause

    def verb(self, subject: Phrase | None, verbs: tuple[Verb, ...] | None) -> Verb:
        """A verb for a subject, or any of those given."""
        if verbs:
            return self.chance.choose(verbs)
        if subject is None:
            return self.chance.choose(self.chance.weigh(VERBS))
        head = next(heads(subject))
        if isinstance(head, Pronoun):
            return self.chance.choose(verbs_of_people())
        options = verbs_of(head.noun if isinstance(head, NounPhrase) else head)
        if not options:
            raise NoClause
        return self.chance.choose(options)

    def core(
        self,
        verb: Verb,
        tense: Tense,
        richness: float,
        subject: Phrase | None,
        filled: tuple[str, NounPhrase] | None,
    ) -> Clause | None:
        """A verb with a subject and complements whose triples are accepted, if there are any."""
        for _ in range(1 if subject is not None and filled is not None else CORE_TRIES):
            who = subject if subject is not None else self.subject(verb, richness)
            if who == YOU and tense is Tense.PAST:
                continue  # People say it in the perfect.
            parts: dict[str, Phrase] = {}
            for complement in verb.complements:
                kind = kind_of(complement)
                given = filled is not None and filled[0] == kind
                parts[kind] = filled[1] if filled and given else self.filler(complement, who, richness)
            if self.allowed(verb, who, parts):
                governed = self.governed(verb, parts, richness)
                return Clause(
                    who, verb, tense, object=parts.get("acc"), recipient=parts.get("dat"), governed=governed
                )
        return None

    def allowed(self, verb: Verb, subject: Phrase, parts: dict[str, Phrase]) -> bool:
        """Whether nothing is mentioned twice and all triples are accepted."""
        subjects = [head_lemma(head) for head in heads(subject)]
        mentioned = subjects + [head_lemma(head) for phrase in parts.values() for head in heads(phrase)]
        if len(set(mentioned)) < len(mentioned):
            return False
        things = [head_lemma(head) for kind in OBJECT_KINDS if kind in parts for head in heads(parts[kind])]
        return all(self.accepts((who, verb.lemma, thing)) for thing in things for who in subjects)

    def governed(self, verb: Verb, parts: dict[str, Phrase], richness: float) -> Prepositional | None:
        """The complement with a preposition, if the verb has one."""
        for complement in verb.complements:
            kind = kind_of(complement)
            phrase = parts[kind]
            if kind in ("to", "at"):
                head = phrase.noun if isinstance(phrase, NounPhrase) else phrase
                assert isinstance(head, Noun | Name)
                return self.phrasing.place(head, richness, whither=kind == "to")
            if complement.prepositions:
                german, english = self.chance.choose(complement.prepositions)
                return Prepositional(german, CASES[complement.kind], english, phrase)
        return None

    def subject(self, verb: Verb, richness: float) -> Phrase:
        """A subject that the verb can be said of."""
        chance = self.chance
        if not {"person", "adult"}.isdisjoint(verb.subject_classes):
            if chance.happens(0.22):
                return chance.choose((ME, YOU, HE, SHE, WE, THEY))
            if chance.happens(0.12):
                return self.pair(richness)
        noun = chance.choose(verb.subjects)
        known = isinstance(noun, Noun) and "person" not in noun.classes
        phrase = self.phrasing.dress(noun, richness, known=known)
        if isinstance(phrase, NounPhrase) and not known and counts_one(phrase) and chance.happens(0.06):
            return replace(phrase, determiner=chance.choose((Determiner.EVERY, Determiner.NO)))
        return phrase

    def pair(self, richness: float) -> Together:
        """Two people, or someone and I."""
        first = self.chance.choose(ANYONE)
        dressed = self.phrasing.dress(first, richness / 2, known=True)
        if self.chance.happens(0.25):
            return Together((dressed, ME))
        second = self.chance.choose([other for other in ANYONE if other is not first])
        return Together((dressed, self.phrasing.dress(second, richness / 2, known=True)))

    def filler(self, complement: lexicon.Complement, subject: Phrase, richness: float) -> Phrase:
        """A phrase for a complement."""
        chance = self.chance
        noun = chance.choose(complement.fillers)
        owner = owner_of(subject)
        kind = kind_of(complement)
        if kind in CASES and "person" in noun.classes and chance.happens(0.15):
            return self.object_pronoun(CASES[kind], subject)
        phrase = self.phrasing.dress(
            noun, richness, owner, known=kind == "located" or (kind == "dat" and chance.happens(0.7))
        )
        if kind == "acc" and chance.happens(0.06):
            other = chance.choose(complement.fillers)
            if other is not noun:
                return Together((phrase, self.phrasing.dress(other, richness / 2, owner)))
        return phrase

    def object_pronoun(self, case: str, subject: Phrase) -> Pronoun:
        """A pronoun for someone who is not among those in the subject."""
        first_person = any(isinstance(head, Pronoun) and head.person == 1 for head in heads(subject))
        taken = {head.lemma for head in heads(subject) if isinstance(head, Pronoun)}
        options = [
            pronoun
            for pronoun in OBJECT_PRONOUNS[case]
            if pronoun.lemma not in taken and not (first_person and pronoun.person == 1)
        ]
        return self.chance.choose(options)


def counts_one(phrase: NounPhrase) -> bool:
    """Whether `every` or `no` could take the place of `the`."""
    return phrase.determiner is Determiner.THE and not phrase.plural and phrase.owner is None
