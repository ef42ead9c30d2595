"""The Transformer (Vaswani et al. 2017)."""

from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from nmt.data.batching import Batch, room_for, send
from nmt.models.interface import Decoded, DecoderState, Seq2Seq
from nmt.models.layers import (
    ActivationDropout,
    Dropout,
    Embedding,
    sinusoids,
    to_autocast_dtype,
    xavier_linear,
)
from nmt.models.packing import Grid, Packing
from nmt.models.scaled_attention import KeysValues, attend

# The key and value buffers of decoding grow by so many positions at a time.
CACHE_BLOCK = 32

Layout = Packing | Grid


class LayerCache:
    """Keys and values of one decoder layer, and the position that the next ones go to."""

    def __init__(self, buffer: Tensor, length: int) -> None:
        self.buffer = buffer  # (N, 2, H, capacity, d)
        self.length = length

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Store key and value (N, H, 1, d) and return all that there are, (N, H, length + 1, d) each."""
        self.buffer[:, 0, :, self.length] = key[:, :, 0]
        self.buffer[:, 1, :, self.length] = value[:, :, 0]
        return self.buffer[:, 0, :, : self.length + 1], self.buffer[:, 1, :, : self.length + 1]


class SelfAttention(nn.Module):
    """Multi-head attention of a sequence to itself, its three projections in one product."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.query_key_value = xavier_linear(d_model, 3 * d_model, num_blocks=3, bias=False)
        self.output = xavier_linear(d_model, d_model)

    def forward(
        self,
        x: Tensor,
        layout: Layout,
        mask: Tensor | None = None,
        causal: bool = False,
        cache: LayerCache | None = None,
    ) -> Tensor:
        """Return (N, D) for rows x (N, D); with a cache each is the next position of a hypothesis."""
        heads = layout.to_heads(self.query_key_value(x), 3)
        memory = None
        if cache is not None:
            heads, memory = heads[:1], cache.append(heads[1], heads[2])
        return self.output(layout.from_heads(attend(heads, memory, mask, causal)))


class CrossAttention(nn.Module):
    """Multi-head attention from target positions to the encoded source."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.query = xavier_linear(d_model, d_model, bias=False)
        self.key_value = xavier_linear(d_model, 2 * d_model, num_blocks=2, bias=False)
        self.output = xavier_linear(d_model, d_model)

    def project_memory(self, encoded: Tensor, layout: Layout) -> Tensor:
        """Return keys and values (2, B, H, S, d) of the rows (N, D) of the encoded source."""
        return layout.to_heads(self.key_value(encoded), 2)

    def forward(self, x: Tensor, layout: Layout, memory: KeysValues, mask: Tensor) -> Tensor:
        """Return (N, D) for rows x (N, D) of the sentences of the memory."""
        return self.output(layout.from_heads(attend(layout.to_heads(self.query(x), 1), memory, mask)))


class FeedForward(nn.Module):
    """Two layers, position by position."""

    def __init__(self, d_model: int, d_ff: int, activation: str, dropout: float) -> None:
        super().__init__()
        self.inner = xavier_linear(d_model, d_ff)
        self.activation = ActivationDropout(activation, dropout)
        self.outer = xavier_linear(d_ff, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """Return (N, D) for rows x (N, D)."""
        hidden, scale = self.activation(self.inner(x)), self.activation.next_scale
        weight = self.outer.weight if scale == 1 else self.outer.weight * scale
        return functional.linear(hidden, weight, self.outer.bias)


class Residual(nn.Module):
    """A sub-layer's surroundings: dropout, the sum with its input, and normalisation before or after."""

    def __init__(self, d_model: int, norm: str, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.is_before = norm == "pre"
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Return x with what `sublayer` makes of it, both (…, D)."""
        if self.is_before:
            return self.dropout.add_to(x, sublayer(self.norm(x)))
        return self.norm(self.dropout.add_to(x, sublayer(x)))


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, d_model: int, d_ff: int, norm: str, activation: str, dropout: float) -> None:
        super().__init__()
        self.self_attention = SelfAttention(d_model)
        self.feed_forward = FeedForward(d_model, d_ff, activation, dropout)
        self.residuals = nn.ModuleList(Residual(d_model, norm, dropout) for _ in range(2))

    def forward(self, x: Tensor, layout: Packing) -> Tensor:
        """Return (N, D) for rows x (N, D)."""
        x = self.residuals[0](x, lambda h: self.self_attention(h, layout, layout.mask))
        return self.residuals[1](x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Self-attention to the positions before, attention to the source, then feed-forward."""

    def __init__(self, d_model: int, d_ff: int, norm: str, activation: str, dropout: float) -> None:
        super().__init__()
        self.self_attention = SelfAttention(d_model)
        self.cross_attention = CrossAttention(d_model)
        self.feed_forward = FeedForward(d_model, d_ff, activation, dropout)
        self.residuals = nn.ModuleList(Residual(d_model, norm, dropout) for _ in range(3))

    def forward(
        self,
        x: Tensor,
        layouts: tuple[Layout, Layout],
        memory: KeysValues,
        mask: Tensor,
        cache: LayerCache | None = None,
    ) -> Tensor:
        """Return (N, D) for rows x (N, D), laid out in one way as sequences, in another by sentences of the memory.

        The two ways differ where a sentence has several hypotheses.
        """
        own, shared = layouts
        x = self.residuals[0](x, lambda h: self.self_attention(h, own, causal=cache is None, cache=cache))
        x = self.residuals[1](x, lambda h: self.cross_attention(h, shared, memory, mask))
        return self.residuals[2](x, self.feed_forward)


class Transformer(Seq2Seq):
    """Encoder and decoder of attention and feed-forward layers."""

    def __init__(
        self,
        source_embedding: Embedding,
        target_embedding: Embedding,
        output: nn.Linear,
        num_encoder_layers: int = 3,
        num_decoder_layers: int = 3,
        d_model: int = 256,
        d_ff: int = 1024,
        num_heads: int = 4,
        norm: str = "pre",
        positions: str = "sinusoidal",
        max_positions: int = 1024,
        activation: str = "relu",
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.source_embedding = source_embedding
        self.target_embedding = target_embedding
        self.output = output
        self.max_positions = max_positions
        self.dropout = Dropout(dropout)
        self.d_model, self.num_heads = d_model, num_heads
        layer = (d_model, d_ff, norm, activation, dropout)
        self.encoder = nn.ModuleList(EncoderLayer(*layer) for _ in range(num_encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(*layer) for _ in range(num_decoder_layers))
        is_before = norm == "pre"  # then the last sum of each stack has not been normalised
        self.encoder_norm = nn.LayerNorm(d_model) if is_before else nn.Identity()
        self.decoder_norm = nn.LayerNorm(d_model) if is_before else nn.Identity()
        self.source_positions, self.target_positions = (
            nn.Embedding(max_positions, d_model) if positions == "learned" else None for _ in range(2)
        )
        for table in (self.source_positions, self.target_positions):
            if table is not None:
                nn.init.normal_(table.weight, std=d_model**-0.5)

    def forward(self, batch: Batch, sample_mask: Tensor | None = None) -> Decoded:
        """Decode all target positions of a batch at once; the Transformer takes no sample_mask."""
        if sample_mask is not None:
            raise ValueError(
                "the Transformer predicts all positions at once and cannot sample its own inputs"
            )
        source, target = (
            Packing(lengths, room, self.num_heads)
            for lengths, room in zip(batch.lengths, batch.room, strict=True)
        )
        encoded = self._encode(batch.source, source)
        positions = self._positions(self.target_positions, 0, target.cells.shape[1]).index_select(
            0, target.positions
        )
        x = self._embed(target.pack(batch.target_in), self.target_embedding, positions)
        for layer in self._decoder_layers():
            memory = layer.cross_attention.project_memory(encoded, source)
            x = layer(x, (target, target), memory, source.mask)
        return Decoded(target.unpack(self.decoder_norm(x), batch.target_in.shape))

    def start(self, source: Tensor, source_lengths: Tensor, max_length: int) -> DecoderState:
        """Encode `source` (B, S), and project it once for all positions and hypotheses."""
        packing = Packing(send(source_lengths, source.device), room_for(source_lengths), self.num_heads)
        encoded = self._encode(source, packing)
        sentences = {"mask": packing.mask[: len(source)]}
        for i, layer in enumerate(self._decoder_layers()):
            key, value = layer.cross_attention.project_memory(encoded, packing)
            sentences |= {f"key_{i}": key[: len(source)], f"value_{i}": value[: len(source)]}
        cache = key.new_empty(  # (N, 2·L, H, capacity, d)
            len(source), 2 * len(self.decoder), self.num_heads, min(CACHE_BLOCK, max_length), key.shape[-1]
        )
        return DecoderState(sentences, {"cache": cache})

    def step(self, tokens: Tensor, state: DecoderState) -> Decoded:
        """Decode the position after `tokens` (N) and advance the state."""
        cache, mask = state.hypotheses["cache"], state.sentences["mask"]
        if state.length == cache.shape[3]:
            cache = torch.cat([cache, torch.empty_like(cache[:, :, :, :CACHE_BLOCK])], 3)
            state.hypotheses["cache"] = cache
        position = self._positions(self.target_positions, state.length, 1)
        x = self._embed(tokens, self.target_embedding, position)
        layouts = Grid(len(tokens), self.num_heads), Grid(len(mask), self.num_heads)
        for i, layer in enumerate(self.decoder):
            memory = state.sentences[f"key_{i}"], state.sentences[f"value_{i}"]
            x = layer(x, layouts, memory, mask, LayerCache(cache[:, 2 * i : 2 * i + 2], state.length))
        state.length += 1
        return Decoded(self.decoder_norm(x))

    def compiled_regions(self) -> list[nn.Module]:
        """Return the layers: alike, so that what is compiled for one serves all."""
        return [*self.encoder, *self.decoder]

    def _decoder_layers(self) -> list[DecoderLayer]:
        return [cast(DecoderLayer, layer) for layer in self.decoder]

    def _encode(self, source: Tensor, packing: Packing) -> Tensor:
        """Return the rows (N, D) of the encoded source (B, S)."""
        positions = self._positions(self.source_positions, 0, packing.cells.shape[1]).index_select(
            0, packing.positions
        )
        x = self._embed(packing.pack(source), self.source_embedding, positions)
        for layer in self.encoder:
            x = layer(x, packing)
        return self.encoder_norm(x)

    def _positions(self, learned: nn.Embedding | None, first: int, length: int) -> Tensor:
        """Return the vectors (length, D) of positions from `first` on."""
        if learned is not None:
            return learned.weight[first : first + length]
        return sinusoids(first, length, self.d_model, self.output.weight.device)

    def _embed(self, ids: Tensor, embedding: Embedding, positions: Tensor) -> Tensor:
        """Return the sums (N, D) of word and position vectors, with dropout, for ids (N)."""
        vectors = embedding(ids)
        return self.dropout(to_autocast_dtype(vectors + positions.to(vectors.dtype)))
