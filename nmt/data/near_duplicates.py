"""Pairs that are nearly the same: MinHash (Broder 1997) with banding finds candidates, a comparison decides.

Two pairs are nearly the same if the sets of character 4-grams of both sides, in lower case, have at least 80 % in
common (Jaccard). Of two at just 80 %, 6 bands of 4 hashes miss 4 %; of two at 90 %, less than 0.1 %.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nmt.data.characters import codes_of

LEAST_IN_COMMON = 0.8
GRAM = 4  # characters
# Shorter pairs are nearly the same as many others, and that means little.
MIN_CHARACTERS = 16
NUM_BANDS, ROWS_PER_BAND = 6, 4
PAIRS_AT_ONCE = 5_000
# Comparisons, of 25 microseconds each, are bounded: a corpus made of a few patterns would take for ever.
MAX_COMPARISONS = 400_000

Int64Array = npt.NDArray[np.int64]
Uint64Array = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class NearDuplicates:
    """Which pairs are nearly the same as an earlier one, and how many candidates were compared to know it."""

    later: Int64Array  # indices of pairs, in order
    earlier: Int64Array  # of each, one that it is nearly the same as
    num_candidates: int
    num_compared: int


def find_near_duplicates(indices: Int64Array, text_of: Callable[[int], str]) -> NearDuplicates:
    """Return which of these pairs are nearly the same as an earlier one; `text_of` gives both sides of a pair.

    Memory is 48 bytes a pair; time grows with the characters, but for sorting.
    """
    kept, keys = _band_keys(indices, text_of)
    candidates = _candidates(kept, keys)
    compared = candidates
    if len(candidates) > MAX_COMPARISONS:  # evenly, so that what is found is a sample of all
        compared = candidates[np.linspace(0, len(candidates) - 1, MAX_COMPARISONS).astype(np.int64)]
    found: dict[int, int] = {}
    for earlier, later in compared.tolist():
        if later not in found and _in_common(text_of(earlier), text_of(later)) >= LEAST_IN_COMMON:
            found[later] = earlier
    later = np.array(sorted(found), np.int64)
    earlier = np.array([found[index] for index in later.tolist()], np.int64)
    return NearDuplicates(later, earlier, len(candidates), len(compared))


def normalized(text: str) -> str:
    """Return what is compared of a text: in lower case, with single spaces."""
    return " ".join(text.lower().split())


def _in_common(one: str, other: str) -> float:
    first, second = _grams(normalized(one)), _grams(normalized(other))
    shared = len(first & second)
    return shared / max(len(first) + len(second) - shared, 1)


def _grams(text: str) -> set[str]:
    return {text[i : i + GRAM] for i in range(len(text) - GRAM + 1)}


def _band_keys(indices: Int64Array, text_of: Callable[[int], str]) -> tuple[Int64Array, Uint64Array]:
    """Return the pairs that are long enough, and a number for each band of their signatures, (bands, pairs)."""
    kept: list[Int64Array] = [np.empty(0, np.int64)]
    keys: list[Uint64Array] = [np.empty((NUM_BANDS, 0), np.uint64)]
    for start in range(0, len(indices), PAIRS_AT_ONCE):
        chunk = indices[start : start + PAIRS_AT_ONCE]
        texts = [normalized(text_of(index)) for index in chunk.tolist()]
        long_enough = np.array([len(text) >= MIN_CHARACTERS for text in texts])
        if long_enough.any():
            kept.append(chunk[long_enough])
            keys.append(_keys_of([text for text in texts if len(text) >= MIN_CHARACTERS]))
    return np.concatenate(kept), np.concatenate(keys, axis=1)


def _keys_of(texts: list[str]) -> Uint64Array:
    codes, offsets = codes_of(texts)
    grams = np.zeros(len(codes) - GRAM + 1, np.uint64)
    for place in range(GRAM):
        grams = grams * np.uint64(0x100000001B3) + codes[place : len(codes) - GRAM + 1 + place]
    grams = _mix(grams)
    within = np.ones(len(grams), bool)  # a gram that reaches into the next text is none
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
    """Spread what is in 64 bits over all of them (Steele et al. 2014, SplitMix)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _candidates(kept: Int64Array, keys: Iterable[Uint64Array]) -> Int64Array:
    """Return (earlier, later) of pairs that share a band: each with the first and with the one before, (pairs, 2)."""
    found = [np.empty((0, 2), np.int64)]
    for key in keys:
        order = np.argsort(key, kind="stable")
        is_same = (
            np.concatenate([[False], key[order][1:] == key[order][:-1]]) if len(order) else np.empty(0, bool)
        )
        places = np.flatnonzero(is_same)
        firsts = np.maximum.accumulate(np.where(is_same, 0, np.arange(len(order))))[places]
        found += [
            np.stack([kept[order[before]], kept[order[places]]], axis=1) for before in (firsts, places - 1)
        ]
    return np.unique(np.concatenate(found), axis=0)
