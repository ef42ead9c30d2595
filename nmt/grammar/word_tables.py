"""The tables of the files under words/, read once into objects."""

import re
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

GENDERS = {"der": "masculine", "die": "feminine", "das": "neuter"}
CASES = {"acc": "accusative", "dat": "dative", "": "accusative"}
# Kinds of nouns that are people.
PERSONS = frozenset(("family", "near", "one", "trade", "stranger"))


@dataclass(frozen=True, eq=False)
class Fixed:
    """Words that never change, except for `~`, the subject's possessive, and `^`, that of the subject's family."""

    german: str
    english: str


@dataclass(frozen=True, eq=False)
class Adjective:
    """An adjective; of two, the one of lower rank stands first in English."""

    german: str
    stem: str
    english: str
    rank: int
    comparative: Fixed | None


@dataclass(frozen=True, eq=False)
class Noun:
    """A noun with the adjectives that suit it and the kinds it is of; a mass has no plural."""

    german: str
    gender: str
    plural: str | None
    weak: bool
    english: str
    english_plural: str
    adjectives: tuple[Adjective, ...]
    kinds: frozenset[str]


@dataclass(frozen=True, eq=False)
class Name:
    """A person's name, alike in both languages."""

    german: str
    female: bool


@dataclass(frozen=True, eq=False)
class Place:
    """A place: the phrases for being there and for going there, and the verbs of going."""

    where: Fixed
    whither: Fixed | None
    going: tuple[str, ...]
    kinds: frozenset[str]


@dataclass(frozen=True, eq=False)
class Verb:
    """A verb in both languages; a tail are words that always stand with it, a preposition leads its object."""

    infinitive: str
    prefix: str
    tail: str
    reflexive: bool
    third: str
    past: str
    participle: str
    auxiliary: str
    preposition: str
    case: str
    english: str
    english_past: str
    english_participle: str
    english_tail: str
    english_preposition: str

    @property
    def lemma(self) -> str:
        """The German infinitive with its prefix and its tail."""
        return f"{self.tail} {self.prefix}{self.infinitive}".strip()


@dataclass(frozen=True, eq=False)
class Thing:
    """A noun as a table mentions it: `mein` is the subject's own."""

    determiner: str
    noun: Noun
    plural: bool


@dataclass(frozen=True, eq=False)
class Activity:
    """What is done, and everything that goes with it; states, weather and opinions are activities, too."""

    verb: Verb
    key: str = ""
    who: tuple[str, ...] = ()
    what: tuple[Thing, ...] = ()
    whom: tuple[Thing, ...] = ()
    where: tuple[Place, ...] = ()
    to: tuple[Place, ...] = ()
    company: tuple[Fixed, ...] = ()
    how: tuple[Fixed, ...] = ()
    when: tuple[str, ...] = ()
    why: tuple[str, ...] = ()
    spite: tuple[str, ...] = ()
    may: tuple[str, ...] = ()
    traits: frozenset[str] = field(default_factory=frozenset)
    order: int = -1


def rows(name: str) -> list[list[str]]:
    """The lines of a table, without comments, in columns."""
    text = files("nmt.grammar").joinpath("words", f"{name}.txt").read_text(encoding="utf-8")
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    return [[column.strip() for column in line.split("|")] for line in lines]


def fixed(text: str) -> Fixed:
    """Read `im Garten = in the garden`."""
    german, _, english = text.partition("=")
    return Fixed(german.strip(), english.strip())


def fixed_list(text: str) -> tuple[Fixed, ...]:
    """Read several phrases, separated by semicolons."""
    return tuple(map(fixed, text.split(";"))) if text else ()


def add_s(word: str) -> str:
    """Spell English `-s`, of plurals and of the third person alike."""
    if word.endswith(("s", "x", "z", "ch", "sh")) or word in ("go", "do"):
        return word + "es"
    return word[:-1] + "ies" if re.search("[^aeiou]y$", word) else word + "s"


def add_ed(word: str) -> str:
    """Spell the English past of a regular verb whose last consonant is not doubled."""
    if word.endswith("e"):
        return word + "d"
    return word[:-1] + "ied" if re.search("[^aeiou]y$", word) else word + "ed"


def in_parentheses(text: str) -> tuple[str, list[str]]:
    """Split `gehen (geht, ging)` into what stands before the parentheses and what stands in them."""
    before, _, inside = text.partition(" (")
    return before, inside.rstrip(")").split(", ") if inside else []


def read_adjective(columns: list[str]) -> Adjective:
    """Read a row such as `groß | big | 2 | größer bigger`."""
    german, _, stem = columns[0].rstrip("*").partition("/")
    comparative = Fixed(*columns[3].split(" ", 1)) if len(columns) > 3 else None
    return Adjective(german, stem or german, columns[1], int(columns[2]), comparative)


def read_noun(columns: list[str]) -> list[Noun]:
    """Read a row such as `der Hund, Hunde | dog | klein alt | pet`; a third form is the feminine.

    A noun with a single form is a plural; `-` instead of a plural means that there is none.
    """
    article, _, forms = columns[0].partition(" ")
    lemma, *others = forms.split(", ")
    english, plurals = in_parentheses(columns[1])
    adjectives, kinds = ([*columns[2:], "", ""][index].split() for index in range(2))
    suiting, bare = tuple(ADJECTIVES[word] for word in adjectives), lemma.rstrip("*")
    if not others:
        others, plurals, kinds = [bare], [english], [*kinds, "plural"]
    told = (plurals[0] if plurals else add_s(english), suiting, frozenset(kinds))
    plural = None if others[0] == "-" else others[0]
    feminine = [word.replace("+", bare) for word in others[1:]]
    return [
        Noun(bare, GENDERS[article], plural, lemma != bare, english, *told),
        *(Noun(word, "feminine", word + "nen", False, english, *told) for word in feminine),
    ]


def read_thing(text: str) -> Thing:
    """Read `ein Brief`, `der Hund`, `meine Eltern`, `zwei Bücher` or `Suppe`.

    A noun without an article is a plural if it has one. Raises ValueError for a noun that nouns.txt lacks.
    """
    found = re.fullmatch(r"(?:(ein|mein|zwei|drei|viele|der|die|das)e? )?(.+)", text)
    assert found is not None, text
    article, word = found[1] or "", found[2]
    for noun in NOUNS:
        counted = article in ("zwei", "drei", "viele") or (article == "die" and noun.gender != "feminine")
        singular = noun.german == word and not counted
        if singular or noun.plural == word:
            plural = not singular or "plural" in noun.kinds or (not article and noun.plural is not None)
            return Thing("der" if article in GENDERS else article, noun, plural)
    raise ValueError(f"words: a noun of nouns.txt was expected; got {text}")


def things(text: str) -> tuple[Thing, ...]:
    """Read several things, separated by commas."""
    return tuple(read_thing(part.strip()) for part in text.split(",")) if text else ()


def read_verb(german: str, english: str) -> Verb:
    """Read `auf+stehen (steht, stand, ist aufgestanden)` and `get up (got, gotten)`."""
    spoken, forms = in_parentheses(re.sub(r" @\S+", "", german))
    said, english_forms = in_parentheses(re.sub(r" @\S+", "", english))
    *before, last = spoken.split()
    prefix, _, bare = last.rpartition("+")
    base, _, english_tail = said.partition(" ")
    third, past, participle = IRREGULAR.setdefault(last, tuple(forms) or weak_forms(prefix, bare))
    english_past, english_participle = IRREGULAR.setdefault(
        f"{base} ", tuple(english_forms) or (add_ed(base),) * 2
    )
    preposition, _, case = (re.findall(r"@(\S+)", german) or [""])[0].partition("/")
    return Verb(
        bare, prefix, " ".join(word for word in before if word != "sich"), "sich" in before,
        third, past, participle.removeprefix("ist "), "sein" if participle.startswith("ist ") else "haben",
        preposition, CASES[case],
        base, english_past, english_participle, english_tail, (re.findall(r"@(\S+)", english) or [""])[0],
    )  # fmt: skip


def weak_forms(prefix: str, infinitive: str) -> tuple[str, ...]:
    """He-form, past and participle of a weak German verb."""
    stem = infinitive.removesuffix("n").removesuffix("e")
    linked = stem + "e" * bool(re.search("[td]$|[fgk]n$|chn$", stem))
    unstressed = infinitive.endswith("ieren") or re.match("(be|er|ver|ent|ge|zer)[a-zäöü]{4}", infinitive)
    return linked + "t", linked + "te", f"{prefix}{'' if unstressed else 'ge'}{linked}t"


def read_activity(columns: list[str]) -> Activity:
    """Read a row of words/activities.txt, where all columns are explained."""
    said = {key: text.strip() for key, _, text in (column.partition(":") for column in columns[2:])}
    parts: dict[str, Any] = {
        key: tuple(said.get(key, "").split()) for key in ("who", "when", "why", "spite", "may")
    }
    for key in ("where", "to"):
        parts[key] = tuple(PLACES[name.strip()] for name in said[key].split(",")) if key in said else ()
    for key in ("what", "whom"):
        parts[key] = things(said.get(key, ""))
    traits = said.get("is", "").split()
    return Activity(
        read_verb(columns[0], columns[1]),
        said.get("key", ""),
        company=fixed_list(said.get("with", "")),
        how=fixed_list(said.get("how", "")),
        traits=frozenset(traits),
        order=next((int(trait[6:]) for trait in traits if trait.startswith("daily=")), -1),
        **parts,
    )


def read_place(columns: list[str]) -> Place:
    """Read a row such as `Park | im Park = in the park | in den Park = to the park | gehen | outside`."""
    where, whither, going, kinds = [*columns[1:], "", "", ""][:4]
    return Place(
        fixed(where), fixed(whither) if whither else None, tuple(going.split()), frozenset(kinds.split())
    )


IRREGULAR: dict[str, tuple[str, ...]] = {}
ADJECTIVES = {row[0].partition("/")[0]: read_adjective(row) for row in rows("adjectives")}
NOUNS = tuple(noun for row in rows("nouns") for noun in read_noun(row))
NAMES = tuple(Name(name, row[1] == "sie") for row in rows("names") for name in row[0].split())
PLACES = {row[0]: read_place(row) for row in rows("places")}
TIMES = {(row[0], row[1]): fixed_list(row[2]) for row in rows("times")}
ACTIVITIES, RELATIVES, OPINIONS, CONDITIONS = (
    tuple(map(read_activity, rows(name))) for name in ("activities", "relatives", "opinions", "states")
)
# Common activities are listed three times, so that they are drawn more often.
ACTIVITIES += tuple(each for each in ACTIVITIES if "common" in each.traits) * 2
WEATHER = tuple(each for each in CONDITIONS if each.key in ("inside", "outside"))
STATES = tuple(each for each in CONDITIONS if each not in WEATHER)
