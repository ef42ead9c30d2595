"""A choice of one position: samples of the weights, with the gradient of a softmax (Gumbel noise)."""

import torch
from torch.testing import assert_close

from nmt.models.recurrent_attention import choose


def one_logit_row(longest=5, hidden=1):
    """Return logits (S), of which the last `hidden` belong to hidden positions."""
    logits = torch.randn(longest, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    logits[longest - hidden :] = -torch.inf
    return logits


def test_straight_through_is_one_hot_with_the_gradient_of_a_softmax():
    logits = one_logit_row().repeat(2, 3, 7, 1)  # (B, H, Q, S)
    through = logits.clone().requires_grad_()
    reward = torch.randn(logits.shape, dtype=torch.float64)
    torch.manual_seed(5)
    weights = choose(through, temperature=0.7)
    assert set(weights.unique().tolist()) == {0.0, 1.0}
    assert (weights.sum(-1) == 1).all()
    (weights * reward).sum().backward()
    torch.manual_seed(5)
    noise = -torch.empty_like(logits).exponential_().log()
    plain = logits.clone().requires_grad_()
    soft = ((plain + noise) / 0.7).softmax(-1)
    (soft * reward).sum().backward()
    assert_close(through.grad, plain.grad)
    assert torch.equal(weights.argmax(-1), soft.argmax(-1))
    assert plain.grad.abs().max() > 0.01


def test_choices_are_samples_in_training_and_the_best_in_evaluation():
    logits, num_draws = one_logit_row(), 40_000
    rows = logits.expand(1, 1, num_draws, -1)
    torch.manual_seed(6)
    sampled = choose(rows, temperature=0.3)
    assert (sampled.sum(-1) == 1).all()
    frequencies, expected = sampled.mean((0, 1, 2)), logits.softmax(-1)
    errors = (expected * (1 - expected) / num_draws).sqrt()
    assert ((frequencies - expected).abs() <= 4 * errors).all()
    assert frequencies[-1] == 0
    best = choose(rows, temperature=None)
    assert (best.argmax(-1) == logits.argmax()).all()
    assert (best.sum(-1) == 1).all()


def test_the_rarest_noise_is_finite(monkeypatch):
    monkeypatch.setattr(torch.Tensor, "exponential_", lambda self: self.zero_())
    logits = one_logit_row().float().requires_grad_()
    weights = choose(logits, 1.0)
    weights[0].backward()
    assert weights.isfinite().all()
    assert logits.grad.isfinite().all()
