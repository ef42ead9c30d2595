"""The weights of a Transformer in a model of Hugging Face that computes the same.

Marian normalises after each sub-layer, Pegasus before it and once more at the end; apart from that they are one
architecture, the paper's, with sines in the first half of a position's vector and cosines in the second, as here.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from nmt.data.batching import collate
from nmt.data.dataset import Dataset, Ids
from nmt.data.tokenizer import Tokenizer
from nmt.errors import UserError
from nmt.models.interface import Seq2Seq
from nmt.models.layers import Embedding
from nmt.models.positions import sinusoids
from nmt.models.transformer import Transformer

# The bias of what is never to come: its probability is exactly zero.
FORBIDDEN = -1e4
LARGEST_DIFFERENCE = 1e-3  # of logits, in float32


def to_huggingface(model: Seq2Seq, tokenizer: Tokenizer) -> Any:
    """Return the model of Hugging Face that holds the weights of `model`, the same tensors, and forbids what nmt does.

    Raises UserError where there is none, or transformers is not installed.
    """
    try:
        import transformers
    except ImportError as error:
        raise UserError(f"transformers is needed: pip install transformers; got {error}") from None
    if not isinstance(model, Transformer):
        raise UserError(f"model=transformer is needed; got {type(model).__name__}")
    options, target = model.options, tokenizer.target
    needed = {
        "normalization": (options.normalization, ["layer"]),
        "positions": (options.positions, ["sinusoidal", "learned"]),
        "activation": (options.activation, ["relu", "gelu"]),
        "num_key_value_heads": (options.num_shared_heads, [options.num_heads]),
    }
    for key, (value, choices) in needed.items():
        if value not in choices:
            raise UserError(f"model.{key}: one of {', '.join(map(str, choices))} is needed; got {value}")
    name = "Pegasus" if options.norm == "pre" else "Marian"
    kind = {"Pegasus": "PegasusForConditionalGeneration", "Marian": "MarianMTModel"}[name]
    config = getattr(transformers, f"{name}Config")(
        vocab_size=target.size,
        max_position_embeddings=model.max_positions,
        encoder_layers=len(model.encoder.layers),
        decoder_layers=len(model.decoder.layers),
        encoder_ffn_dim=options.d_ff,
        decoder_ffn_dim=options.d_ff,
        encoder_attention_heads=options.num_heads,
        decoder_attention_heads=options.num_heads,
        d_model=options.d_model,
        activation_function=options.activation,
        scale_embedding=True,
        pad_token_id=target.pad_id,
        bos_token_id=target.bos_id,
        eos_token_id=target.eos_id,
        decoder_start_token_id=target.bos_id,
        forced_eos_token_id=target.eos_id,
    )
    with torch.device("meta"):  # without memory, so that what is not filled below cannot be computed with
        theirs = getattr(transformers, kind)(config)
    with torch.no_grad():
        _fill(theirs, model)
    _check_same_logits(theirs.eval(), model.eval(), tokenizer)
    theirs.final_logits_bias[:, [target.pad_id, target.bos_id, target.unk_id]] = FORBIDDEN
    return theirs


def _fill(theirs: Any, ours: Transformer) -> None:
    encoder, decoder = theirs.model.encoder, theirs.model.decoder
    theirs.final_logits_bias = ours.output.bias.detach().clone().unsqueeze(0)
    theirs.lm_head.weight = ours.output.weight
    decoder.embed_tokens = _embedding(ours.target_embedding)
    encoder.embed_tokens = _embedding(ours.source_embedding)
    theirs.model.shared = encoder.embed_tokens
    for stack, of_ours in ((encoder, ours.encoder), (decoder, ours.decoder)):
        table = of_ours.positions.table
        assert ours.max_positions is not None
        stack.embed_positions.weight = (
            _fixed(sinusoids(ours.max_positions, ours.options.d_model, torch.device("cpu")))
            if table is None
            else table.weight
        )
        if ours.options.norm == "pre":
            _fill_affine(stack.layer_norm, of_ours.norm)
        for layer, own in zip(stack.layers, of_ours.layers, strict=True):
            _fill_layer(layer, own)


def _fill_layer(theirs: Any, ours: Any) -> None:
    attentions = [(theirs.self_attn, ours.self_attention.query_key_value.weight, ours.self_attention.output)]
    norms = [theirs.self_attn_layer_norm, theirs.final_layer_norm]
    if hasattr(ours, "cross_attention"):
        cross = ours.cross_attention
        weights = torch.cat([cross.query.weight, cross.key_value.weight])
        attentions.append((theirs.encoder_attn, weights, cross.output))
        norms.insert(1, theirs.encoder_attn_layer_norm)
    for attention, weights, output in attentions:
        for linear, weight in zip(
            (attention.q_proj, attention.k_proj, attention.v_proj), weights.chunk(3), strict=True
        ):
            linear.weight = _fixed(weight)
            linear.bias = _fixed(torch.zeros(len(weight)))  # nmt has none there
        _fill_affine(attention.out_proj, output)
    _fill_affine(theirs.fc1, ours.feed_forward.inner)
    _fill_affine(theirs.fc2, ours.feed_forward.outer)
    for norm, residual in zip(norms, ours.residuals, strict=True):
        _fill_affine(norm, residual.norm)


def _fill_affine(theirs: Any, ours: Any) -> None:
    theirs.weight, theirs.bias = ours.weight, ours.bias


def _fixed(weights: Tensor) -> nn.Parameter:
    return nn.Parameter(weights, requires_grad=False)


def _embedding(ours: Embedding) -> nn.Embedding:
    """Return the same vectors without the scale, which theirs apply outside."""
    embedding = nn.Embedding(ours.num_embeddings, ours.embedding_dim, device="meta")
    embedding.weight = ours.weight
    return embedding


@torch.inference_mode()
def _check_same_logits(theirs: Any, ours: Seq2Seq, tokenizer: Tokenizer) -> None:
    """Raise UserError unless both compute the same on sentences of random words."""
    generator = np.random.default_rng(0)
    sides = [
        Ids.of([generator.integers(0, vocabulary.size, length).tolist() for length in lengths])
        for vocabulary, lengths in ((tokenizer.source, (5, 12, 3, 9)), (tokenizer.target, (7, 2, 11, 6)))
    ]
    batch = collate(Dataset(*sides), np.arange(4), tokenizer)
    expected = ours.project(ours(batch).outputs)
    columns = torch.arange(batch.source.shape[1])
    logits = theirs(
        input_ids=batch.source,
        attention_mask=columns < batch.source_lengths.unsqueeze(1),
        decoder_input_ids=batch.target_in,
    ).logits
    inside = torch.arange(expected.shape[1]) < batch.target_lengths.unsqueeze(1)
    difference = float((logits - expected)[inside].abs().max())
    if not difference <= LARGEST_DIFFERENCE:
        raise UserError(
            f"logits that differ by at most {LARGEST_DIFFERENCE} are needed; got {difference:.3g}"
        )
