"""Curves of confidence: which words are right, fits against another computation, and how far off they are."""

import math
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.decoding.confidence import MAX_KNOTS, Curve
from nmt.decoding.translation import Candidate
from nmt.evaluation.calibration import calibrate, common_words, fit_curve, isotonic, measure

WORDS = st.lists(st.sampled_from("abcd"), max_size=9)
FACTS = ("step-000001", "a" * 64, "beam 5")


def longest_common(one, other):
    @cache
    def length(i, j):
        if i == len(one) or j == len(other):
            return 0
        if one[i] == other[j]:
            return 1 + length(i + 1, j + 1)
        return max(length(i + 1, j), length(i, j + 1))

    return length(0, 0)


@given(WORDS, WORDS)
def test_right_words_are_a_longest_common_subsequence(hypothesis, reference):
    right, kept = common_words(hypothesis, reference)
    both = (hypothesis, right), (reference, kept)
    words, others = ([word for word, is_common in zip(*side, strict=True) if is_common] for side in both)
    assert words == others
    kept = [word for word, is_right in zip(hypothesis, right, strict=True) if is_right]
    rest = iter(reference)
    assert all(word in rest for word in kept)  # in the order of the reference
    assert len(kept) == longest_common(hypothesis, reference)


def test_a_word_is_right_to_the_letter_and_in_its_place():
    assert common_words(["the", "dog", "sleeps", "."], ["The", "dog", "is", "sleeping", "."])[0].tolist() == [
        0,
        1,
        0,
        1,
    ]
    assert common_words(["b", "a"], ["a", "b"])[0].sum() == 1
    assert common_words(["a", "a", "a"], ["a"])[0].sum() == 1


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(1, 5)), min_size=1, max_size=12))
def test_the_fit_that_never_falls_is_the_highest_of_the_lowest_means(pairs):
    values, weights = (np.array(column, np.float64) for column in zip(*pairs, strict=True))

    def mean(first, last):
        return np.average(values[first : last + 1], weights=weights[first : last + 1])

    size = len(values)
    expected = [
        max(min(mean(first, last) for last in range(i, size)) for first in range(i + 1)) for i in range(size)
    ]
    assert isotonic(values, weights) == pytest.approx(np.array(expected))


@given(st.lists(st.tuples(st.floats(-20, 0), st.floats(0, 1)), min_size=1, max_size=300))
def test_a_curve_rises_is_certain_of_nothing_and_keeps_the_mean(pairs):
    at, right = (np.array(column) for column in zip(*pairs, strict=True))
    curve = fit_curve(at, right)
    assert all(one < other for one, other in pairwise(curve.at))
    assert all(one <= other for one, other in pairwise(curve.shares))
    assert 0 < curve.shares[0] <= curve.shares[-1] < 1
    if len(pairs) < 40:  # one group
        assert curve.shares == pytest.approx([(right.sum() + 1) / (len(right) + 2)])


def test_values_that_differ_by_their_last_bits_make_a_rising_curve():
    generator = np.random.default_rng(0)
    at = np.sort(0.002 * (1 + generator.integers(0, 30, 4000) * np.finfo(float).eps))
    curve = fit_curve(at, np.linspace(0, 1, len(at)))
    assert len(curve.at) > 2
    assert all(one < other for one, other in pairwise(curve.at))


def drawn(seed, number):
    """Return log-probabilities, and which words are right: each with the square root of its probability."""
    generator = np.random.default_rng(seed)
    at = -generator.exponential(1.0, number)
    return at, (generator.random(number) < np.exp(at / 2)).astype(np.float64)


def test_what_is_fitted_is_calibrated_on_what_it_has_not_seen():
    curve = fit_curve(*drawn(0, 20_000))
    assert 2 < len(curve.at) <= MAX_KNOTS
    at, right = drawn(1, 20_000)
    assert np.array(curve(at)) == pytest.approx(np.exp(at / 2), abs=0.1)
    assert measure(curve(at), right).error < 0.015 < measure(np.exp(at), right).error


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=60))
def test_the_error_is_the_weighted_gap_of_tenths(pairs):
    found = measure(*zip(*pairs, strict=True))
    error = 0.0
    for tenth in range(10):
        own = [pair for pair in pairs if min(int(pair[0] * 10), 9) == tenth]
        if own:
            sure, right = np.mean(own, axis=0)
            error += len(own) / len(pairs) * abs(sure - right)
    assert found.error == pytest.approx(error)
    assert sum(one.number for one in found.bins) == len(pairs)


def test_a_line_whose_numbers_overflowed_is_left_out():
    lines = [Candidate("a x", word_log_probs=[-0.1, -2.0]), Candidate("y", word_log_probs=[-3.0])]
    references = ["a b", "c d"]
    damaged = [*lines, Candidate("a b", word_log_probs=[math.nan, -1.0])]
    expected = calibrate(*FACTS, (lines, references), None)
    assert calibrate(*FACTS, (damaged, [*references, "a b"]), None) == expected


def test_texts_without_words_and_runs_without_test_text():
    references = ["a b", "c d", ""]
    empty = [Candidate("")] * 3
    some = [
        Candidate("a x", word_log_probs=[-0.1, -2.0]),
        Candidate(""),
        Candidate("y", word_log_probs=[-3.0]),
    ]
    assert calibrate(*FACTS, (empty, references), None) is None
    found = calibrate(*FACTS, (some, references), None)
    assert (found.num_lines, found.num_words, found.test) == (2, 3, None)
    assert found.words.shares == [(1 + 1) / (3 + 2)]
    assert found.lines == Curve(at=[0, 2 / 5], shares=[0, (0.5 + 1) / (2 + 2)])
    assert calibrate(*FACTS, (some, references), (empty, references)).test is None
    tested = calibrate(*FACTS, (some, references), (some, references)).test
    assert tested.words.error == pytest.approx(abs(2 / 5 - 1 / 3))
    assert tested.lines.error == pytest.approx(abs(1.5 / 4 - 0.25))
