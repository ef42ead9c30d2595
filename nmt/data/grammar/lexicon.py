"""Lemmas: what the tables of nouns, verbs and modifiers say, read once into objects and pools by class."""

from dataclasses import dataclass

from nmt.data.grammar import modifiers, nouns, verbs

GENDERS = {"der": "masculine", "die": "feminine", "das": "neuter"}


@dataclass(frozen=True, eq=False)
class Noun:
    """A noun: German forms, English forms, and the classes it belongs to; no plural means a mass."""

    lemma: str
    gender: str
    plural: str | None
    genitive: str | None
    english: str
    english_plural: str
    classes: frozenset[str]
    where: tuple[str, str] | None
    whither: tuple[str, str] | None


@dataclass(frozen=True, eq=False)
class Name:
    """A proper name of a person, city or country."""

    lemma: str
    english: str
    classes: frozenset[str]

    @property
    def gender(self) -> str:
        """Gender of the pronoun that stands for the name."""
        if "male" in self.classes:
            return "masculine"
        return "feminine" if "female" in self.classes else "neuter"


@dataclass(frozen=True, eq=False)
class EnglishVerb:
    """Principal parts of an English verb; `tail` are words kept after it, `preposition` leads its object."""

    base: str
    past: str
    participle: str
    tail: str
    preposition: str


@dataclass(frozen=True, eq=False)
class Complement:
    """What a verb takes besides its subject: a case, a preposition and its case, or a place (`to`, `at`)."""

    kind: str
    prepositions: tuple[tuple[str, str], ...]
    fillers: tuple["Noun | Name", ...]


@dataclass(frozen=True, eq=False)
class Verb:
    """A verb in one frame: principal parts, English, the nouns that can be its subject, its complements."""

    lemma: str
    infinitive: str
    prefix: str
    reflexive: bool
    third: str
    preterite: str
    participle: str
    auxiliary: str
    english: EnglishVerb
    subject_classes: tuple[str, ...]
    subjects: tuple["Noun | Name", ...]
    complements: tuple[Complement, ...]
    clauses: tuple[str, ...]
    manners: tuple["Word", ...]
    places: tuple["Noun | Name", ...]
    reasons: tuple["Adjective", ...]
    traits: frozenset[str]

    def suits(self, tense: str) -> bool:
        """Whether the verb is used in a tense, `pluperfect` and the like."""
        if "state" in self.traits:
            return tense in ("present", "past")
        if not self.traits.isdisjoint(("unwilled", "trifle")) and tense == "future":
            return False
        return "past" not in self.traits or tense not in ("present", "future")


@dataclass(frozen=True, eq=False)
class Adjective:
    """An adjective: the stem that endings are added to, and comparatives where they are used."""

    lemma: str
    stem: str
    english: str
    rank: int
    classes: frozenset[str]
    comparative: str | None
    english_comparative: str | None


@dataclass(frozen=True, eq=False)
class Word:
    """Something that never changes its form: an adverb, a time, a number, a conjunction."""

    lemma: str
    english: str


def rows(table: str) -> list[list[str]]:
    """Split a table into rows of stripped columns; an indented line continues the row above it."""
    lines = table.replace("\n    ", " ").strip().split("\n")
    return [[column.strip() for column in line.split("|")] for line in lines]


def add_s(word: str) -> str:
    """Spell English `-s`, of plurals and of the third person alike."""
    if word.endswith(("s", "x", "z", "ch", "sh")) or word in ("go", "do"):
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


def add_ed(word: str) -> str:
    """Spell the English past of a regular verb whose last consonant is not doubled."""
    if word.endswith("e"):
        return word + "d"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ied"
    return word + "ed"


def read_noun(columns: list[str]) -> Noun:
    """Read a row such as `der Hund, Hunde | dog | animal pet`."""
    german, english, classes = columns[:3]
    places = [place.split("=") for place in columns[3].split()] if len(columns) > 3 else []
    (article, lemma), *forms = (form.split() for form in german.split(","))
    singular, *irregular = english.split(", ")
    kinds = frozenset(classes.split())
    if (
        "person" in kinds
        and kinds.isdisjoint(("stranger", "work", "pupil"))
        and not kinds.issuperset(("adult", "grown"))
    ):
        kinds |= {"familiar", "grownup"} if "adult" in kinds else {"familiar"}
    return Noun(
        lemma=lemma,
        gender=GENDERS[article],
        plural=forms[0][0] if forms else None,
        genitive=forms[1][0] if len(forms) > 1 else None,
        english=singular,
        english_plural=irregular[0] if irregular else add_s(singular),
        classes=kinds,
        where=(places[0][0], places[0][1]) if places else None,
        whither=(places[1][0], places[1][1]) if places else None,
    )


def read_name(columns: list[str]) -> Name:
    """Read a row such as `Wien | Vienna | city`."""
    classes = frozenset(columns[2].split())
    return Name(columns[0], columns[1], classes | {"familiar", "grownup"} if "person" in classes else classes)


def read_word(columns: list[str]) -> Word:
    """Read a row such as `oft | often`."""
    return Word(columns[0], columns[1])


def read_adjective(columns: list[str]) -> Adjective:
    """Read a row such as `alt | old | 3 adult building | älter older`."""
    lemma, _, stem = columns[0].partition("/")
    rank, *classes = columns[2].split()
    comparative, _, english = columns[3].partition(" ") if len(columns) > 3 else ("", "", "")
    return Adjective(
        lemma=lemma,
        stem=stem or lemma,
        english=columns[1],
        rank=int(rank),
        classes=frozenset(classes),
        comparative=comparative or None,
        english_comparative=english or None,
    )


def read_english_verb(column: str) -> EnglishVerb:
    """Read a column such as `look -for` or `turn on` or `take care -of (took, taken)`."""
    words, _, irregular = column.rstrip(")").partition(" (")
    before, _, preposition = words.partition(" -")
    base, _, tail = before.partition(" ")
    past, participle = irregular.split(", ") if irregular else (add_ed(base), add_ed(base))
    return EnglishVerb(base, past, participle, tail, preposition)


def members(classes: list[str]) -> tuple[Noun | Name, ...]:
    """All nouns and names in any of the classes, in the order of the tables."""
    wanted = frozenset(classes)
    entries: tuple[Noun | Name, ...] = (*NOUNS, *NAMES)
    return tuple(entry for entry in entries if wanted & entry.classes)


def read_complement(words: list[str]) -> Complement:
    """Read a complement such as `acc food`, `auf=on/unter=under+dat surface` or `to room outside`."""
    prepositions, plus, case = words[0].partition("+")
    if not plus:
        fillers = tuple(
            entry for entry in members(words[1:]) if words[0] not in ("to", "at") or has_place(entry)
        )
        return Complement(words[0], (), fillers)
    pairs = [german.partition("=") for german in prepositions.replace("_", " ").split("/")]
    return Complement(case, tuple((german, english) for german, _, english in pairs), members(words[1:]))


def has_place(entry: Noun | Name) -> bool:
    """Whether one can be somewhere by this noun."""
    return (
        entry.where is not None
        if isinstance(entry, Noun)
        else not {"city", "country"}.isdisjoint(entry.classes)
    )


def read_verb(columns: list[str]) -> Verb:
    """Read a row such as `lesen, liest, las, gelesen | read (read, read) | person > acc text | how laut`."""
    (infinitive, third, preterite, participle), frame = columns[0].split(", "), columns[2].split(" > ")
    extras = {column.split()[0]: column.split()[1:] for column in columns[3:]}
    reflexive = infinitive.startswith("sich ")
    bare = infinitive.removeprefix("sich ")
    separator = "+" if "+" in bare else " "
    prefix, separated, stem = bare.rpartition(separator)
    subject_classes = frame[0].split()
    clauses = [part for part in frame[1:] if part.split()[0] in CLAUSE_KINDS]
    return Verb(
        lemma=infinitive.replace("+", ""),
        infinitive=stem,
        prefix=prefix + separated.strip("+"),
        reflexive=reflexive,
        third=third,
        preterite=preterite,
        participle=participle.removeprefix("ist "),
        auxiliary="sein" if participle.startswith("ist ") else "haben",
        english=read_english_verb(columns[1]),
        subject_classes=tuple(subject_classes),
        subjects=members(subject_classes),
        complements=tuple(read_complement(part.split()) for part in frame[1:] if part not in clauses),
        clauses=tuple(clauses[0].split()) if clauses else (),
        manners=tuple(MANNERS[adverb] for adverb in extras.get("how", [])),
        places=tuple(place for place in members(extras.get("in", [])) if has_place(place)),
        reasons=tuple(adjective for adjective in ADJECTIVES if adjective.lemma in extras.get("why", ())),
        traits=frozenset(extras.get("is", ())),
    )


CLAUSE_KINDS = ("dass", "ob", "warum", "zu")
NOUN_TABLES = (nouns.PEOPLE, nouns.ANIMALS, nouns.FOOD, nouns.THINGS, nouns.PLACES, nouns.IDEAS)
NOUNS = tuple(read_noun(row) for table in NOUN_TABLES for row in rows(table))
NAMES = tuple(read_name(row) for row in rows(modifiers.NAMES))
ADJECTIVES = tuple(read_adjective(row) for row in rows(modifiers.ADJECTIVES))
MANNERS = {row[0]: read_word(row) for row in rows(modifiers.MANNERS)}
CONJUNCTIONS = {row[0]: read_word(row) for row in rows(modifiers.CONJUNCTIONS)}


def words(table: str) -> tuple[Word, ...]:
    """Read a table of words that never change."""
    return tuple(read_word(row) for row in rows(table))


NUMBERS = words(modifiers.NUMBERS)
FREQUENCIES = words(modifiers.FREQUENCIES)
COMMENTS = words(modifiers.COMMENTS)
RECENT_ADVERBS = words(modifiers.RECENT_ADVERBS)
HABITS = words(modifiers.HABITS)
PAST_TIMES = words(modifiers.PAST_TIMES)
DAYS_AGO = words(modifiers.DAYS_AGO)
DAYS_AHEAD = words(modifiers.DAYS_AHEAD)
LONG_AGO = words(modifiers.LONG_AGO)
LATER = words(modifiers.LATER)
COMING_TIMES = words(modifiers.COMING_TIMES)


def verb_table(table: str) -> tuple[Verb, ...]:
    """Read a table of verbs."""
    return tuple(read_verb(row) for row in rows(table))


ACTIVITIES = verb_table(verbs.ACTIVITIES)
DEEDS = verb_table(verbs.DEEDS)
FAVORS = verb_table(verbs.FAVORS)
WHEREABOUTS = verb_table(verbs.WHEREABOUTS)
OPINIONS = verb_table(verbs.OPINIONS)
BE, BECOME = verb_table(verbs.COPULAS)
RAIN, SNOW, SHINE = verb_table(verbs.WEATHER)
