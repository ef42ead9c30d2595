"""Exact and near duplicates among pairs and lines.

Exact duplicates share a fingerprint, a number that stands for a line, so that ten million lines can be compared in
little time. The fingerprints of text too large for memory are in files, and are compared some millions at a time.

Two pairs are nearly the same if the sets of character 4-grams of both sides, in lower case, have at least 80 % in
common (Jaccard). MinHash (Broder 1997) with banding finds candidates, and a comparison decides. Of pairs with 80 % in
common, 6 bands of 4 hashes miss 4 %; of pairs with 90 %, 0.2 %.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from nmt.data.arrays import BoolArray, Int64Array, Uint64Array, on_disk
from nmt.data.characters import codes_of
from nmt.data.corpus import ParallelText

BLANK = hash("")
# An odd number with about as many ones as zeros keeps (a, b) and (b, a) apart.
MULTIPLIER = np.int64(0x5851F42D4C957F2D)
LEAST_IN_COMMON = 0.8
GRAM = 4  # characters
# Shorter pairs are nearly the same as many others, and that means little.
MIN_CHARACTERS = 16
NUM_BANDS, ROWS_PER_BAND = 6, 4
PAIRS_AT_ONCE = 5_000
LINES_AT_ONCE = 200_000  # whose fingerprints are made, and searched, together
PAIRS_SORTED_AT_ONCE = 4_000_000
# The number of comparisons, 25 microseconds each, is bounded: a corpus made of a few patterns would take for ever.
MAX_COMPARISONS = 400_000


def fingerprint(lines: Sequence[str]) -> Int64Array:
    """Return a fingerprint of 64 bits for each line, without regard to white space at its ends.

    Fingerprints hold within one process only. Two different texts share one with a probability of 5e-20, any two of
    ten million with one of 3e-6.
    """
    return np.fromiter((hash(line.strip()) for line in lines), np.int64, len(lines))


@dataclass(frozen=True)
class Fingerprints:
    """The fingerprints of both sides of parallel text."""

    source: Int64Array
    target: Int64Array

    @classmethod
    def of(cls, text: ParallelText, folder: Path | None = None) -> "Fingerprints":
        """Return the fingerprints of a text, in unnamed files in `folder` if one is given."""
        sides = []
        for lines in (text.source, text.target):
            numbers = np.empty(len(lines), np.int64) if folder is None else on_disk(len(lines), folder)
            for start in range(0, len(lines), LINES_AT_ONCE):
                part = lines[start : start + LINES_AT_ONCE]
                numbers[start : start + len(part)] = fingerprint(part)
            sides.append(numbers)
        return cls(*sides)

    @cached_property
    def pair(self) -> Int64Array:
        """The fingerprint of each pair."""
        return self.source * MULTIPLIER + self.target

    @cached_property
    def has_text(self) -> BoolArray:
        """Whether both sides of a pair have text: a blank line is no translation, and a duplicate of nothing."""
        return (self.source != BLANK) & (self.target != BLANK)

    @property
    def exchanged(self) -> "Fingerprints":
        """The fingerprints of the same pairs in the other direction."""
        return Fingerprints(self.target, self.source)

    def select(self, kept: BoolArray | slice) -> "Fingerprints":
        """Return the fingerprints of some pairs."""
        return Fingerprints(self.source[kept], self.target[kept])

    def parts(self) -> Iterator[tuple[slice, "Fingerprints"]]:
        """Yield the fingerprints in parts, each after the slice of the pairs that it covers."""
        for start in range(0, len(self), LINES_AT_ONCE):
            where = slice(start, min(start + LINES_AT_ONCE, len(self)))
            yield where, self.select(where)

    def find_repeated(self, kind: str, kept: BoolArray) -> BoolArray:
        """Return which of the kept pairs with text repeat an earlier one of them.

        `kind` is what is compared: `pair`, `source` or `target`. To bound memory, fingerprints are compared in groups
        of equal remainder.
        """
        repeated = np.zeros(len(self), bool)
        num_remainders = 1 + len(self) // PAIRS_SORTED_AT_ONCE
        for remainder in range(num_remainders):
            rows, numbers = [], []
            for where, part in self.parts():
                own = getattr(part, kind)
                found = np.flatnonzero(kept[where] & part.has_text & (own % num_remainders == remainder))
                rows.append(where.start + found)
                numbers.append(own[found])
            repeated[np.concatenate(rows)] = are_repeated(np.concatenate(numbers))
        return repeated

    def __len__(self) -> int:
        return len(self.source)


@dataclass(frozen=True)
class Overlap:
    """How many pairs of held-out text are in the training text, and how many of the lines of each side."""

    num_pairs: int
    pair: int
    source: int
    target: int

    @property
    def found(self) -> bool:
        """Whether there are any."""
        return bool(self.pair or self.source or self.target)

    def __str__(self) -> str:
        share = 100 * self.pair / max(self.num_pairs, 1)
        return (
            f"{self.pair} of {self.num_pairs} pairs ({share:.1f} %), {self.source} source and {self.target} target "
            "lines are in the training text"
        )


def find_overlap(
    held_out: Fingerprints, train: Fingerprints, kept: BoolArray, both_ways: bool = False
) -> Overlap:
    """Return how much of `held_out` is among the pairs of `train` that are kept.

    `both_ways` also finds it in pairs of the other direction, which a mixture may have.
    """
    counts = {}
    for kind in ("pair", "source", "target"):
        few = getattr(held_out, kind)[held_out.has_text]
        found = np.zeros(len(few), bool)
        for where, part in train.parts():
            for one in (part, part.exchanged) if both_ways else (part,):
                many = getattr(one, kind)[kept[where] & part.has_text]
                found |= np.isin(few, many[are_among(many, few)])
        counts[kind] = int(found.sum())
    return Overlap(len(held_out), **counts)


def are_among(many: Int64Array, few: Int64Array) -> BoolArray:
    """Return for each of `many` whether it is among `few`."""
    known = np.unique(few)
    if not len(known):
        return np.zeros(len(many), bool)
    return known[np.searchsorted(known[1:], many, "right")] == many  # the last one that is not larger


def are_repeated(values: Int64Array) -> BoolArray:
    """Return for each value whether it occurred before."""
    repeated = np.ones(len(values), bool)
    repeated[np.unique(values, return_index=True)[1]] = False
    return repeated


@dataclass(frozen=True)
class NearDuplicates:
    """Which pairs are nearly the same as an earlier one, and how many candidates were found and compared."""

    later: Int64Array  # indices of pairs, in order
    earlier: Int64Array  # of each, one that it is nearly the same as
    num_candidates: int
    num_compared: int


def find_near_duplicates(indices: Int64Array, text_of: Callable[[int], str]) -> NearDuplicates:
    """Return which of these pairs are nearly the same as an earlier one; `text_of` gives both sides of a pair.

    Keys and indices take 48 bytes a pair, and sorting as much again for a while; time is linear in the number of
    characters, except for sorting.
    """
    kept, keys = _band_keys(indices, text_of)
    candidates = _candidates(kept, keys)
    compared = candidates
    if len(candidates) > MAX_COMPARISONS:  # evenly spaced, so that they are a sample of all
        compared = candidates[np.linspace(0, len(candidates) - 1, MAX_COMPARISONS).astype(np.int64)]
    found: dict[int, int] = {}
    for earlier, later in compared.tolist():
        if later not in found and _in_common(text_of(earlier), text_of(later)) >= LEAST_IN_COMMON:
            found[later] = earlier
    pairs = np.array(sorted(found.items()), np.int64).reshape(-1, 2)
    return NearDuplicates(pairs[:, 0], pairs[:, 1], len(candidates), len(compared))


def normalized(text: str) -> str:
    """Return a text as it is compared: in lower case, with single spaces."""
    return " ".join(text.lower().split())


def _in_common(one: str, other: str) -> float:
    first, second = _grams(normalized(one)), _grams(normalized(other))
    shared = len(first & second)
    return shared / max(len(first) + len(second) - shared, 1)


def _grams(text: str) -> set[str]:
    return {text[i : i + GRAM] for i in range(len(text) - GRAM + 1)}


def _band_keys(indices: Int64Array, text_of: Callable[[int], str]) -> tuple[Int64Array, Uint64Array]:
    """Return the pairs that are long enough, and a key for each band of their signatures, (bands, pairs)."""
    kept, keys, count = np.empty_like(indices), np.empty((NUM_BANDS, len(indices)), np.uint64), 0
    for start in range(0, len(indices), PAIRS_AT_ONCE):
        texts = {
            index: normalized(text_of(index)) for index in indices[start : start + PAIRS_AT_ONCE].tolist()
        }
        if long := {index: text for index, text in texts.items() if len(text) >= MIN_CHARACTERS}:
            places = slice(count, count := count + len(long))
            kept[places], keys[:, places] = list(long), _keys_of(list(long.values()))
    return kept[:count], keys[:, :count]


def _keys_of(texts: list[str]) -> Uint64Array:
    codes, offsets = codes_of(texts)
    grams = np.zeros(len(codes) - GRAM + 1, np.uint64)
    for place in range(GRAM):
        grams = grams * np.uint64(0x100000001B3) + codes[place : len(codes) - GRAM + 1 + place]
    grams = _mix(grams)
    within = np.ones(len(grams), bool)  # an n-gram that reaches into the next text is dropped
    for place in range(1, GRAM):
        within[offsets[1:-1] - place] = False
    grams, starts = grams[within], offsets[:-1] - (GRAM - 1) * np.arange(len(texts))
    generator = np.random.default_rng(0)
    keys = np.empty((NUM_BANDS, len(texts)), np.uint64)
    for band in range(NUM_BANDS):
        key = np.zeros(len(texts), np.uint64)
        for _ in range(ROWS_PER_BAND):
            factor = generator.integers(1 << 63, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
            term = generator.integers(1 << 63, dtype=np.uint64)
            least = np.minimum.reduceat(((grams * factor + term) >> np.uint64(32)).astype(np.uint32), starts)
            key = _mix(key + least)
        keys[band] = key
    return keys


def _mix(values: Uint64Array) -> Uint64Array:
    """Spread each bit of numbers over all 64 (Steele et al. 2014, SplitMix)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _candidates(kept: Int64Array, keys: Iterable[Uint64Array]) -> Int64Array:
    """Return candidates (earlier, later), (pairs, 2): each pair with the first and the previous one of the same key."""
    found = [np.empty((0, 2), np.int64)]
    for key in keys:
        order = np.argsort(key, kind="stable")
        ordered, is_same = key[order], np.zeros(len(order), bool)
        is_same[1:] = ordered[1:] == ordered[:-1]
        places = np.flatnonzero(is_same)
        firsts = np.maximum.accumulate(np.where(is_same, 0, np.arange(len(order))))[places]
        found += [np.stack([kept[order[before]], kept[order[places]]], 1) for before in (firsts, places - 1)]
    return np.unique(np.concatenate(found), axis=0)
