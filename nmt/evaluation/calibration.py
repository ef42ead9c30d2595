"""Curves of confidence: fitted on validation text, measured on test text.

A word of a translation is right if it is in a longest common subsequence of the words of translation and reference: the
reference has the same word, to the letter, in the same order. A line is as right as the share of its words that are.
"""

from collections.abc import Iterator, Sequence
from statistics import fmean

import numpy as np

from nmt.data.arrays import BoolArray, FloatArray
from nmt.decoding.confidence import MAX_KNOTS, NUM_BINS, Bin, Calibration, Curve, Measured, Reliability
from nmt.decoding.translation import Candidate

# The most lines of the validation text that are translated once more, and of the test text that are measured.
MAX_LINES = 2000
# The fewest words, or lines, of about one value that are a group: a share of fewer says little.
MIN_OF_GROUP = 20

Values = Sequence[float] | FloatArray
# For the words of a line: their log-probabilities, and 1 for each that is right, 0 for others.
Judged = tuple[FloatArray, FloatArray]


def calibrate(
    checkpoint: str,
    weights: str,
    search: str,
    validation: tuple[Sequence[Candidate], Sequence[str]],
    test: tuple[Sequence[Candidate], Sequence[str]] | None,
) -> Calibration | None:
    """Fit curves on translations of the validation text, with details, and measure them on those of the test text.

    Each text is its translations and its references. Returns None where no translation of the validation text has
    words.
    """
    found = list(_judged(*validation))
    if not found:
        return None
    words = fit_curve(*map(np.concatenate, zip(*found, strict=True)))
    lines = fit_curve(*_of_lines(words, found))
    # Below the lowest mean confidence of a line seen, the share of right words falls in proportion, to 0 at 0.
    lines = Curve(at=[0.0, *lines.at], shares=[0.0, *lines.shares])
    return Calibration(
        format=1,
        checkpoint=checkpoint,
        weights=weights,
        search=search,
        num_lines=len(found),
        num_words=sum(len(right) for _, right in found),
        words=words,
        lines=lines,
        test=None if test is None else _measured(words, lines, list(_judged(*test))),
    )


def _measured(words: Curve, lines: Curve, found: Sequence[Judged]) -> Measured | None:
    if not found:
        return None
    log_probs, right = map(np.concatenate, zip(*found, strict=True))
    means, shares = _of_lines(words, found)
    return Measured(words=measure(words(log_probs), right), lines=measure(lines(means), shares))


def _of_lines(words: Curve, found: Sequence[Judged]) -> tuple[list[float], list[float]]:
    """Return, for each line, the mean confidence of its words, and the share of them that are right."""
    means = [fmean(words(log_probs)) for log_probs, _ in found]
    return means, [float(right.mean()) for _, right in found]


def _judged(translations: Sequence[Candidate], references: Sequence[str]) -> Iterator[Judged]:
    for one, reference in zip(translations, references, strict=True):
        # A line whose numbers overflowed says nothing of the others.
        if one.word_log_probs and np.isfinite(one.word_log_probs).all():
            right, _ = common_words(one.text.split(), reference.split())
            yield np.array(one.word_log_probs), right.astype(np.float64)


def common_words(hypothesis: Sequence[str], reference: Sequence[str]) -> tuple[BoolArray, BoolArray]:
    """Return whether each word, of hypothesis and reference, is in one longest common subsequence of both.

    Takes time that grows with the product of their lengths.
    """
    numbers = {word: number for number, word in enumerate(dict.fromkeys(reference))}
    words = np.array([numbers[word] for word in reference], np.int64)
    rows = [np.zeros(len(reference) + 1, np.int32)]  # [i][j]: its length for the first i and j words
    for word in hypothesis:
        before = rows[-1]
        row = before.copy()
        row[1:] = np.maximum(before[1:], before[:-1] + (words == numbers.get(word, -1)))
        rows.append(np.maximum.accumulate(row))
    right, kept = np.zeros(len(hypothesis), np.bool_), np.zeros(len(reference), np.bool_)
    column = len(reference)
    for i in range(len(hypothesis), 0, -1):
        while column and rows[i][column] == rows[i][column - 1]:
            column -= 1
        if rows[i][column] > rows[i - 1][column]:
            right[i - 1] = kept[column - 1] = True
            column -= 1
    return right, kept


def fit_curve(at: Values, right: Values) -> Curve:
    """Return the curve that never falls and is nearest, by squared error, to `right` at the values `at`.

    A knot is the mean of a group of about equal values; of successive groups with one share, only the first and the
    last are knots. Nothing is certain: one wrong case is added to the highest group, and one right case to the lowest.
    """
    places, values = np.asarray(at, np.float64), np.asarray(right, np.float64)
    num_groups = min(max(1, len(places) // MIN_OF_GROUP), MAX_KNOTS)
    inner = np.linspace(0, 1, num_groups + 1)[1:-1]
    bounds = np.unique(np.quantile(places, inner, method="inverted_cdf"))
    # Equal values are in the same group, so that knots rise.
    _, group = np.unique(np.searchsorted(bounds, places, "right"), return_inverse=True)
    counts, sums = np.bincount(group).astype(np.float64), np.bincount(group, values)
    low, high = np.full(len(counts), np.inf), np.full(len(counts), -np.inf)
    np.minimum.at(low, group, places)
    np.maximum.at(high, group, places)
    # A rounded mean can lie outside of its group, and then past the next, where values are nearly the same.
    means = (np.bincount(group, places) / counts).clip(low, high)
    counts[0], sums[0] = counts[0] + 1, sums[0] + 1
    counts[-1] += 1
    shares = isotonic(sums / counts, counts).clip(0, 1)
    rises = np.diff(shares, prepend=-1, append=2) > 0
    is_knot = rises[:-1] | rises[1:]
    return Curve(at=means[is_knot].tolist(), shares=shares[is_knot].tolist())


def isotonic(values: Values, weights: Values) -> FloatArray:
    """Return the numbers that never fall and are nearest to weighted values, by squared error.

    Neighbours that fall are pooled until there are none (pool adjacent violators, Ayer et al. 1955).
    """
    pools: list[tuple[float, float, int]] = []  # mean, weight, number of values
    for value, weight in zip(values, weights, strict=True):
        mean, total, number = float(value), float(weight), 1
        while pools and pools[-1][0] >= mean:
            other, more, of_it = pools.pop()
            mean = (mean * total + other * more) / (total + more)
            total, number = total + more, number + of_it
        pools.append((mean, total, number))
    means, _, numbers = zip(*pools, strict=True)
    return np.repeat(np.array(means), numbers)


def measure(confidences: Values, right: Values) -> Reliability:
    """Return the expected calibration error of confidences (Naeini et al. 2015), and its bins: tenths from 0 to 1."""
    sure, true = np.asarray(confidences, np.float64), np.asarray(right, np.float64)
    place = np.minimum((sure * NUM_BINS).astype(np.int64), NUM_BINS - 1)
    counts = np.bincount(place, minlength=NUM_BINS)
    is_there = counts > 0
    means = [np.bincount(place, numbers, NUM_BINS)[is_there] / counts[is_there] for numbers in (sure, true)]
    error = float((counts[is_there] * abs(means[0] - means[1])).sum() / len(sure))
    rows = zip(counts[is_there].tolist(), *(mean.clip(0, 1).tolist() for mean in means), strict=True)
    bins = [Bin(number=number, confidence=mean, right=share) for number, mean, share in rows]
    return Reliability(error=min(error, 1.0), bins=bins)
