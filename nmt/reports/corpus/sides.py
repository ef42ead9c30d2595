"""Measures of one side of a text."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nmt.data.arrays import BoolArray, Int64Array
from nmt.data.characters import (
    LINES_CODED_AT_ONCE,
    NO_LETTER,
    NUM_CODES,
    OTHER,
    SCRIPTS,
    ScriptTable,
    codes_of,
    script_shares,
    sum_by_line,
)
from nmt.data.dataset import Ids
from nmt.data.tokenizer import Vocabulary

MAX_BARS = 40
MAX_SHOWN = 30  # characters of a list
NUM_EXAMPLES = 5
# Format characters change how text looks, not what it means; lone surrogates, private ones and U+FFFD are damage.
CONTROL_CATEGORIES = ("Cc", "Cf", "Co", "Cs", "Cn")
CONTROL_NAMES = {"\t": "TAB", "\r": "CARRIAGE RETURN", "\x85": "NEXT LINE", "\x00": "NUL"}
DAMAGE = "\ufffd"
JAPANESE = ("Han", "Hiragana", "Katakana")


@dataclass(frozen=True)
class Histogram:
    """How many values are in each bin; bin i goes from edges[i] up to edges[i + 1], the last has no upper limit."""

    edges: list[float]
    counts: list[int]


@dataclass(frozen=True)
class Lengths:
    """How long the lines of a side are."""

    mean: float
    median: float
    percentile_99: float
    max: int
    histogram: Histogram


@dataclass(frozen=True)
class CharacterCount:
    """A character, what Unicode calls it, and how often it occurs."""

    character: str
    name: str
    count: int


@dataclass(frozen=True)
class SideMeasures:
    """Measures of one side of a text."""

    num_words: int  # split at white space
    num_characters: int
    num_blank: int  # lines
    words: Lengths
    characters: Lengths
    scripts: dict[str, int]  # letters of each
    main_scripts: list[str]
    num_of_other_script: int  # lines with fewer than half of their letters in these
    lines_of_other_script: list[int]  # numbers of the first ones, from 1
    num_distinct_characters: int
    frequent: list[CharacterCount]
    controls: list[CharacterCount]
    num_lines_with_controls: int
    lines_with_controls: list[int]  # numbers of the first ones, from 1
    num_unseen: int  # distinct characters that training text lacks
    unseen: list[CharacterCount]  # characters that training text lacks; none for training text itself
    num_tokens: int
    num_unknown_tokens: int
    tokens_per_word: float


def measure_side(
    lines: Sequence[str], sizes: Sequence[int], ids: Ids, vocabulary: Vocabulary, seen: Int64Array | None
) -> tuple[SideMeasures, Int64Array]:
    """Measure one side; return the measures and the count of each character. `seen` are the counts of training text.

    `sizes` are the numbers of lines of its corpora, one after the other: those of a mixture have scripts of their own.
    """
    num_words = np.fromiter((len(line.split()) for line in lines), np.int64, len(lines))
    counts, lengths, letters, controls = _scan(lines, sizes)
    scripts = _by_number(letters.sum(0))
    main = list(dict.fromkeys(script for own in letters for script in main_scripts(_by_number(own))))
    other = np.flatnonzero(script_shares(lines, main) < 0.5)
    with_controls = np.flatnonzero(controls)
    unseen = np.flatnonzero((counts > 0) & (seen == 0)) if seen is not None else np.empty(0, np.int64)
    unknown = int((ids.tokens == vocabulary.unk_id).sum())
    words, num_tokens = int(num_words.sum()), len(ids.tokens)
    measures = SideMeasures(
        num_words=words,
        num_characters=int(lengths.sum()),
        num_blank=int((num_words == 0).sum()),
        words=lengths_of(num_words),
        characters=lengths_of(lengths),
        scripts=scripts,
        main_scripts=main,
        num_of_other_script=len(other),
        lines_of_other_script=(other[:NUM_EXAMPLES] + 1).tolist(),
        num_distinct_characters=int((counts > 0).sum()),
        frequent=_most(counts, np.flatnonzero(counts)),
        controls=_most(
            counts, np.array([code for code in np.flatnonzero(counts).tolist() if is_control(chr(code))])
        ),
        num_lines_with_controls=len(with_controls),
        lines_with_controls=(with_controls[:NUM_EXAMPLES] + 1).tolist(),
        num_unseen=len(unseen),
        unseen=_most(counts, unseen),
        num_tokens=num_tokens,
        num_unknown_tokens=unknown,
        tokens_per_word=num_tokens / max(words, 1),
    )
    return measures, counts


def _by_number(letters: Int64Array) -> dict[str, int]:
    """Return the number of letters of each script that occurs, the most frequent first."""
    by_number = sorted(zip(SCRIPTS, letters.tolist(), strict=True), key=lambda item: -item[1])
    return {script: number for script, number in by_number if script != NO_LETTER and number}


def main_scripts(scripts: dict[str, int]) -> list[str]:
    """Return the script of most letters; for Japanese, those of its three scripts that occur."""
    main = max(scripts, key=lambda script: scripts[script], default=OTHER)
    kana = scripts.get("Hiragana", 0) + scripts.get("Katakana", 0)
    is_japanese = main in JAPANESE and kana > 0.05 * sum(scripts.values())
    return [script for script in JAPANESE if script in scripts] if is_japanese else [main]


def is_control(character: str) -> bool:
    """Whether a character is one that nobody means to translate: invisible, private or damaged."""
    return character == DAMAGE or unicodedata.category(character) in CONTROL_CATEGORIES


def lengths_of(values: Int64Array) -> Lengths:
    """Describe lengths, with a histogram up to the 99th percentile and the rest in its last bin.

    The width of its bins is a power of two, so that two histograms can be drawn with one width.
    """
    if not len(values):
        return Lengths(0.0, 0.0, 0.0, 0, Histogram([0.0, 1.0], [0]))
    high = float(np.percentile(values, 99))
    width = 1 << (int(np.ceil((high + 1) / MAX_BARS)) - 1).bit_length()
    edges = np.arange(0, high + 2 * width, width)
    places = np.minimum(values // width, len(edges) - 2)
    counts = np.bincount(places, minlength=len(edges) - 1)
    return Lengths(
        float(values.mean()), float(np.median(values)), high, int(values.max()),
        Histogram(edges.astype(float).tolist(), counts.tolist()),
    )  # fmt: skip


def name_of(character: str) -> str:
    """Return the code point and name of a character in Unicode."""
    name = unicodedata.name(character, CONTROL_NAMES.get(character, "control character"))
    return f"U+{ord(character):04X} {name}"


def _scan(lines: Sequence[str], sizes: Sequence[int]) -> tuple[Int64Array, Int64Array, Int64Array, BoolArray]:
    """Return the counts of all characters, the length of each line, and which lines have controls.

    The third array holds the letters of each script in each corpus, (corpora, scripts).
    """
    counts, table = np.zeros(NUM_CODES, np.int64), ScriptTable()
    letters, ends = np.zeros((len(sizes), len(SCRIPTS)), np.int64), np.cumsum(sizes).tolist()
    control_table = np.zeros(NUM_CODES, bool)
    lengths, controls = [np.empty(0, np.int64)], [np.empty(0, bool)]
    for of_corpus, size, end in zip(letters, sizes, ends, strict=True):
        for start in range(end - size, end, LINES_CODED_AT_ONCE):
            codes, offsets = codes_of(lines[start : min(start + LINES_CODED_AT_ONCE, end)])
            distinct, number = np.unique(codes, return_counts=True)
            new = [code for code in distinct[counts[distinct] == 0].tolist() if is_control(chr(code))]
            control_table[new] = True
            counts[distinct] += number
            np.add.at(of_corpus, table.indices(distinct), number)
            lengths.append(np.diff(offsets))
            controls.append(sum_by_line(control_table[codes], offsets) > 0)
    return counts, np.concatenate(lengths), letters, np.concatenate(controls)


def _most(counts: Int64Array, codes: Int64Array) -> list[CharacterCount]:
    codes = codes.astype(np.int64)
    most = codes[np.argsort(-counts[codes], kind="stable")][:MAX_SHOWN]
    return [CharacterCount(chr(code), name_of(chr(code)), int(counts[code])) for code in most.tolist()]
