"""Corpora that are learned from together: how often each is seen, and which tag its source lines begin with."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, repeat

import numpy as np

from nmt.data.arrays import BoolArray, Int64Array
from nmt.errors import DataError
from nmt.wording import LineNumbers

TAG_START, TAG_END = "<2", ">"
TAG = re.compile(f"{TAG_START}[A-Za-z0-9_-]{{1,20}}{TAG_END}")
MAX_PAIRS = 100_000_000  # that an epoch may add by repetition: a slip in a weight would fill the memory


def known_tags(pieces: Iterable[str]) -> list[str]:
    """Return the tags among the pieces, with which lines begin; only models of many languages have any."""
    return [piece for piece in pieces if TAG.fullmatch(piece)]


def tag_of(language: str) -> str:
    """Return the tag at the start of a source line that names its target language (Johnson et al. 2017)."""
    return f"{TAG_START}{language}{TAG_END}"


def language_of(tag: str) -> str:
    """Return the language that a tag names."""
    return tag[len(TAG_START) : -len(TAG_END)]


def tagged(line: str, tag: str) -> str:
    """Return a line with its tag; a blank line stays as it is."""
    return f"{tag} {line}" if line.strip() else line


def without_tag(line: str, tags: Collection[str]) -> str:
    """Return a line without the tag that it begins with, if it is one of `tags`."""
    return next((line[len(tag) :].removeprefix(" ") for tag in tags if line.startswith(tag)), line)


def require_tags(lines: Iterable[str], tags: Collection[str], key: str) -> None:
    """Raise DataError if a line that is not blank begins with none of the tags, where a model has any."""
    if not tags:
        return
    without = LineNumbers(
        number for number, line in enumerate(lines, 1) if line.strip() and not line.startswith(tuple(tags))
    )
    if without.count:
        raise DataError(
            f"{key}: a tag at the start of each line, one of {', '.join(sorted(set(tags)))}, is needed for this run; "
            f"got none in {without}"
        )


@dataclass(frozen=True)
class Groups:
    """The corpora of a mixture, one after the other in each split."""

    names: list[str]
    tags: list[str] | None  # of each corpus
    weights: list[float]
    temperature: float
    sizes: dict[str, list[int]]  # pairs of each corpus in each split

    @property
    def symbols(self) -> list[str]:
        """The tags, each once, that the source vocabulary needs."""
        return sorted(set(self.tags or []))

    def of_languages(self) -> Iterator[BoolArray]:
        """Yield, for each pair of languages, which training pairs are of it, (pairs,)."""
        numbers = [self.names.index(name) for name in self.names]
        of_pairs = np.repeat(np.array(numbers, np.int32), self.sizes["train"])
        for number in sorted(set(numbers)):
            yield of_pairs == number

    def tag(self, split: str, lines: Iterable[str]) -> Iterable[str]:
        """Return the source lines of a split, each with the tag of its corpus."""
        if self.tags is None:
            return lines
        of_lines = chain.from_iterable(map(repeat, self.tags, self.sizes[split]))
        return (tagged(line, tag) for line, tag in zip(lines, of_lines, strict=True))

    def keep(self, kept: BoolArray) -> "Groups":
        """Return the same corpora with only those training pairs that are `kept`."""
        sizes = [int(part.sum()) for part in np.split(kept, np.cumsum(self.sizes["train"])[:-1])]
        return replace(self, sizes=self.sizes | {"train": sizes})

    def repeat(self, selected: Int64Array, seed: int) -> Int64Array:
        """Return the indices of training pairs, in order, repeated so that each corpus has its share.

        The corpus that is largest for its share is taken once. The others are repeated in whole passes, and the rest
        of their shares is drawn at random from `seed`, once for all epochs. The plan of batches thus depends on seed,
        epoch and lengths alone, as without a mixture.
        """
        parts = np.split(selected, np.searchsorted(selected, np.cumsum(self.sizes["train"])[:-1]))
        counts = np.array([len(part) for part in parts], np.float64)
        shares = np.array(self.weights) * counts ** (1 / self.temperature)
        wanted = shares * (counts[counts > 0] / shares[counts > 0]).max()
        if wanted.sum() > MAX_PAIRS + counts.sum():
            raise DataError(
                f"data.pairs: weights that add at most {MAX_PAIRS} pairs to an epoch by repetition are needed; "
                f"got {wanted.sum() - counts.sum():.0f}"
            )
        repeated = [np.empty(0, np.int64)]
        for number, (part, size) in enumerate(zip(parts, np.rint(wanted).astype(int).tolist(), strict=True)):
            if len(part):
                passes, rest = divmod(size, len(part))
                drawn = np.random.default_rng([seed, number]).permutation(part)[:rest]
                repeated += [np.tile(part, passes), drawn]
        return np.sort(np.concatenate(repeated))

    def describe(self, repeated: Int64Array) -> str:
        """Return in words the pairs of each corpus in an epoch, their share, and how often each is seen."""
        ends = [0, *np.cumsum(self.sizes["train"])]
        # Pairs that are too long to learn from are not among them.
        counts, sizes = (np.diff(np.searchsorted(rows, ends)) for rows in (repeated, np.unique(repeated)))
        return ", ".join(
            f"{name} {count} pairs ({100 * count / max(len(repeated), 1):.1f} %, {count / max(size, 1):.2f} times)"
            for name, count, size in zip(self.names, counts.tolist(), sizes.tolist(), strict=True)
        )
