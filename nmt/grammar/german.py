"""German syntax: from a meaning to German words, each with the part of the meaning that it expresses."""

from nmt.grammar import german_forms as forms
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
    filled,
    taken_up,
)
from nmt.grammar.word_tables import Adjective, Fixed, Name

# Joiners that take the first place of a clause, and adverbs that stand after known objects.
LEADING = ("deshalb",)
RECENT = ("schon", "gerade")


def sentence(meaning: Sentence) -> list[Token]:
    """Say a meaning in German."""
    before, spoken = meaning.first, main_clause(meaning.first)
    for link in meaning.links:
        joiner, clause = link.joiner, link.clause
        spoken += [COMMA] * (joiner is None or joiner.german != "und")
        spoken += [(joiner.german, joiner)] if joiner is not None else []
        if joiner is not None and joiner.german in LEADING:
            spoken += from_verb(clause)
        else:
            spoken += shared(clause, before) if link.shared else main_clause(clause)
        before = clause
    return [*spoken, (meaning.mark, None)]


def shared(clause: Clause, before: Clause) -> list[Token]:
    """A main clause whose subject was named before; an auxiliary that was said before is not said again."""
    said = clause.tense == before.tense == "perfect" and clause.verb.auxiliary == before.verb.auxiliary
    finite = [] if said else [finite_verb(clause)]
    return [*finite, *middle(clause, "subject"), *verb_rest(clause), *after(clause)]


def main_clause(clause: Clause) -> list[Token]:
    """A clause with one part before the finite verb: a question word, a subordinate clause, or its `front`."""
    front = clause.front
    if clause.asked is not None:
        return [(clause.asked.german, clause.asked), *from_verb(clause)]
    if front == "verb":
        return from_verb(clause)
    for sub in clause.subs:
        if sub.first:
            return [*subordinate(sub)[1:], COMMA, *from_verb(clause)]
    if front == "subject":
        lead = phrase(clause.subject, "nominative")
    else:
        lead = object_tokens(clause) if front == "object" else fixed(getattr(clause, front), clause)
    return [*lead, *from_verb(clause, front)]


def from_verb(clause: Clause, skip: str = "") -> list[Token]:
    """A clause from its finite verb on."""
    return [finite_verb(clause), *field(clause, skip), *verb_rest(clause), *after(clause)]


def subordinate(sub: Sub) -> list[Token]:
    """A dependent clause after its comma."""
    clause, word = sub.clause, sub.conjunction
    if word.german in ("zu", "um"):
        lead: list[Token] = [("um", word)] if word.german == "um" else []
        infinitive: Token = (forms.with_zu(clause.verb), clause.verb)
        return [COMMA, *lead, *middle(clause, "subject"), infinitive, *after(clause)]
    return [COMMA, (word.german, word), *field(clause), *final_verb(clause), *after(clause)]


def after(clause: Clause) -> list[Token]:
    """What follows the verb at the end: the relative clause of the object, and dependent clauses."""
    thing, spoken = clause.object, []
    if isinstance(thing, NounPhrase) and thing.relative is not None:
        spoken += relative(thing, thing.relative)
    for sub in clause.subs:
        spoken += [*subordinate(sub), COMMA] if not sub.first else []
    return spoken


def field(clause: Clause, skip: str = "") -> list[Token]:
    """The subject and the middle field."""
    subject = [] if skip == "subject" else phrase(clause.subject, "nominative")
    return [*subject, *middle(clause, skip)]


def middle(clause: Clause, skip: str) -> list[Token]:
    """The middle field behind the subject: pronouns first, new information last."""
    verb, thing, who = clause.verb, clause.object, clause.recipient
    pronouns: list[Token] = []
    if verb.reflexive:
        own = taken_up(clause.subject) or Pronoun.IT
        pronouns.append((forms.pronoun_form(own, "reflexive"), verb))
    known, new = [], object_tokens(clause) if skip != "object" else []
    if isinstance(thing, Pronoun) and not verb.preposition:
        pronouns, new = pronouns + new, []
    elif not verb.preposition and not is_new(thing):
        known, new = new, []
    recipient = phrase(who, "dative") if who is not None else []
    if isinstance(who, Pronoun):
        pronouns, recipient = pronouns + recipient, []
    time = [] if skip == "time" else fixed(clause.time, clause)
    often, recent = fixed(clause.often, clause), []
    if clause.often is not None and clause.often.german in RECENT:
        often, recent = [], often
    denied: list[Token] = [("nicht", "not")] if clause.negated and not is_kein(clause) else []
    place = [] if skip == "place" else fixed(clause.place, clause)
    around = [*fixed(clause.company, clause), *place, *fixed(clause.how, clause)]
    tail: list[Token] = [(verb.tail, verb)] if verb.tail else []
    body = [*time, *often, *recipient, *known, *recent, *denied, *around, *new, *fixed(clause.to, clause)]
    return [*pronouns, *body, *predicate(clause), *tail]


def object_tokens(clause: Clause) -> list[Token]:
    """The object with the preposition that the verb gives it; `kein` carries a negation."""
    if clause.object is None:
        return []
    spoken = phrase(clause.object, clause.verb.case, "kein" if is_kein(clause) else None)
    return [(clause.verb.preposition, clause.verb), *spoken] if clause.verb.preposition else spoken


def is_new(thing: Phrase | None) -> bool:
    """Whether an object is mentioned for the first time, so that it stands late."""
    return isinstance(thing, NounPhrase) and thing.determiner in ("", "ein", "viele", *forms.UNCHANGING)


def is_kein(clause: Clause) -> bool:
    """Whether a negation is said as `kein`."""
    thing = clause.object
    bare = isinstance(thing, NounPhrase) and thing.determiner in ("", "ein")
    return clause.negated and bare and not clause.verb.preposition


def predicate(clause: Clause) -> list[Token]:
    """What a subject is said to be."""
    match clause.predicate:
        case Adjective(german=german):
            return [(german, clause.predicate)]
        case Comparative(Adjective(comparative=Fixed(german=german)) as adjective, standard):
            return [(german, adjective), ("als", clause.predicate), *phrase(standard, "nominative")]
        case NounPhrase():
            return phrase(clause.predicate, "nominative")
    return []


def finite_verb(clause: Clause) -> Token:
    """The finite verb, which agrees with the subject, without its separable prefix."""
    person, plural = agreement(clause.subject)
    verb, tense = clause.verb, clause.tense
    if clause.modal and clause.modal != "gern":
        return forms.finite_form(clause.modal, tense, person, plural), clause.modal
    infinitive, tense = {
        "perfect": (verb.auxiliary, "present"),
        "pluperfect": (verb.auxiliary, "past"),
        "future": ("werden", "present"),
    }.get(tense, (verb.infinitive, tense))
    return forms.finite_form(infinitive, tense, person, plural, verb), verb


def verb_rest(clause: Clause) -> list[Token]:
    """The part of the verb at the end of a main clause: a participle, an infinitive, or a prefix."""
    verb = clause.verb
    if (clause.modal and clause.modal != "gern") or clause.tense == "future":
        return [(verb.prefix + verb.infinitive, verb)]
    rest = verb.participle if clause.tense in ("perfect", "pluperfect") else verb.prefix
    return [(rest, verb)] if rest else []


def final_verb(clause: Clause) -> list[Token]:
    """The whole verb at the end of a subordinate clause, where a prefix and its verb are one word."""
    finite, node = finite_verb(clause)
    if node is clause.verb and clause.tense in ("present", "past"):
        return [(clause.verb.prefix + finite, node)]
    return [*verb_rest(clause), (finite, node)]


def fixed(part: Fixed | None, clause: Clause) -> list[Token]:
    """A phrase that never changes, but for its possessive."""
    if part is None:
        return []
    return [(filled(part.german, clause.subject, lambda owner: forms.POSSESSIVES[owner]), part)]


def phrase(thing: Phrase, case: str, determiner: str | None = None) -> list[Token]:
    """A phrase in a case; the relative clause of an object comes later, after the verb."""
    match thing:
        case Pronoun():
            return [(forms.pronoun_form(thing, case), thing)]
        case Name():
            return [(thing.german, thing)]
        case Together(members):
            first, second = (phrase(member, case) for member in members)
            return [*first, ("und", thing), *second]
    noun, kind = thing.noun, "plural" if thing.plural else thing.noun.gender
    article = determiner or thing.determiner
    word = forms.determiner_form(article, case, kind)
    spoken: list[Token] = [(word, thing.determiner)] if word else []
    spoken += [(forms.adjective_form(each, article, case, kind), each) for each in thing.adjectives]
    spoken.append((forms.noun_form(noun, case, thing.plural), noun))
    return [*spoken, *relative(thing, thing.relative)] if thing.relative and case == "nominative" else spoken


def relative(head: NounPhrase, clause: Clause) -> list[Token]:
    """A relative clause between commas; its pronoun agrees with the head, in the case of its own clause."""
    kind = "plural" if head.plural else head.noun.gender
    case = "nominative" if clause.front == "subject" else "accusative"
    return [
        COMMA,
        (forms.RELATIVE[case, kind], head),
        *field(clause, clause.front),
        *final_verb(clause),
        COMMA,
    ]
