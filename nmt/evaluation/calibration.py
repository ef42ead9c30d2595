"""Curves that turn log-probabilities into confidence: fitted on validation text, measured on test text.

A word of a translation is right if a longest common subsequence of the words of translation and reference keeps it:
if the reference has the same word, to the letter, in the same order. A line is as right as the share of its words.
"""

from collections.abc import Sequence
from statistics import fmean

import numpy as np

from nmt.data.arrays import BoolArray, FloatArray
from nmt.decoding.confidence import MAX_KNOTS, NUM_BINS, Bin, Calibration, Curve, Measured, Reliability
from nmt.decoding.translation import Candidate

# Lines of the validation text that are translated once more, and of the test text that are measured.
MAX_LINES = 2000
# Words, or lines, of about one probability that are taken together: of fewer a share says little.
MIN_OF_GROUP = 20

Values = Sequence[float] | FloatArray


def calibrate(
    checkpoint: str,
    weights: str,
    search: str,
    validation: tuple[Sequence[Candidate], Sequence[str]],
    test: tuple[Sequence[Candidate], Sequence[str]] | None,
) -> Calibration | None:
    """Fit curves on translations with details of the validation text, and measure them on those of the test text.

    Each text is its translations and its references. Returns None where no translation of the validation text has
    words.
    """
    lines, words = _pairs(*validation)
    if not len(words):
        return None
    of_lines, of_words = fit_curve(*lines.T), fit_curve(*words.T)
    measured = None
    if test is not None:
        test_lines, test_words = _pairs(*test)
        if len(test_words):
            measured = Measured(
                lines=measure(of_lines(test_lines[:, 0]), test_lines[:, 1]),
                words=measure(of_words(test_words[:, 0]), test_words[:, 1]),
            )
    return Calibration(
        format=1,
        checkpoint=checkpoint,
        weights=weights,
        search=search,
        num_lines=len(lines),
        num_words=len(words),
        lines=of_lines,
        words=of_words,
        test=measured,
    )


def _pairs(translations: Sequence[Candidate], references: Sequence[str]) -> tuple[FloatArray, FloatArray]:
    """Return (number, 2) of lines and of words: the log-probability of each, and how right it is."""
    lines, words = [], []
    for one, reference in zip(translations, references, strict=True):
        if one.word_log_probs:
            right = right_words(one.text.split(), reference.split())
            lines.append((fmean(one.word_log_probs), right.mean()))
            words += list(zip(one.word_log_probs, right, strict=True))
    return np.array(lines, np.float64).reshape(-1, 2), np.array(words, np.float64).reshape(-1, 2)


def right_words(hypothesis: Sequence[str], reference: Sequence[str]) -> BoolArray:
    """Tell of each word of a hypothesis whether a longest common subsequence with the reference keeps it."""
    numbers = {word: number for number, word in enumerate(dict.fromkeys(reference))}
    words = np.array([numbers[word] for word in reference], np.int64)
    rows = [np.zeros(len(reference) + 1, np.int32)]  # lengths of the longest one with so many words of each
    for word in hypothesis:
        before = rows[-1]
        row = before.copy()
        row[1:] = np.maximum(before[1:], before[:-1] + (words == numbers.get(word, -1)))
        rows.append(np.maximum.accumulate(row))
    right, column = np.zeros(len(hypothesis), np.bool_), len(reference)
    for i in range(len(hypothesis), 0, -1):
        while column and rows[i][column] == rows[i][column - 1]:
            column -= 1
        if rows[i][column] > rows[i - 1][column]:
            right[i - 1] = True
            column -= 1
    return right


def fit_curve(log_probs: Values, right: Values) -> Curve:
    """Return the never falling curve that is nearest to what is right at these log-probabilities.

    Knots are groups that are about as probable, of those as often right the first and the last. Nothing is certain: to
    what is most probable one is added that is wrong, and to what is least probable one that is right.
    """
    at, values = np.asarray(log_probs, np.float64), np.asarray(right, np.float64)
    num_groups = min(max(1, len(at) // MIN_OF_GROUP), MAX_KNOTS)
    inner = np.linspace(0, 1, num_groups + 1)[1:-1]
    bounds = np.unique(np.quantile(at, inner, method="inverted_cdf"))
    # What is equally probable is in the same group, so that knots rise.
    _, group = np.unique(np.searchsorted(bounds, at, "right"), return_inverse=True)
    counts, sums = np.bincount(group).astype(np.float64), np.bincount(group, values)
    means = np.bincount(group, at) / counts
    counts[0], sums[0] = counts[0] + 1, sums[0] + 1
    counts[-1] += 1
    shares = isotonic(sums / counts, counts).clip(0, 1)
    rises = np.diff(shares, prepend=-1, append=2) > 0
    is_knot = rises[:-1] | rises[1:]
    return Curve(log_probs=means[is_knot].tolist(), shares=shares[is_knot].tolist())


def isotonic(values: Values, weights: Values) -> FloatArray:
    """Return the numbers nearest to weighted values, by their squares, that never fall.

    Neighbours that fall are pooled until there are none (Ayer et al. 1955).
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
    """Return the expected calibration error of confidences (Naeini et al. 2015), by tenths of them."""
    sure, true = np.asarray(confidences, np.float64), np.asarray(right, np.float64)
    place = np.minimum((sure * NUM_BINS).astype(np.int64), NUM_BINS - 1)
    counts = np.bincount(place, minlength=NUM_BINS)
    is_there = counts > 0
    means = [np.bincount(place, numbers, NUM_BINS)[is_there] / counts[is_there] for numbers in (sure, true)]
    error = float((counts[is_there] * abs(means[0] - means[1])).sum() / len(sure))
    rows = zip(counts[is_there].tolist(), *(mean.clip(0, 1).tolist() for mean in means), strict=True)
    bins = [Bin(number=number, confidence=mean, right=share) for number, mean, share in rows]
    return Reliability(error=min(error, 1.0), bins=bins)
