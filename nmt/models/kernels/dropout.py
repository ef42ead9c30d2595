"""Dropout that costs the CPU little."""

from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional


class Dropout(nn.Module):
    """Zero a share `probability` of the activations in training and scale the others up (Srivastava et al. 2014).

    On the CPU, PyTorch draws the mask one number after the other, at many times the cost of using it. Here one byte of
    a 64-bit random number decides on each activation. That rounds the share to 1/256; where the dropped or the kept
    share would be more than 2 % off, two or four bytes decide. All devices drop the rounded `share`, and the scale is
    computed from it, so that the mean stays exact.
    """

    def __init__(self, probability: float) -> None:
        super().__init__()
        tolerance = 0.02 * min(probability, 1 - probability)
        for self.decided_by in (torch.uint8, torch.int16, torch.int32):
            num_numbers = 1 << torch.iinfo(self.decided_by).bits
            num_dropped = min(num_numbers - 1, round(probability * num_numbers))
            self.share = num_dropped / num_numbers
            if abs(self.share - probability) <= tolerance:
                break
        self.lowest_kept = num_dropped + torch.iinfo(self.decided_by).min
        self.scale = 1 / (1 - self.share)

    def forward(self, x: Tensor) -> Tensor:
        """Return x (…) with dropout in training, unchanged in evaluation."""
        if not self.training or self.share == 0:
            return x
        if x.device.type != "cpu":
            return functional.dropout(x, self.share)
        return (x * self._draw_kept(x)).mul_(self.scale)

    def add_to(self, residual: Tensor, x: Tensor) -> Tensor:
        """Return the sum of `residual` (…) and x (…), the latter with dropout."""
        if not self.training or self.share == 0 or x.device.type != "cpu":
            return residual + self(x)
        return torch.addcmul(residual, x, self._draw_kept(x), value=self.scale)

    def _draw_kept(self, x: Tensor) -> Tensor:
        """Draw a mask, 1 for kept and 0 for dropped, in the type of x, since products with bools are slow."""
        if x.device.type != "cpu":
            return torch.empty_like(x, requires_grad=False).bernoulli_(1 - self.share)
        num_bytes = x.numel() * self.decided_by.itemsize
        words = torch.empty((num_bytes + 7) // 8, dtype=torch.int64)
        words.random_(torch.iinfo(torch.int64).min, None)  # all 64 bits; the default range leaves one out
        numbers = words.view(self.decided_by)[: x.numel()].view(x.shape)
        return torch.ge(numbers, self.lowest_kept, out=torch.empty_like(x, requires_grad=False))


class ActivationDropout(Dropout):
    """ReLU, GELU, SiLU or SwiGLU, then dropout that leaves its scale to the weights of the next layer: `next_scale`.

    On wide inner layers each pass over the activations counts. With ReLU, the gradient passes exactly where the result
    is positive, so that no mask is kept. SwiGLU (Shazeer 2020) halves the width: SiLU of one half times the other.
    """

    def __init__(self, activation: str, probability: float) -> None:
        super().__init__(probability)
        self.activation = activation

    @property
    def next_scale(self) -> float:
        """The factor by which the next layer's weights must be scaled."""
        return self.scale if self.training else 1.0

    def forward(self, x: Tensor) -> Tensor:
        """Return the activations of x (…) without those that are dropped; x itself may be overwritten."""
        if self.activation == "relu":
            return _Rectify.apply(x, self._draw_kept(x) if self.next_scale != 1 else None)  # type: ignore[no-untyped-call]
        if self.activation == "swiglu":
            gate, value = x.chunk(2, -1)
            x = functional.silu(gate) * value
        else:
            x = functional.silu(x) if self.activation == "silu" else functional.gelu(x)
        return x if self.next_scale == 1 else x * self._draw_kept(x)


class _Rectify(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, kept: Tensor | None) -> Tensor:
        x.relu_()
        if kept is not None:
            x.mul_(kept)
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (x,) = ctx.saved_tensors
        return torch.ops.aten.threshold_backward(gradients[0], x, 0), None


def scaled_linear(linear: nn.Linear, x: Tensor, scale: float) -> Tensor:
    """Return `linear` of x (…, d_in) times `scale`; the weights are scaled, since they are fewer than the inputs."""
    if scale == 1:
        return cast(Tensor, linear(x))
    return functional.linear(x, linear.weight * scale, linear.bias)
