"""German morphology: how articles, adjectives, nouns, pronouns and verbs change their form."""

import re

from nmt.data.grammar.lexicon import Adjective, Noun, Verb
from nmt.data.grammar.meaning import Determiner, Modal, Pronoun, Tense

CASES = ("nominative", "accusative", "dative", "genitive")
KINDS = ("masculine", "feminine", "neuter", "plural")


def paradigm(table: str) -> dict[tuple[str, str], str]:
    """Read four rows (cases) of four columns (genders and plural); `-` is an empty ending."""
    cells = [row.split() for row in table.strip().split("\n")]
    return {
        (case, kind): cells[i][j].strip("-") for i, case in enumerate(CASES) for j, kind in enumerate(KINDS)
    }


ARTICLE = paradigm("""
der die das die
den die das die
dem der dem den
des der des der""")
STRONG = paradigm("""
er e es e
en e es e
em er em en
es er es er""")
EIN = paradigm("""
- e - e
en e - e
em er em en
es er es er""")
WEAK_ADJECTIVE = paradigm("""
e e e en
en e e en
en en en en
en en en en""")
MIXED_ADJECTIVE = paradigm("""
er e es en
en e es en
en en en en
en en en en""")
STRONG_ADJECTIVE = paradigm("""
er e es e
en e es e
em er em en
en er en er""")
RELATIVE_PRONOUN = paradigm("""
der die das die
den die das die
dem der dem denen
dessen deren dessen deren""")

DER_WORDS = {
    Determiner.THIS: "dies",
    Determiner.WHICH: "welch",
    Determiner.MANY: "viel",
}
EIN_WORDS = {
    Determiner.A: "ein",
    Determiner.NO: "kein",
    Determiner.MY: "mein",
    Determiner.YOUR: "dein",
    Determiner.HIS: "sein",
    Determiner.HER: "ihr",
    Determiner.OUR: "unser",
}
WITH_STRONG_ADJECTIVES = frozenset((Determiner.NONE, Determiner.MANY))
CONTRACTIONS = {
    ("in", "dem"): "im",
    ("in", "das"): "ins",
    ("an", "dem"): "am",
    ("an", "das"): "ans",
    ("zu", "dem"): "zum",
    ("zu", "der"): "zur",
    ("von", "dem"): "vom",
}
PRONOUNS = {
    "ich": ("ich", "mich", "mir", "mich"),
    "du": ("du", "dich", "dir", "dich"),
    "er": ("er", "ihn", "ihm", "sich"),
    "sie": ("sie", "sie", "ihr", "sich"),
    "es": ("es", "es", "ihm", "sich"),
    "wir": ("wir", "uns", "uns", "uns"),
    "wer": ("wer", "wen", "wem", "sich"),
    "was": ("was", "was", "", "sich"),
}
PLURAL_SIE = ("sie", "sie", "ihnen", "sich")


def determiner_form(determiner: Determiner, case: str, kind: str) -> str:
    """Inflect an article or a word like it; empty where there is none."""
    if determiner is Determiner.NONE:
        return ""
    if determiner is Determiner.THE:
        return ARTICLE[case, kind]
    if determiner in DER_WORDS:
        return DER_WORDS[determiner] + STRONG[case, kind]
    return EIN_WORDS[determiner] + EIN[case, kind]


def adjective_form(adjective: Adjective, determiner: Determiner, case: str, kind: str) -> str:
    """Inflect an adjective before its noun: strong, weak or mixed after what comes first."""
    if determiner in WITH_STRONG_ADJECTIVES:
        endings = STRONG_ADJECTIVE
    elif determiner in EIN_WORDS:
        endings = MIXED_ADJECTIVE
    else:
        endings = WEAK_ADJECTIVE
    return adjective.stem + endings[case, kind]


def noun_form(noun: Noun, case: str, plural: bool) -> str:
    """Inflect a noun; a mass has no plural."""
    if plural:
        assert noun.plural is not None
        needs_n = case == "dative" and not noun.plural.endswith(("n", "s"))
        return noun.plural + "n" * needs_n
    if "weak" in noun.classes:
        return noun.lemma if case == "nominative" or noun.plural is None else noun.plural
    if case != "genitive" or noun.gender == "feminine":
        return noun.lemma
    return noun.genitive or genitive(noun.lemma)


def genitive(lemma: str) -> str:
    """The genitive in `-s` or `-es` of a masculine or neuter noun."""
    if lemma.endswith("nis"):
        return lemma + "ses"
    syllables = len(re.findall("[aeiouyäöü]+", lemma.lower()))
    hissing = lemma.endswith(("s", "ß", "x", "z", "sch", "st"))
    return lemma + ("es" if hissing or (syllables == 1 and lemma[-1] not in "aeiouäöü") else "s")


def pronoun_form(pronoun: Pronoun, case: str) -> str:
    """Inflect a personal or interrogative pronoun; the case may also be `reflexive`."""
    forms = PLURAL_SIE if pronoun.plural and pronoun.person == 3 else PRONOUNS[pronoun.lemma]
    return forms[("nominative", "accusative", "dative", "reflexive").index(case)]


# Forms for ich, du, er, wir, sie (plural); the last two are always alike.
IRREGULAR = {
    ("sein", Tense.PRESENT): ("bin", "bist", "ist", "sind"),
    ("haben", Tense.PRESENT): ("habe", "hast", "hat", "haben"),
    ("werden", Tense.PRESENT): ("werde", "wirst", "wird", "werden"),
    ("wissen", Tense.PRESENT): ("weiß", "weißt", "weiß", "wissen"),
    ("können", Tense.PRESENT): ("kann", "kannst", "kann", "können"),
    ("müssen", Tense.PRESENT): ("muss", "musst", "muss", "müssen"),
    ("wollen", Tense.PRESENT): ("will", "willst", "will", "wollen"),
    ("dürfen", Tense.PRESENT): ("darf", "darfst", "darf", "dürfen"),
    ("sollen", Tense.PRESENT): ("soll", "sollst", "soll", "sollen"),
    ("möchten", Tense.PRESENT): ("möchte", "möchtest", "möchte", "möchten"),
    ("sein", Tense.PAST): ("war", "warst", "war", "waren"),
    ("haben", Tense.PAST): ("hatte", "hattest", "hatte", "hatten"),
    ("können", Tense.PAST): ("konnte", "konntest", "konnte", "konnten"),
    ("müssen", Tense.PAST): ("musste", "musstest", "musste", "mussten"),
    ("wollen", Tense.PAST): ("wollte", "wolltest", "wollte", "wollten"),
    ("dürfen", Tense.PAST): ("durfte", "durftest", "durfte", "durften"),
}


def cell(person: int, plural: bool) -> int:
    """The place of a person in a row of IRREGULAR."""
    return 3 if plural else person - 1


def auxiliary_form(verb: str | Modal, tense: Tense, person: int, plural: bool) -> str:
    """A finite form of haben, sein, werden or a modal verb."""
    lemma = verb.value if isinstance(verb, Modal) else verb
    return IRREGULAR[lemma, tense][cell(person, plural)]


def simple_form(verb: Verb, tense: Tense, person: int, plural: bool) -> str:
    """A finite form in the present or preterite, without the prefix."""
    irregular = IRREGULAR.get((verb.infinitive, tense))
    if irregular is not None:
        return irregular[cell(person, plural)]
    if tense is Tense.PRESENT:
        return present(verb, person, plural)
    past = verb.preterite
    if plural:
        return past + ("n" if past.endswith("e") else "en")
    if person == 2:
        return past + ("est" if past.endswith(("t", "d", "s", "ß", "z")) else "st")
    return past


def present(verb: Verb, person: int, plural: bool) -> str:
    """A form of the present tense, from the infinitive and the he-form."""
    if plural:
        return verb.infinitive
    if person == 1:
        stem = verb.infinitive.removesuffix("n").removesuffix("e")
        return (stem[:-2] + "l" if verb.infinitive.endswith("eln") else stem) + "e"
    if person == 3:
        return verb.third
    stem = verb.third[:-1]
    return stem + ("t" if stem.endswith(("s", "ß", "x", "z")) else "st")


def infinitive(verb: Verb) -> str:
    """The infinitive in one piece."""
    return verb.prefix + verb.infinitive


def infinitive_with_zu(verb: Verb) -> str:
    """The infinitive with `zu`, which goes inside a separable verb."""
    joiner = "zu" if verb.prefix and not verb.prefix.endswith(" ") else "zu "
    return verb.prefix + joiner + verb.infinitive
