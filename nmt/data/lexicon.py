"""Which tokens translate which, learned from pairs of sentences by IBM Model 1 (Brown et al. 1993)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from nmt.data.arrays import FloatArray, Int64Array
from nmt.data.dataset import Dataset, Ids

# Source tokens times target tokens of pairs that are looked at together, some 100 bytes each.
CELLS_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class Lexicon:
    """How probable target tokens are, given a source token, for pairs (P) that stood together in a pair of sentences.

    Pairs are in the order of their source ids. The id after all source tokens stands for no token at all.
    """

    sources: Int64Array  # (P)
    targets: Int64Array  # (P)
    probabilities: FloatArray  # (P)

    def best(self, count: int, source_size: int) -> Ids:
        """Return the `count` most probable target tokens, or fewer, of each of so many source ids, best first."""
        order = np.lexsort((-self.probabilities, self.sources))
        order = order[self.sources[order] < source_size]
        sources = self.sources[order]
        ranks = np.arange(len(order)) - np.searchsorted(sources, sources)
        kept = order[ranks < count]
        numbers = np.bincount(self.sources[kept], minlength=source_size)
        return Ids.laid(self.targets[kept].astype(np.int32), numbers)


def learn_lexicon(pairs: Dataset, source_size: int, target_size: int, num_iterations: int) -> Lexicon:
    """Learn from pairs of ids how probable each target token is as the translation of each source token.

    Each target token comes from one of the source tokens, or from none, whichever it may be: a few iterations of
    expectation-maximisation, from probabilities that are all equal.
    """
    keys = _distinct(pairs, source_size, target_size)
    sources, targets = np.divmod(keys, target_size)
    probabilities = np.ones(len(keys))
    for _ in range(num_iterations):
        counts = np.zeros(len(keys))
        for cells, columns in _cells(pairs, source_size, target_size):
            found, inverse = np.unique(cells, return_inverse=True)
            places = np.searchsorted(keys, found)
            shares = probabilities[places][inverse]
            shares /= np.bincount(columns, shares)[columns]
            counts[places] += np.bincount(inverse, shares)
        probabilities = counts / np.bincount(sources, counts)[sources]
    return Lexicon(sources, targets, probabilities)


def _distinct(pairs: Dataset, source_size: int, target_size: int) -> Int64Array:
    """Return the distinct pairs of tokens in all pairs of sentences, as keys in order."""
    known, new, num_new = np.empty(0, np.int64), [], 0
    for cells, _ in _cells(pairs, source_size, target_size):
        new.append(np.unique(cells))
        num_new += len(new[-1])
        if num_new > len(known):  # seldom, since all that is known is sorted again
            known, new, num_new = np.unique(np.concatenate([known, *new])), [], 0
    return np.unique(np.concatenate([known, *new]))


def _cells(pairs: Dataset, source_size: int, target_size: int) -> Iterator[tuple[Int64Array, Int64Array]]:
    """Yield, some sentences at a time, each target token with each token of its source and with none (C).

    The first result is the key of the two tokens, source id · target_size + target id; the second the number of the
    target token.
    """
    sizes = (pairs.source.lengths + 1) * pairs.target.lengths
    chunks = np.cumsum(sizes) // CELLS_AT_ONCE
    for rows in np.split(np.arange(len(pairs)), np.flatnonzero(np.diff(chunks)) + 1):
        source, target = pairs.source.take(rows), pairs.target.take(rows)
        words = np.insert(source.tokens.numpy().astype(np.int64), source.offsets[:-1], source_size)
        starts = source.offsets[:-1] + np.arange(len(rows))
        # Of each target token: where its sources start, and how many there are.
        starts, widths = (np.repeat(each, target.lengths) for each in (starts, source.lengths + 1))
        columns = np.repeat(np.arange(len(widths)), widths)
        inside = np.arange(len(columns)) - np.repeat(np.cumsum(widths) - widths, widths)
        yield words[starts[columns] + inside] * target_size + target.tokens.numpy()[columns], columns
