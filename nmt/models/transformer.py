"""The Transformer (Vaswani et al. 2017)."""

from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor, nn

from nmt.data.batching import Batch
from nmt.models.interface import Decoded, DecoderState, Seq2Seq, padding_mask
from nmt.models.layers import Dropout, Embedding, attend, sinusoids, to_autocast_dtype, xavier_linear

# The key and value buffers of decoding grow by so many positions at a time.
CACHE_BLOCK = 32


class LayerCache:
    """Keys and values of one decoder layer, and the position that the next ones go to."""

    def __init__(self, buffer: Tensor, length: int) -> None:
        self.buffer = buffer  # (N, 2, H, capacity, d)
        self.length = length

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Store key and value (N, H, 1, d) and return all that there are, (N, H, length + 1, d)."""
        self.buffer[:, 0, :, self.length] = key[:, :, 0]
        self.buffer[:, 1, :, self.length] = value[:, :, 0]
        return self.buffer[:, 0, :, : self.length + 1], self.buffer[:, 1, :, : self.length + 1]


class SelfAttention(nn.Module):
    """Multi-head attention of a sequence to itself, its three projections in one product."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.query_key_value = xavier_linear(d_model, 3 * d_model, num_blocks=3, bias=False)
        self.output = xavier_linear(d_model, d_model)

    def forward(
        self, x: Tensor, mask: Tensor | None = None, causal: bool = False, cache: LayerCache | None = None
    ) -> Tensor:
        """Return (B, T, D) for x (B, T, D); with a cache x is one position, (N, 1, D)."""
        query, key, value = split_heads(self.query_key_value(x), 3, self.num_heads)
        if cache is not None:
            key, value = cache.append(key, value)
        return self.output(join_heads(attend(query, key, value, mask, causal)))


class CrossAttention(nn.Module):
    """Multi-head attention from target positions to the encoded source."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.query = xavier_linear(d_model, d_model, bias=False)
        self.key_value = xavier_linear(d_model, 2 * d_model, num_blocks=2, bias=False)
        self.output = xavier_linear(d_model, d_model)

    def project_memory(self, memory: Tensor) -> Tensor:
        """Return keys and values (B, 2, H, S, d) of the encoded source (B, S, D)."""
        return torch.stack(split_heads(self.key_value(memory), 2, self.num_heads), 1)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        """Return the shape of x: (B, T, D), or (N, 1, D), whose K hypotheses stand in for T positions."""
        (query,) = split_heads(self.query(x).view(len(memory), -1, x.shape[-1]), 1, self.num_heads)
        attended = join_heads(attend(query, memory[:, 0], memory[:, 1], mask))
        return self.output(attended).view(x.shape)


class FeedForward(nn.Sequential):
    """Two layers, position by position."""

    def __init__(self, d_model: int, d_ff: int, activation: str, dropout: float) -> None:
        super().__init__(
            xavier_linear(d_model, d_ff),
            nn.ReLU() if activation == "relu" else nn.GELU(),
            Dropout(dropout),
            xavier_linear(d_ff, d_model),
        )


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
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(x + self.dropout(sublayer(x)))


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(
        self, d_model: int, d_ff: int, num_heads: int, norm: str, activation: str, dropout: float
    ) -> None:
        super().__init__()
        self.self_attention = SelfAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff, activation, dropout)
        self.residuals = nn.ModuleList(Residual(d_model, norm, dropout) for _ in range(2))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Return (B, S, D) for x (B, S, D) and mask (B, 1, 1, S)."""
        x = self.residuals[0](x, lambda h: self.self_attention(h, mask))
        return self.residuals[1](x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Self-attention to the positions before, attention to the source, then feed-forward."""

    def __init__(
        self, d_model: int, d_ff: int, num_heads: int, norm: str, activation: str, dropout: float
    ) -> None:
        super().__init__()
        self.self_attention = SelfAttention(d_model, num_heads)
        self.cross_attention = CrossAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff, activation, dropout)
        self.residuals = nn.ModuleList(Residual(d_model, norm, dropout) for _ in range(3))

    def project_memory(self, memory: Tensor) -> Tensor:
        """Return keys and values (B, 2, H, S, d) of the encoded source (B, S, D)."""
        return self.cross_attention.project_memory(memory)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor, cache: LayerCache | None = None) -> Tensor:
        """Return (B, T, D) for x (B, T, D), or with a cache (N, 1, D) for (N, 1, D); memory (B, 2, H, S, d)."""
        x = self.residuals[0](x, lambda h: self.self_attention(h, causal=cache is None, cache=cache))
        x = self.residuals[1](x, lambda h: self.cross_attention(h, memory, mask))
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
        self.num_heads = num_heads
        layer = (d_model, d_ff, num_heads, norm, activation, dropout)
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
        encoded, mask = self._encode(batch.source, batch.source_lengths)
        x = self.dropout(self._embed(batch.target_in, self.target_embedding, self.target_positions, first=0))
        for layer, memory in zip(self.decoder, self._memories(encoded), strict=True):
            x = layer(x, memory, mask)
        return Decoded(self.decoder_norm(x))

    def start(self, source: Tensor, source_lengths: Tensor, max_length: int) -> DecoderState:
        """Encode `source` (B, S), and project it once for all positions and hypotheses."""
        encoded, mask = self._encode(source, source_lengths)
        memories = self._memories(encoded)
        memory = memories[0]
        cache = memory.new_empty(  # (N, 2·L, H, capacity, d)
            len(source), 2 * len(self.decoder), self.num_heads, min(CACHE_BLOCK, max_length), memory.shape[-1]
        )
        sentences = {f"memory_{i}": memory for i, memory in enumerate(memories)}
        return DecoderState(sentences | {"mask": mask}, {"cache": cache})

    def step(self, tokens: Tensor, state: DecoderState) -> Decoded:
        """Decode the position after `tokens` (N) and advance the state."""
        cache = state.hypotheses["cache"]
        if state.length == cache.shape[3]:
            cache = torch.cat([cache, torch.empty_like(cache[:, :, :, :CACHE_BLOCK])], 3)
            state.hypotheses["cache"] = cache
        x = self._embed(tokens.unsqueeze(1), self.target_embedding, self.target_positions, first=state.length)
        x = self.dropout(x)  # (N, 1, D)
        for i, layer in enumerate(self.decoder):
            layer_cache = LayerCache(cache[:, 2 * i : 2 * i + 2], state.length)
            x = layer(x, state.sentences[f"memory_{i}"], state.sentences["mask"], layer_cache)
        state.length += 1
        return Decoded(self.decoder_norm(x).squeeze(1))

    def _memories(self, encoded: Tensor) -> list[Tensor]:
        """Return keys and values (B, 2, H, S, d) of the encoded source (B, S, D) for each decoder layer."""
        return [cast(DecoderLayer, layer).project_memory(encoded) for layer in self.decoder]

    def _encode(self, source: Tensor, source_lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Return the encoded source (B, S, D) and its mask (B, 1, 1, S)."""
        mask = padding_mask(source_lengths, source.shape[1], source.device)[:, None, None]
        x = self.dropout(self._embed(source, self.source_embedding, self.source_positions, first=0))
        for layer in self.encoder:
            x = layer(x, mask)
        return self.encoder_norm(x), mask

    def _embed(self, ids: Tensor, embedding: Embedding, learned: nn.Embedding | None, first: int) -> Tensor:
        """Return the sum (…, T, D) of word and position vectors for ids (…, T) from position `first` on."""
        vectors = embedding(ids)
        length, width = vectors.shape[-2:]
        if learned is not None:
            vectors = vectors + learned.weight[first : first + length]
        else:
            vectors = vectors + sinusoids(first, length, width, ids.device).to(vectors.dtype)
        return to_autocast_dtype(vectors)


def split_heads(x: Tensor, num_parts: int, num_heads: int) -> tuple[Tensor, ...]:
    """Split (B, T, parts·H·d) into `num_parts` of (B, H, T, d)."""
    batch, length, _ = x.shape
    return x.view(batch, length, num_parts, num_heads, -1).permute(2, 0, 3, 1, 4).unbind(0)


def join_heads(x: Tensor) -> Tensor:
    """Join (B, H, T, d) into (B, T, H·d)."""
    return x.transpose(1, 2).flatten(2)
