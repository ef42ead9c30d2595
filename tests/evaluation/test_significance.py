"""Comparisons of two translations against sacreBLEU's own classes, called directly."""

import math
import random

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest

from nmt import grammar
from nmt.config import EvaluationSettings
from nmt.errors import DataError
from nmt.evaluation.significance import compare

CASED = EvaluationSettings(lowercase=False, ter_case_sensitive=False, tokenize="13a")
REFERENCES = [pair.target for pair in grammar.generate(num_train=1, num_validation=1, num_test=60)["test"]]


def scored(metric, rows, better, worse, references):
    """Return the scores of both translations of some lines."""
    cited = [[lines[i] for i in rows] for lines in references]
    return [metric.corpus_score([lines[i] for i in rows], cited).score for lines in (better, worse)]


def spoiled(share, seed):
    """Return the references with a share of their words dropped."""
    generator = random.Random(seed)
    return [
        " ".join(word for word in line.split() if generator.random() > share) or "." for line in REFERENCES
    ]


@pytest.mark.parametrize("num_references", [1, 2])
def test_scores_and_trials_are_sacrebleus(num_references):
    better, worse = spoiled(0.1, 1), spoiled(0.3, 2)
    references = [REFERENCES, spoiled(0.05, 3)][:num_references]
    found = compare(better, worse, references, CASED, num_resamples=100, num_trials=200)
    counted = {"BLEU": BLEU(), "chrF": CHRF(), "TER": TER()}
    trials = PairedTest(
        [("worse", worse), ("better", better)], counted, references, "ar", 200, n_ar_confidence=100
    )()[1]
    drawn = np.random.default_rng(12345).choice(60, (100, 60))  # as sacreBLEU draws lines
    assert [one.name for one in found] == ["BLEU", "chrF", "TER"]
    for one, column, metric in zip(found, ("BLEU", "chrF2", "TER"), counted.values(), strict=True):
        other, this = trials[column]
        assert (one.value, one.other_value) == (this.score, other.score)
        assert one.p_randomisation == this.p_value
        pairs = [scored(metric, rows, better, worse, references) for rows in drawn]
        of_better, of_worse = (sorted(scores) for scores in zip(*pairs, strict=True))
        assert one.interval == (pytest.approx(of_better[2]), pytest.approx(of_better[-3]))
        assert one.other_interval == (pytest.approx(of_worse[2]), pytest.approx(of_worse[-3]))
        differences = [first - second for first, second in pairs]
        mean, size = sum(differences) / 100, abs(this.score - other.score)
        assert one.p_bootstrap == pytest.approx((sum(abs(d - mean) >= size for d in differences) + 1) / 101)
        assert one.other_interval.high - one.other_interval.low == pytest.approx(2 * other.ci)
        assert f"nrefs:{num_references}|bs:100|ar:200|seed:12345" in one.signature
    assert found[0].difference > 5
    assert found[0].p_bootstrap < 0.05
    assert found[0].p_randomisation < 0.05


def test_of_a_text_of_one_line_chance_is_not_ruled_out():
    for found in compare(["a small dog"], ["the cats"], [["a small dog runs"]], CASED, 50, 50):
        assert (found.p_bootstrap, found.p_randomisation) == (1, 1)


def test_a_translation_is_as_good_as_itself():
    one = spoiled(0.2, 1)
    for found in compare(one, one, [REFERENCES], CASED, num_resamples=50, num_trials=50):
        assert (found.difference, found.p_bootstrap, found.p_randomisation) == (0, 1, 1)


@pytest.mark.parametrize("num_different", [1, 2, 4])
def test_of_few_lines_that_differ_chance_is_not_ruled_out(num_different):
    worse = spoiled(0.3, 2)
    better, places = list(worse), [i for i, line in enumerate(worse) if line != REFERENCES[i]]
    for i in places[:num_different]:
        better[i] = REFERENCES[i]
    for found in compare(better, worse, [REFERENCES], CASED, num_resamples=50, num_trials=2000):
        # Only swapping all of these lines, or none, reaches this difference, since `better` is better in each of them.
        expected = 2.0 ** (1 - num_different)
        deviation = (expected * (1 - expected) / 2000) ** 0.5  # of a share of 2,000 trials
        assert found.p_randomisation == pytest.approx(expected, abs=4 * deviation + 1 / 2000)


@pytest.mark.parametrize(("num_better", "num_worse"), [(5, 0), (6, 1), (9, 3), (20, 10)])
def test_trials_with_the_same_difference_count(num_better, num_worse):
    """Each line that differs has one error more or less, so that p is that of a fair coin's throws."""
    references = [f"{word} dogs sleep in the house" for word in "abcdefghijklmnopqrstuvwxyzäöüß" * 2]
    one, other = list(references), list(references)
    for i in range(num_better + num_worse):
        (other if i < num_better else one)[i] += " now"
    number, size = num_better + num_worse, num_better - num_worse
    expected = sum(math.comb(number, k) for k in range(number + 1) if abs(2 * k - number) >= size) / 2**number
    deviation = (expected * (1 - expected) / 5000) ** 0.5
    of_name = {found.name: found for found in compare(one, other, [references], CASED, 50, 5000)}
    assert of_name["TER"].p_randomisation == pytest.approx(expected, abs=4 * deviation)


def test_lines_that_differ_in_what_a_metric_does_not_look_at_are_the_same_to_it():
    worse = spoiled(0.3, 2)
    place = next(i for i, line in enumerate(worse) if line != REFERENCES[i])
    better = [line.upper() if i % 2 else line for i, line in enumerate(worse)]
    better[place] = REFERENCES[place]
    of_name = {one.name: one for one in compare(better, worse, [REFERENCES], CASED, 50, 500)}
    assert of_name["TER"].difference
    assert of_name["TER"].p_randomisation == 1


def test_translations_that_are_equally_good_rarely_differ_significantly():
    """Each pair drops the same share of the words, at random; sacreBLEU's own p is below 0.05 for a tenth of them."""
    values = []
    for seed in range(60):
        one, other = spoiled(0.2, 2 * seed), spoiled(0.2, 2 * seed + 1)
        values.append(compare(one, other, [REFERENCES], CASED, 100, 1)[1].p_bootstrap)
    assert sum(value < 0.05 for value in values) <= 6
    assert sum(value > 0.5 for value in values) > 15


def test_both_need_all_lines():
    with pytest.raises(DataError, match="against: as many lines as in the reference are needed, 60; got 59"):
        compare(REFERENCES, REFERENCES[1:], [REFERENCES], CASED, 50, 50)
