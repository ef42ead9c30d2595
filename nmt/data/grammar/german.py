"""German syntax: from a meaning to a German sentence."""

from nmt.data.grammar import german_words as words
from nmt.data.grammar.agreement import is_new, person_and_number, says_no
from nmt.data.grammar.lexicon import Adjective, Name
from nmt.data.grammar.meaning import (
    Clause,
    Comparison,
    Compound,
    Determiner,
    Existence,
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

ASKED_WORDS = {Role.TIME: "wann", Role.PLACE: "wo", Role.REASON: "warum", Role.DIRECTION: "wohin"}
CASE_OF_ROLE = {Role.SUBJECT: "nominative", Role.OBJECT: "accusative", Role.RECIPIENT: "dative"}


def sentence(meaning: Sentence) -> str:
    """Say a meaning in German."""
    match meaning:
        case Question(clause, asked):
            return finish(question(clause, asked), "?")
        case Existence(thing, tense, place, place_first):
            return finish(existence(thing, tense, place, place_first), ".")
        case Compound(first, conjunction, second, shared_subject):
            comma = [] if conjunction.lemma == "und" else [COMMA]
            if shared_subject:
                rest = statement(second, lead=[])
            elif conjunction.lemma == "deshalb":
                rest = main_clause(second.clause, lead=[], skipped=None)
            else:
                rest = statement(second)
                rest = rest[1:] if rest[0] == COMMA else rest
            return finish([*statement(first), *comma, conjunction.lemma, *rest], ".")
        case Statement():
            return finish(statement(meaning), ".")


def statement(meaning: Statement, lead: list[str] | None = None) -> list[str]:
    """A main clause after `lead` with its subordinate clause, which takes the first place if it comes first."""
    main = main_clause(meaning.clause, lead)
    if meaning.conjunction is None or meaning.subordinate is None:
        return main
    subordinate = subordinate_clause(meaning.conjunction.lemma, meaning.subordinate)
    if meaning.subordinate_first:
        return main_clause(meaning.clause, lead=subordinate, skipped=None)
    return main + subordinate


def subordinate_clause(conjunction: str, clause: Clause) -> list[str]:
    """A clause with its verb at the end, between commas; infinitives have no subject."""
    if conjunction in ("zu", "um"):
        opening = ["um"] if conjunction == "um" else []
        rest = [*verb_rest(clause)[:-1], words.infinitive_with_zu(clause.verb)]
        return [COMMA, *opening, *middle(clause, (Role.SUBJECT,)), *rest, *content(clause), COMMA]
    return [COMMA, conjunction, *middle(clause, ()), *final_verb(clause), *content(clause), COMMA]


def question(clause: Clause, asked: Role | None) -> list[str]:
    """A question: the verb first, or second after the word that asks."""
    if asked is None:
        return main_clause(clause, lead=[], skipped=None)
    if asked in ASKED_WORDS:
        return main_clause(clause, lead=[ASKED_WORDS[asked]], skipped=None)
    return main_clause(clause, lead=front(clause, asked), skipped=asked)


def existence(thing: Phrase, tense: Tense, place: Prepositional | None, place_first: bool) -> list[str]:
    """`Es gibt` or `gab`, with a place before the thing or in front."""
    verb = "gibt" if tense is Tense.PRESENT else "gab"
    where = prepositional(place) if place is not None else []
    if place_first:
        return [*where, verb, "es", *phrase(thing, "accusative")]
    return ["es", verb, *where, *phrase(thing, "accusative")]


def main_clause(
    clause: Clause, lead: list[str] | None = None, skipped: Role | None = Role.SUBJECT
) -> list[str]:
    """A clause with its verb second, after `lead` (by default what the clause has in front)."""
    if lead is None:
        lead, skipped = front(clause, clause.front), clause.front
    finite, rest = finite_verb(clause), verb_rest(clause)
    skip = () if skipped is None else (skipped,)
    return [*lead, finite, *middle(clause, skip), *rest, *content(clause)]


def front(clause: Clause, role: Role) -> list[str]:
    """The part of a clause that stands before the verb."""
    if role is Role.TIME and clause.time is not None:
        return [clause.time.lemma]
    if role is Role.COMMENT and clause.comment is not None:
        return [clause.comment.lemma]
    if role is Role.PLACE and clause.place is not None:
        return prepositional(clause.place)
    filler = {Role.SUBJECT: clause.subject, Role.OBJECT: clause.object, Role.RECIPIENT: clause.recipient}[
        role
    ]
    assert filler is not None
    return phrase(filler, CASE_OF_ROLE[role])


def middle(clause: Clause, skipped: tuple[Role, ...]) -> list[str]:
    """What stands between the finite verb and the end: pronouns, known things, `nicht`, new things."""
    time = [] if clause.time is None or Role.TIME in skipped else [clause.time.lemma]
    often = [] if clause.frequency is None else [clause.frequency.lemma]
    thing = [] if Role.OBJECT in skipped else object_words(clause.object, Role.OBJECT)
    recipient = [] if Role.RECIPIENT in skipped else object_words(clause.recipient, Role.RECIPIENT)
    pronouns: list[str] = []
    if isinstance(clause.object, Pronoun):
        pronouns, thing = thing, []
    if isinstance(clause.recipient, Pronoun):
        pronouns, recipient = [*pronouns, *recipient], []
    new: list[str] = []
    if clause.object is not None and is_new(clause.object, Role.OBJECT):
        new, thing = thing, []
    manner = [] if clause.manner is None else [clause.manner.lemma]
    if clause.negated:
        body = [*time, *recipient, *thing, *([] if says_no(clause.object) else ["nicht"])]
    elif clause.tense is Tense.PERFECT:  # "schon" and "gerade" stand after what is known.
        body = [*time, *recipient, *manner, *thing, *often]
    else:
        body = [*time, *often, *recipient, *manner, *thing]
    if clause.company is not None:
        body += prepositional(clause.company)
    if clause.place is not None and Role.PLACE not in skipped:
        body += prepositional(clause.place)
    body += new
    if clause.governed is not None and Role.GOVERNED not in skipped:
        body += prepositional(clause.governed)
    return [*opening(clause, skipped, pronouns), *body, *predicate(clause)]


def object_words(thing: Phrase | None, role: Role) -> list[str]:
    """An object in its case."""
    return [] if thing is None else phrase(thing, CASE_OF_ROLE[role])


def opening(clause: Clause, skipped: tuple[Role, ...], pronouns: list[str]) -> list[str]:
    """The subject and all pronouns, which come before any subject but a pronoun."""
    subject = [] if Role.SUBJECT in skipped else phrase(clause.subject, "nominative")
    if clause.verb.reflexive:
        person, plural = person_and_number(clause.subject)
        pronouns = [words.pronoun_form(Pronoun(person, plural, "masculine"), "reflexive"), *pronouns]
    return [*subject, *pronouns] if isinstance(clause.subject, Pronoun) else [*pronouns, *subject]


def predicate(clause: Clause) -> list[str]:
    """What a subject is said to be."""
    match clause.predicate:
        case None:
            return []
        case Adjective(lemma=lemma):
            return [lemma]
        case Comparison(adjective, standard):
            return [adjective.comparative or "", "als", *phrase(standard, "nominative")]
        case NounPhrase():
            return phrase(clause.predicate, "nominative")


def content(clause: Clause) -> list[str]:
    """The clause that hangs on the verb, after everything else."""
    if clause.content is None:
        return []
    return subordinate_clause(clause.content.conjunction.lemma, clause.content.clause)


def finite_verb(clause: Clause) -> str:
    """The verb that agrees with the subject, without a prefix."""
    person, plural = person_and_number(clause.subject)
    if clause.modal is not None:
        return words.auxiliary_form(clause.modal, clause.tense, person, plural)
    match clause.tense:
        case Tense.PERFECT:
            return words.auxiliary_form(clause.verb.auxiliary, Tense.PRESENT, person, plural)
        case Tense.PLUPERFECT:
            return words.auxiliary_form(clause.verb.auxiliary, Tense.PAST, person, plural)
        case Tense.FUTURE:
            return words.auxiliary_form("werden", Tense.PRESENT, person, plural)
        case _:
            return words.simple_form(clause.verb, clause.tense, person, plural)


def verb_rest(clause: Clause) -> list[str]:
    """What of the verb stands at the end of a main clause: a participle, an infinitive, or a prefix."""
    if clause.modal is not None or clause.tense is Tense.FUTURE:
        return [words.infinitive(clause.verb)]
    if clause.tense in (Tense.PERFECT, Tense.PLUPERFECT):
        return [clause.verb.participle]
    return [clause.verb.prefix.strip()] if clause.verb.prefix else []


def final_verb(clause: Clause) -> list[str]:
    """The whole verb at the end of a subordinate clause, where a prefix and its verb are one word."""
    if clause.modal is None and clause.tense in (Tense.PRESENT, Tense.PAST):
        return [clause.verb.prefix + finite_verb(clause)]
    return [*verb_rest(clause), finite_verb(clause)]


def phrase(thing: Phrase, case: str) -> list[str]:
    """A phrase in a case."""
    match thing:
        case Pronoun():
            return [words.pronoun_form(thing, case)]
        case Name():
            return [thing.lemma]
        case Together(members):
            *others, last = [phrase(member, case) for member in members]
            listed = [word for other in others for word in [*other, COMMA]][:-1]
            return [*listed, "und", *last]
        case NounPhrase():
            return noun_phrase(thing, case)


def noun_phrase(thing: NounPhrase, case: str) -> list[str]:
    """Determiner, number, adjectives, noun, genitive and relative clause; a name's genitive comes first."""
    noun, kind = thing.noun, "plural" if thing.plural else thing.noun.gender
    spoken = [words.determiner_form(thing.determiner, case, kind)]
    if isinstance(thing.owner, Name):
        spoken = [thing.owner.lemma + "s"]
    if thing.number is not None:
        spoken.append(thing.number.lemma)
    spoken += [
        words.adjective_form(adjective, thing.determiner, case, kind) for adjective in thing.adjectives
    ]
    spoken.append(words.noun_form(noun, case, thing.plural))
    if isinstance(thing.owner, NounPhrase):
        spoken += phrase(thing.owner, "genitive")
    if thing.relative is not None:
        spoken += relative(thing.relative, kind)
    return [word for word in spoken if word]


def relative(clause: Relative, kind: str) -> list[str]:
    """A relative clause between commas; its pronoun agrees with the noun, in the case of its own clause."""
    inner = clause.clause
    rest = [*middle(inner, (clause.role,)), *final_verb(inner), *content(inner), COMMA]
    if clause.role in CASE_OF_ROLE:
        return [COMMA, words.RELATIVE_PRONOUN[CASE_OF_ROLE[clause.role], kind], *rest]
    part = inner.governed if clause.role is Role.GOVERNED else inner.place
    assert part is not None
    return [COMMA, part.german, words.RELATIVE_PRONOUN[part.case, kind], *rest]


def prepositional(part: Prepositional) -> list[str]:
    """A preposition and its phrase, run together where German always does (`im`, `zum`)."""
    spoken = phrase(part.phrase, part.case)
    definite = isinstance(part.phrase, NounPhrase) and part.phrase.determiner is Determiner.THE
    contraction = words.CONTRACTIONS.get((part.german, spoken[0])) if definite else None
    return [part.german, *spoken] if contraction is None else [contraction, *spoken[1:]]
