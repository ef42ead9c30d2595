"""The Transformer (Vaswani et al. 2017)."""

from typing import Any, cast

import torch
from torch import Tensor, nn

from nmt.data.batching import Batch
from nmt.errors import SettingsError
from nmt.models.attention_cache import POSITIONS_AT_ONCE, LayerCache, positions_mask, with_room
from nmt.models.interface import AttentionMap, Decoded, DecoderState, Seq2Seq
from nmt.models.layers import Embedding
from nmt.models.packing import Grid, Packing
from nmt.models.prepared_linear import prepare_linears
from nmt.models.quantized import quantize
from nmt.models.recorded_attention import recording_attention
from nmt.models.transformer_layers import (
    DecoderLayer,
    LayerOptions,
    Stack,
    TransformerEncoder,
)


class Transformer(Seq2Seq):
    """Encoder and decoder of attention and feed-forward layers; `options` are the fields of LayerOptions."""

    def __init__(
        self,
        source_embedding: Embedding,
        target_embedding: Embedding,
        output: nn.Linear,
        num_encoder_layers: int = 3,
        num_decoder_layers: int = 3,
        max_positions: int = 1024,
        **options: Any,
    ) -> None:
        super().__init__()
        self.source_embedding = source_embedding
        self.target_embedding = target_embedding
        self.output = output
        self.max_positions = max_positions
        self.options = LayerOptions(**options)
        self.is_recordable = self.options.layer_dropout == 0
        self.encoder = TransformerEncoder(num_encoder_layers, self.options, max_positions)
        layers = (DecoderLayer(self.options) for _ in range(num_decoder_layers))
        self.decoder = Stack(layers, self.options, max_positions)

    def forward(self, batch: Batch, sample_mask: Tensor | None = None) -> Decoded:
        """Decode all target positions of a batch at once.

        With `sample_mask` (B, T) twice: what the first pass predicts replaces the true tokens in the second (Mihaylova
        & Martins 2019). No gradient goes through the prediction.
        """
        source, target = (
            Packing(lengths, room, self.options.head_shapes)
            for lengths, room in zip(batch.lengths, batch.room, strict=True)
        )
        encoded = self.encoder(self.source_embedding(source.pack(batch.source)), source)
        target_in = batch.target_in
        if sample_mask is not None:
            with torch.no_grad():
                first = target.unpack(self._decode(target_in, target, encoded, source), target_in.shape)
                predicted = self.project(first).argmax(-1)  # (B, T): of the token after each
            # The first token is BOS, which nobody predicts.
            sampled = torch.where(sample_mask[:, 1:], predicted[:, :-1], target_in[:, 1:])
            target_in = torch.cat([target_in[:, :1], sampled], 1)
        outputs = self._decode(target_in, target, encoded, source)
        return Decoded(target.unpack(outputs, target_in.shape))

    def start(self, source: Tensor, source_lengths: Tensor) -> DecoderState:
        """Encode `source` (B, S), and project it once for all positions and hypotheses."""
        # Without most of the room around the sentences, which would be read at each step.
        height, step = len(source), POSITIONS_AT_ONCE[source.device.type]
        width = -(-int(source_lengths.max()) // step) * step
        packing = self.encoder.layout(source_lengths, source.device, width)
        encoded = self.encoder(self.source_embedding(packing.pack(source)), packing)
        group: dict[str, Tensor] = {}
        for i, layer in enumerate(self._decoder_layers()):
            memory = layer.cross_attention.project_memory(encoded, packing)
            key, value = memory[:, :height, :, :width].contiguous()
            group |= {f"key_{i}": key, f"value_{i}": value}
        # For each head, since each step needs it so.
        mask = packing.mask[:height, :, :, :width].to(key.dtype)
        group["mask"] = mask.repeat(1, key.shape[1], 1, 1)
        empty = key.new_empty(len(source), key.shape[1], 0, key.shape[3])
        own = [f"own_{part}_{i}" for i in range(len(self.decoder.layers)) for part in ("key", "value")]
        return DecoderState([group], dict.fromkeys(own, empty))

    def step(self, tokens: Tensor, state: DecoderState) -> Decoded:
        """Decode the position after `tokens` (N) and advance the state."""
        own = {name: with_room(kept, state.length) for name, kept in state.hypotheses.items()}
        state.hypotheses = own
        own_mask = positions_mask(own["own_key_0"], state.length)
        position = torch.full((1,), state.length, device=tokens.device)
        x = self.decoder.enter(self.target_embedding(tokens), position, state.length + 1)
        rotation = self.decoder.positions.rotation(position)
        layouts = Grid(len(tokens)), Grid(state.num_sentences)
        for i, layer in enumerate(self._decoder_layers()):
            cache = LayerCache(own[f"own_key_{i}"], own[f"own_value_{i}"], state.length, own_mask)
            memories = [((group[f"key_{i}"], group[f"value_{i}"]), group["mask"]) for group in state.groups]
            x = layer(x, layouts, rotation, memories, cache)
        state.length += 1
        return Decoded(self.decoder.norm(x))

    @torch.no_grad()
    def attention_maps(self, batch: Batch) -> list[AttentionMap]:
        """Return the weights of every layer: of the encoder, then those of each layer of the decoder."""
        sizes = len(batch.source), batch.source.shape[1], batch.target_in.shape[1]
        with recording_attention(self.encoder.layers, self.decoder.layers, sizes) as maps:
            self(batch)
        return maps

    def quantize(self) -> None:
        """Let linear layers compute in 8-bit integers. Raises SettingsError if they do not read normalised vectors."""
        if self.options.norm != "pre":
            raise SettingsError(["precision: float32 or bfloat16 is needed with model.norm=post; got int8"])
        quantize(self.encoder, self.decoder, [(self, "output")])

    def prepare_for_translating(self) -> None:
        """Lay out the weights of all linear layers, output layer included, and keep what tells positions."""
        prepare_linears(self)
        for stack in (self.encoder, self.decoder):
            stack.positions.keep_sinusoids()

    def compiled_regions(self) -> list[nn.Module]:
        """Return the layers: alike, so that what is compiled for one serves all."""
        return [*self.encoder.layers, *self.decoder.layers]

    def _decode(self, target_in: Tensor, target: Packing, encoded: Tensor, source: Packing) -> Tensor:
        """Return the rows (N, D) of what follows `target_in` (B, T), for the rows of the encoded source."""
        embedded = self.target_embedding(target.pack(target_in))
        x = self.decoder.enter(embedded, target.positions, target.cells.shape[1])
        rotation = self.decoder.positions.rotation(target.positions)
        for layer in self._decoder_layers():
            if not self.decoder.is_left_out():
                memory = layer.cross_attention.project_memory(encoded, source)
                x = layer(x, (target, target), rotation, [(memory, source.mask)])
        return cast(Tensor, self.decoder.norm(x))

    def _decoder_layers(self) -> list[DecoderLayer]:
        return [cast(DecoderLayer, layer) for layer in self.decoder.layers]
