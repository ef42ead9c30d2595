"""The Transformer (Vaswani et al. 2017): attention, feed-forward, their surroundings, encoder, decoder.

Positions of all sentences are rows (N, D); a layout says which sentence and place each row belongs to, so that no work
is done on padding. How attention, dropout, layouts and the cache are made fast is told in nmt/models/kernels.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from nmt.data.batching import Batch, send
from nmt.models.interface import AttentionMap, Decoded, DecoderState, Seq2Seq
from nmt.models.kernels import (
    ActivationDropout,
    Cache,
    Dropout,
    Grid,
    Layout,
    Memory,
    Packing,
    Queries,
    attend,
    observing,
    positions_mask,
    room_for,
    rooms_of,
    scaled_linear,
    weigh_first_head,
    width_for,
    with_room,
)
from nmt.models.layers import LayerOptions, VocabularyLayers, normalisation, to_autocast_dtype, xavier_linear
from nmt.models.positions import Positions, RelativePositions, rotate_queries_and_keys


class SelfAttention(nn.Module):
    """Multi-head attention of a sequence to itself: softmax(Q·Kᵀ / √d)·V for each head, then one projection.

    Groups of heads may share keys and values (Ainslie et al. 2023).
    """

    def __init__(self, options: LayerOptions) -> None:
        super().__init__()
        width, self.d_head = options.d_model, options.d_head
        self.num_heads, self.num_shared_heads = options.num_heads, options.num_shared_heads
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
        self, x: Tensor, layout: Layout, rotation: Tensor | None, causal: bool, cache: Cache | None = None
    ) -> Tensor:
        """Return (N, D) for rows x (N, D); with a cache each is the next position of a hypothesis."""
        # Queries, keys and values side by side: (N, H·d + 2·H of the groups·d).
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
            # No token sees the empty cells where `causal` hides all that comes after it.
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
        width = options.d_model
        self.num_heads, self.num_shared_heads = options.num_heads, options.num_shared_heads
        self.query = xavier_linear(width, width, bias=False)
        self.key_value = xavier_linear(width, 2 * self.num_shared_heads * options.d_head, 2, bias=False)
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
        parts = heads.split([len(mask) for _, mask in memories], 1)
        found = [
            attend(part, memory, mask, dropout=dropout)
            for part, (memory, mask) in zip(parts, memories, strict=True)
        ]
        return self.output(layout.from_heads(found[0] if len(found) == 1 else torch.cat(found)))


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
        return scaled_linear(self.outer, self.activation(self.inner(x)), self.activation.next_scale)


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

    def forward(self, x: Tensor, layout: Layout, rotation: Tensor | None, causal: bool = False) -> Tensor:
        """Return (N, D) for rows x (N, D)."""
        x = self.residuals[0](x, lambda h: self.self_attention(h, layout, rotation, causal))
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
        cache: Cache | None = None,
        queries: Queries = None,
    ) -> Tensor:
        """Return (N, D) for rows x (N, D), laid out in one way as sequences, in another by sentences of the memories.

        The two ways differ where a sentence has several hypotheses. `queries` grows by those of cross-attention.
        """
        own, shared = layouts
        x = self.residuals[0](x, lambda h: self.self_attention(h, own, rotation, cache is None, cache))
        x = self.residuals[1](x, lambda h: self.cross_attention(h, shared, memories, queries))
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
        self.norm: nn.Module = nn.Identity()
        if options.norm == "pre":  # the last sum has not been normalised
            self.norm = normalisation(options.normalization, options.d_model)

    def lay_out(self, lengths: Tensor, device: torch.device, longest: int) -> Packing:
        """Lay out sentences of `lengths` (B, on the host) on `device`, at least `longest` positions wide."""
        room = room_for(lengths, longest)
        return Packing(send(lengths, device), room, self.options.num_heads, self.options.num_shared_heads)

    def enter(self, vectors: Tensor, positions: Tensor, longest: int) -> Tensor:
        """Return what the first layer reads, (N, D), for vectors (N, D) at positions (N, or 1) below `longest`."""
        return self.dropout(to_autocast_dtype(self.positions.add_to(vectors, positions, longest)))

    def kept_layers(self) -> Iterator[Any]:
        """Yield the layers, but for those left out. The host draws which, so that these cost nothing."""
        share = self.options.layer_dropout if self.training else 0.0
        return (layer for layer in self.layers if share == 0 or float(torch.rand(())) >= share)


class TransformerEncoder(Stack):
    """The encoder, also for a head of another kind: see `read`."""

    def __init__(self, num_layers: int, options: LayerOptions, max_positions: int) -> None:
        super().__init__((EncoderLayer(options) for _ in range(num_layers)), options, max_positions)

    def forward(self, vectors: Tensor, layout: Layout, causal: bool = False) -> Tensor:
        """Return the encoded rows (N, D) of rows of word vectors (N, D)."""
        positions, longest = layout.places(vectors)
        x = self.enter(vectors, positions, longest)
        rotation = self.positions.rotation(positions)
        for layer in self.kept_layers():
            x = layer(x, layout, rotation, causal)
        return cast(Tensor, self.norm(x))

    def read(self, vectors: Tensor, lengths: Tensor, causal: bool = False) -> Tensor:
        """Return encoded positions (B, L, D) for vectors (B, L, D) of `lengths` (B, on the host, each at least 1).

        What is behind a sentence's end is neither read nor of any meaning in the result. With `causal`, a position
        sees itself and those before it.
        """
        layout = self.lay_out(lengths, vectors.device, vectors.shape[1])
        return layout.unpack(self(layout.pack(vectors), layout, causal), vectors.shape[:2])


class Transformer(Seq2Seq):
    """Encoder and decoder of attention and feed-forward layers; `options` are the fields of LayerOptions."""

    def __init__(
        self,
        layers: VocabularyLayers,
        num_encoder_layers: int,
        num_decoder_layers: int,
        max_positions: int,
        **options: Any,
    ) -> None:
        super().__init__()
        self.source_embedding, self.target_embedding, self.output = layers
        self.max_positions = max_positions
        self.options = LayerOptions(**options)
        self.encoder = TransformerEncoder(num_encoder_layers, self.options, max_positions)
        decoder_layers = (DecoderLayer(self.options) for _ in range(num_decoder_layers))
        self.decoder = Stack(decoder_layers, self.options, max_positions)

    def forward(self, batch: Batch, sample_mask: Tensor | None = None) -> Decoded:
        """Decode all target positions of a batch at once.

        With `sample_mask` (B, T) twice: what the first pass predicts replaces the true tokens in the second (Mihaylova
        & Martins 2019). No gradient goes through the prediction.
        """
        source, target = (
            Packing(lengths, room, self.options.num_heads, self.options.num_shared_heads)
            for lengths, room in zip(batch.lengths, rooms_of(batch), strict=True)
        )
        encoded = self.encoder(self.source_embedding(source.pack(batch.source)), source)
        target_in = batch.target_in
        if sample_mask is not None:
            with torch.no_grad():
                first = self._decode(batch, target_in, encoded, [source, target]).outputs
                predicted = self.project(first).argmax(-1)  # (B, T): of the token after each
            # The first token is BOS, which nobody predicts.
            sampled = torch.where(sample_mask[:, 1:], predicted[:, :-1], target_in[:, 1:])
            target_in = torch.cat([target_in[:, :1], sampled], 1)
        return self._decode(batch, target_in, encoded, [source, target])

    def start(self, source: Tensor, source_lengths: Tensor) -> DecoderState:
        """Encode `source` (B, S), and project it once for all positions and hypotheses."""
        height, width = source.shape
        layout: Layout = Grid(1)
        if source_lengths.tolist() != [width]:  # a single sentence need not be laid out
            width = width_for(source_lengths, source.device)
            layout = self.encoder.lay_out(source_lengths, source.device, width)
        encoded = self.encoder(self.source_embedding(layout.pack(source)), layout)
        mask = encoded.new_zeros(1, 1, 1, width) if layout.padding_mask is None else layout.padding_mask
        group: dict[str, Tensor] = {}
        for i, layer in enumerate(cast(Iterable[DecoderLayer], self.decoder.layers)):
            memory = layer.cross_attention.project_memory(encoded, layout)
            # Most of the room around the sentences is left out, which each step would read.
            key, value = memory[:, :height, :, :width].contiguous()
            group |= {f"key_{i}": key, f"value_{i}": value}
        # A copy of the mask for each head, since each step needs it so.
        group["mask"] = mask[:height, :, :, :width].to(key.dtype).repeat(1, key.shape[1], 1, 1)
        names = [f"own_{part}_{i}" for i in range(len(self.decoder.layers)) for part in ("key", "value")]
        nothing = key.new_empty(height, key.shape[1], 0, key.shape[3])
        return DecoderState([group], dict.fromkeys(names, nothing))

    def step(self, tokens: Tensor, state: DecoderState) -> Decoded:
        """Decode the position after `tokens` (N) and advance the state."""
        kept = {name: with_room(tensor, state.length) for name, tensor in state.hypotheses.items()}
        state.hypotheses, mask = kept, positions_mask(kept["own_key_0"], state.length)
        position = torch.full((1,), state.length, device=tokens.device)
        x = self.decoder.enter(self.target_embedding(tokens), position, state.length + 1)
        rotation = self.decoder.positions.rotation(position)
        layouts = Grid(len(tokens)), Grid(state.num_sentences)
        for i, layer in enumerate(self.decoder.layers):
            memories = [((group[f"key_{i}"], group[f"value_{i}"]), group["mask"]) for group in state.groups]
            cache = Cache(kept[f"own_key_{i}"], kept[f"own_value_{i}"], state.length, mask)
            x = layer(x, layouts, rotation, memories, cache)
        state.length += 1
        return Decoded(self.decoder.norm(x))

    @torch.no_grad()
    def attention_maps(self, batch: Batch) -> list[AttentionMap]:
        """Return the weights of every layer: of the encoder, then those of each layer of the decoder."""
        source, target = batch.source.shape[1], batch.target_in.shape[1]
        with observing() as observed:
            self(batch)
        seen = [("encoder", i, source, source) for i in range(len(self.encoder.layers))]
        for i in range(len(self.decoder.layers)):
            seen += [("decoder", i, target, target), ("cross", i, target, source)]
        return [
            AttentionMap(kind, i + 1, weights[: len(batch.source), :, :height, :width])
            for (kind, i, height, width), weights in zip(seen, observed, strict=True)
        ]

    def _decode(self, batch: Batch, target_in: Tensor, encoded: Tensor, layouts: list[Packing]) -> Decoded:
        """Return what follows `target_in` (B, T), for the rows of the encoded source."""
        source, target = layouts
        # The head that learns links of words is the first of the layer before the last (Garg et al. 2019).
        weights, guided = None, self.decoder.layers[-2:][0] if self.is_guided else None
        embedded = self.target_embedding(target.pack(target_in))
        x = self.decoder.enter(embedded, target.positions, target.cells.shape[1])
        rotation = self.decoder.positions.rotation(target.positions)
        for layer in self.decoder.kept_layers():
            memory = layer.cross_attention.project_memory(encoded, source)
            queries: Queries = [] if layer is guided else None
            x = layer(x, (target, target), rotation, [(memory, source.padding_mask)], queries=queries)
            if queries:
                found = weigh_first_head(queries[0], memory, source.padding_mask)
                weights = found[: len(target_in), : target_in.shape[1], : batch.source.shape[1]]
        outputs = self.decoder.norm(x)
        return Decoded(target.unpack(outputs, target_in.shape), weights, rows=(outputs, target))
