"""What a sentence says, apart from any language: the phrases and clauses that both sides are made of."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from nmt.data.grammar.lexicon import Adjective, Name, Noun, Verb, Word

Triple: TypeAlias = tuple[str, str, str]


class Determiner(Enum):
    """What stands before a noun; possessives are named by their owner."""

    NONE = "none"
    THE = "the"
    A = "a"
    NO = "no"
    THIS = "this"
    WHICH = "which"
    MANY = "many"
    MY = "my"
    YOUR = "your"
    HIS = "his"
    HER = "her"
    OUR = "our"


INDEFINITE = frozenset((Determiner.NONE, Determiner.A, Determiner.NO, Determiner.MANY))


class Role(Enum):
    """The part that a phrase plays in its clause."""

    SUBJECT = "subject"
    OBJECT = "object"
    RECIPIENT = "recipient"
    GOVERNED = "governed"
    TIME = "time"
    PLACE = "place"
    COMMENT = "comment"
    REASON = "reason"
    DIRECTION = "direction"


class Tense(Enum):
    """A German tense; English has a progressive of what is ongoing, and the past for most perfects."""

    PRESENT = "present"
    PAST = "past"
    PERFECT = "perfect"
    PLUPERFECT = "pluperfect"
    FUTURE = "future"


class Modal(Enum):
    """A modal verb, by its German infinitive."""

    CAN = "können"
    MUST = "müssen"
    WANT = "wollen"
    MAY = "dürfen"
    SHOULD = "sollen"
    WOULD_LIKE = "möchten"


@dataclass(frozen=True, slots=True)
class Pronoun:
    """A personal or interrogative pronoun; a plural has no gender."""

    person: int
    plural: bool
    gender: str = ""

    @property
    def lemma(self) -> str:
        """The German nominative."""
        if self.plural:
            return "wir" if self.person == 1 else "sie"
        return ("ich", "du", THIRD_PERSON.get(self.gender, ""))[self.person - 1]


THIRD_PERSON = {"masculine": "er", "feminine": "sie", "neuter": "es", "who": "wer", "what": "was"}
ME, YOU, WE, THEY = Pronoun(1, False), Pronoun(2, False), Pronoun(1, True), Pronoun(3, True)
HE, SHE, IT = (Pronoun(3, False, gender) for gender in ("masculine", "feminine", "neuter"))
WHO, WHAT = Pronoun(3, False, "who"), Pronoun(3, False, "what")


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """A noun with all that belongs to it; an `owner` is a genitive."""

    noun: Noun
    determiner: Determiner
    plural: bool = False
    number: Word | None = None
    adjectives: tuple[Adjective, ...] = ()
    owner: "NounPhrase | Name | None" = None
    relative: "Relative | None" = None


@dataclass(frozen=True, slots=True)
class Together:
    """Phrases joined by `und`."""

    members: tuple["NounPhrase | Name | Pronoun", ...]


Phrase: TypeAlias = NounPhrase | Name | Pronoun | Together


@dataclass(frozen=True, slots=True)
class Prepositional:
    """A preposition, its case, and its phrase; English has a preposition of its own, or none."""

    german: str
    case: str
    english: str
    phrase: Phrase


@dataclass(frozen=True, slots=True)
class Comparison:
    """`größer als das Haus`."""

    adjective: Adjective
    standard: Phrase


Predicate: TypeAlias = Adjective | Comparison | NounPhrase


@dataclass(frozen=True, slots=True)
class Clause:
    """One verb and its parts.

    `front` stands before a German finite verb, `content` follows at the end. What is `ongoing` at the time
    told of is a progressive in English.
    """

    subject: Phrase
    verb: Verb
    tense: Tense
    ongoing: bool = False
    modal: Modal | None = None
    negated: bool = False
    object: Phrase | None = None
    recipient: Phrase | None = None
    governed: Prepositional | None = None
    predicate: Predicate | None = None
    comment: Word | None = None
    time: Word | None = None
    frequency: Word | None = None
    manner: Word | None = None
    company: Prepositional | None = None
    place: Prepositional | None = None
    content: "Content | None" = None
    front: Role = Role.SUBJECT


@dataclass(frozen=True, slots=True)
class Content:
    """A clause that hangs on a verb: `dass`, `ob`, `warum`, or an infinitive with `zu`, `um` ... `zu`."""

    conjunction: Word
    clause: Clause

    @property
    def infinitive(self) -> bool:
        """Whether the clause has no subject and no finite verb."""
        return self.conjunction.lemma in ("zu", "um")


@dataclass(frozen=True, slots=True)
class Relative:
    """A clause about a noun, which fills `role` in it; the phrase in that place is the bare noun."""

    clause: Clause
    role: Role


@dataclass(frozen=True, slots=True)
class Statement:
    """A main clause, perhaps with a subordinate clause before or after it."""

    clause: Clause
    conjunction: Word | None = None
    subordinate: Clause | None = None
    subordinate_first: bool = False


@dataclass(frozen=True, slots=True)
class Compound:
    """Two statements joined by a conjunction; a shared subject is said once."""

    first: Statement
    conjunction: Word
    second: Statement
    shared_subject: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """A question: for yes or no, or for the part of the clause that plays a role."""

    clause: Clause
    asked: Role | None = None


@dataclass(frozen=True, slots=True)
class Existence:
    """`Es gibt` ...: that something is in a place."""

    object: Phrase
    tense: Tense
    place: Prepositional | None
    place_first: bool = False


Sentence: TypeAlias = Statement | Compound | Question | Existence


def heads(phrase: Phrase | None) -> Iterator[NounPhrase | Name | Pronoun]:
    """The single phrases in a phrase."""
    if isinstance(phrase, Together):
        yield from phrase.members
    elif phrase is not None:
        yield phrase


def head_lemma(phrase: NounPhrase | Name | Pronoun) -> str:
    """The German lemma that a phrase is about."""
    return phrase.noun.lemma if isinstance(phrase, NounPhrase) else phrase.lemma


def english_head(phrase: NounPhrase | Name | Pronoun) -> str:
    """What English calls the head of a phrase: `Schüler` and `Schülerin` are both a pupil."""
    if isinstance(phrase, Pronoun):
        return phrase.lemma
    return (phrase.noun if isinstance(phrase, NounPhrase) else phrase).english


def clauses_of_phrase(phrase: Phrase | None) -> Iterator[Clause]:
    """The relative clauses inside a phrase, and all clauses in them."""
    for head in heads(phrase):
        if isinstance(head, NounPhrase) and head.relative is not None:
            yield from clauses_of_clause(head.relative.clause)


def clauses_of_clause(clause: Clause) -> Iterator[Clause]:
    """A clause and all clauses inside it."""
    yield clause
    for phrase in (clause.subject, clause.object, clause.recipient):
        yield from clauses_of_phrase(phrase)
    for part in (clause.governed, clause.company, clause.place):
        if part is not None:
            yield from clauses_of_phrase(part.phrase)
    if clause.content is not None:
        yield from clauses_of_clause(clause.content.clause)


def clauses(sentence: Sentence) -> Iterator[Clause]:
    """All clauses of a sentence."""
    match sentence:
        case Compound(first, _, second):
            yield from clauses(first)
            yield from clauses(second)
        case Statement(clause, _, subordinate):
            yield from clauses_of_clause(clause)
            if subordinate is not None:
                yield from clauses_of_clause(subordinate)
        case Question(clause):
            yield from clauses_of_clause(clause)
        case Existence(phrase):
            yield from clauses_of_phrase(phrase)


def own_triples(clause: Clause) -> list[Triple]:
    """The triples of a clause itself, without the clauses in it."""
    things = [clause.object, clause.recipient]
    if clause.governed is not None and not clause.governed.english:
        things.append(clause.governed.phrase)
    return [
        (head_lemma(subject), clause.verb.lemma, head_lemma(thing))
        for subject in heads(clause.subject)
        for phrase in things
        for thing in heads(phrase)
    ]


def triples(sentence: Sentence) -> tuple[Triple, ...]:
    """The (subject, verb, object) lemmas of a sentence, sorted, each once."""
    return tuple(sorted({triple for clause in clauses(sentence) for triple in own_triples(clause)}))
