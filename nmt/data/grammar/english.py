"""English syntax: from a meaning to an English sentence."""

from nmt.data.grammar import english_words as words
from nmt.data.grammar.agreement import is_person, person_and_number, says_no
from nmt.data.grammar.lexicon import RECENT_ADVERBS, Adjective, Name
from nmt.data.grammar.meaning import (
    Clause,
    Comparison,
    Compound,
    Determiner,
    Existence,
    Modal,
    NounPhrase,
    Phrase,
    Prepositional,
    Pronoun,
    Question,
    Relative,
    Role,
    Sentence,
    Statement,
    Tense,
    Together,
)
from nmt.data.grammar.punctuation import COMMA, finish

ASKED_WORDS = {Role.TIME: "when", Role.PLACE: "where", Role.REASON: "why", Role.DIRECTION: "where"}

WITH_BE = {Modal.CAN: ("able", "to"), Modal.MAY: ("allowed", "to"), Modal.SHOULD: ("supposed", "to")}


def sentence(meaning: Sentence) -> str:
    """Say a meaning in English."""
    match meaning:
        case Question(clause, asked):
            return close(question(clause, asked), "?")
        case Existence(thing, tense, place, place_first):
            return close(existence(thing, tense, place, place_first), ".")
        case Compound(first, conjunction, second, True):
            rest = statement(second, (Role.SUBJECT,))
            return close([*statement(first), conjunction.english, *rest], ".")
        case Compound(first, conjunction, second):
            return close([*statement(first), COMMA, conjunction.english, *statement(second)], ".")
        case Statement():
            return close(statement(meaning), ".")


def close(spoken: list[str], mark: str) -> str:
    """Settle the articles and the punctuation."""
    return finish(words.choose_article(spoken), mark)


def statement(meaning: Statement, skipped: tuple[Role, ...] = ()) -> list[str]:
    """A main clause with its subordinate clause; a comma only after one that comes first."""
    main = main_clause(meaning.clause, skipped)
    if meaning.conjunction is None or meaning.subordinate is None:
        return main
    subordinate = subordinate_clause(
        meaning.conjunction.lemma, meaning.conjunction.english, meaning.subordinate
    )
    return [*subordinate, COMMA, *main] if meaning.subordinate_first else [*main, *subordinate]


def subordinate_clause(conjunction: str, english: str, clause: Clause) -> list[str]:
    """A clause after its conjunction; infinitives have no subject."""
    if conjunction in ("zu", "um"):
        return [*english.split(), clause.verb.english.base, *rest_of_clause(clause, ())]
    return [*english.split(), *main_clause(clause)]


def question(clause: Clause, asked: Role | None) -> list[str]:
    """A question: `do` or another auxiliary before the subject, unless the subject is asked for."""
    if asked is Role.SUBJECT:
        return main_clause(clause)
    lead: list[str] = []
    skipped: tuple[Role, ...] = ()
    if asked in ASKED_WORDS:
        lead = [ASKED_WORDS[asked]]
    elif asked is not None:
        thing = clause.object if asked is Role.OBJECT else clause.recipient
        assert thing is not None
        lead, skipped = phrase(thing, subject=False), (asked,)
    auxiliary, rest = verb_group(clause, inverted=True)
    return [*lead, *auxiliary, *phrase(clause.subject, subject=True), *rest, *rest_of_clause(clause, skipped)]


def existence(thing: Phrase, tense: Tense, place: Prepositional | None, place_first: bool) -> list[str]:
    """`There is` or `are`, `was` or `were`."""
    person, plural = person_and_number(thing)
    spoken = ["there", words.be(tense, person, plural), *phrase(thing, subject=False)]
    where = prepositional(place) if place is not None else []
    return [*where, *spoken] if place_first else [*spoken, *where]


def main_clause(clause: Clause, skipped: tuple[Role, ...] = ()) -> list[str]:
    """A clause in the order of a statement; a time or comment stays in front, a place or object does not."""
    lead: list[str] = []
    if clause.front is Role.TIME and clause.time is not None:
        lead, skipped = clause.time.english.split(), (*skipped, Role.TIME)
    elif clause.front is Role.COMMENT and clause.comment is not None:
        lead = clause.comment.english.split()
    subject = [] if Role.SUBJECT in skipped else phrase(clause.subject, subject=True)
    auxiliary, rest = verb_group(clause, inverted=False)
    return [*lead, *subject, *auxiliary, *rest, *rest_of_clause(clause, skipped)]


def verb_group(clause: Clause, inverted: bool) -> tuple[list[str], list[str]]:
    """The auxiliary and the rest of the verb, with `not` and adverbs of frequency between them.

    Without an auxiliary the verb itself is finite, and the first list is empty, unless a negation or
    a question (`inverted`) calls for `do`.
    """
    person, plural = person_and_number(clause.subject)
    english, tense = clause.verb.english, clause.tense
    if tense is Tense.PERFECT and clause.frequency not in RECENT_ADVERBS:
        tense = Tense.PAST
    middle = ["not"] if clause.negated else []
    if clause.frequency is not None:
        middle += clause.frequency.english.split()
    needs_do = inverted or clause.negated
    match clause.modal, tense:
        case Modal.CAN, Tense.PRESENT:
            if middle[:1] == ["not"] and not inverted:
                return ["cannot"], [*middle[1:], english.base]
            return ["can"], [*middle, english.base]
        case Modal.CAN, _ if clause.negated:
            return ["could"], [*middle, english.base]
        case Modal.WOULD_LIKE, _:
            return ["would"], [*middle, "like", "to", english.base]
        case (Modal.CAN | Modal.MAY | Modal.SHOULD) as modal, _:
            return [words.be(tense, person, plural)], [*middle, *WITH_BE[modal], english.base]
        case (Modal.MUST | Modal.WANT) as modal, _:
            base, past = ("have", "had") if modal is Modal.MUST else ("want", "wanted")
            simple = past if tense is Tense.PAST else words.third_person(base, person, plural)
            after = ["to", english.base]
        case None, Tense.FUTURE:
            return ["will"], [*middle, english.base]
        case None, Tense.PERFECT:
            return [words.third_person("have", person, plural)], [*middle, english.participle]
        case None, Tense.PLUPERFECT:
            return ["had"], [*middle, english.participle]
        case _ if clause.ongoing:
            return [words.be(tense, person, plural)], [*middle, words.add_ing(english.base)]
        case _:
            base, simple = english.base, words.simple_form(clause.verb, tense, person, plural)
            after = []
            if base == "be":
                return [simple], middle
    if needs_do:
        do = "did" if tense is Tense.PAST else words.third_person("do", person, plural)
        return [do], [*middle, base, *after]
    return [], [*middle, simple, *after]


def rest_of_clause(clause: Clause, skipped: tuple[Role, ...]) -> list[str]:
    """What follows the verb: objects, predicate, manner, complement, company, place, time, content."""
    manner = [] if clause.manner is None else clause.manner.english.split()
    done_to = [*objects(clause, skipped), *predicate(clause)]
    with_preposition = clause.verb.english.preposition and clause.object is None
    spoken = [*manner, *done_to] if with_preposition else [*done_to, *manner]
    if clause.governed is not None and clause.governed.english:
        spoken += prepositional(clause.governed)
    if clause.company is not None:
        spoken += prepositional(clause.company)
    if clause.place is not None and Role.PLACE not in skipped:
        spoken += prepositional(clause.place)
    if clause.time is not None and Role.TIME not in skipped:
        spoken += clause.time.english.split()
    if clause.content is not None:
        conjunction = clause.content.conjunction
        spoken += subordinate_clause(conjunction.lemma, conjunction.english, clause.content.clause)
    return spoken


def objects(clause: Clause, skipped: tuple[Role, ...]) -> list[str]:
    """The objects and what English puts before them; the preposition of an object in front stays behind."""
    english = clause.verb.english
    tail, leading = english.tail.split(), english.preposition.split()
    thing = object_words(clause.object, Role.OBJECT, clause, skipped)
    recipient = object_words(clause.recipient, Role.RECIPIENT, clause, skipped)
    if clause.object is not None and clause.recipient is not None:
        both_here = Role.OBJECT not in skipped and Role.RECIPIENT not in skipped
        return [*recipient, *thing] if both_here and not leading else [*thing, *tail, "to", *recipient]
    governed: list[str] = []
    if clause.governed is not None and not clause.governed.english:
        governed = object_words(clause.governed.phrase, Role.GOVERNED, clause, skipped)
    direct = [*thing, *recipient, *governed]
    if isinstance(clause.object, Pronoun) and not leading:
        return [*direct, *tail]
    return [*tail, *leading, *direct]


def object_words(thing: Phrase | None, role: Role, clause: Clause, skipped: tuple[Role, ...]) -> list[str]:
    """One object; what German says with `kein` is `a` or `any` after `not`."""
    if thing is None or role in skipped:
        return []
    if isinstance(thing, NounPhrase) and clause.negated and says_no(thing):
        several = thing.plural or thing.noun.plural is None
        return noun_phrase(thing, "any" if several else "a")
    return phrase(thing, subject=False)


def predicate(clause: Clause) -> list[str]:
    """What a subject is said to be; English puts `a` before an occupation."""
    match clause.predicate:
        case None:
            return []
        case Adjective(english=english):
            return english.split()
        case Comparison(adjective, standard):
            return [*(adjective.english_comparative or "").split(), "than", *phrase(standard, subject=True)]
        case NounPhrase(determiner=Determiner.NONE, plural=False):
            return noun_phrase(clause.predicate, "a")
        case NounPhrase():
            return phrase(clause.predicate, subject=False)


def phrase(thing: Phrase, subject: bool) -> list[str]:
    """A phrase as a subject or anywhere else."""
    match thing:
        case Pronoun():
            return [words.pronoun_form(thing, subject)]
        case Name():
            return [thing.english]
        case Together(members):
            *others, last = [phrase(member, subject) for member in members]
            listed = [word for other in others for word in [*other, COMMA]]
            return [*(listed if len(others) > 1 else others[0]), "and", *last]
        case NounPhrase():
            return noun_phrase(thing, words.determiner_form(thing.determiner, thing.plural))


def noun_phrase(thing: NounPhrase, determiner: str) -> list[str]:
    """Determiner or owner, number, adjectives, noun, relative clause."""
    spoken = [determiner] if determiner else []
    if thing.owner is not None:
        spoken = words.possessive(phrase(thing.owner, subject=False))
    if thing.number is not None:
        spoken.append(thing.number.english)
    for adjective in thing.adjectives:
        spoken += adjective.english.split()
    spoken += words.noun_form(thing.noun, thing.plural).split()
    if thing.relative is not None:
        spoken += relative(thing, thing.relative)
    return spoken


def relative(antecedent: NounPhrase, clause: Relative) -> list[str]:
    """A relative clause: `who` and `whom` for people, `that` for the rest, `in which` for places."""
    person = is_person(antecedent)
    inner = clause.clause
    if clause.role is Role.SUBJECT:
        return ["who" if person else "that", *main_clause(inner, (Role.SUBJECT,))]
    if clause.role is Role.PLACE:
        assert inner.place is not None
        return [inner.place.english, "which", *main_clause(inner, (Role.PLACE,))]
    return ["whom" if person else "that", *main_clause(inner, (clause.role,))]


def prepositional(part: Prepositional) -> list[str]:
    """A preposition and its phrase."""
    return [*part.english.split(), *phrase(part.phrase, subject=False)]
