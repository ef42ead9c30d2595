"""Comparisons of two translations against sacreBLEU's own classes, called directly."""

import random

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


def spoiled(share, seed):
    """Return the references with a share of their words dropped."""
    generator = random.Random(seed)
    return [
        " ".join(word for word in line.split() if generator.random() > share) or "." for line in REFERENCES
    ]


@pytest.mark.parametrize("num_references", [1, 2])
def test_comparisons_are_sacrebleus(num_references):
    better, worse = spoiled(0.1, 1), spoiled(0.3, 2)
    references = [REFERENCES, spoiled(0.05, 3)][:num_references]
    found = compare(better, worse, references, CASED, num_resamples=100, num_trials=200)
    direct = {
        test: PairedTest(
            [("worse", worse), ("better", better)],
            {"BLEU": BLEU(), "chrF": CHRF(), "TER": TER(case_sensitive=True)},
            references,
            test,
            number,
        )()[1]
        for test, number in (("bs", 100), ("ar", 200))
    }
    assert [one.name for one in found] == ["BLEU", "chrF", "TER"]
    for one, column in zip(found, ("BLEU", "chrF2", "TER"), strict=True):
        (other, this), (_, randomised) = direct["bs"][column], direct["ar"][column]
        assert (one.value, one.other_value) == (this.score, other.score)
        assert (one.p_bootstrap, one.p_randomisation) == (this.p_value, randomised.p_value)
        assert (one.interval.mean, one.interval.half_width) == (this.mean, this.ci)
        assert (one.other_interval.mean, one.other_interval.half_width) == (other.mean, other.ci)
        assert f"nrefs:{num_references}|bs:100|ar:200|seed:12345" in one.signature
    assert found[0].difference > 5
    assert found[0].p_bootstrap < 0.05
    assert found[0].p_randomisation < 0.05


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
        assert found.p_randomisation == pytest.approx(2.0 ** (1 - num_different), abs=0.001)


def test_lines_that_differ_in_what_a_metric_does_not_look_at_are_the_same_to_it():
    worse = spoiled(0.3, 2)
    place = next(i for i, line in enumerate(worse) if line != REFERENCES[i])
    better = [line.upper() if i % 2 else line for i, line in enumerate(worse)]
    better[place] = REFERENCES[place]
    of_name = {one.name: one for one in compare(better, worse, [REFERENCES], CASED, 50, 500)}
    assert of_name["TER"].difference
    assert of_name["TER"].p_randomisation == 1


def test_both_need_all_lines():
    with pytest.raises(DataError, match="against: as many lines as in the reference are needed, 60; got 59"):
        compare(REFERENCES, REFERENCES[1:], [REFERENCES], CASED, 50, 50)
