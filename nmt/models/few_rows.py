"""A decoder layer written out for few rows: when lines come one at a time, calls cost more than arithmetic."""

from collections.abc import Sequence
from typing import Any, Protocol, cast

import torch
from torch import Tensor, nn

from nmt.models.kernels import Cache, Layout, Memory, Queries, attend_in_inference
from nmt.models.positions import rotate_queries_and_keys
from nmt.models.transformer_layers import CrossAttention, DecoderLayer, FeedForward, Residual, SelfAttention

# The rows of one line with a beam of 5. With more, arithmetic counts, and each number of rows has kernels of its own.
MOST_ROWS = 5


class Product(Protocol):
    """A linear layer that can take a ReLU or a sum into the same call."""

    def __call__(self, x: Tensor) -> Tensor:
        """Return (N, d_out) for x (N, d_in)."""

    def rectified(self, x: Tensor) -> Tensor:
        """Return the same after a ReLU."""

    def added_to(self, residual: Tensor, x: Tensor) -> Tensor:
        """Return the same plus `residual` (N, d_out)."""


def can_be_written_out(layer: nn.Module) -> bool:
    """Tell whether `FewRowsLayer` knows what a layer computes; it does not know those of derived classes."""
    if type(layer) is not DecoderLayer or layer.self_attention.relative is not None:
        return False
    parts = [layer.self_attention, layer.cross_attention, layer.feed_forward, *layer.residuals]
    kinds = [SelfAttention, CrossAttention, FeedForward, *([Residual] * len(layer.residuals))]
    return [type(part) for part in parts] == kinds


class FewRowsLayer(nn.Module):
    """A decoder layer that computes few rows in as few calls as possible; it leaves more rows to the wrapped layer.

    Its linear layers are `Product`s; attention and activations are those of the wrapped layer. It writes out what
    `DecoderLayer`, `Residual`, `SelfAttention`, `CrossAttention` and `FeedForward` compute, and changes with them.
    """

    def __init__(self, layer: DecoderLayer) -> None:
        super().__init__()
        self.layer, self.cross_attention = layer, layer.cross_attention
        own: Any
        cross: Any
        feed_forward: Any
        own, cross, feed_forward = layer.self_attention, layer.cross_attention, layer.feed_forward
        names = ("query", "key_value") if own.is_grouped else ("query_key_value",)
        self.own_products: list[Product] = [getattr(own, name) for name in names]
        self.own_output: Product = own.output
        self.query, self.cross_output = cross.query, cross.output
        self.inner, self.outer = feed_forward.inner, feed_forward.outer
        # Each call of a module looks for hooks, of which there are none; so `forward` is called directly.
        norms: Sequence[Any] = [residual.norm for residual in layer.residuals]
        self.norms = [norm.forward for norm in norms]
        self.is_before = layer.residuals[0].is_before
        self.activation = feed_forward.activation
        self.num_heads, self.num_shared_heads = own.num_heads, own.num_shared_heads

    def forward(
        self,
        x: Tensor,
        layouts: tuple[Layout, Layout],
        rotation: Tensor | None,
        memories: Sequence[Memory],
        cache: Cache | None = None,
        queries: Queries = None,
    ) -> Tensor:
        """Return (N, D) for rows x (N, D), as the wrapped layer does."""
        if cache is None or len(x) > MOST_ROWS:
            return cast(Tensor, self.layer(x, layouts, rotation, memories, cache, queries))
        own, shared = layouts
        first, second, third = self.norms
        is_before = self.is_before
        x = self.own_output.added_to(x, self._attend_own(first(x) if is_before else x, own, rotation, cache))
        x = x if is_before else first(x)
        x = self.cross_output.added_to(x, self._attend(second(x) if is_before else x, shared, memories))
        x = x if is_before else second(x)
        x = self.outer.added_to(x, self._activate(third(x) if is_before else x))
        return x if is_before else third(x)

    def _attend_own(self, x: Tensor, layout: Layout, rotation: Tensor | None, cache: Cache) -> Tensor:
        parts = [product(x) for product in self.own_products]
        rows = parts[0] if len(parts) == 1 else torch.cat(parts, 1)
        if rotation is not None:
            rows = rotate_queries_and_keys(rows, rotation, self.num_heads, self.num_shared_heads)
        queries, (key, value) = cache.append(rows, layout, self.num_heads)
        return layout.from_heads(attend_in_inference(queries[0], key, value, cache.mask))

    def _attend(self, x: Tensor, layout: Layout, memories: Sequence[Memory]) -> Tensor:
        queries = layout.to_heads(self.query(x), 1, self.num_heads)[0]
        parts = queries.split([len(mask) for _, mask in memories]) if len(memories) > 1 else [queries]
        found = [
            attend_in_inference(part, memory[0], memory[1], mask)
            for part, (memory, mask) in zip(parts, memories, strict=True)
        ]
        return layout.from_heads(found[0] if len(found) == 1 else torch.cat(found))

    def _activate(self, x: Tensor) -> Tensor:
        if self.activation.activation == "relu":
            return self.inner.rectified(x)
        return self.activation.forward(self.inner(x))
