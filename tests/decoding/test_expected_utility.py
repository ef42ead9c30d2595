"""Utilities of all pairs at once, against sacreBLEU pair by pair."""

import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from nmt.decoding.expected_utility import expected_utility, utility_matrix

PLAIN = {
    "chrf": lambda hypothesis, reference: sacrebleu.sentence_chrf(hypothesis, [reference]).score,
    "bleu": lambda hypothesis, reference: sacrebleu.sentence_bleu(hypothesis, [reference]).score,
}
TEXTS = st.lists(st.text(alphabet="ab .,ß\u00a0", max_size=30), min_size=1, max_size=5)


@pytest.mark.parametrize("utility", ["chrf", "bleu"])
@given(hypotheses=TEXTS, references=TEXTS)
def test_each_pair_scores_as_sacrebleu_says(utility, hypotheses, references):
    expected = [[PLAIN[utility](one, other) for other in references] for one in hypotheses]
    assert utility_matrix(hypotheses, references, utility) == pytest.approx(np.array(expected), abs=1e-9)


@pytest.mark.parametrize("utility", ["chrf", "bleu"])
def test_the_expected_utility_is_the_mean_over_all_samples(utility):
    hypotheses = ["the dog sleeps on the mat .", "a dog sleeps .", "the cat sleeps on the mat ."]
    references = [*hypotheses, hypotheses[0], "the dog is asleep on a mat ."]
    expected = [sum(PLAIN[utility](one, other) for other in references) / 5 for one in hypotheses]
    assert expected_utility(hypotheses, references, utility) == pytest.approx(expected)
    with pytest.raises(ValueError, match="at least one"):
        expected_utility(hypotheses, [], utility)
