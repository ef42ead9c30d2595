"""Files whose lines slipped against each other, and files whose lines did not."""

import random

import numpy as np
import pytest

from nmt.data.alignment import find_alignment

NUMBER = 3000


@pytest.fixture(scope="module")
def lengths():
    """Return line lengths of two sides that correlate by about 0.8, as those of translations do."""
    generator = np.random.default_rng(3)
    source = np.exp(generator.normal(4, 0.5, NUMBER))
    target = source * np.exp(generator.normal(0, 0.35, NUMBER))
    return source.astype(int).tolist(), target.astype(int).tolist()


def test_correlations_are_pearsons_of_each_window(lengths):
    source, target = (side[:2940] for side in lengths)
    alignment = find_alignment(source, target)
    assert len(alignment.correlations) == 29
    for number, found in enumerate(alignment.correlations):
        rows = slice(number * 100, 2940 if number == 28 else number * 100 + 100)
        expected = np.corrcoef(np.log1p(source[rows]), np.log1p(target[rows]))[0, 1]
        assert found == pytest.approx(expected)
    assert alignment.stretches == []


@pytest.mark.parametrize("cut", [3, 100, 757, 1849, 2900])
@pytest.mark.parametrize("side", ["source", "target"])
def test_a_line_that_is_missing_is_found(lengths, cut, side):
    source, target = lengths
    if side == "target":
        source, target = source[:-1], target[:cut] + target[cut + 1 :]
    else:
        source, target = source[:cut] + source[cut + 1 :], target[:-1]
    (stretch,) = find_alignment(source, target).stretches
    assert stretch.shift == (-1 if side == "target" else 1)
    assert abs(stretch.first_line - (cut + 1)) <= 12
    assert stretch.last_line == NUMBER - 1
    assert f"a line is missing before on the {side} side" in str(stretch)


def test_a_file_that_comes_back_is_marked_in_between_only(lengths):
    source, target = lengths
    target = target[:1001] + target[1004:2000] + [5, 5, 5] + target[2000:]
    (stretch,) = find_alignment(source, target).stretches
    assert stretch.shift == -3
    assert abs(stretch.first_line - 1002) <= 12
    assert abs(stretch.last_line - 2000) <= 12
    assert "3 lines are missing" in str(stretch)


def test_two_slips_in_a_row_are_two_stretches(lengths):
    source, target = lengths
    target = target[:800] + target[801:1700] + target[1702:]
    one, two = find_alignment(source[:-3], target).stretches
    assert (one.shift, two.shift) == (-1, -3)
    assert one.last_line + 1 == two.first_line
    assert abs(two.first_line - 1702) <= 12


def test_lines_in_disorder_are_found(lengths):
    source, target = lengths
    target = [*target[:1200], *random.Random(1).sample(target[1200:1800], 600), *target[1800:]]
    (stretch,) = find_alignment(source, target).stretches
    assert stretch.shift is None
    assert (stretch.first_line, stretch.last_line) == (1201, 1800)


@pytest.mark.parametrize("cut", [300, 900, 2400])
def test_a_file_most_of_which_does_not_go_together_is_found(lengths, cut):
    source, target = lengths
    (stretch,) = find_alignment(source[:-100], target[:cut] + target[cut + 100 :]).stretches
    assert stretch.shift is None
    assert abs(stretch.first_line - (cut + 1)) <= 100
    assert stretch.last_line == NUMBER - 100


def test_sides_of_different_texts_are_found(lengths):
    source, target = lengths
    (stretch,) = find_alignment(source, random.Random(1).sample(target, NUMBER)).stretches
    assert (stretch.first_line, stretch.last_line, stretch.shift) == (1, NUMBER, None)


def test_lengths_that_tell_little_are_no_alarm(lengths):
    source, target = lengths
    weak = np.random.default_rng(4).permutation(target) + 0.5 * np.array(source)  # correlates by about 0.45
    assert find_alignment(source, weak.astype(int)).stretches == []
    alike = find_alignment([7] * 300, [9] * 300)
    assert alike.correlations == [None, None, None]
    assert alike.stretches == []
    assert find_alignment([], []).correlations == []
    assert find_alignment([3, 4, 5], [6, 8, 10]).correlations == [pytest.approx(1, abs=0.01)]
