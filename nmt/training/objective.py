"""What training minimises: the one module that is run forward and backward."""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from nmt.data.batching import Batch
from nmt.models.interface import Seq2Seq

# Logits that exist at once: on the CPU they should stay in cache, elsewhere in memory.
LOGITS_AT_ONCE = {"cpu": 1 << 21, "cuda": 1 << 27, "mps": 1 << 25}


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
        given = (outputs, output.weight, output.bias, targets, smoothing)
        return Loss(*_ChunkedCrossEntropy.apply(*given))  # type: ignore[no-untyped-call]


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
        total, nll = (torch.zeros((), dtype=wide, device=outputs.device) for _ in range(2))
        if ctx.needs:
            grad_outputs = torch.empty_like(x)
            grad_weight, grad_bias = torch.zeros_like(weight), torch.zeros_like(bias)
        size = max(1, LOGITS_AT_ONCE[device] // vocabulary_size)
        # The big rectangles are made once: fresh memory costs more than the arithmetic on it.
        products = torch.empty(min(size, len(x)), vocabulary_size, dtype=dtype, device=outputs.device)
        rectangle = torch.empty_like(products, dtype=wide)
        with torch.autocast(device, enabled=False):
            for first in range(0, len(targets), size):
                chunk, true = x[first : first + size], targets[first : first + size].unsqueeze(1)
                product, logits = products[: len(chunk)], rectangle[: len(chunk)]
                torch.add(torch.mm(chunk, w.t(), out=product), b, out=logits)
                true_logits = logits.gather(1, true)
                highest = logits.amax(1, keepdim=True)
                logit_sum = logits.sum() if smoothing else 0.0
                exponentials = logits.sub_(highest).exp_()
                sums = exponentials.sum(1, keepdim=True)
                normaliser = sums.log() + highest
                loss = (normaliser - true_logits).sum()
                nll += loss
                total += (1 - smoothing) * loss + smoothing * (normaliser.sum() - logit_sum / vocabulary_size)
                if ctx.needs:
                    gradient = exponentials.div_(sums).sub_(smoothing / vocabulary_size)
                    gradient.scatter_add_(1, true, torch.full_like(true_logits, smoothing - 1))
                    gradient = product.copy_(gradient)
                    torch.mm(gradient, w, out=grad_outputs[first : first + size])
                    grad_weight += gradient.t() @ chunk
                    grad_bias += gradient.sum(0, dtype=wide)
        if ctx.needs:
            ctx.save_for_backward(grad_outputs.to(outputs.dtype), grad_weight, grad_bias)
        ctx.mark_non_differentiable(nll)
        return total, nll

    @staticmethod
    def backward(ctx: Any, grad_total: Tensor, _: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        grad_outputs, grad_weight, grad_bias = ctx.saved_tensors
        scale = grad_total.to(grad_outputs.dtype)
        return grad_outputs * scale, grad_weight * grad_total, grad_bias * grad_total, None, None
