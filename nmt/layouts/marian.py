"""The layout of Marian: arrays in a `.npz` with the options of the training among them, vocabularies, `decoder.yml`."""

from nmt.layouts.names import Layout, Parts

OPTIONS = "special:model.yml"  # the array whose bytes are the options of a model
DECODER = "decoder.yml"
EOS, UNK = "</s>", "<unk>"
MODEL, SOURCE_MODEL, TARGET_MODEL = "model.npz", "source.spm", "target.spm"
# From our names of activations to theirs; their `gelu` is another function.
ACTIVATIONS = {"relu": "relu", "silu": "swish"}
OUR_ACTIVATIONS = {theirs: ours for ours, theirs in ACTIVATIONS.items()}
# Marian's options for the steps before and after a sub-layer, a letter each: d dropout, a add, n normalise.
PROCESSES = {
    "post": {"transformer-preprocess": "", "transformer-postprocess": "dan", "transformer-postprocess-top": ""},
    "pre": {"transformer-preprocess": "n", "transformer-postprocess": "da", "transformer-postprocess-top": "n"},
}  # fmt: skip


def layout(norm: str) -> Layout:
    """Return the names for a model that normalises before its sub-layers, `pre`, or after them, `post`."""
    suffix = "_pre" if norm == "pre" else ""

    def normalised(name: str) -> Parts:
        return (f"{name}_ln_{{}}{suffix}",)

    encoder = {
        "self_attention.query_key_value": ("self_{}q", "self_{}k", "self_{}v"),
        "self_attention.output": ("self_{}o",),
        "residuals.0.norm": normalised("self_Wo"),
        "feed_forward.inner": ("ffn_{}1",),
        "feed_forward.outer": ("ffn_{}2",),
        "residuals.1.norm": normalised("ffn_ffn"),
    }
    decoder = encoder | {
        "cross_attention.query": ("context_{}q",),
        "cross_attention.key_value": ("context_{}k", "context_{}v"),
        "cross_attention.output": ("context_{}o",),
        "residuals.1.norm": normalised("context_Wo"),
        "residuals.2.norm": normalised("ffn_ffn"),
    }
    return Layout(
        layers={"encoder": "encoder_l{}_", "decoder": "decoder_l{}_"},
        first_layer=1,
        modules={"encoder": encoder, "decoder": decoder},
        ends={"encoder": "encoder_top_ln_{}", "decoder": "decoder_top_ln_{}"},
        linear={"weight": "W", "bias": "b"},
        norm={"weight": "scale", "bias": "bias"},
        embeddings={"source_embedding.weight": "encoder_Wemb", "target_embedding.weight": "decoder_Wemb"},
        shared="Wemb",
        output_weight="decoder_ff_logit_out_W",
        output_bias="decoder_ff_logit_out_b",
        is_transposed=True,
    )
