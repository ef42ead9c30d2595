"""What training minimises: the one module that is run forward and backward."""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from nmt.data.batching import Batch
from nmt.models.interface import Seq2Seq
from nmt.models.packing import Packing

# Logits that exist at once: on the CPU they should stay in cache, elsewhere in memory.
LOGITS_AT_ONCE = {"cpu": 1 << 22, "cuda": 1 << 27, "mps": 1 << 25}


class Loss(NamedTuple):
    """Sums over the target tokens of a batch, in nats."""

    total: Tensor  # what is minimised, with label smoothing
    negative_log_likelihood: Tensor  # without, for perplexity; carries no gradient


class Objective(nn.Module):
    """Cross-entropy with label smoothing (Szegedy et al. 2016) of a model's predictions."""

    def __init__(self, model: Seq2Seq, label_smoothing: float) -> None:
        super().__init__()
        self.model = model
        self.label_smoothing = label_smoothing

    def forward(self, batch: Batch, sample_mask: Tensor | None = None) -> Loss:
        """Return the summed loss of a batch; `sample_mask` (B, T) as in `Seq2Seq.forward`."""
        outputs = self.model(batch, sample_mask).outputs  # (B, T, D)
        packing = Packing(batch.lengths[1], batch.room[1])
        output = self.model.output
        smoothing = self.label_smoothing if self.training else 0.0
        given = (packing.pack(outputs), output.weight, output.bias, packing.pack(batch.target_out))
        return Loss(*_ChunkedCrossEntropy.apply(*given, packing.is_token, smoothing))  # type: ignore[no-untyped-call]


class _ChunkedCrossEntropy(torch.autograd.Function):
    """Output layer and cross-entropy in chunks of positions: the logits of all never exist at once.

    The gradient is known as soon as a chunk's logits are, softmax minus the smoothed target, so the forward
    pass computes it and the backward pass only scales it. What smoothing spreads over all words is the same in
    every row: it enters as sums over weights and outputs, not as a pass over the logits.
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
    ) -> tuple[Tensor, Tensor]:
        """Sum over those of outputs (N, D) and targets (N) that `is_token` (N) says; the others are fillers."""
        device = outputs.device.type
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else weight.dtype
        wide = torch.promote_types(dtype, torch.float32)
        vocabulary_size, needs_gradient = len(weight), ctx.needs_input_grad[0]
        counted, num_tokens = is_token.to(wide), is_token.sum()  # (N): 1 or 0; on the device
        # Fillers are zero here, so that sums over rows and the gradient of the weights need not know of them.
        x = outputs.to(dtype).masked_fill(~is_token.unsqueeze(1), 0)
        w, b = weight.to(dtype), bias.to(dtype)
        true_sum, normaliser_sum = (torch.zeros((), dtype=wide, device=outputs.device) for _ in range(2))
        share = smoothing / vocabulary_size
        weight_sum = weight.sum(0, dtype=wide) if smoothing else weight.new_zeros(weight.shape[1])  # (D)
        shift = -(share * weight_sum).to(dtype)
        if needs_gradient:
            grad_outputs = torch.empty_like(x)
            grad_weight, grad_bias = torch.zeros_like(weight), torch.zeros_like(bias)
        size = min(len(x), 1 << max(0, (LOGITS_AT_ONCE[device] // vocabulary_size).bit_length() - 1))
        # The big rectangles are made once: fresh memory costs more than the arithmetic on it.
        rectangles = torch.empty(2, size, vocabulary_size, dtype=dtype, device=outputs.device)
        rows = torch.arange(size, device=outputs.device)
        with torch.autocast(device, enabled=False):
            for first in range(0, len(x), size):
                chunk = x[first : first + size]
                logits, probabilities = rectangles[:, : len(chunk)]
                true = rows[: len(chunk)], targets[first : first + size]  # places in the rectangles
                torch.addmm(b, chunk, w.t(), out=logits)
                counts = counted[first : first + size]
                true_sum += logits[true].to(wide) @ counts
                if needs_gradient:
                    torch.softmax(logits, 1, out=probabilities)
                    # The most probable word gives the normaliser to 1/500 nat in bfloat16, without another pass.
                    normalisers = logits.amax(1).to(wide) - probabilities.amax(1).to(wide).log()
                    gradient = probabilities
                    gradient[true] -= 1 - smoothing
                    torch.addmm(shift, gradient, w, out=grad_outputs[first : first + size])
                    grad_weight += gradient.t() @ chunk
                    grad_bias += counts.to(dtype) @ gradient
                else:
                    normalisers = logits.to(wide).logsumexp(1)
                normaliser_sum += normalisers @ counts
            total = nll = normaliser_sum - true_sum
            if smoothing:
                output_sum = x.sum(0, dtype=wide)
                logit_sum = output_sum @ weight_sum + num_tokens * bias.sum(dtype=wide)
                total = normaliser_sum - (1 - smoothing) * true_sum - share * logit_sum
                if needs_gradient:
                    grad_weight -= share * output_sum
                    grad_bias -= share * num_tokens
        if needs_gradient:
            ctx.save_for_backward(grad_outputs.to(outputs.dtype), grad_weight, grad_bias, is_token)
        nll = nll.clone()
        ctx.mark_non_differentiable(nll)
        return total, nll

    @staticmethod
    def backward(ctx: Any, grad_total: Tensor, _: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None, None]:
        grad_outputs, grad_weight, grad_bias, is_token = ctx.saved_tensors
        scales = (grad_total * is_token).to(grad_outputs.dtype).unsqueeze(1)  # (N, 1)
        return grad_outputs * scales, grad_weight * grad_total, grad_bias * grad_total, None, None, None
