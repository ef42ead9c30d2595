"""English syntax: from a meaning to English words, each with the part of the meaning that it expresses."""

from nmt.grammar import english_forms as forms
from nmt.grammar.meaning import (
    COMMA,
    Clause,
    Comparative,
    NounPhrase,
    Phrase,
    Pronoun,
    Sentence,
    Sub,
    Together,
    Token,
    agreement,
    asks,
    filled,
    is_plural,
)
from nmt.grammar.word_tables import PERSONS, Adjective, Fixed, Name

RECENT = ("already", "just")
THEN = ("then", "afterwards")
# German modal verbs that English expresses by a modal verb, by `be`, or by a full verb.
WITH_MODAL = {"können": ("can",), "sollen": ("should",), "möchten": ("would", "like to")}
WITH_BE = {"dürfen": "allowed to", "können": "able to"}
WITH_VERB = {"müssen": ("have", "had"), "wollen": ("want", "wanted"), "gern": ("like", "liked")}


def sentence(meaning: Sentence) -> list[Token]:
    """Say a meaning in English."""
    spoken = main_clause(meaning.first)
    for link in meaning.links:
        joiner, clause = link.joiner, link.clause
        tight = (link.shared and len(meaning.links) == 1) or (joiner is not None and joiner.german == "denn")
        spoken += [] if tight else [COMMA]
        spoken += [(joiner.english, joiner)] if joiner is not None else []
        spoken += main_clause(clause, link.shared)
    return forms.with_articles([*spoken, (meaning.mark, None)])


def main_clause(clause: Clause, shared: bool = False) -> list[Token]:
    """A main clause; a time in front stays there, a place that German has in front does not."""
    if clause.asked or clause.front == "verb" or (clause.front == "object" and asks(clause.object)):
        return question(clause)
    lead = [token for sub in clause.subs if sub.first for token in (*subordinate(sub), COMMA)]
    trail = [token for sub in clause.subs if not sub.first for token in subordinate(sub)]
    fronted = clause.front == "time" or (clause.time is not None and clause.time.english in THEN)
    lead += fixed(clause.time, clause) if fronted else []
    subject = [] if shared else phrase(clause.subject, 0)
    auxiliary, rest = verb_group(clause)
    return [*lead, *subject, *auxiliary, *rest, *rest_of_clause(clause, "time" if fronted else ""), *trail]


def question(clause: Clause) -> list[Token]:
    """A question: `do` or another auxiliary before the subject."""
    lead: list[Token] = [(clause.asked.english, clause.asked)] if clause.asked is not None else []
    skip = "object" if clause.front == "object" else ""
    if skip and clause.object is not None:
        lead = phrase(clause.object, 1)
    auxiliary, rest = verb_group(clause, inverted=True)
    trail = [token for sub in clause.subs for token in subordinate(sub)]
    return [*lead, *auxiliary, *phrase(clause.subject, 0), *rest, *rest_of_clause(clause, skip), *trail]


def subordinate(sub: Sub) -> list[Token]:
    """A dependent clause after its conjunction; infinitives have no subject."""
    verb, word = sub.clause.verb, (sub.conjunction.english, sub.conjunction)
    if sub.conjunction.german in ("zu", "um"):
        return [word, (verb.english, verb), *rest_of_clause(sub.clause)]
    return [word, *main_clause(sub.clause)]


def tense_of(clause: Clause) -> str:
    """The English tense: a German perfect becomes a past, reported speech moves into the past, hopes to the future."""
    if clause.ahead:
        return "future"
    if clause.often is not None and clause.often.english in RECENT:
        return "pluperfect" if clause.reported else "perfect"
    if clause.reported:
        return {"present": "past", "perfect": "pluperfect"}.get(clause.tense, clause.tense)
    return "past" if clause.tense == "perfect" else clause.tense


def verb_group(clause: Clause, inverted: bool = False) -> tuple[list[Token], list[Token]]:
    """The auxiliary and the rest of the verb, with `not` and adverbs of frequency between them.

    Without an auxiliary the verb itself is finite, and the first list is empty, unless a negation or
    a question (`inverted`) calls for `do`.
    """
    counted = clause.object if clause.subject == Pronoun.THERE else None
    person, plural = agreement(counted or clause.subject, english=True)
    verb, modal, tense = clause.verb, clause.modal, tense_of(clause)
    between: list[Token] = [("not", "not")] if clause.negated else []
    if clause.often is not None and clause.often.english:
        between.append((clause.often.english, clause.often))
    base: Token = (verb.english, verb)
    if modal in WITH_MODAL and (tense == "present" or modal != "können"):
        word, *more = WITH_MODAL[modal]
        return [(word, modal)], [*between, *((each, modal) for each in more), base]
    if modal in WITH_BE:
        return [(forms.be(tense, person, plural), modal)], [*between, (WITH_BE[modal], modal), base]
    if tense == "future":
        return [("would" if clause.reported else "will", verb)], [*between, base]
    if tense in ("perfect", "pluperfect"):
        now = "present" if tense == "perfect" else "past"
        have = forms.simple_form("have", "had", now, person, plural)
        return [(have, verb)], [*between, (verb.english_participle, verb)]
    if not modal and (clause.ongoing or verb.english == "be"):
        going_on: list[Token] = [(forms.add_ing(verb.english), verb)] if clause.ongoing else []
        return [(forms.be(tense, person, plural), verb)], [*between, *going_on]
    said, said_past = WITH_VERB.get(modal, (verb.english, verb.english_past))
    infinitive: list[Token] = [("to", modal), base] if modal else []
    if inverted or clause.negated:
        do = forms.simple_form("do", "did", tense, person, plural)
        return [(do, modal or verb)], [*between, (said, modal or verb), *infinitive]
    finite = forms.simple_form(said, said_past, tense, person, plural)
    return [], [*between, (finite, modal or verb), *infinitive]


def rest_of_clause(clause: Clause, skip: str = "") -> list[Token]:
    """Everything after the verb: objects, direction, manner, company, place, time."""
    verb, thing, who = clause.verb, clause.object, clause.recipient
    preposition: list[Token] = [(verb.english_preposition, verb)] if verb.english_preposition else []
    tail: list[Token] = [(verb.english_tail, verb)] if verb.english_tail else []
    said = phrase(thing, 1) if thing is not None and skip != "object" else []
    recipient = phrase(who, 1) if who is not None else []
    if isinstance(thing, Pronoun) and not preposition:
        spoken = [*said, *tail, *recipient]
    elif not preposition:
        spoken = [*recipient, *tail, *said]
    else:
        spoken = [*said, *tail, *preposition, *recipient] if recipient else [*tail, *preposition, *said]
    spoken += fixed(clause.to, clause) + fixed(clause.how, clause) + predicate(clause)
    for part in (clause.company, clause.place, clause.time if skip != "time" else None):
        spoken += fixed(part, clause)
    return spoken


def predicate(clause: Clause) -> list[Token]:
    """What a subject is said to be."""
    match clause.predicate:
        case Adjective(english=english):
            return [(english, clause.predicate)]
        case Comparative(Adjective(comparative=Fixed(english=english)) as adjective, standard):
            return [(english, adjective), ("than", clause.predicate), *phrase(standard, 1)]
        case NounPhrase():
            return phrase(clause.predicate, 1)
    return []


def fixed(part: Fixed | None, clause: Clause) -> list[Token]:
    """A phrase that never changes, but for its possessive."""
    if part is None:
        return []
    return [(filled(part.english, clause.subject, lambda owner: forms.pronoun_form(owner, 2)), part)]


def phrase(thing: Phrase, case: int) -> list[Token]:
    """A phrase as a subject (0) or an object (1)."""
    match thing:
        case Pronoun():
            return [(forms.pronoun_form(thing, case), thing)]
        case Name():
            return [(thing.german, thing)]
        case Together(members):
            first, second = (phrase(member, case) for member in members)
            return [*first, ("and", thing), *second]
    noun, plural = thing.noun, is_plural(thing.noun, thing.plural)
    article = forms.determiner_form(thing.determiner, plural)
    spoken: list[Token] = [(article, thing.determiner)] if article else []
    spoken += [(each.english, each) for each in sorted(thing.adjectives, key=lambda each: each.rank)]
    spoken.append((noun.english_plural if plural else noun.english, noun))
    return [*spoken, *relative(thing, thing.relative)] if thing.relative is not None else spoken


def relative(head: NounPhrase, clause: Clause) -> list[Token]:
    """A relative clause, between commas if the head is clear without it."""
    comma = [COMMA] if isinstance(head.determiner, Pronoun) else []
    lead: list[Token] = [*comma, ("that" if PERSONS.isdisjoint(head.noun.kinds) else "who", head)]
    if clause.front == "subject":
        return [*lead, *main_clause(clause, shared=True), *comma]
    auxiliary, rest = verb_group(clause)
    return [*lead, *phrase(clause.subject, 0), *auxiliary, *rest, *rest_of_clause(clause, "object")]
