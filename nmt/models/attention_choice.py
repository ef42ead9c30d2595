"""Hard attention of recurrent models: one source position for each query instead of a mean over all."""

import torch
from torch import Tensor, nn

from nmt.models.interface import Choices

# Of the queries of hard attention by the score function, as in Xu et al. 2015.
EXPECTED_SHARE = 0.5


class StraightThrough(nn.Module):
    """Choose one position forward, and let the gradient pass as if it had been a softmax (Jang et al. 2017).

    In training the choice is a sample, by Gumbel noise on the logits, and the gradient is that of the softmax of
    the noisy logits over `temperature`. In evaluation it is the most probable position.
    """

    def __init__(self, temperature: float) -> None:
        super().__init__()
        self.temperature = temperature

    def forward(self, logits: Tensor) -> tuple[Tensor, None]:
        """Return weights (B, H, Q, S), one-hot, for logits (B, H, Q, S), -inf where nothing is to be seen."""
        if not self.training:
            return _one_hot(logits), None
        noisy = logits + _draw_gumbel(logits)
        soft = (noisy / self.temperature).softmax(-1, dtype=noisy.dtype)
        # In this order the difference is exactly zero, so the weights are exactly one-hot.
        return _one_hot(noisy) + (soft - soft.detach()), None


class ScoreFunction(nn.Module):
    """Choose one position, and let no gradient pass (Xu et al. 2015, section 4.1).

    In training the choice is a sample from the weights; what the score-function estimator needs for its
    gradient is returned besides. A share of the queries gets the expected value instead, which is soft attention and
    teaches with far less noise (section 4.1). In evaluation the choice is the most probable position.
    """

    def __init__(self, expected_share: float) -> None:
        super().__init__()
        self.expected_share = expected_share

    def forward(self, logits: Tensor) -> tuple[Tensor, Choices | None]:
        """Return weights (B, H, Q, S), one-hot, for logits (B, H, Q, S), -inf where nothing is to be seen.

        In training also the choices, (B, Q) each, summed over heads, which choose independently.
        """
        if not self.training:
            return _one_hot(logits), None
        weights = _one_hot(logits + _draw_gumbel(logits))
        log_probs = logits.log_softmax(-1)
        # What cannot be seen would make 0 · -inf of its share in the sums.
        finite = log_probs.masked_fill(logits == -torch.inf, 0)
        chosen = (weights * finite).sum((1, 3))
        if self.expected_share:
            num_sentences, _, num_queries, _ = logits.shape
            drawn = torch.rand(num_sentences, 1, num_queries, 1, device=logits.device)
            is_expected = drawn < self.expected_share
            weights = torch.where(is_expected, log_probs.exp(), weights)
            chosen = chosen.masked_fill(is_expected[:, 0, :, 0], 0)
        return weights, Choices(chosen, -(log_probs.exp() * finite).sum((1, 3)))


def _one_hot(logits: Tensor) -> Tensor:
    """Return (…, S): one at the largest of the logits (…, S), else zero; carries no gradient."""
    best = logits.detach().argmax(-1, keepdim=True)
    return torch.zeros_like(logits, requires_grad=False).scatter_(-1, best, 1)


def _draw_gumbel(logits: Tensor) -> Tensor:
    """Draw standard Gumbel noise of the shape of `logits`.

    The largest of noisy logits is a sample from their softmax. It is drawn in 32 bits at least, since a type with
    fewer has too few numbers near zero for the rare large values, and zero itself would make infinite noise.
    """
    wide = torch.promote_types(logits.dtype, torch.float32)
    exponential = torch.empty_like(logits, dtype=wide, requires_grad=False).exponential_()
    return -exponential.clamp_min_(torch.finfo(wide).tiny).log_()
