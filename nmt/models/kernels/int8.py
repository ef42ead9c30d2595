"""A Transformer whose linear layers compute in 8-bit integers, on a CPU that only translates.

No text is needed to find scales. What a normalisation gives, before its own weights, has a mean square of one whatever
comes in, so that one step fits all texts; its weights go into those of the layers that read it (as those of Xiao et al.
2023, SmoothQuant, do). A neuron of the inner layer of feed-forward is such a vector times a row of weights, whose
length is the neuron's spread then, and ReLU lets a scale through to the weights after it. Embeddings, attention and
the projections of what it finds stay in floating point.
"""

import copy
from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from nmt.models.layers import RMSNorm
from nmt.models.transformer import Stack
from nmt.models.transformer_layers import DecoderLayer, FeedForward

# Activations are cut at so many times their spread: those of normalised vectors, and neurons.
# After 900 updates on Multi30k the largest were at 5 and 9; more than the root of the width is not possible.
LARGEST, LARGEST_NEURON = 8.0, 10.0
LARGEST_BYTE = 255
# Where a processor cannot sum products of bytes in 32 bits at once (VNNI), oneDNN sums two of them in 16 first, which
# weights of no more than seven bits cannot overflow.
LARGEST_WEIGHT, LARGEST_WEIGHT_OF_PAIRS = 127, 64
ZERO = 128  # the byte that stands for 0 where activations have both signs
STEP = LARGEST / ZERO  # between two bytes of a normalised vector
TINY = torch.finfo(torch.float32).tiny


class QuantizedNorm(nn.Module):
    """A normalisation without its weights, in bytes: (b - ZERO) · STEP."""

    def __init__(self, norm: nn.LayerNorm | RMSNorm) -> None:
        super().__init__()
        self.shape, self.eps = norm.normalized_shape, cast(float, norm.eps)
        self.is_rms = isinstance(norm, RMSNorm)
        self.scale = torch.full(self.shape, 1 / STEP)
        self.shift = torch.full(self.shape, ZERO + 0.5)  # half a step, since what follows rounds down

    def forward(self, x: Tensor) -> Tensor:
        """Return bytes (…, D) for x (…, D)."""
        if self.is_rms:
            steps = functional.rms_norm(x.float(), self.shape, self.scale, self.eps) + self.shift
        else:
            steps = functional.layer_norm(x.float(), self.shape, self.scale, self.shift, self.eps)
        return _to_bytes(steps)


class QuantizedLinear(nn.Module):
    """A linear layer by oneDNN, from bytes b that stand for (b - zero) · step.

    Each output has a scale for its weights. With `dtype` of bytes, outputs are rectified, and those above 1 are 1.
    """

    def __init__(self, weight: Tensor, bias: Tensor, step: float, zero: int, dtype: torch.dtype) -> None:
        super().__init__()
        self.step, self.dtype = step, dtype
        largest = LARGEST_WEIGHT if torch.cpu._is_vnni_supported() else LARGEST_WEIGHT_OF_PAIRS
        self.scales = (weight.abs().amax(1) / largest).clamp(min=TINY)
        self.zeros = torch.zeros(len(weight), dtype=torch.int32)
        steps = (weight / self.scales.unsqueeze(1)).round().to(torch.int8)
        self.weight = torch.ops.onednn.qlinear_prepack(steps, None)
        # oneDNN would sum up the weights, for what `zero` adds, at each call.
        self.bias = bias - step * zero * self.scales * steps.sum(1)
        self.plain: Tensor | None = None
        is_bytes = dtype == torch.uint8
        self.output_step, self.function = (1 / LARGEST_BYTE, "relu") if is_bytes else (1.0, "none")

    def forward(self, x: Tensor) -> Tensor:
        """Return (…, d_out) for bytes (…, d_in)."""
        given = x, self.step, 0, self.weight, self.scales, self.zeros, self.bias
        wanted = self.output_step, 0, self.dtype, self.function
        result: Tensor = torch.ops.onednn.qlinear_pointwise(*given, *wanted, [], "")
        return result

    def choose(self, rows: Tensor) -> "QuantizedLinear":
        """Return a layer that gives the outputs of these `rows` (N) alone, and the same as this one."""
        if self.plain is None:  # kept for those who ask once, since they will again
            self.plain = self.weight.to_dense().t().contiguous()
        chosen = copy.copy(self)
        chosen.weight = torch.ops.onednn.qlinear_prepack(self.plain[rows], None)
        chosen.scales, chosen.zeros, chosen.bias = self.scales[rows], self.zeros[rows], self.bias[rows]
        return chosen


class QuantizedFeedForward(nn.Module):
    """Two layers with ReLU between them, whose activations are bytes, too."""

    def __init__(self, feed_forward: FeedForward, norm: nn.Module) -> None:
        super().__init__()
        dtype = feed_forward.inner.weight.dtype
        weight, bias = _fold(feed_forward.inner, norm)
        spread = weight.norm(dim=1)
        largest = torch.maximum(LARGEST_NEURON * spread + bias, spread).clamp(min=torch.finfo(dtype).tiny)
        self.inner = QuantizedLinear(weight / largest.unsqueeze(1), bias / largest, STEP, ZERO, torch.uint8)
        weight, bias = feed_forward.outer.weight.float() * largest, feed_forward.outer.bias.float()
        self.outer = QuantizedLinear(weight, bias, 1 / LARGEST_BYTE, 0, dtype)

    def forward(self, x: Tensor) -> Tensor:
        """Return (N, D) for bytes (N, D)."""
        return cast(Tensor, self.outer(self.inner(x)))


@torch.no_grad()
def quantize(encoder: Stack, decoder: Stack, outputs: Sequence[tuple[nn.Module, str]]) -> None:
    """Let all layers that read normalised vectors read bytes; `outputs` are those that read the decoder's, with names.

    The model normalises before each sub-layer.
    """
    layer: Any
    for layer in (*encoder.layers, *decoder.layers):
        attention, feed_forward, last = layer.self_attention, layer.feed_forward, layer.residuals[-1]
        names = ("query", "key_value") if attention.is_grouped else ("query_key_value",)
        _quantize_readers(layer.residuals[0], [(attention, name) for name in names])
        if isinstance(layer, DecoderLayer):
            _quantize_readers(layer.residuals[1], [(layer.cross_attention, "query")])
        if feed_forward.activation.activation == "relu":
            layer.feed_forward = QuantizedFeedForward(feed_forward, last.norm)
            last.norm = QuantizedNorm(last.norm)
        else:
            _quantize_readers(last, [(feed_forward, "inner")])
    _quantize_readers(encoder, [(layer.cross_attention, "key_value") for layer in decoder.layers])
    _quantize_readers(decoder, outputs)


def _quantize_readers(owner: Any, readers: Sequence[tuple[Any, str]]) -> None:
    """Let the linear layers `readers`, each a module's attribute, read the owner's normalised vectors as bytes."""
    for module, name in readers:
        linear = getattr(module, name)
        weight, bias = _fold(linear, owner.norm)
        setattr(module, name, QuantizedLinear(weight, bias, STEP, ZERO, linear.weight.dtype))
    owner.norm = QuantizedNorm(owner.norm)


def _to_bytes(steps: Tensor) -> Tensor:
    # Straight from floating point to unsigned bytes takes PyTorch three times as long.
    return steps.clamp_(0, LARGEST_BYTE).to(torch.int16).to(torch.uint8)


def _fold(linear: nn.Linear, norm: nn.Module) -> tuple[Tensor, Tensor]:
    """Return weight and bias for what `norm` gives without its own."""
    weight = linear.weight.float()
    bias = weight.new_zeros(len(weight)) if linear.bias is None else linear.bias.float()
    if isinstance(norm, nn.LayerNorm):
        bias = bias + weight @ norm.bias.float()
    return weight * cast(Tensor, norm.weight).float(), bias
