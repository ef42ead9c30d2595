"""Numbers that stand for lines, so that ten million of them can be compared in little time and memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from nmt.data.corpus import ParallelText

LINES_AT_ONCE = 1 << 20
BLANK = hash("")
# An odd number with about as many ones as zeros keeps (a, b) and (b, a) apart.
MULTIPLIER = np.int64(0x5851F42D4C957F2D)

Int64Array = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def fingerprint(lines: Sequence[str]) -> Int64Array:
    """Return 64 bits for each line, the same for the same text but for white space at its ends.

    They are of this process alone. Two texts share them with a probability of 5e-20, two of ten million of 3e-6.
    """
    return np.fromiter((hash(line.strip()) for line in lines), np.int64, len(lines))


@dataclass(frozen=True)
class Fingerprints:
    """The numbers of both sides of parallel text."""

    source: Int64Array
    target: Int64Array

    @classmethod
    def of(cls, text: ParallelText) -> "Fingerprints":
        """Return the numbers of a text."""
        return cls(fingerprint(text.source), fingerprint(text.target))

    @cached_property
    def pair(self) -> Int64Array:
        """The numbers of pairs."""
        return self.source * MULTIPLIER + self.target

    @cached_property
    def has_text(self) -> Mask:
        """Whether no side of a pair is blank: what is blank is no translation, and the same as nothing."""
        return (self.source != BLANK) & (self.target != BLANK)

    def select(self, kept: Mask) -> "Fingerprints":
        """Return those of some pairs."""
        return Fingerprints(self.source[kept], self.target[kept])

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


def find_overlap(held_out: Fingerprints, train: Fingerprints) -> Overlap:
    """Return how much of `held_out` is in `train`."""
    counts = {
        kind: int(are_in(getattr(held_out, kind), getattr(train, kind))[held_out.has_text].sum())
        for kind in ("pair", "source", "target")
    }
    return Overlap(len(held_out), **counts)


def are_in(few: Int64Array, many: Int64Array) -> Mask:
    """Return for each of `few` whether it is among `many`."""
    known, inverse = np.unique(few, return_inverse=True)
    found = np.zeros(len(known), bool)
    for start in range(0, len(many), LINES_AT_ONCE):
        chunk = many[start : start + LINES_AT_ONCE]
        found[np.searchsorted(known, chunk[_are_in_sorted(chunk, known)])] = True
    return found[inverse]


def are_among(many: Int64Array, few: Int64Array) -> Mask:
    """Return for each of `many` whether it is among `few`."""
    known = np.unique(few)
    chunks = [np.zeros(0, bool)]
    chunks += [
        _are_in_sorted(many[start : start + LINES_AT_ONCE], known)
        for start in range(0, len(many), LINES_AT_ONCE)
    ]
    return np.concatenate(chunks)


def are_repeated(values: Int64Array) -> Mask:
    """Return for each value whether it occurred before."""
    repeated = np.ones(len(values), bool)
    repeated[np.unique(values, return_index=True)[1]] = False
    return repeated


def _are_in_sorted(values: Int64Array, known: Int64Array) -> Mask:
    if not len(known):
        return np.zeros(len(values), bool)
    places = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return known[places] == values
