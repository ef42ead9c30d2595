"""What a sentence says, apart from any language: the phrases and clauses that both sides are made of."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias, TypeVar

from nmt.grammar.word_tables import Adjective, Fixed, Name, Noun, Verb

T = TypeVar("T")
Triple: TypeAlias = tuple[str, str, str]
# A word or phrase as it is spoken, and the part of the meaning that it expresses (None: nothing of its own).
Token: TypeAlias = tuple[str, object]
COMMA: Token = (",", None)


class Pronoun(Enum):
    """A personal or interrogative pronoun: German nominative, person, whether it is plural."""

    ME, YOU, WE = ("ich", 1, False), ("du", 2, False), ("wir", 1, True)
    HE, SHE, IT, THEY = ("er", 3, False), ("sie", 3, False), ("es", 3, False), ("sie", 3, True)
    WHO, WHAT, THIS, THERE = ("wer", 3, False), ("was", 3, False), ("das", 3, False), ("es gibt", 3, False)

    @property
    def german(self) -> str:
        """The German nominative."""
        return self.value[0]


@dataclass(frozen=True)
class NounPhrase:
    """A noun with its modifiers; a pronoun as determiner is its owner."""

    noun: Noun
    determiner: "str | Pronoun" = "der"
    plural: bool = False
    adjectives: tuple[Adjective, ...] = ()
    relative: "Clause | None" = None


@dataclass(frozen=True)
class Together:
    """Two people joined by `und`."""

    members: tuple["Name | Pronoun", ...]


Phrase: TypeAlias = NounPhrase | Name | Pronoun | Together


@dataclass(frozen=True)
class Comparative:
    """`größer als das Haus`."""

    adjective: Adjective
    standard: Phrase


@dataclass(frozen=True)
class Sub:
    """A clause that depends on another one; after `zu` and `um` it has no finite verb."""

    conjunction: Fixed
    clause: "Clause"
    first: bool = False


@dataclass(frozen=True)
class Clause:
    """One verb in a tense (present, past, perfect, pluperfect, future), and its parts.

    In English, an `ongoing` clause is a progressive, a `reported` one moves into the past, one `ahead` is a future.
    `front` is the part that stands first in German: subject, time, object, place, or the verb of a question; in a
    relative clause it is the head. A question may begin with a question word, which is `asked`.
    """

    subject: Phrase
    verb: Verb
    tense: str
    ongoing: bool = False
    reported: bool = False
    ahead: bool = False
    modal: str = ""
    negated: bool = False
    object: Phrase | None = None
    recipient: Phrase | None = None
    predicate: Adjective | Comparative | NounPhrase | None = None
    time: Fixed | None = None
    often: Fixed | None = None
    how: Fixed | None = None
    company: Fixed | None = None
    place: Fixed | None = None
    to: Fixed | None = None
    subs: tuple[Sub, ...] = ()
    front: str = "subject"
    asked: Fixed | None = None


@dataclass(frozen=True)
class Link:
    """A main clause after another one; if it shares the subject, it does not name it again."""

    joiner: Fixed | None
    clause: Clause
    shared: bool = False


@dataclass(frozen=True)
class Sentence:
    """Main clauses one after another, and what stands at the end."""

    first: Clause
    links: tuple[Link, ...] = ()
    mark: str = "."


def replace(whole: T, **parts: object) -> T:
    """A copy of a phrase, clause or sentence with some parts changed; six times as fast as dataclasses.replace."""
    copy = object.__new__(type(whole))
    copy.__dict__.update(whole.__dict__, **parts)
    return copy


def agreement(phrase: Phrase, english: bool = False) -> tuple[int, bool]:
    """The person (1 to 3) that a verb agrees with, and whether it is plural."""
    match phrase:
        case Pronoun():
            return phrase.value[1:]
        case Together(members):
            return min(agreement(member)[0] for member in members), True
        case NounPhrase(noun=noun, plural=plural):
            return 3, is_plural(noun, plural) if english else plural
        case Name():
            return 3, False


def is_plural(noun: Noun, plural: bool) -> bool:
    """Whether English has a plural: glasses, but homework."""
    return "mass" not in noun.kinds and (plural or "many" in noun.kinds)


def asks(phrase: Phrase | None) -> bool:
    """Whether a phrase is or begins with a question word."""
    return phrase in (Pronoun.WHO, Pronoun.WHAT) or (
        isinstance(phrase, NounPhrase) and phrase.determiner == "welch"
    )


def taken_up(phrase: Phrase) -> Pronoun | None:
    """The pronoun for someone mentioned before; None for a neuter noun, since English lacks this gender."""
    match phrase:
        case Pronoun():
            return phrase
        case Together(members):
            return Pronoun.WE if Pronoun.ME in members else Pronoun.THEY
        case Name(female=female):
            return Pronoun.SHE if female else Pronoun.HE
        case NounPhrase(noun, _, plural):
            return (
                Pronoun.THEY
                if plural
                else {"masculine": Pronoun.HE, "feminine": Pronoun.SHE}.get(noun.gender)
            )


def family_of(phrase: Phrase) -> Pronoun | None:
    """The owner of someone's family: my sister's father is my father."""
    if (
        isinstance(phrase, NounPhrase)
        and isinstance(phrase.determiner, Pronoun)
        and "family" in phrase.noun.kinds
    ):
        return phrase.determiner
    return taken_up(phrase)


def filled(text: str, subject: Phrase, possessive: Callable[[Pronoun], str]) -> str:
    """A phrase of the tables, where `~` becomes the subject's possessive, and `^` that of the subject's family."""
    for mark, whose in (("~", taken_up), ("^", family_of)):
        owner = whose(subject) if mark in text else None
        text = text.replace(mark, possessive(owner)) if owner is not None else text
    return text


def clauses(sentence: Sentence | Clause) -> Iterator[Clause]:
    """All clauses of a sentence, or a clause and all that depend on it."""
    if isinstance(sentence, Sentence):
        for main in (sentence.first, *(link.clause for link in sentence.links)):
            yield from clauses(main)
        return
    yield sentence
    for sub in sentence.subs:
        yield from clauses(sub.clause)
    for phrase in (sentence.subject, sentence.object):
        if isinstance(phrase, NounPhrase) and phrase.relative is not None:
            yield from clauses(phrase.relative)


def named(subject: Phrase) -> str:
    """The German lemma of a subject."""
    if isinstance(subject, Together):
        return " ".join(each.german for each in subject.members)
    return subject.noun.german if isinstance(subject, NounPhrase) else subject.german


def triple(clause: Clause) -> Triple | None:
    """The lemmas of subject, verb and object; None unless the object is a noun."""
    if not isinstance(clause.object, NounPhrase):
        return None
    return named(clause.subject), clause.verb.lemma, clause.object.noun.german


def triples(sentence: Sentence) -> tuple[Triple, ...]:
    """The triples of all clauses of a sentence."""
    return tuple(dict.fromkeys(found for each in clauses(sentence) if (found := triple(each)) is not None))
