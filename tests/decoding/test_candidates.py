"""The best words of a step, against sorting all of them."""

import pytest
import torch

from nmt.decoding.candidates import best_candidates, best_token, probabilities_of


@pytest.mark.parametrize("vocabulary_size", [5, 127, 128, 256, 1000, 1009, 8000])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_the_best_token_is_the_largest_and_the_first_of_equals(vocabulary_size, dtype):
    generator = torch.Generator().manual_seed(1)
    logits = torch.randn(20, vocabulary_size, generator=generator).to(dtype) - 3
    logits[3] = 1.0  # all equal
    logits[4] = -torch.inf
    logits[4, vocabulary_size - 2] = -1000.0
    logits[5:10] -= 100  # none is positive
    logits[6, 1:] = -torch.inf
    expected = [max(range(vocabulary_size), key=row.__getitem__) for row in logits.tolist()]
    assert best_token(logits).tolist() == expected


@pytest.mark.parametrize("vocabulary_size", [5, 128, 200, 256, 1000, 1009, 8000])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_best_candidates_are_those_of_a_full_sort(vocabulary_size, dtype):
    generator = torch.Generator().manual_seed(2)
    logits = torch.randn(12, vocabulary_size, generator=generator, dtype=torch.float64).mul(4).to(dtype)
    logits[:, 3] = -torch.inf
    scores = -3 * torch.rand(4, 3, generator=generator)
    scores[1, 2] = -torch.inf
    best, parents, words = best_candidates(scores, probabilities_of(logits.clone()), 6)
    totals = scores.unsqueeze(2) + logits.view(4, 3, -1).log_softmax(-1).to(scores.dtype)
    expected, places = totals.flatten(1).sort(1, descending=True)
    assert torch.allclose(best, expected[:, :6], atol=1e-5)
    assert torch.equal(parents * vocabulary_size + words, places[:, :6])


def test_in_bfloat16_they_are_as_good_as_its_precision_allows():
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(30, 8000, generator=generator).mul(4).bfloat16()
    scores = -torch.rand(6, 5, generator=generator)
    best, parents, words = best_candidates(scores, probabilities_of(logits.clone()), 10)
    totals = scores.unsqueeze(2) + logits.float().view(6, 5, -1).log_softmax(-1)
    exact = totals.flatten(1).gather(1, parents * 8000 + words)
    assert torch.allclose(best, exact, atol=0.01)  # a rounding of 2⁻⁹, once in the sum and once in the word
    assert torch.allclose(best, totals.flatten(1).topk(10, 1).values, atol=0.01)


def test_in_float16_no_word_is_impossible_that_is_only_rare():
    logits = torch.tensor([[0.0, -12, -20, -40], [-10, -30, 0, -torch.inf]])
    best, parents, words = best_candidates(torch.tensor([[0.0, -1.0]]), probabilities_of(logits.half()), 6)
    totals = torch.tensor([[0.0], [-1.0]]) + logits.log_softmax(1)
    expected, places = totals.flatten().sort(descending=True)
    assert torch.allclose(best[0], expected[:6], atol=1e-3)
    assert torch.equal(parents[0] * 4 + words[0], places[:6])


def test_hypotheses_that_are_out_stay_out():
    scores = torch.tensor([[0.0, -torch.inf]])
    best, parents, _ = best_candidates(scores, probabilities_of(torch.zeros(2, 4)), 8)
    assert best.isfinite().sum() == 4
    assert parents[best.isfinite()].tolist() == [0] * 4
