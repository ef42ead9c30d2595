"""Scaled dot-product attention (Vaswani et al. 2017, section 3.2.1), for all heads at once."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

# On the CPU, PyTorch's fused attention is slower than two batched products while the scores fit in cache:
# forward and backward of 270 sentences of 16 tokens took 36 ms against 5 ms on two Xeon cores.
LARGEST_BATCHED_SCORES = 128 * 128
# Largest number of sentences times heads for which PyTorch's fused attention is faster than the calls of two batched
# products. With single positions of many sentences it is several times slower.
FEW_SENTENCE_HEADS = 32

KeysValues = Tensor | tuple[Tensor, Tensor]  # (2, B, H, S, d), or two of (B, H, S, d)
# Vectors of the distances between queries and keys, to be added to keys and to values, (T, S, d) each.
Distances = tuple[Tensor, Tensor]
# The keys and values of a group of sentences, and the mask of their positions.
Memory = tuple[KeysValues, Tensor]
# If a list is given, cross-attention appends its queries of all heads to it, (B, H, T, d).
Queries = list[Tensor] | None

_observed: dict[int, list[Tensor]] = {}  # the weights recorded in each observing thread


@contextmanager
def observing() -> Iterator[list[Tensor]]:
    """Yield a list to which each call of `attend` in this thread appends its weights (B, H, T, S).

    Fast attention never has the weights of all heads as such. An observed call computes them by the definition and
    applies these same weights to the values, so that the weights shown are those that the model uses.
    """
    observed = _observed[threading.get_ident()] = []
    try:
        yield observed
    finally:
        del _observed[threading.get_ident()]


def attend(
    heads: Tensor,
    memory: KeysValues | None,
    mask: Tensor | None = None,
    causal: bool = False,
    dropout: float = 0.0,
    relative: Distances | None = None,
) -> Tensor:
    """Return the contexts (B, H, T, d) of the queries: softmax(Q·Kᵀ / √d)·V, by the machine's fastest way.

    `heads` is (3, B, H, T, d), queries, keys and values of one sequence, or (1, B, H, T, d), the queries to a `memory`.
    A memory may have fewer heads, each of which neighbouring heads of queries share. `mask` (B or 1, 1, 1, S), or with
    a copy for each head of the memory, is added to the scores; `causal` hides from each position those after it.
    `dropout` is the share of weights that are dropped, `relative` the vectors that are added to keys and values.

    The first of these ways that can be taken is the one:

    - PyTorch's fused attention, on accelerators and for long sentences. It shows no weights, and knows no `relative`.
    - `attend_in_inference`, in as few calls as possible, where no gradient is needed and nothing is dropped.
    - `_attend_by_definition`, where weights are observed or dropped, or vectors are `relative`.
    - `_BatchedAttention`, which is for training on short sentences.
    """
    query = heads[0]
    if mask is not None:
        mask = mask.to(query.dtype)
    longest = query.shape[2]
    num_shared, source_length = (heads if memory is None else memory[0]).shape[-3:-1]
    is_observed = bool(_observed) and threading.get_ident() in _observed
    needs_definition = is_observed or relative is not None
    if not needs_definition and (
        query.device.type != "cpu" or longest * source_length > LARGEST_BATCHED_SCORES
    ):
        return functional.scaled_dot_product_attention(
            *_parts(heads, memory),
            None if mask is None else mask[:, :1],
            dropout,
            causal,
            # In a compiled layer this comparison is a symbol, and only a plain bool is taken.
            enable_gqa=True if num_shared < query.shape[1] else False,  # noqa: SIM210
        )
    is_cached = isinstance(memory, tuple)  # a search keeps keys and values apart
    is_learning = torch.is_grad_enabled() and not is_cached
    if not (needs_definition or is_learning or causal or dropout):
        return attend_in_inference(*_parts(heads, memory), mask)
    if causal:
        added = query.new_full((longest, longest), -torch.inf).triu(1)[None, None]
    else:
        added = query.new_zeros(1, 1, 1, 1) if mask is None else mask
    with torch.autocast(query.device.type, enabled=False):
        if needs_definition or dropout:
            return _attend_by_definition(*_parts(heads, memory), added[:, :1], dropout, relative)
        # Heads that share keys and values stand side by side, as more positions of one.
        num_sharing = query.shape[1] // num_shared
        folded = heads.reshape(len(heads), len(query), num_shared, num_sharing * longest, -1)
        if causal:
            added = added.repeat(1, 1, num_sharing, 1)
        elif mask is not None:
            added = added.expand(len(query), num_shared, -1, -1)
        attended: Tensor = _BatchedAttention.apply(folded, memory, added.flatten(0, 1))  # type: ignore[no-untyped-call]
    return attended.reshape(query.shape)


def attend_in_inference(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
    """Return the contexts as `attend` does, in as few calls as possible: in decoding, each call does little work."""
    num_shared = key.shape[1]
    if query.shape[0] * query.shape[1] <= FEW_SENTENCE_HEADS:
        mask = None if mask is None else mask[:, :1]
        return functional.scaled_dot_product_attention(
            query, key, value, mask, enable_gqa=num_shared < query.shape[1]
        )
    # Heads that share keys and values stand side by side, as more positions of one.
    folded = query.reshape(len(query) * num_shared, -1, query.shape[-1])
    key, value = key.flatten(0, 1), value.flatten(0, 1)
    if mask is None:
        mask = query.new_zeros(1, 1, 1, 1)
    added = (mask if len(mask) == 1 else mask.expand(-1, num_shared, -1, -1)).flatten(0, 1)
    return torch.bmm(_weigh(folded, key, added), value).view(query.shape)


def _attend_by_definition(
    query: Tensor, key: Tensor, value: Tensor, added: Tensor, dropout: float, relative: Distances | None
) -> Tensor:
    """Return the contexts as `attend` does, by the definition; `added` (B or 1, 1, T or 1, S) goes to the scores."""
    num_sharing = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(num_sharing, 1), value.repeat_interleave(num_sharing, 1)
    query = query * _scale(query)
    scores = query @ key.transpose(-1, -2) + added  # (B, H, T, S)
    if relative is not None:
        scores = scores + torch.einsum("bhtd,tsd->bhts", query, relative[0].to(query.dtype))
    weights = scores.softmax(-1)
    if _observed and threading.get_ident() in _observed:
        _observed[threading.get_ident()].append(weights)
    weights = functional.dropout(weights, dropout)
    attended = weights @ value
    if relative is not None:
        attended = attended + torch.einsum("bhts,tsd->bhtd", weights, relative[1].to(weights.dtype))
    return attended


def weigh_first_head(query: Tensor, memory: KeysValues, mask: Tensor) -> Tensor:
    """Return the weights (B, T, S), in 32 bits at least, with which the first head of queries attends to a memory."""
    scores = (query[:, 0] * _scale(query)) @ memory[0][:, 0].mT + mask[:, 0]
    return scores.softmax(-1, dtype=torch.promote_types(scores.dtype, torch.float32))


class _BatchedAttention(torch.autograd.Function):
    """Two batched products, whose gradients are written into one tensor per input, not concatenated afterwards."""

    @staticmethod
    def forward(ctx: Any, heads: Tensor, memory: Tensor | None, added: Tensor) -> Tensor:
        query, key, value = (part.flatten(0, 1) for part in _parts(heads, memory))
        weights = _weigh(query, key, added)
        ctx.save_for_backward(heads, memory, weights)
        return (weights @ value).view(heads.shape[1:])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor | None, None]:
        heads, memory, weights = ctx.saved_tensors
        query, key, value = (part.flatten(0, 1) for part in _parts(heads, memory))
        grad_heads = heads.new_empty(heads.shape)  # contiguous, so that its parts are views
        grad_memory = None if memory is None else memory.new_empty(memory.shape)
        grad_parts = (part.flatten(0, 1) for part in _parts(grad_heads, grad_memory))
        grad_query, grad_key, grad_value = grad_parts  # views
        gradient = gradients[0].flatten(0, 1)
        torch.bmm(weights.transpose(1, 2), gradient, out=grad_value)
        grad_weights = gradient @ value.transpose(1, 2)
        grad_scores = torch.ops.aten._softmax_backward_data(grad_weights, weights, -1, weights.dtype)
        torch.bmm(grad_scores, key, out=grad_query).mul_(_scale(query))
        torch.bmm(grad_scores.transpose(1, 2), query, out=grad_key).mul_(_scale(query))
        return grad_heads, grad_memory, None


def _parts(heads: Tensor, memory: KeysValues | None) -> tuple[Tensor, Tensor, Tensor]:
    """Return queries (B, H, T, d), and keys and values (B, H, S, d)."""
    key, value = heads[1:] if memory is None else memory
    return heads[0], key, value


def _weigh(query: Tensor, key: Tensor, added: Tensor) -> Tensor:
    """Return the weights (B·H, T, S) that queries (B·H, T, d) give to keys (B·H, S, d)."""
    return torch.baddbmm(added, query, key.mT, alpha=_scale(query)).softmax(-1)


def _scale(query: Tensor) -> float:
    return float(query.shape[-1] ** -0.5)
