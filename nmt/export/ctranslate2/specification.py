"""The weights of a Transformer under CTranslate2's names, in an object that CTranslate2 calls a specification."""

from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from nmt.data.tokenizer import Vocabulary
from nmt.decoding.ctranslate2_engine import load_ctranslate2
from nmt.export.weights import FORBIDDEN, require_transformer
from nmt.models.interface import Seq2Seq
from nmt.models.layers import LayerOptions
from nmt.models.positions import sinusoids
from nmt.models.transformer import Stack
from nmt.models.transformer_layers import (
    CrossAttention,
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    Residual,
    SelfAttention,
)

# Names of the activations in CTranslate2.
ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "silu": "SWISH", "swiglu": "SWISH"}


def specification(given: Seq2Seq, target: Vocabulary) -> Any:
    """Return the `TransformerSpec` of a model, still without vocabularies and unchecked.

    PAD and BOS of the target vocabulary are ruled out by their output bias, since CTranslate2 has no rule against
    them. Raises RunError for a model that CTranslate2 cannot hold.
    """
    reason = "CTranslate2 has no recurrent layers and no attention but the Transformer's"
    model = require_transformer(given, "CTranslate2", reason)
    assert model.max_positions is not None
    specs = load_ctranslate2().specs
    encoder, decoder = (
        side(len(stack.layers), **_options(specs, model.options))
        for side, stack in (
            (specs.transformer_spec.TransformerEncoderSpec, model.encoder),
            (specs.transformer_spec.TransformerDecoderSpec, model.decoder),
        )
    )
    # Word alignments come from one layer. The last but one aligns best, and its first head may have learned to align.
    decoder.alignment_layer = np.int16(-min(2, len(model.decoder.layers)))
    decoder.alignment_heads = np.int16(1 if model.is_guided else model.options.num_heads)
    encoder.embeddings[0].weight = _numbers(model.source_embedding.weight)
    decoder.embeddings.weight = _numbers(model.target_embedding.weight)
    decoder.start_from_zero_embedding = model.target_embedding.zero_id is not None
    for ours, theirs in ((model.encoder, encoder), (model.decoder, decoder)):
        _fill_stack(theirs, ours, model.max_positions)
    _fill_linear(decoder.projection, model.output)
    decoder.projection.bias[[target.pad_id, target.bos_id]] = FORBIDDEN
    return specs.TransformerSpec(encoder, decoder)


def norm_epsilon(model: Seq2Seq) -> float:
    """Return the epsilon that normalisations add to the variance, the same in all of them."""
    norms = [module for module in model.modules() if isinstance(module, nn.LayerNorm | nn.RMSNorm)]
    (epsilon,) = {norm.eps for norm in norms}
    assert epsilon is not None
    return epsilon


def _options(specs: Any, options: LayerOptions) -> dict[str, Any]:
    """Return the options that encoder and decoder are made with."""
    return {
        "num_heads": options.num_heads,
        "num_heads_kv": options.num_key_value_heads,
        "pre_norm": options.norm == "pre",
        "rms_norm": options.normalization == "rms",
        "activation": specs.Activation[ACTIVATIONS[options.activation]],
        "ffn_glu": options.activation == "swiglu",
        "relative_position": options.positions == "relative",
        # All dimensions of a head are rotated, the first half paired with the second.
        "rotary_dim": 0 if options.positions == "rotary" else None,
        "rotary_interleave": False,
    }


def _fill_stack(theirs: Any, ours: Stack, max_positions: int) -> None:
    theirs.scale_embeddings = True  # by √width, as Embedding does
    if ours.positions.table is not None:
        theirs.position_encodings.encodings = _numbers(ours.positions.table.weight)
    elif ours.options.positions == "sinusoidal":
        # CTranslate2's own table starts at position 1 and has other rates.
        table = sinusoids(max_positions, ours.options.d_model, torch.device("cpu"))
        theirs.position_encodings.encodings = _numbers(table)
    if ours.options.norm == "pre":
        _fill_norm(theirs.layer_norm, ours.norm)
    for layer, spec in zip(ours.layers, theirs.layer, strict=True):
        assert isinstance(layer, EncoderLayer | DecoderLayer)
        residuals = [cast(Residual, residual) for residual in layer.residuals]
        _fill_self_attention(spec.self_attention, layer.self_attention, residuals[0])
        if isinstance(layer, DecoderLayer):
            _fill_cross_attention(spec.attention, layer.cross_attention, residuals[1])
        _fill_feed_forward(spec.ffn, layer.feed_forward, residuals[-1])


def _fill_self_attention(theirs: Any, ours: SelfAttention, residual: Residual) -> None:
    _fill_norm(theirs.layer_norm, residual.norm)
    parts = [ours.query, ours.key_value] if ours.is_grouped else [ours.query_key_value]
    theirs.linear[0].weight = _numbers(torch.cat([part.weight for part in parts]))  # queries, keys and values
    if parts[0].bias is not None:
        theirs.linear[0].bias = _numbers(torch.cat([part.bias for part in parts]))
    _fill_linear(theirs.linear[1], ours.output)
    if ours.relative is not None:
        theirs.relative_position_keys = _numbers(ours.relative.keys.weight)
        theirs.relative_position_values = _numbers(ours.relative.values.weight)


def _fill_cross_attention(theirs: Any, ours: CrossAttention, residual: Residual) -> None:
    _fill_norm(theirs.layer_norm, residual.norm)
    _fill_linear(theirs.linear[0], ours.query)
    _fill_linear(theirs.linear[1], ours.key_value)
    _fill_linear(theirs.linear[2], ours.output)


def _fill_feed_forward(theirs: Any, ours: FeedForward, residual: Residual) -> None:
    _fill_norm(theirs.layer_norm, residual.norm)
    weight, bias = _numbers(ours.inner.weight), _numbers(ours.inner.bias)
    if ours.activation.activation == "swiglu":  # the half that goes through SiLU, then the other
        (weight, noact_weight), (bias, noact_bias) = weight.chunk(2), bias.chunk(2)
        theirs.linear_0_noact.weight, theirs.linear_0_noact.bias = noact_weight, noact_bias
    theirs.linear_0.weight, theirs.linear_0.bias = weight, bias
    _fill_linear(theirs.linear_1, ours.outer)


def _fill_linear(theirs: Any, ours: nn.Linear) -> None:
    theirs.weight = _numbers(ours.weight)
    if ours.bias is not None:
        theirs.bias = _numbers(ours.bias)


def _fill_norm(theirs: Any, ours: nn.Module) -> None:
    assert isinstance(ours, nn.LayerNorm | nn.RMSNorm)
    theirs.gamma = _numbers(ours.weight)
    if isinstance(ours, nn.LayerNorm):
        theirs.beta = _numbers(ours.bias)


def _numbers(weights: Tensor) -> Tensor:
    """Return a float32 copy on the CPU, since quantisation may write into it."""
    return weights.detach().to("cpu", torch.float32, copy=True)
