"""The layers of the Transformer (Vaswani et al. 2017), on sentences that lie end to end or in a grid.

`TransformerEncoder.read` is the way in for a head that is not a decoder: vectors in, as many vectors out.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from nmt.data.batching import room_for, send
from nmt.models.attention_cache import LayerCache
from nmt.models.layers import ActivationDropout, Dropout, normalisation, to_autocast_dtype, xavier_linear
from nmt.models.packing import Grid, Packing
from nmt.models.positions import Positions, RelativePositions, rotate
from nmt.models.scaled_attention import KeysValues, attend

Layout = Packing | Grid
# Of a group of sentences: its keys and values, and the mask of its positions.
Memory = tuple[KeysValues, Tensor]


@dataclass(frozen=True)
class LayerOptions:
    """What all layers of a model have in common; see conf/model/transformer.yaml."""

    d_model: int
    d_ff: int
    num_heads: int
    num_key_value_heads: int | None = None
    norm: str = "pre"
    normalization: str = "layer"
    positions: str = "sinusoidal"
    max_relative_distance: int = 16
    activation: str = "relu"
    dropout: float = 0.1
    attention_dropout: float = 0.0
    activation_dropout: float | None = None
    layer_dropout: float = 0.0

    @property
    def d_head(self) -> int:
        """Width of a head."""
        return self.d_model // self.num_heads

    @property
    def num_shared_heads(self) -> int:
        """Heads of keys and values."""
        return self.num_key_value_heads or self.num_heads

    @property
    def head_shapes(self) -> list[tuple[int, int]]:
        """The (parts, H) that layers ask a layout for."""
        return [(1, self.num_heads), (2, self.num_shared_heads), (3, self.num_heads)]

    def final_norm(self) -> nn.Module:
        """Make what follows the last layer: with norm=pre the last sum has not been normalised."""
        return normalisation(self.normalization, self.d_model) if self.norm == "pre" else nn.Identity()


class SelfAttention(nn.Module):
    """Multi-head attention of a sequence to itself.

    Its three projections are one product, unless several heads share keys and values (Ainslie et al. 2023).
    """

    def __init__(self, options: LayerOptions) -> None:
        super().__init__()
        width, self.num_heads, self.d_head = options.d_model, options.num_heads, options.d_head
        self.num_shared_heads = options.num_shared_heads
        self.is_grouped = self.num_shared_heads < self.num_heads
        if self.is_grouped:
            self.query = xavier_linear(width, width, bias=False)
            self.key_value = xavier_linear(width, 2 * self.num_shared_heads * self.d_head, 2, bias=False)
        else:
            self.query_key_value = xavier_linear(width, 3 * width, num_blocks=3, bias=False)
        self.output = xavier_linear(width, width)
        is_relative = options.positions == "relative"
        self.relative = RelativePositions(options.max_relative_distance, self.d_head) if is_relative else None
        self.dropout = options.attention_dropout

    def forward(
        self,
        x: Tensor,
        layout: Layout,
        rotation: Tensor | None,
        mask: Tensor | None = None,
        causal: bool = False,
        cache: LayerCache | None = None,
    ) -> Tensor:
        """Return (N, D) for rows x (N, D); with a cache each is the next position of a hypothesis."""
        if self.is_grouped:
            query, key_value = self.query(x), self.key_value(x)
            if rotation is not None:
                query, key_value = self._turn(query, rotation, 1), self._turn(key_value, rotation, 2)
        else:
            rows = self.query_key_value(x)
            if rotation is not None:
                rows = self._turn(rows, rotation, 3)
            query, key_value = rows.split([x.shape[1], rows.shape[1] - x.shape[1]], 1)
        memory: KeysValues | None = None
        if cache is not None:
            memory, mask = cache.append(key_value), cache.mask
        elif self.is_grouped:
            memory = layout.to_heads(key_value, 2, self.num_shared_heads)
        if memory is None:
            heads = layout.to_heads(rows, 3, self.num_heads)
        else:
            heads = layout.to_heads(query, 1, self.num_heads)
        relative = None
        if self.relative is not None:
            num_keys = (heads if memory is None else memory[0]).shape[-2]
            relative = self.relative.look_up(heads.shape[-2], num_keys, first=cache.position if cache else 0)
        dropout = self.dropout if self.training else 0.0
        return self.output(layout.from_heads(attend(heads, memory, mask, causal, dropout, relative)))

    def _turn(self, rows: Tensor, rotation: Tensor, num_parts: int) -> Tensor:
        """Turn queries and keys of rows (N, parts·H·d), values come last and stay."""
        num_values = 0 if num_parts == 1 else rows.shape[1] // num_parts
        turned, values = rows.split([rows.shape[1] - num_values, num_values], 1)
        return torch.cat([rotate(turned.unflatten(1, (-1, self.d_head)), rotation).flatten(1), values], 1)


class CrossAttention(nn.Module):
    """Multi-head attention from target positions to the encoded source."""

    def __init__(self, options: LayerOptions) -> None:
        super().__init__()
        width, self.num_heads, self.num_shared_heads = (
            options.d_model,
            options.num_heads,
            options.num_shared_heads,
        )
        self.query = xavier_linear(width, width, bias=False)
        self.key_value = xavier_linear(
            width, 2 * self.num_shared_heads * options.d_head, num_blocks=2, bias=False
        )
        self.output = xavier_linear(width, width)
        self.dropout = options.attention_dropout

    def project_memory(self, encoded: Tensor, layout: Layout) -> Tensor:
        """Return keys and values (2, B, H, S, d) of the rows (N, D) of the encoded source."""
        return layout.to_heads(self.key_value(encoded), 2, self.num_shared_heads)

    def forward(self, x: Tensor, layout: Layout, memories: Sequence[Memory]) -> Tensor:
        """Return (N, D) for rows x (N, D) of the sentences of the memories, one after the other."""
        heads = layout.to_heads(self.query(x), 1, self.num_heads)
        dropout = self.dropout if self.training else 0.0
        found = [
            attend(part, memory, mask, dropout=dropout)
            for part, (memory, mask) in zip(
                heads.split([len(mask) for _, mask in memories], 1), memories, strict=True
            )
        ]
        attended = found[0] if len(found) == 1 else torch.cat(found)
        return self.output(layout.from_heads(attended))


class FeedForward(nn.Module):
    """Two layers, position by position."""

    def __init__(self, options: LayerOptions) -> None:
        super().__init__()
        dropout = options.dropout if options.activation_dropout is None else options.activation_dropout
        num_blocks = 2 if options.activation == "swiglu" else 1
        self.inner = xavier_linear(options.d_model, num_blocks * options.d_ff, num_blocks)
        self.activation = ActivationDropout(options.activation, dropout)
        self.outer = xavier_linear(options.d_ff, options.d_model)

    def forward(self, x: Tensor) -> Tensor:
        """Return (N, D) for rows x (N, D)."""
        hidden, scale = self.activation(self.inner(x)), self.activation.next_scale
        if scale == 1:
            return self.outer(hidden)
        return functional.linear(hidden, self.outer.weight * scale, self.outer.bias)


class Residual(nn.Module):
    """A sub-layer's surroundings: dropout, the sum with its input, and normalisation before or after."""

    def __init__(self, options: LayerOptions) -> None:
        super().__init__()
        self.norm = normalisation(options.normalization, options.d_model)
        self.is_before = options.norm == "pre"
        self.dropout = Dropout(options.dropout)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Return x with what `sublayer` makes of it, both (…, D)."""
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

    def forward(self, x: Tensor, layout: Packing, rotation: Tensor | None, causal: bool = False) -> Tensor:
        """Return (N, D) for rows x (N, D)."""
        mask = None if causal else layout.mask  # no token sees the empty cells, which come after it
        x = self.residuals[0](x, lambda h: self.self_attention(h, layout, rotation, mask, causal))
        return self.residuals[1](x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Self-attention to the positions before, attention to the source, then feed-forward."""

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
        cache: LayerCache | None = None,
    ) -> Tensor:
        """Return (N, D) for rows x (N, D), laid out in one way as sequences, in another by sentences of the memories.

        The two ways differ where a sentence has several hypotheses.
        """
        own, shared = layouts
        x = self.residuals[0](
            x, lambda h: self.self_attention(h, own, rotation, causal=cache is None, cache=cache)
        )
        x = self.residuals[1](x, lambda h: self.cross_attention(h, shared, memories))
        return self.residuals[2](x, self.feed_forward)


class Stack(nn.Module):
    """Layers one after the other, whose positions are told in one way, and a normalisation at the end.

    With `layer_dropout` each layer is left out of a training step with that probability (Fan et al. 2020).
    """

    def __init__(self, layers: Iterable[nn.Module], options: LayerOptions, max_positions: int) -> None:
        super().__init__()
        self.options = options
        self.positions = Positions(options.positions, options.d_model, options.d_head, max_positions)
        self.dropout = Dropout(options.dropout)
        self.layers = nn.ModuleList(layers)
        self.norm = options.final_norm()

    def enter(self, vectors: Tensor, positions: Tensor, longest: int) -> Tensor:
        """Return what the first layer reads, (N, D), for vectors (N, D) at positions (N, or 1) below `longest`."""
        return self.dropout(to_autocast_dtype(self.positions.add_to(vectors, positions, longest)))

    def is_left_out(self) -> bool:
        """Draw whether a layer is left out. The host draws it, so that the layer costs nothing then."""
        share = self.options.layer_dropout
        return self.training and share > 0 and float(torch.rand(())) < share


class TransformerEncoder(Stack):
    """The encoder, also for a head of another kind: see `read`."""

    def __init__(self, num_layers: int, options: LayerOptions, max_positions: int) -> None:
        super().__init__((EncoderLayer(options) for _ in range(num_layers)), options, max_positions)

    def forward(self, vectors: Tensor, layout: Packing, causal: bool = False) -> Tensor:
        """Return the encoded rows (N, D) of rows of word vectors (N, D)."""
        x = self.enter(vectors, layout.positions, layout.cells.shape[1])
        rotation = self.positions.rotation(layout.positions)
        for layer in self.layers:
            if not self.is_left_out():
                x = layer(x, layout, rotation, causal)
        return cast(Tensor, self.norm(x))

    def read(self, vectors: Tensor, lengths: Tensor, causal: bool = False) -> Tensor:
        """Return encoded positions (B, L, D) for vectors (B, L, D) of `lengths` (B, on the host, each at least 1).

        What is behind a sentence's end is neither read nor of any meaning in the result. With `causal`, a position
        sees itself and those before it.
        """
        layout = self.layout(lengths, vectors.device, vectors.shape[1])
        return layout.unpack(self(layout.pack(vectors), layout, causal), vectors.shape[:2])

    def layout(self, lengths: Tensor, device: torch.device, longest: int = 0) -> Packing:
        """Lay out sentences of `lengths` (B, on the host), at least `longest` positions wide."""
        return Packing(send(lengths, device), room_for(lengths, longest), self.options.head_shapes)
