"""Cross-entropy over a vocabulary, in chunks of positions, so that the logits of all never exist at once."""

from typing import Any

import torch
from torch import Tensor

from nmt.data.expected_words import ExpectedWords
from nmt.memory import positions_at_once


class ChunkedCrossEntropy(torch.autograd.Function):
    """Output layer and cross-entropy with label smoothing, and with the words that teachers expect.

    Smoothing is that of Szegedy et al. (2016), learning from teachers that of Hinton et al. (2015) and Kim & Rush
    (2016). The gradient of a chunk, softmax minus the target's probabilities, is known as soon as its logits are, so
    the forward pass computes it and the backward pass only scales it. Smoothing gives all words of every row the same
    probability: it enters as sums over weights and outputs, not as a pass over the logits.
    """

    @staticmethod
    def forward(
        ctx: Any,
        outputs: Tensor,
        weight: Tensor,
        bias: Tensor,
        targets: Tensor,
        is_token: Tensor,
        smoothing: float,
        expected: ExpectedWords | None = None,
        share_of_teacher: float = 0.0,
    ) -> tuple[Tensor, Tensor]:
        """Return the loss of outputs (N, D) and targets (N), summed over the positions where `is_token` (N) is true.

        Also return the negative log-likelihood, without smoothing and teachers; it carries no gradient. The `expected`
        words (N, k) have the share `share_of_teacher` in the target. A position's target gives word v the probability

            t(v) = share_of_true · [v is the true word] + smoothing_share + expected_shares(v) + rest,

        of which `smoothing_share` comes from smoothing, `expected_shares` are those of the expected words, and `rest`
        is what teachers leave to all words. The loss is log Σ exp z(v) - Σ t(v) · z(v) for logits z, and its gradient
        softmax(z) - t.
        """
        device = outputs.device.type
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else weight.dtype
        wide = torch.promote_types(dtype, torch.float32)
        vocabulary_size, needs_gradient = len(weight), any(ctx.needs_input_grad)
        token_weights, num_tokens = is_token.to(wide), is_token.sum()  # (N): 1 or 0; on the device
        # Filler rows are set to zero, so that sums over rows and the gradient of the weights need no mask.
        x = outputs.to(dtype).masked_fill(~is_token.unsqueeze(1), 0)
        w, b = weight.to(dtype), bias.to(dtype)
        true_logits, normalisers = torch.empty(2, len(x), dtype=wide, device=outputs.device)
        # For the teachers: the sum of logits weighted by `expected_shares`, and that of outputs weighted by `rest`.
        expected_logit_sum, rest_sum = x.new_zeros((), dtype=wide), x.new_zeros(x.shape[1], dtype=wide)
        if expected is None:
            share_of_teacher, rest = 0.0, token_weights.new_zeros(1)
        else:
            expected_shares = share_of_teacher * expected.probabilities.to(wide)  # (N, k)
            unexpected = (share_of_teacher - expected_shares.sum(1)).clamp_(min=0)  # (N)
            rest = unexpected * token_weights / vocabulary_size  # (N)
        share_of_true = (1 - share_of_teacher) * (1 - smoothing)
        smoothing_share = (1 - share_of_teacher) * smoothing / vocabulary_size  # of each word
        is_spread = smoothing > 0 or expected is not None
        weight_sum = weight.sum(0, dtype=wide) if is_spread else weight.new_zeros(weight.shape[1])  # (D)
        # The gradient of an output is (p - t) W, for the probabilities p and their targets t (V). What t gives to every
        # word alike need not be written into V columns: its product with W is a multiple of the sum of the rows of W.
        even_gradient = -(smoothing_share * weight_sum).to(dtype)
        if needs_gradient:
            grad_outputs = torch.empty_like(x)
            grad_weight, grad_bias = torch.zeros_like(weight), torch.zeros_like(bias)
        size = min(len(x), positions_at_once(vocabulary_size, device))
        # The big rectangles are allocated once: fresh memory costs more than the arithmetic on it.
        rectangles = torch.empty(2, size, vocabulary_size, dtype=dtype, device=outputs.device)
        rows = torch.arange(size, device=outputs.device)
        with torch.autocast(device, enabled=False):
            for first in range(0, len(x), size):
                chunk = x[first : first + size]
                logits, probabilities = rectangles[:, : len(chunk)]
                true = rows[: len(chunk)], targets[first : first + size]  # places in the rectangles
                torch.addmm(b, chunk, w.t(), out=logits)
                here = slice(first, first + size)
                true_logits[here] = logits[true]
                if expected is not None:
                    words = expected.words[here].long()
                    logit_sums = (expected_shares[here] * logits.gather(1, words)).sum(1)
                    expected_logit_sum += logit_sums @ token_weights[here]
                    rest_sum += rest[here] @ chunk.to(wide)
                if needs_gradient:
                    torch.softmax(logits, 1, out=probabilities)
                    true_probabilities = probabilities[true].to(wide)
                    probabilities[true] = 0
                    # Near 1, numbers of bfloat16 are 0.004 apart: what the other words leave to the true one is exact.
                    others = probabilities.sum(1).to(wide)
                    true_probabilities = torch.where(others < 0.5, 1 - others, true_probabilities)
                if needs_gradient and dtype != torch.float16:
                    # The true word's logit and probability give the normaliser without another pass, to 1/500 nat in
                    # bfloat16; a probability that underflows in 32 bits counts as 87 nats. Float16 is not used here,
                    # since its probabilities underflow beyond 16 nats.
                    true_log_probs = true_probabilities.clamp(min=torch.finfo(wide).tiny).log_()
                    normalisers[here] = true_logits[here] - true_log_probs
                else:
                    normalisers[here] = logits.to(wide).logsumexp(1)
                if needs_gradient:
                    gradient = probabilities
                    gradient[true] = (true_probabilities - share_of_true).to(dtype)
                    even_gradient_here = even_gradient
                    if expected is not None:
                        # The expected words of a position differ, so that the result is the same in any order.
                        gradient.scatter_(
                            1, words, (gradient.gather(1, words) - expected_shares[here]).to(dtype)
                        )
                        even_gradient_here = even_gradient - torch.outer(rest[here], weight_sum).to(dtype)
                    torch.addmm(even_gradient_here, gradient, w, out=grad_outputs[here])
                    grad_weight += gradient.t() @ chunk
                    grad_bias += token_weights[here].to(dtype) @ gradient
            nll = ((normalisers - true_logits) * token_weights).sum()
            total = nll.clone()  # a copy, since it carries a gradient and nll does not
            if share_of_true < 1:
                true_logit_sum = true_logits @ token_weights
                total = total + (1 - share_of_true) * true_logit_sum - expected_logit_sum
            if is_spread:
                output_sum = smoothing_share * x.sum(0, dtype=wide) + rest_sum
                spread = smoothing_share * num_tokens + rest.sum()
                total = total - output_sum @ weight_sum - spread * bias.sum(dtype=wide)
                if needs_gradient:
                    grad_weight -= output_sum
                    grad_bias -= spread
        if needs_gradient:
            ctx.save_for_backward(grad_outputs.to(outputs.dtype), grad_weight, grad_bias, is_token)
        ctx.mark_non_differentiable(nll)
        return total, nll

    @staticmethod
    def backward(ctx: Any, grad_total: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        grad_outputs, grad_weight, grad_bias, is_token = ctx.saved_tensors
        scales = (grad_total * is_token).to(grad_outputs.dtype).unsqueeze(1)  # (N, 1)
        found = grad_outputs * scales, grad_weight * grad_total, grad_bias * grad_total
        return (*found, None, None, None, None, None)
