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
    """Probabilities of target tokens given source tokens, for P pairs of tokens that occur in one pair of sentences.

    Pairs are in the order of their source ids. The id after those of all source tokens stands for no token.
    """

    sources: Int64Array  # (P)
    targets: Int64Array  # (P)
    probabilities: FloatArray  # (P)

    def best(self, count: int, source_size: int) -> Ids:
        """Return, for each of `source_size` ids, its `count` most probable target tokens or fewer, best first."""
        order = np.lexsort((-self.probabilities, self.sources))
        order = order[self.sources[order] < source_size]
        sources = self.sources[order]
        ranks = np.arange(len(order)) - np.searchsorted(sources, sources)
        kept = order[ranks < count]
        numbers = np.bincount(self.sources[kept], minlength=source_size)
        return Ids.laid(self.targets[kept].astype(np.int32), numbers)


def learn_lexicon(pairs: Dataset, source_size: int, target_size: int, num_iterations: int) -> Lexicon:
    """Learn from pairs of ids how probable each target token is as the translation of each source token.

    The model is that each target token comes from one unknown source token, or from none. It is fitted by a few
    iterations of expectation-maximisation, which begin with equal probabilities.
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

    The first result is the key of the two tokens, source id · target_size + target id; the second is the index of the
    target token among those of these sentences.
    """
    sizes = (pairs.source.lengths + 1) * pairs.target.lengths
    chunks = np.cumsum(sizes) // CELLS_AT_ONCE
    for rows in np.split(np.arange(len(pairs)), np.flatnonzero(np.diff(chunks)) + 1):
        source, target = pairs.source.take(rows), pairs.target.take(rows)
        words = np.insert(source.tokens.numpy().astype(np.int64), source.offsets[:-1], source_size)
        starts = source.offsets[:-1] + np.arange(len(rows))
        # For each target token: where its source tokens start, and how many there are.
        starts, widths = (np.repeat(each, target.lengths) for each in (starts, source.lengths + 1))
        columns = np.repeat(np.arange(len(widths)), widths)
        inside = np.arange(len(columns)) - np.repeat(np.cumsum(widths) - widths, widths)
        yield words[starts[columns] + inside] * target_size + target.tokens.numpy()[columns], columns
