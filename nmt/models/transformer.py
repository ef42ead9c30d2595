"""The Transformer (Vaswani et al. 2017): encoder, decoder, and the state that a search keeps between steps.

Positions of all sentences are rows (N, D). A layout says which sentence and position each row belongs to, so that no
work is done on padding. nmt/models/kernels explains how attention, dropout, layouts and the cache are made fast.
"""

from collections.abc import Iterable, Iterator
from typing import Any, cast

import torch
from torch import Tensor, nn

from nmt.data.batching import Batch, send
from nmt.memory import positions_at_once
from nmt.models.interface import AttentionMap, Decoded, DecoderState, Seq2Seq
from nmt.models.kernels import (
    Cache,
    Dropout,
    Grid,
    Layout,
    Packing,
    Queries,
    observing,
    positions_mask,
    room_for,
    rooms_of,
    weigh_first_head,
    width_for,
    with_room,
)
from nmt.models.layers import LayerOptions, VocabularyLayers, normalisation, scale_weights, to_autocast_dtype
from nmt.models.positions import Positions
from nmt.models.simple_recurrence import RecurrentDecoderLayer, RecurrentState, state_dtype
from nmt.models.transformer_layers import DecoderLayer, EncoderLayer


class Stack(nn.Module):
    """Layers one after the other, with one kind of position encoding; if `norm` is pre, a normalisation follows.

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
        """Yield the layers that are not left out. The host draws them, so that the others cost nothing."""
        share = self.options.layer_dropout if self.training else 0.0
        return (layer for layer in self.layers if share == 0 or float(torch.rand(())) >= share)


class TransformerEncoder(Stack):
    """The encoder of a Transformer; `read` is for programs that put an output layer of their own on it."""

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

        Positions after a sentence's end are not read, and mean nothing in the result. With `causal`, a position sees
        itself and those before it.
        """
        layout = self.lay_out(lengths, vectors.device, vectors.shape[1])
        return layout.unpack(self(layout.pack(vectors), layout, causal), vectors.shape[:2])


class Transformer(Seq2Seq):
    """Encoder and decoder of attention and feed-forward layers; `options` are the fields of LayerOptions.

    All initial weights, word vectors included, are multiplied by `initial_gain`.
    """

    def __init__(
        self,
        vocabulary_layers: VocabularyLayers,
        num_encoder_layers: int,
        num_decoder_layers: int,
        max_positions: int,
        initial_gain: float = 1.0,
        **options: Any,
    ) -> None:
        super().__init__()
        self.source_embedding, self.target_embedding, self.output = vocabulary_layers
        self.max_positions = max_positions
        self.options = LayerOptions(**options)
        self.encoder = TransformerEncoder(num_encoder_layers, self.options, max_positions)
        self.is_recurrent = self.options.decoder == "ssru"
        kind = RecurrentDecoderLayer if self.is_recurrent else DecoderLayer
        decoder_layers = (kind(self.options) for _ in range(num_decoder_layers))
        self.decoder = Stack(decoder_layers, self.options, max_positions)
        scale_weights(self, initial_gain)

    def forward(self, batch: Batch, sample_mask: Tensor | None = None) -> Decoded:
        """Decode all target positions of a batch at once.

        With `sample_mask` (B, T), the decoder runs twice: where it is True, predictions of the first pass replace the
        true tokens in the second (Mihaylova & Martins 2019). No gradient goes through the prediction.
        """
        source, target = (
            Packing(lengths, room, self.options.num_heads, self.options.num_shared_heads)
            for lengths, room in zip(batch.device_lengths, rooms_of(batch), strict=True)
        )
        encoded = self.encoder(self.source_embedding(source.pack(batch.source)), source)
        target_in = batch.target_in
        if sample_mask is not None:
            with torch.no_grad():
                rows, _ = self._decode(batch, target_in, encoded, [source, target]).packed(batch)
                at_once = positions_at_once(self.output.out_features, rows.device.type)
                best = torch.cat([self.project(part).argmax(-1) for part in rows.split(at_once)])  # (N)
                predicted = target.unpack(best, target_in.shape)  # (B, T): of the token after each
            # The first token is BOS, which nobody predicts.
            sampled = torch.where(sample_mask[:, 1:], predicted[:, :-1], target_in[:, 1:])
            target_in = torch.cat([target_in[:, :1], sampled], 1)
        return self._decode(batch, target_in, encoded, [source, target])

    def start(self, source: Tensor, source_lengths: Tensor) -> DecoderState:
        """Encode `source` (B, S), and project it once for all positions and hypotheses."""
        num_sentences, length = source.shape
        layout: Layout = Grid(1)
        if source_lengths.tolist() != [length]:  # a single sentence need not be laid out
            length = width_for(source_lengths, source.device)
            layout = self.encoder.lay_out(source_lengths, source.device, length)
        encoded = self.encoder(self.source_embedding(layout.pack(source)), layout)
        mask = encoded.new_zeros(1, 1, 1, length) if layout.padding_mask is None else layout.padding_mask
        group: dict[str, Tensor] = {}
        for i, layer in enumerate(cast(Iterable[DecoderLayer], self.decoder.layers)):
            memory = layer.cross_attention.project_memory(encoded, layout)
            # Unused sentences and most of the padding are cut off, since each step reads all that is kept.
            key, value = memory[:, :num_sentences, :, :length].contiguous()
            group |= {f"key_{i}": key, f"value_{i}": value}
        # Each step multiplies all heads of all sentences as one batch, so the mask is repeated for each head.
        group["mask"] = mask[:num_sentences, :, :, :length].to(key.dtype).repeat(1, key.shape[1], 1, 1)
        parts = ("state",) if self.is_recurrent else ("key", "value")
        names = [f"own_{part}_{i}" for i in range(len(self.decoder.layers)) for part in parts]
        if self.is_recurrent:
            first = key.new_zeros(num_sentences, self.options.d_model, dtype=state_dtype(key.dtype))
        else:
            first = key.new_empty(num_sentences, key.shape[1], 0, key.shape[3])
        return DecoderState([group], dict.fromkeys(names, first))

    def step(self, tokens: Tensor, state: DecoderState) -> Decoded:
        """Decode the position after `tokens` (N) and advance the state."""
        own: list[Any] = self._own_of(state)
        position = torch.full((1,), state.length, device=tokens.device)
        x = self.decoder.enter(self.target_embedding(tokens), position, state.length + 1)
        rotation = self.decoder.positions.rotation(position)
        layouts = Grid(len(tokens)), Grid(state.num_sentences)
        for i, layer in enumerate(self.decoder.layers):
            memories = [((group[f"key_{i}"], group[f"value_{i}"]), group["mask"]) for group in state.groups]
            x = layer(x, layouts, rotation, memories, own[i])
        if self.is_recurrent:
            state.hypotheses = {f"own_state_{i}": one.vectors for i, one in enumerate(own)}
        state.length += 1
        return Decoded(self.decoder.norm(x))

    def _own_of(self, state: DecoderState) -> list[RecurrentState] | list[Cache]:
        """Return each layer's state or cache of the earlier positions, with room for the next one."""
        layers = range(len(self.decoder.layers))
        if self.is_recurrent:
            return [RecurrentState(state.hypotheses[f"own_state_{i}"]) for i in layers]
        kept = {name: with_room(tensor, state.length) for name, tensor in state.hypotheses.items()}
        state.hypotheses, mask = kept, positions_mask(kept["own_key_0"], state.length)
        return [Cache(kept[f"own_key_{i}"], kept[f"own_value_{i}"], state.length, mask) for i in layers]

    @torch.no_grad()
    def attention_maps(self, batch: Batch) -> list[AttentionMap]:
        """Return the weights of every layer: of the encoder, then those of each layer of the decoder."""
        source, target = batch.source.shape[1], batch.target_in.shape[1]
        with observing() as observed:
            self(batch)
        seen = [("encoder", i, source, source) for i in range(len(self.encoder.layers))]
        for i in range(len(self.decoder.layers)):
            seen += [] if self.is_recurrent else [("decoder", i, target, target)]
            seen += [("cross", i, target, source)]
        return [
            AttentionMap(kind, i + 1, weights[: len(batch.source), :, :height, :width])
            for (kind, i, height, width), weights in zip(seen, observed, strict=True)
        ]

    def _decode(self, batch: Batch, target_in: Tensor, encoded: Tensor, layouts: list[Packing]) -> Decoded:
        """Decode the positions after `target_in` (B, T), for the rows of the encoded source."""
        source, target = layouts
        # The first head of the last layer but one (or of the only one) learns word-alignment links (Garg et al. 2019).
        weights, guided = None, self.decoder.layers[-2:][0] if self.is_guided else None
        embedded = self.target_embedding(target.pack(target_in))
        x = self.decoder.enter(embedded, target.positions, target.row_of_cell.shape[1])
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
