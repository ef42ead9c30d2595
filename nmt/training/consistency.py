"""Losses of two passes over the same sentences, which should predict the same."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from nmt.config import ConsistencySettings, RDropSettings, SimCutSettings
from nmt.memory import positions_at_once
from nmt.models.layers import Embedding


class Agreement(NamedTuple):
    """Weights that combine two passes, with log-probabilities p and q, into one loss for each token.

    own_p · CE(p) + own_q · CE(q) + forth · KL(p ‖ q) + back · KL(q ‖ p). Gradients of both divergences reach both
    passes.
    """

    own_p: float
    own_q: float
    forth: float
    back: float
    cutoff: float  # share of the tokens whose embeddings are zero in the second pass


def agreement(settings: ConsistencySettings) -> Agreement | None:
    """Return the weights of the loss that the settings name; None for a single pass.

    R-Drop (Liang et al. 2021) adds up both cross-entropies and alpha times the mean of both divergences; here the sum
    is halved, so that a token weighs as much as in a single pass. SimCut (Gao et al. 2022) adds alpha times KL(p ‖ q),
    where p is of the full pass and q of the pass with cut embeddings.
    """
    match settings:
        case RDropSettings(weight=weight):
            return Agreement(0.5, 0.5, weight / 4, weight / 4, cutoff=0.0)
        case SimCutSettings(weight=weight, cutoff=cutoff):
            return Agreement(1.0, 0.0, weight, 0.0, cutoff)
    return None


@contextmanager
def cut_words(model: nn.Module, share: float) -> Iterator[None]:
    """Within the block, zero the embeddings of a share of the tokens on both sides (token cutoff, Shen et al. 2020)."""
    embeddings = [module for module in model.modules() if isinstance(module, Embedding)]
    for embedding in embeddings:
        embedding.cutoff = share
    try:
        yield
    finally:
        for embedding in embeddings:
            embedding.cutoff = 0.0


class ChunkedAgreement(torch.autograd.Function):
    """Output layer and loss of two passes, in chunks of positions; the forward pass computes the gradients, too."""

    @staticmethod
    def forward(
        ctx: Any,
        first: Tensor,
        second: Tensor,
        weight: Tensor,
        bias: Tensor,
        targets: Tensor,
        is_token: Tensor,
        smoothing: float,
        agreement: Agreement,
    ) -> tuple[Tensor, Tensor]:
        """Return the loss of the outputs (N, D) of both passes, summed over the positions where `is_token` (N) is true.

        Also return the negative log-likelihood of the first pass, without smoothing; it carries no gradient.
        """
        device = first.device.type
        # Several (positions, V) matrices of 32 bits exist at once, where a single pass needs two of 16 bits.
        size = max(1, positions_at_once(len(weight), device) // 8)
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else weight.dtype
        total = torch.zeros((), dtype=torch.promote_types(dtype, torch.float32), device=first.device)
        losses = total.new_zeros(len(first))
        gradients = [torch.zeros_like(part) for part in (first, second, weight, bias)]
        output_layer = [part.detach().to(dtype).requires_grad_() for part in (weight, bias)]
        for begin in range(0, len(first), size):
            here = slice(begin, begin + size)
            passes = [outputs[here].detach().to(dtype).requires_grad_() for outputs in (first, second)]
            with torch.enable_grad(), torch.autocast(device, enabled=False):
                log_probs = [
                    functional.linear(outputs, *output_layer).to(total.dtype).log_softmax(-1)
                    for outputs in passes
                ]
                chunk = _losses(log_probs[0], log_probs[1], targets[here], smoothing, agreement)
                loss = chunk.masked_fill(~is_token[here], 0).sum()
                found = torch.autograd.grad(loss, [*passes, *output_layer])
            for gradient, part in zip(gradients[:2], found[:2], strict=True):
                gradient[here] = part
            for gradient, part in zip(gradients[2:], found[2:], strict=True):
                gradient += part
            total += loss.detach()
            own = -log_probs[0].detach().gather(1, targets[here].unsqueeze(1)).squeeze(1)
            losses[here] = own.masked_fill(~is_token[here], 0)
        ctx.save_for_backward(*gradients)
        nll = losses.sum()
        ctx.mark_non_differentiable(nll)
        return total, nll

    @staticmethod
    def backward(ctx: Any, grad_total: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        return (*((grad * grad_total).to(grad.dtype) for grad in ctx.saved_tensors), None, None, None, None)


def _losses(p: Tensor, q: Tensor, targets: Tensor, smoothing: float, agreement: Agreement) -> Tensor:
    """Return the loss (N) of each token for log-probabilities p and q (N, V)."""
    losses = agreement.forth * divergence(p, q)
    if agreement.back:
        losses = losses + agreement.back * divergence(q, p)
    for share, log_probs in ((agreement.own_p, p), (agreement.own_q, q)):
        if share:
            true = log_probs.gather(1, targets.unsqueeze(1)).squeeze(1)
            losses = losses - share * ((1 - smoothing) * true + smoothing * log_probs.mean(-1))
    return losses


def divergence(p: Tensor, q: Tensor) -> Tensor:
    """Return KL(p ‖ q) (N), in nats, of log-probabilities p and q (N, V)."""
    return (p.exp() * (p - q)).sum(-1)
