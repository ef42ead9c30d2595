"""How good a translation is on average against samples of the model, for minimum-Bayes-risk decoding.

The translation with the highest expected utility takes the place of the most probable one (Eikema & Aziz 2020; Freitag
et al. 2022). Utilities are sacreBLEU's sentence scores, but of all pairs at once: each text is cut into n-grams once,
and the n-grams that two texts share are counted by products of matrices.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

Utility = Literal["chrf", "bleu"]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

CHRF_ORDER = 6  # the longest n-grams, in characters
CHRF_BETA = 2  # how much more recall matters than precision
BLEU_ORDER = 4  # the longest n-grams, in words


def expected_utility(hypotheses: Sequence[str], references: Sequence[str], utility: Utility) -> Floats:
    """Return the mean utility (H) of each hypothesis, from 0 to 100, over one or more references.

    A reference that occurs twice counts twice, so that samples count by their probabilities.
    """
    if not references:
        raise ValueError("a mean over references needs at least one")
    return utility_matrix(hypotheses, references, utility).mean(axis=1)


def utility_matrix(hypotheses: Sequence[str], references: Sequence[str], utility: Utility) -> Floats:
    """Return sacreBLEU's sentence score (H, R), from 0 to 100, of each hypothesis against each reference alone.

    `chrf` is chrF2 and `bleu` is BLEU of the effective order, both with sacreBLEU's defaults. Texts that are equal are
    computed once; memory grows with the number of texts times that of their different n-grams.
    """
    number = {text: place for place, text in enumerate(dict.fromkeys([*hypotheses, *references]))}
    rows, row_of = np.unique(np.array([number[text] for text in hypotheses], int), return_inverse=True)
    columns, column_of = np.unique(np.array([number[text] for text in references], int), return_inverse=True)
    if utility == "chrf":
        symbols, lengths = _characters(list(number))
        matches = _matches(symbols, lengths, rows, columns, CHRF_ORDER)
        scores = _chrf(matches, lengths[rows, None], lengths[None, columns])
    else:
        symbols, lengths = _words(list(number))
        matches = _matches(symbols, lengths, rows, columns, BLEU_ORDER)
        scores = _bleu(matches, lengths[rows, None], lengths[None, columns])
    return scores[row_of[:, None], column_of]


def _characters(texts: list[str]) -> tuple[Integers, Integers]:
    """Return the code points of all texts, one after the other and without white space, and how many each has."""
    texts = ["".join(text.split()) for text in texts]
    # A surrogate that stands alone is no character, but Python lets it be part of a text.
    points = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), "<u4")
    return points.astype(np.int64), np.array([len(text) for text in texts], int)


def _words(texts: list[str]) -> tuple[Integers, Integers]:
    """Return numbers for the words of all texts, one after the other, and how many words each text has."""
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a  # takes a while, and few runs need it

    tokenize = Tokenizer13a()
    words = [tokenize(text.rstrip()).split() for text in texts]
    number: dict[str, int] = {}
    numbers = [number.setdefault(word, len(number)) for line in words for word in line]
    return np.array(numbers, int), np.array([len(line) for line in words], int)


def _matches(
    symbols: Integers, lengths: Integers, rows: Integers, columns: Integers, max_order: int
) -> Floats:
    """Return how many n-grams two texts share (max_order, H, R), for the pairs of `rows` (H) and `columns` (R).

    An n-gram that is in one text a times and in the other b times is shared min(a, b) times. That is the number of k
    for which both texts have it k times or more; for each k, a product of matrices of zeros and ones counts these
    n-grams.
    """
    matches = np.zeros((max_order, len(rows), len(columns)))
    text_of = np.repeat(np.arange(len(lengths)), lengths)
    alphabet, symbols = np.unique(symbols, return_inverse=True)
    grams = symbols  # the number of the n-gram that begins at each place
    for order in range(1, max_order + 1):
        if order > 1:
            # The shorter n-gram and one symbol more: exact, and small enough for an integer however long n-grams are.
            pairs = grams[:-1] * len(alphabet) + symbols[order - 1 :]
            grams = np.unique(pairs, return_inverse=True)[1]
        first, last = text_of[: len(grams)], text_of[order - 1 :]
        inside = first == last  # other n-grams begin in one text and end in the next
        num_grams = int(grams.max(initial=-1)) + 1
        counts = np.bincount(first[inside] * num_grams + grams[inside], minlength=len(lengths) * num_grams)
        counts = counts.reshape(len(lengths), num_grams)
        highest = counts.max(axis=0, initial=0)
        for times in range(1, int(highest.max(initial=0)) + 1):
            counts, highest = counts[:, highest >= times], highest[highest >= times]
            # Counts are exact in 32 bits up to 16 million, and products of them are fast.
            has = (counts >= times).astype(np.float32)
            matches[order - 1] += has[rows] @ has[columns].T
    return matches


def _chrf(matches: Floats, hypothesis: Integers, reference: Integers) -> Floats:
    """Return chrF (H, R) from the matches of each order and the lengths of hypotheses (H, 1) and references (1, R).

    Precision and recall are means over the orders for which both texts are long enough.
    """
    order = np.arange(CHRF_ORDER).reshape(-1, 1, 1)
    num_orders = np.minimum(np.minimum(hypothesis, reference), CHRF_ORDER).clip(1)
    # A text of L symbols has L - n + 1 n-grams; where there are none, there are no matches either.
    precision = (matches / (hypothesis - order).clip(1)).sum(axis=0) / num_orders
    recall = (matches / (reference - order).clip(1)).sum(axis=0) / num_orders
    factor = CHRF_BETA**2
    mean = factor * precision + recall
    mean[mean == 0] = 1  # nothing is shared: the score is 0
    return 100 * (1 + factor) * precision * recall / mean


def _bleu(matches: Floats, hypothesis: Integers, reference: Integers) -> Floats:
    """Return BLEU (H, R) from the matches of each order and the lengths of hypotheses (H, 1) and references (1, R).

    The geometric mean is over the orders for which the hypothesis is long enough, the reference may be shorter.
    """
    order = np.arange(BLEU_ORDER).reshape(-1, 1, 1)
    num_grams = hypothesis - order
    # The first order without a match counts as half a match, the second as a quarter, and so on.
    smoothed = np.where(matches > 0, matches, 0.5 ** np.cumsum(matches == 0, axis=0))
    log_precision = np.where(num_grams > 0, np.log(smoothed / num_grams.clip(1)), 0).sum(axis=0)
    log_precision /= hypothesis.clip(1, BLEU_ORDER)
    log_brevity = np.minimum(1 - reference / hypothesis.clip(1), 0)
    return np.where(matches[0] > 0, 100 * np.exp(log_precision + log_brevity), 0)
