"""Scaled dot-product attention (Vaswani et al. 2017, section 3.2.1), for all heads at once."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

# On the CPU, PyTorch's fused attention is slower than two plain products while the scores fit in cache:
# forward and backward of 270 sentences of 16 tokens took 36 ms against 5 ms on two Xeon cores.
LARGEST_PLAIN_SCORES = 128 * 128

KeysValues = Tensor | tuple[Tensor, Tensor]  # (2, B, H, S, d), or two of (B, H, S, d)


def attend(
    heads: Tensor, memory: KeysValues | None = None, mask: Tensor | None = None, causal: bool = False
) -> Tensor:
    """Return what the queries find, (B, H, T, d).

    `heads` is (3, B, H, T, d), queries, keys and values of one sequence, or (1, B, H, T, d), the queries to a
    `memory`. `mask` (B, 1, 1, S) is added to the scores; `causal` hides from each position those after it.
    """
    query = heads[0]
    mask = None if mask is None else mask.to(query.dtype)
    num_heads, longest = query.shape[1:3]
    source_length = (heads if memory is None else memory[0]).shape[-2]
    if query.device.type != "cpu" or longest * source_length > LARGEST_PLAIN_SCORES:
        key, value = heads[1:] if memory is None else memory
        return functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=causal)
    if causal:
        added = query.new_full((1, longest, longest), -torch.inf).triu(1)
    elif mask is None:
        added = query.new_zeros(1, 1, 1)
    else:
        added = mask.expand(-1, num_heads, -1, -1).flatten(0, 1)
    with torch.autocast("cpu", enabled=False):
        if isinstance(memory, tuple):  # in decoding
            return _products(heads, memory, added)[0]
        attended: Tensor = _PlainAttention.apply(heads, memory, added)  # type: ignore[no-untyped-call]
    return attended


def _products(heads: Tensor, memory: KeysValues | None, added: Tensor) -> tuple[Tensor, Tensor]:
    """Return what the queries find (B, H, T, d), and its weights (B·H, T, S)."""
    query, key, value = _parts(heads, memory)
    weights = torch.baddbmm(added, query, key.transpose(1, 2), alpha=_scale(query)).softmax(-1)
    return (weights @ value).view(heads.shape[1:]), weights


class _PlainAttention(torch.autograd.Function):
    """Two batched products, whose gradients go where they belong instead of being put together afterwards."""

    @staticmethod
    def forward(ctx: Any, heads: Tensor, memory: Tensor | None, added: Tensor) -> Tensor:
        attended, weights = _products(heads, memory, added)
        ctx.save_for_backward(heads, memory, weights)
        return attended

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor | None, None]:
        heads, memory, weights = ctx.saved_tensors
        query, key, value = _parts(heads, memory)
        grad_heads = heads.new_empty(heads.shape)  # contiguous, so that its parts are views
        grad_memory = None if memory is None else memory.new_empty(memory.shape)
        grad_query, grad_key, grad_value = _parts(grad_heads, grad_memory)
        gradient = gradients[0].flatten(0, 1)
        torch.bmm(weights.transpose(1, 2), gradient, out=grad_value)
        grad_weights = gradient @ value.transpose(1, 2)
        grad_scores = torch.ops.aten._softmax_backward_data(grad_weights, weights, -1, weights.dtype)
        torch.bmm(grad_scores, key, out=grad_query).mul_(_scale(query))
        torch.bmm(grad_scores.transpose(1, 2), query, out=grad_key).mul_(_scale(query))
        return grad_heads, grad_memory, None


def _parts(heads: Tensor, memory: KeysValues | None) -> tuple[Tensor, Tensor, Tensor]:
    """Return queries, keys and values, (B·H, …, d) each: views, where heads and memory are contiguous."""
    query = heads[0]
    key, value = heads[1:] if memory is None else memory
    return query.flatten(0, 1), key.flatten(0, 1), value.flatten(0, 1)


def _scale(query: Tensor) -> float:
    return float(query.shape[-1] ** -0.5)
