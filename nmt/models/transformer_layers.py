"""Layers of a Transformer (Vaswani et al. 2017): attention, feed-forward, and their surroundings.

Positions of all sentences are rows (N, D). A layout says which sentence and position each row belongs to, so that no
work is done on padding. nmt/models/kernels explains how attention, dropout, layouts and the cache are made fast.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from nmt.models.kernels import (
    ActivationDropout,
    Cache,
    Dropout,
    Layout,
    Memory,
    Queries,
    attend,
    scaled_linear,
)
from nmt.models.layers import LayerOptions, normalisation, xavier_linear
from nmt.models.positions import RelativePositions, rotate_queries_and_keys


class SelfAttention(nn.Module):
    """Multi-head attention of a sequence to itself: softmax(Q·Kᵀ / √d)·V for each head, then one projection.

    Groups of heads may share keys and values (Ainslie et al. 2023).
    """

    def __init__(self, options: LayerOptions) -> None:
        super().__init__()
        width, self.d_head, bias = options.d_model, options.d_head, options.attention_bias
        self.num_heads, self.num_shared_heads = options.num_heads, options.num_shared_heads
        self.is_grouped = self.num_shared_heads < self.num_heads
        if self.is_grouped:
            self.query = xavier_linear(width, width, bias=bias)
            self.key_value = xavier_linear(width, 2 * self.num_shared_heads * self.d_head, 2, bias)
        else:
            self.query_key_value = xavier_linear(width, 3 * width, 3, bias)
        self.output = xavier_linear(width, width)
        is_relative = options.positions == "relative"
        self.relative = RelativePositions(options.max_relative_distance, self.d_head) if is_relative else None
        self.dropout = options.attention_dropout

    def forward(
        self, x: Tensor, layout: Layout, rotation: Tensor | None, causal: bool, cache: Cache | None = None
    ) -> Tensor:
        """Return (N, D) for rows x (N, D); with a cache, each row is the next position of a hypothesis."""
        # Queries, keys and values side by side: (N, H·d + 2·G·d), where G is the number of heads of keys and values.
        rows = (
            torch.cat([self.query(x), self.key_value(x)], 1) if self.is_grouped else self.query_key_value(x)
        )
        if rotation is not None:
            rows = rotate_queries_and_keys(rows, rotation, self.num_heads, self.num_shared_heads)
        memory: Tensor | tuple[Tensor, Tensor] | None
        if cache is not None:
            heads, memory = cache.append(rows, layout, self.num_heads)
            mask: Tensor | None = cache.mask
        else:
            heads, memory = layout.self_heads(rows, self.num_heads, self.num_shared_heads)
            # `causal` needs no mask: empty cells come after all tokens of a sentence, which cannot see them.
            mask = None if causal else layout.padding_mask
        relative = None
        if self.relative is not None:
            num_keys = (heads if memory is None else memory[0]).shape[-2]
            relative = self.relative.look_up(heads.shape[-2], num_keys, first=cache.position if cache else 0)
        dropout = self.dropout if self.training else 0.0
        return self.output(layout.from_heads(attend(heads, memory, mask, causal, dropout, relative)))


class CrossAttention(nn.Module):
    """Multi-head attention from target positions to the encoded source."""

    def __init__(self, options: LayerOptions) -> None:
        super().__init__()
        width, bias = options.d_model, options.attention_bias
        self.num_heads, self.num_shared_heads = options.num_heads, options.num_shared_heads
        self.query = xavier_linear(width, width, bias=bias)
        self.key_value = xavier_linear(width, 2 * self.num_shared_heads * options.d_head, 2, bias)
        self.output = xavier_linear(width, width)
        self.dropout = options.attention_dropout

    def project_memory(self, encoded: Tensor, layout: Layout) -> Tensor:
        """Return keys and values (2, B, H, S, d) of the rows (N, D) of the encoded source."""
        return layout.to_heads(self.key_value(encoded), 2, self.num_shared_heads)

    def forward(
        self, x: Tensor, layout: Layout, memories: Sequence[Memory], queries: Queries = None
    ) -> Tensor:
        """Return (N, D) for rows x (N, D) of the sentences of the memories, one after the other."""
        heads = layout.to_heads(self.query(x), 1, self.num_heads)
        if queries is not None:
            queries.append(heads[0])
        dropout = self.dropout if self.training else 0.0
        parts = heads.split([mask.shape[0] for _, mask in memories], 1)
        found = [
            attend(part, memory, mask, dropout=dropout)
            for part, (memory, mask) in zip(parts, memories, strict=True)
        ]
        return self.output(layout.from_heads(found[0] if len(found) == 1 else torch.cat(found)))


class FeedForward(nn.Module):
    """Two layers, position by position."""

    def __init__(self, options: LayerOptions) -> None:
        super().__init__()
        num_blocks = 2 if options.activation == "swiglu" else 1
        self.inner = xavier_linear(options.d_model, num_blocks * options.d_ff, num_blocks)
        self.activation = ActivationDropout(options.activation, options.inner_dropout)
        self.outer = xavier_linear(options.d_ff, options.d_model)

    def forward(self, x: Tensor) -> Tensor:
        """Return (N, D) for rows x (N, D)."""
        return scaled_linear(self.outer, self.activation(self.inner(x)), self.activation.next_scale)


class Residual(nn.Module):
    """The residual connection of a sub-layer: dropout, the sum with its input, normalisation before or after."""

    def __init__(self, options: LayerOptions) -> None:
        super().__init__()
        self.norm = normalisation(options.normalization, options.d_model)
        self.is_before = options.norm == "pre"
        self.dropout = Dropout(options.dropout)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Return x plus the output of `sublayer` for it, both (…, D)."""
        if self.is_before:
            return self.dropout.add_to(x, sublayer(self.norm(x)))
        return self.norm(self.dropout.add_to(x, sublayer(x)))


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, options: LayerOptions) -> None:
        super().__init__()
        self.self_attention = SelfAttention(options)
        self.feed_forward = FeedForward(options)
        self.residuals = nn.ModuleList(Residual(options) for _ in range(2))

    def forward(self, x: Tensor, layout: Layout, rotation: Tensor | None, causal: bool = False) -> Tensor:
        """Return (N, D) for rows x (N, D)."""
        x = self.residuals[0](x, lambda h: self.self_attention(h, layout, rotation, causal))
        return self.residuals[1](x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Self-attention to the positions before, attention to the source, then feed-forward.

    `FewRowsLayer` (nmt/models/few_rows.py) writes it and its parts out for few rows: what changes here changes there.
    """

    def __init__(self, options: LayerOptions) -> None:
        super().__init__()
        self.self_attention = SelfAttention(options)
        self.cross_attention = CrossAttention(options)
        self.feed_forward = FeedForward(options)
        self.residuals = nn.ModuleList(Residual(options) for _ in range(3))

    def forward(
        self,
        x: Tensor,
        layouts: tuple[Layout, Layout],
        rotation: Tensor | None,
        memories: Sequence[Memory],
        cache: Cache | None = None,
        queries: Queries = None,
    ) -> Tensor:
        """Return (N, D) for rows x (N, D); `layouts` split them into sequences, and into sentences of the memories.

        The two differ where a sentence has several hypotheses. Cross-attention appends its queries to `queries`.
        """
        own, shared = layouts
        x = self.residuals[0](x, lambda h: self.self_attention(h, own, rotation, cache is None, cache))
        x = self.residuals[1](x, lambda h: self.cross_attention(h, shared, memories, queries))
        return self.residuals[2](x, self.feed_forward)
