"""German morphology: how articles, adjectives, nouns, pronouns and verbs change their form."""

from nmt.grammar.meaning import Pronoun
from nmt.grammar.word_tables import Adjective, Noun, Verb

CASES = ("nominative", "accusative", "dative", "genitive")
KINDS = ("masculine", "feminine", "neuter", "plural")


def paradigm(table: str) -> dict[tuple[str, str], str]:
    """Read four cases of three genders and the plural; `-` is an empty ending."""
    rows = [row.split() for row in table.split("/")]
    return {(CASES[i], KINDS[j]): rows[i][j].strip("-") for i in range(len(rows)) for j in range(4)}


ARTICLE = paradigm("der die das die / den die das die / dem der dem den / des der des der")
RELATIVE = ARTICLE | {("dative", "plural"): "denen"}
# Endings of words like `dieser`, of words like `ein`, and of adjectives after an article, after `ein`, and alone.
DIESER = paradigm("er e es e / en e es e / em er em en / es er es er")
EIN = paradigm("- e - e / en e - e / em er em en / es er es er")
WEAK = paradigm("e e e en / en e e en / en en en en / en en en en")
MIXED = paradigm("er e es en / en e es en / en en en en / en en en en")
STRONG = paradigm("er e es e / en e es e / em er em en / en er en er")
UNCHANGING = ("zwei", "drei")
DER_WORDS = ("dies", "welch", "viel")
POSSESSIVES = dict(zip(Pronoun, ["mein", "dein", "unser", "sein", "ihr", "sein", "ihr"], strict=False))
# Nominative, accusative, dative, reflexive.
PRONOUNS = {
    Pronoun.ME: "ich mich mir mich",
    Pronoun.YOU: "du dich dir dich",
    Pronoun.HE: "er ihn ihm sich",
    Pronoun.SHE: "sie sie ihr sich",
    Pronoun.IT: "es es ihm sich",
    Pronoun.WE: "wir uns uns uns",
    Pronoun.THEY: "sie sie ihnen sich",
    Pronoun.WHO: "wer wen wem sich",
    Pronoun.WHAT: "was was was sich",
    Pronoun.THIS: "das das dem sich",
    Pronoun.THERE: "es es ihm sich",
}
# Forms for ich, du, er and all plurals.
IRREGULAR = {
    "sein": ("bin bist ist sind", "war warst war waren"),
    "haben": ("habe hast hat haben", "hatte hattest hatte hatten"),
    "werden": ("werde wirst wird werden", "wurde wurdest wurde wurden"),
    "können": ("kann kannst kann können", "konnte konntest konnte konnten"),
    "müssen": ("muss musst muss müssen", "musste musstest musste mussten"),
    "wollen": ("will willst will wollen", "wollte wolltest wollte wollten"),
    "dürfen": ("darf darfst darf dürfen", "durfte durftest durfte durften"),
    "sollen": ("soll sollst soll sollen", "sollte solltest sollte sollten"),
    "möchten": ("möchte möchtest möchte möchten", "wollte wolltest wollte wollten"),
    "wissen": ("weiß weißt weiß wissen", "wusste wusstest wusste wussten"),
    "mögen": ("mag magst mag mögen", "mochte mochtest mochte mochten"),
}


def determiner_form(determiner: str | Pronoun, case: str, kind: str) -> str:
    """Inflect an article or a word like it; empty where there is none."""
    if isinstance(determiner, Pronoun):
        return POSSESSIVES[determiner] + EIN[case, kind]
    if determiner in ("", "job", *UNCHANGING):
        return determiner.removesuffix("job")
    if determiner == "der":
        return ARTICLE[case, kind]
    if determiner in DER_WORDS:
        return determiner + DIESER[case, kind]
    if determiner == "viele":
        return "viel" + DIESER[case, kind]
    return determiner + EIN[case, kind]


def adjective_form(adjective: Adjective, determiner: str | Pronoun, case: str, kind: str) -> str:
    """Inflect an adjective before its noun, as the determiner before it asks for."""
    if determiner in ("", "viele", *UNCHANGING):
        endings = STRONG
    else:
        endings = WEAK if determiner in ("der", "dies", "welch") else MIXED
    return adjective.stem + endings[case, kind]


def noun_form(noun: Noun, case: str, plural: bool) -> str:
    """Inflect a noun, but for the genitive."""
    if plural:
        form = noun.plural or noun.german
        return form + "n" * (case == "dative" and not form.endswith(("n", "s")))
    return noun.plural or "" if noun.weak and case != "nominative" else noun.german


def pronoun_form(pronoun: Pronoun, case: str) -> str:
    """Inflect a personal or interrogative pronoun; the case may also be `reflexive`."""
    return PRONOUNS[pronoun].split()[("nominative", "accusative", "dative", "reflexive").index(case)]


def finite_form(infinitive: str, tense: str, person: int, plural: bool, verb: Verb | None = None) -> str:
    """A finite form, without the prefix; auxiliaries and modals need no `verb`."""
    cell = 3 if plural else person - 1
    if infinitive in IRREGULAR:
        return IRREGULAR[infinitive][tense != "present"].split()[cell]
    assert verb is not None, infinitive
    return present(verb, cell) if tense == "present" else preterite(verb.past, cell)


def preterite(past: str, cell: int) -> str:
    """A form of the preterite, from the he-form."""
    if cell == 3:
        return past + ("n" if past.endswith("e") else "en")
    if cell == 1:
        return past + ("est" if past.endswith(("t", "d", "s", "ß", "z")) else "st")
    return past


def present(verb: Verb, cell: int) -> str:
    """A form of the present tense, from the infinitive and the he-form."""
    if cell == 3:
        return verb.infinitive
    if cell == 0:
        stem = verb.infinitive.removesuffix("n").removesuffix("e")
        return (stem[:-2] + "l" if verb.infinitive.endswith("eln") else stem) + "e"
    stem = verb.third[:-1]
    return verb.third if cell == 2 else stem + ("t" if stem.endswith(("s", "ß", "x", "z")) else "st")


def with_zu(verb: Verb) -> str:
    """The infinitive with `zu`, which goes inside a separable verb."""
    return f"{verb.prefix}zu{verb.infinitive}" if verb.prefix else f"zu {verb.infinitive}"
