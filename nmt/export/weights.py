"""The weights of a Transformer in another program's layout: under its names, the vocabularies in its order."""

from collections.abc import Collection, Sequence

from torch import Tensor

from nmt.config import TransformerSettings
from nmt.data.context import Context
from nmt.data.tokenizer import Tokenizer, Vocabulary
from nmt.errors import RunError
from nmt.layouts.names import Layout, is_of_layers, with_biases
from nmt.models.interface import Seq2Seq
from nmt.models.layers import LayerOptions
from nmt.models.transformer import Transformer

# The output bias of forbidden tokens: their probability is exactly zero in float32, and float16 can hold the bias.
FORBIDDEN = -1e4


def require_plain_model(
    model: Seq2Seq, tokenizer: Tokenizer, activations: Collection[str], program: str
) -> Transformer:
    """Return a plain Transformer that reads lines alone. Raises RunError, with the reason, for any other model."""
    plain = require_transformer(model, program, f"{program} has no recurrent layers")
    require_plain_layers(plain.options, activations, program)
    if num_lines := Context.of(tokenizer.source).num_lines:
        raise RunError(
            f"run: data.context=0 is needed, since {program} reads lines alone; got a run with {num_lines} lines before"
        )
    return plain


def require_plain_layers(
    options: LayerOptions | TransformerSettings, activations: Collection[str], program: str
) -> None:
    """Raise RunError, with the reason, for layers unlike those of Vaswani et al. 2017.

    The place of the norm is free, and the activation is one of `activations`.
    """
    needed = {
        "normalization": (options.normalization, ["layer"]),
        "positions": (options.positions, ["sinusoidal"]),
        "activation": (options.activation, activations),
        "num_key_value_heads": (options.num_key_value_heads or options.num_heads, [options.num_heads]),
    }
    for key, (value, possible) in needed.items():
        if value not in possible:
            raise RunError(
                f"run: model.{key}={' or '.join(map(str, possible))} is needed, since {program} has nothing else; "
                f"got {value}"
            )


def require_transformer(model: Seq2Seq, program: str, reason: str) -> Transformer:
    """Return the model, typed as a Transformer whose decoder has self-attention.

    Raises RunError for any other model: for one that is no Transformer with the `reason`, and for another decoder since
    the files for `program` cannot hold it.
    """
    if not isinstance(model, Transformer):
        kind = type(model).__name__.removesuffix("Seq2Seq").lower()
        raise RunError(f"run: model=transformer is needed, since {reason}; got {kind}")
    if model.options.decoder != "attention":
        raise RunError(
            f"run: model.decoder=attention is needed, since the files for {program} cannot hold a recurrent decoder; "
            f"got {model.options.decoder}"
        )
    return model


def weights_in_layout(
    layout: Layout, model: Transformer, target: Vocabulary, orders: tuple[Sequence[int], Sequence[int]]
) -> dict[str, Tensor]:
    """Return the weights in a layout; the rows of source and target vocabulary are our token ids in these `orders`.

    The output bias forbids PAD, BOS and UNK, as nmt does. Where the decoder begins with zeros, the embedding of BOS is
    a row of zeros.
    """
    own = {name: tensor.detach().float().cpu() for name, tensor in model.named_parameters()}
    given = layout.give(with_biases({name: tensor for name, tensor in own.items() if is_of_layers(name)}))
    source, target_ids = (list(order) for order in orders)
    embeddings = [
        model.source_embedding.weight.detach().clone(),
        model.target_embedding.weight.detach().clone(),
    ]
    if model.target_embedding.zero_id is not None:
        for embedding in embeddings[model.source_embedding is not model.target_embedding :]:
            embedding[model.target_embedding.zero_id] = 0.0
    if model.source_embedding is model.target_embedding:
        given[layout.shared] = embeddings[0][source]
    else:
        names = layout.embeddings.values()
        given |= {
            name: rows[ids] for name, rows, ids in zip(names, embeddings, (source, target_ids), strict=True)
        }
    if "output.weight" in own:
        output = own["output.weight"][target_ids]
        given[layout.output_weight] = output.T if layout.is_transposed else output
    bias = own["output.bias"].clone()
    bias[[target.pad_id, target.bos_id, target.unk_id]] = FORBIDDEN
    given[layout.output_bias] = bias[target_ids].unsqueeze(0)
    return {name: tensor.contiguous() for name, tensor in given.items()}
