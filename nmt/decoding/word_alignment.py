"""Word alignment: the source word that each word of a translation comes from, by a model's attention.

Words are what white space separates in a text. Where normalisation makes several words of one, they count as one.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from nmt.data.arrays import FloatArray, Int64Array
from nmt.data.tokenizer import word_numbers

# The number of a source word and that of a target word, both from 0.
Link = tuple[int, int]
# The same, and the share that the source word has of the attention of the target word.
LinkShare = tuple[int, int, float]
LEAST_SHARE = 0.05


def word_log_probs(text: str, pieces: Sequence[str], log_probs: Sequence[float]) -> list[float]:
    """Return the log-probability of each word of a text, the sum over its pieces, in nats.

    The list is empty where the pieces do not tell the words of the text apart, such as a piece of several words.
    """
    numbers = word_numbers(pieces)
    is_in_word = numbers >= 0
    num_words = len(text.split())
    if set(numbers[is_in_word].tolist()) != set(range(num_words)):
        return []
    sums: list[float] = np.bincount(numbers[is_in_word], np.array(log_probs)[is_in_word], num_words).tolist()
    return sums


def attention_of_words(weights: npt.NDArray[Any], source: Int64Array, target: Int64Array) -> FloatArray:
    """Return the share that each source word has of the attention of each target word: (target words, source words).

    `weights` are those of pieces: (T, S), or more of each, for EOS. `source` (S) and `target` (T) are the word numbers
    of the pieces; pieces of a negative number are left out. The shares of a target word add up to 1, or to 0.
    """
    rows, columns = np.flatnonzero(target >= 0), np.flatnonzero(source >= 0)
    if not len(rows) or not len(columns):
        return np.zeros((0, 0), np.float32)
    by_word = np.zeros((target.max() + 1, source.max() + 1), np.float32)
    np.add.at(by_word, np.ix_(target[rows], source[columns]), weights[np.ix_(rows, columns)])
    sums = by_word.sum(1, keepdims=True)
    shares: FloatArray = by_word / np.where(sums > 0, sums, 1)
    return shares


def link_words(attention: FloatArray) -> list[Link]:
    """Link each target word to the source word that has most of its attention, in the order of the target."""
    return [(int(row.argmax()), number) for number, row in enumerate(attention) if row.any()]


def shares_of_words(attention: FloatArray) -> list[LinkShare]:
    """Return the shares that are no less than LEAST_SHARE, in the order of the target."""
    targets, sources = np.nonzero(attention >= LEAST_SHARE)
    shares = attention[targets, sources].tolist()
    return list(zip(sources.tolist(), targets.tolist(), shares, strict=True))


def to_pharaoh(links: Sequence[Link]) -> str:
    """Return links as alignment files have them: `0-0 1-2 2-1`."""
    return " ".join(f"{source}-{target}" for source, target in links)
