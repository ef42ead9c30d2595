"""The built-in corpus: German and English sentence pairs, whose held-out triples are new to training."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from zlib import crc32

from nmt.grammar import english, german
from nmt.grammar.author import Author
from nmt.grammar.chance import Chance
from nmt.grammar.meaning import Token, Triple, triples

# Percentages of the triples that belong to training and to validation; the others belong to test.
TRAIN_SHARE, VALIDATION_SHARE = 70, 15
MIN_WORDS, MAX_WORDS = 3, 40
# Attempts to find a held-out sentence of which every word occurs in training.
TRIES = 200
# Shares of German training sentences that are typed carelessly; held-out text and all English are written with care.
STOPLESS = 0.12
TYPED: dict[Callable[[str], str], float] = {str: 0.7, str.lower: 0.15, str.upper: 0.15}


@dataclass(frozen=True)
class Pair:
    """A sentence in German and English, and the (subject, verb, object) lemmas in it."""

    source: str
    target: str
    triples: tuple[Triple, ...]


def generate(
    seed: int = 0, num_train: int = 20_000, num_validation: int = 1_000, num_test: int = 1_000
) -> dict[str, list[Pair]]:
    """Generate the corpus: a pure function of its arguments.

    No sentence occurs twice in either language, and a share of the German training sentences is typed
    without care, so that a model learns to read them. Every held-out pair has a triple, and none of its triples
    occurs in another split; its words all occur in training, as far as a small `num_train` allows.
    """
    seen: set[str] = set()
    written = Writer(seed, "train", seen).pairs(num_train)
    chance = Chance(f"{seed} typing")
    train = [replace(pair, source=typed(pair.source, chance)) for pair in written]
    known = {word for pair in train for word in word_forms(pair)}
    validation = Writer(seed, "validation", seen).pairs(num_validation, known)
    return {
        "train": train,
        "validation": validation,
        "test": Writer(seed, "test", seen).pairs(num_test, known),
    }


def typed(sentence: str, chance: Chance) -> str:
    """A sentence as people type it: sometimes without the full stop, in small letters only or in capitals only."""
    if chance.happens(STOPLESS):
        sentence = sentence.removesuffix(".")
    return chance.weigh(TYPED)(sentence)


class Writer:
    """Writes the pairs of one split; `seen` are the sentences of all splits that are already written."""

    def __init__(self, seed: int, split: str, seen: set[str]) -> None:
        self.author = Author(Chance(f"{seed} {split}"), belongs_to(seed, split))
        self.held_out = split != "train"
        self.seen = seen

    def pairs(self, number: int, known: Collection[str] = ()) -> list[Pair]:
        """The next pairs; where there are `known` words, pairs of these are preferred."""
        written = []
        for _ in range(number):
            written.append(self.pair_of_known_words(known) if known else self.pair())
            self.seen.update((written[-1].source, written[-1].target))
        return written

    def pair(self) -> Pair:
        """A new pair of an allowed length; a held-out pair has a triple."""
        while True:
            meaning = self.author.sentence()
            found = triples(meaning)
            if self.held_out and not found:
                continue
            pair = Pair(written(german.sentence(meaning)), written(english.sentence(meaning)), found)
            if self.seen.isdisjoint((pair.source, pair.target)) and fits(pair.source) and fits(pair.target):
                return pair

    def pair_of_known_words(self, known: Collection[str]) -> Pair:
        """A pair whose words are all known; after TRIES attempts, the one with the fewest unknown words."""
        found = []
        for _ in range(TRIES):
            pair = self.pair()
            found.append((sum(word not in known for word in word_forms(pair)), pair))
            if not found[-1][0]:
                break
        return min(found, key=lambda each: each[0])[1]


def written(spoken: list[Token]) -> str:
    """Words as a sentence: it begins with a capital, and has no two commas in a row and none before its end."""
    text = ""
    for word, _ in spoken:
        if word == ",":
            text = text.removesuffix(",") + ","
        elif word in ".?":
            text = text.removesuffix(",") + word
        else:
            text = f"{text} {word}"
    return text[1].upper() + text[2:]


def belongs_to(seed: int, split: str) -> Callable[[Triple], bool]:
    """A test whether a triple belongs to a split; each triple belongs to exactly one."""

    def accepts(triple: Triple) -> bool:
        drawn = crc32(f"{seed} {' '.join(triple)}".encode()) % 100
        if drawn < TRAIN_SHARE:
            return split == "train"
        return split == ("validation" if drawn < TRAIN_SHARE + VALIDATION_SHARE else "test")

    return accepts


def fits(sentence: str) -> bool:
    """Whether a sentence is neither too short nor too long."""
    return MIN_WORDS <= len(sentence.split()) <= MAX_WORDS


def word_forms(pair: Pair) -> set[str]:
    """The words of both sides without punctuation, as they are written; the first of a side in small letters."""
    return {
        word.strip(",.?") if index else word.strip(",.?").lower()
        for sentence in (pair.source, pair.target)
        for index, word in enumerate(sentence.split())
    }
