"""What training minimises: the one module that is run forward and backward."""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from nmt.data.batching import Batch
from nmt.models.interface import Seq2Seq

# Logits that exist at once: on the CPU they should stay in cache, elsewhere in memory.
CHUNK_OF_LOGITS = {"cpu": 1 << 21, "cuda": 1 << 27}


class Loss(NamedTuple):
    """Sums over the target tokens of a batch, in nats."""

    total: Tensor  # what is minimised, with label smoothing
    negative_log_likelihood: Tensor  # without, for perplexity; carries no gradient


class Objective(nn.Module):
    """Cross-entropy with label smoothing (Szegedy et al. 2016) of a model's predictions."""

    def __init__(self, model: Seq2Seq, pad_id: int, label_smoothing: float) -> None:
        super().__init__()
        self.model = model
        self.pad_id = pad_id
        self.label_smoothing = label_smoothing

    def forward(self, batch: Batch, sample_mask: Tensor | None = None) -> Loss:
        """Return the summed loss of a batch; `sample_mask` (B, T) as in `Seq2Seq.forward`."""
        outputs = self.model(batch, sample_mask).outputs.flatten(0, 1)  # (B·T, D)
        targets = batch.target_out.flatten()
        if batch.num_tokens < len(targets):  # no work on padding; the number is known, so nothing waits
            counted = (targets != self.pad_id).nonzero_static(size=batch.num_tokens).squeeze(1)
            outputs, targets = outputs[counted], targets[counted]
        output = self.model.output
        smoothing = self.label_smoothing if self.training else 0.0
        return Loss(*_ChunkedCrossEntropy.apply(outputs, output.weight, output.bias, targets, smoothing))


class _ChunkedCrossEntropy(torch.autograd.Function):
    """Output layer and cross-entropy in chunks of positions: the logits of all never exist at once.

    The gradient is known as soon as a chunk's logits are, softmax minus the smoothed target, so the forward
    pass computes it and the backward pass only scales it.
    """

    @staticmethod
    def forward(
        ctx: Any, outputs: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        device = outputs.device.type
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else weight.dtype
        wide = torch.promote_types(dtype, torch.float32)
        vocabulary_size = len(weight)
        ctx.needs = ctx.needs_input_grad[0]
        x, w, b = outputs.to(dtype), weight.to(dtype), bias.to(wide)
        total, nll = torch.zeros(2, dtype=wide, device=outputs.device).unbind()
        total, nll = total.clone(), nll.clone()
        if ctx.needs:
            grad_outputs = torch.empty_like(x)
            grad_weight, grad_bias = torch.zeros_like(weight), torch.zeros_like(bias)
        size = max(1, CHUNK_OF_LOGITS.get(device, CHUNK_OF_LOGITS["cuda"]) // vocabulary_size)
        with torch.autocast(device, enabled=False):
            for first in range(0, len(targets), size):
                chunk, true = x[first : first + size], targets[first : first + size].unsqueeze(1)
                logits = (chunk @ w.t()).to(wide).add_(b)
                normaliser = logits.logsumexp(1, keepdim=True)
                losses = normaliser - logits.gather(1, true)
                nll += losses.sum()
                uniform = (normaliser.sum() * vocabulary_size - logits.sum()) / vocabulary_size
                total += (1 - smoothing) * losses.sum() + smoothing * uniform
                if ctx.needs:
                    gradient = logits.sub_(normaliser).exp_().sub_(smoothing / vocabulary_size)
                    gradient.scatter_add_(1, true, torch.full_like(losses, smoothing - 1))
                    grad_bias += gradient.sum(0)
                    gradient = gradient.to(dtype)
                    torch.mm(gradient, w, out=grad_outputs[first : first + size])
                    grad_weight += gradient.t() @ chunk
        if ctx.needs:
            ctx.save_for_backward(grad_outputs.to(outputs.dtype), grad_weight, grad_bias)
        ctx.mark_non_differentiable(nll)
        return total, nll

    @staticmethod
    def backward(  # type: ignore[override]
        ctx: Any, grad_total: Tensor, _: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, None, None]:
        grad_outputs, grad_weight, grad_bias = ctx.saved_tensors
        scale = grad_total.to(grad_outputs.dtype)
        return grad_outputs * scale, grad_weight * grad_total, grad_bias * grad_total, None, None
