"""A Transformer as two functions of tensors alone, an encoder and a decoder with a cache, and both as ONNX graphs.

The graphs are traced from the model itself. Names and shapes of their inputs and outputs are those that optimum
introduced and transformers.js expects. P is the number of positions in the cache.
"""

import copy
import logging
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor, nn

from nmt.data.tokenizer import Vocabulary
from nmt.errors import RunError
from nmt.export.weights import FORBIDDEN, require_transformer
from nmt.models.interface import Seq2Seq
from nmt.models.kernels import Grid, observing
from nmt.models.transformer import Transformer
from nmt.models.transformer_layers import DecoderLayer

OPSET = 18
# A graph is one protobuf message, which is limited to 2 GiB.
MOST_BYTES = 2**31 - 2**24


class Rectangle(Grid):
    """The layout of B sentences of L positions each; the mask (B, 1, 1, L) hides the padding behind the end of each."""

    def __init__(self, num_sentences: int, length: int, padding_mask: Tensor | None = None) -> None:
        super().__init__(num_sentences)
        self.length, self.padding_mask = length, padding_mask

    def places(self, rows: Tensor) -> tuple[Tensor, int]:
        """Return the place (B·L) of each row in its sentence, and how many places there are."""
        return torch.arange(self.length).repeat(self.num_sentences), self.length

    def to_heads(self, rows: Tensor, num_parts: int, num_heads: int) -> Tensor:
        """Return (parts, B, H, L, d) of rows (B·L, parts·H·d)."""
        width = rows.shape[1] // (num_parts * num_heads)
        heads = rows.view(self.num_sentences, self.length, num_parts, num_heads, width)
        return heads.permute(2, 0, 3, 1, 4)

    def from_heads(self, heads: Tensor) -> Tensor:
        """Return rows (B·L, H·d) of rectangles (B, H, L, d)."""
        width = heads.shape[1] * heads.shape[3]
        return heads.transpose(1, 2).reshape(self.num_sentences * self.length, width)


class Grown:
    """The cache of a layer as an input, which a call extends by its positions: see `nmt.models.kernels.Cache`."""

    def __init__(self, key: Tensor, value: Tensor, mask: Tensor) -> None:
        self.key, self.value, self.mask, self.position = key, value, mask, key.shape[2]

    def append(self, rows: Tensor, layout: Rectangle, num_heads: int) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Return the queries (1, B, H, T, d) of rows (B·T, …), and all keys and values, (B, H, P + T, d) each."""
        num_shared, width = self.key.shape[1], self.key.shape[3]
        query, memory = rows.split([num_heads * width, 2 * num_shared * width], 1)
        key, value = layout.to_heads(memory, 2, num_shared)
        self.key, self.value = torch.cat([self.key, key], 2), torch.cat([self.value, value], 2)
        return layout.to_heads(query, 1, num_heads), (self.key, self.value)


class EncoderGraph(nn.Module):
    """Computes the encoded source from its token ids and a mask."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.embedding, self.encoder = model.source_embedding, model.encoder

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return the encoded source (B, S, D) of token ids (B, S); the mask (B, S) is 1 where there is a token."""
        num_sentences, length = input_ids.shape
        layout = Rectangle(num_sentences, length, _hidden(attention_mask))
        rows = self.encoder(self.embedding(layout.pack(input_ids)), layout)
        return cast(Tensor, rows.view(num_sentences, length, rows.shape[1]))


class DecoderGraph(nn.Module):
    """Computes logits and the extended cache from target token ids, the encoded source and a cache.

    The cache of a layer is keys and values of the target (B, H, P, d), then those of the source (B, H, S, d). Those of
    the source are empty in the first call, which projects the whole source; later calls project nothing of it.
    """

    def __init__(self, model: Transformer, target: Vocabulary) -> None:
        super().__init__()
        self.embedding, self.decoder = model.target_embedding, model.decoder
        self.output = nn.Linear(model.output.in_features, model.output.out_features)
        self.output.weight = model.output.weight
        with torch.no_grad():
            self.output.bias.copy_(model.output.bias)
            self.output.bias[[target.pad_id, target.bos_id, target.unk_id]] = FORBIDDEN

    def forward(
        self,
        encoder_attention_mask: Tensor,
        input_ids: Tensor,
        encoder_hidden_states: Tensor,
        past_key_values: list[Tensor],
    ) -> tuple[Tensor, list[Tensor]]:
        """Return logits (B, T, V) of what follows token ids (B, T), and the cache extended by their positions."""
        num_sentences, length = input_ids.shape
        num_before, num_known = past_key_values[0].shape[2], past_key_values[2].shape[2]
        rest = encoder_hidden_states[:, num_known:]
        own, unknown = Rectangle(num_sentences, length), Rectangle(num_sentences, rest.shape[1])
        places = torch.arange(num_before, num_before + length)
        hidden = torch.arange(num_before + length) > places.unsqueeze(1)
        causal = torch.where(hidden, -torch.inf, 0.0)[None, None]
        rows = self.embedding(own.pack(input_ids))
        places = places.repeat(num_sentences)
        x = self.decoder.enter(rows, places, num_before + length)
        rotation = self.decoder.positions.rotation(places)
        padding, present = _hidden(encoder_attention_mask), []
        for i, layer in enumerate(cast(Iterable[DecoderLayer], self.decoder.layers)):
            own_key, own_value, key, value = past_key_values[4 * i : 4 * i + 4]
            more_keys, more_values = layer.cross_attention.project_memory(unknown.pack(rest), unknown)
            key, value = torch.cat([key, more_keys], 2), torch.cat([value, more_values], 2)
            cache: Any = Grown(own_key, own_value, causal)
            x = layer(x, (own, own), rotation, [((key, value), padding)], cache)
            present += [cache.key, cache.value, key, value]
        logits = self.output(self.decoder.norm(x))
        return logits.view(num_sentences, length, logits.shape[1]), present


def check(model: Seq2Seq) -> Transformer:
    """Return the model, typed as a Transformer. Raises RunError for a model that the graphs cannot hold."""
    reason = "the cache of these files is keys and values of attention, which recurrent models do not have"
    transformer = require_transformer(model, "ONNX Runtime", reason)
    num_bytes = 4 * sum(parameter.numel() for parameter in transformer.parameters())
    if num_bytes > MOST_BYTES:
        raise RunError(
            f"run: weights of at most {MOST_BYTES} bytes in float32 are needed for an ONNX file; got {num_bytes}"
        )
    return transformer


def cache_names(num_layers: int, what: str) -> list[str]:
    """Return the names of the cache, `what` being past_key_values or present, in the order that DecoderGraph has."""
    return [
        f"{what}.{i}.{side}.{part}"
        for i in range(num_layers)
        for side in ("decoder", "encoder")
        for part in ("key", "value")
    ]


def encoder_graph(model: Transformer) -> Any:
    """Return the encoder as an ONNX model."""
    model = copy.deepcopy(model).float().eval()
    ids, mask = torch.ones(
        2, 2, 3, dtype=torch.long
    ).unbind()  # two tensors: the same one twice would become a single input
    shapes = {0: "batch_size", 1: "encoder_sequence_length"}
    return _trace(
        EncoderGraph(model),
        (ids, mask),
        ["input_ids", "attention_mask"],
        ["last_hidden_state"],
        (shapes, shapes),
    )


def decoder_graph(model: Transformer, target: Vocabulary) -> Any:
    """Return the decoder as an ONNX model; PAD, BOS and UNK of the target vocabulary never come."""
    model = copy.deepcopy(model).float().eval()
    options, num_layers = model.options, len(model.decoder.layers)
    batch, source, past, length = 2, 5, 3, 4
    cache = [
        torch.zeros(batch, options.num_shared_heads, positions, options.d_head)
        for _ in range(num_layers)
        for positions in (past, past, 2, 2)
    ]
    cache_shapes = [
        {0: "batch_size", 2: name}
        for _ in range(num_layers)
        for name in 2 * ["past_decoder_sequence_length"] + 2 * ["past_encoder_sequence_length"]
    ]
    return _trace(
        DecoderGraph(model, target),
        (
            torch.ones(batch, source, dtype=torch.long),
            torch.ones(batch, length, dtype=torch.long),
            torch.zeros(batch, source, options.d_model),
            cache,
        ),
        [
            "encoder_attention_mask",
            "input_ids",
            "encoder_hidden_states",
            *cache_names(num_layers, "past_key_values"),
        ],
        ["logits", *cache_names(num_layers, "present")],
        (
            {0: "batch_size", 1: "encoder_sequence_length"},
            {0: "batch_size", 1: "decoder_sequence_length"},
            {0: "batch_size", 1: "encoder_sequence_length"},
            cache_shapes,
        ),
    )


def _trace(
    graph: nn.Module, inputs: tuple[Any, ...], input_names: list[str], output_names: list[str], shapes: Any
) -> Any:
    with _quiet(), torch.no_grad(), observing():  # observed attention is computed by its definition
        program = torch.onnx.export(
            graph,
            inputs,
            input_names=input_names,
            output_names=output_names,
            dynamic_shapes=shapes,
            opset_version=OPSET,
            dynamo=True,
            verbose=False,
        )
    assert program is not None
    return program.model_proto


def _hidden(mask: Tensor) -> Tensor:
    """Return the mask that is added to attention scores, (B, 1, 1, S): 0 where the mask (B, S) is 1, else -inf."""
    return torch.where(mask > 0, 0.0, -torch.inf)[:, None, None]


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the exporter's messages below errors, which are meant for its developers."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "torch.export", "onnxscript", "onnx_ir")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
