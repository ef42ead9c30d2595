"""The layout of Hugging Face: Marian's for a Transformer that normalises after its sub-layers, else that of Pegasus."""

from nmt.layouts.names import Layout

CONFIG = "config.json"
GENERATION = "generation_config.json"
WEIGHTS = "model.safetensors"
SOURCE_MODEL, TARGET_MODEL = "source.spm", "target.spm"
VOCABULARY, TARGET_VOCABULARY = "vocab.json", "target_vocab.json"
# From our names of activations to theirs.
ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "silu": "swish"}
OUR_ACTIVATIONS = {theirs: ours for ours, theirs in ACTIVATIONS.items()} | {"silu": "silu"}
# From their keys of a configuration to ours; one of ours may be two of theirs.
KEYS = {
    "d_model": "d_model",
    "encoder_layers": "num_encoder_layers",
    "decoder_layers": "num_decoder_layers",
    "encoder_attention_heads": "num_heads",
    "decoder_attention_heads": "num_heads",
    "encoder_ffn_dim": "d_ff",
    "decoder_ffn_dim": "d_ff",
    "max_position_embeddings": "max_positions",
    "dropout": "dropout",
    "attention_dropout": "attention_dropout",
    "activation_dropout": "activation_dropout",
}
MODEL_OF_NORM = {"post": "marian", "pre": "pegasus"}
CLASSES = {"marian": "MarianMTModel", "pegasus": "PegasusForConditionalGeneration"}
NORM_OF_MODEL = {model: norm for norm, model in MODEL_OF_NORM.items()}

ENCODER = {
    "self_attention.query_key_value": ("self_attn.q_proj.{}", "self_attn.k_proj.{}", "self_attn.v_proj.{}"),
    "self_attention.output": ("self_attn.out_proj.{}",),
    "residuals.0.norm": ("self_attn_layer_norm.{}",),
    "feed_forward.inner": ("fc1.{}",),
    "feed_forward.outer": ("fc2.{}",),
    "residuals.1.norm": ("final_layer_norm.{}",),
}
DECODER = ENCODER | {
    "cross_attention.query": ("encoder_attn.q_proj.{}",),
    "cross_attention.key_value": ("encoder_attn.k_proj.{}", "encoder_attn.v_proj.{}"),
    "cross_attention.output": ("encoder_attn.out_proj.{}",),
    "residuals.1.norm": ("encoder_attn_layer_norm.{}",),
    "residuals.2.norm": ("final_layer_norm.{}",),
}
WORDS = {"weight": "weight", "bias": "bias"}
LAYOUT = Layout(
    layers={"encoder": "model.encoder.layers.{}.", "decoder": "model.decoder.layers.{}."},
    first_layer=0,
    modules={"encoder": ENCODER, "decoder": DECODER},
    ends={"encoder": "model.encoder.layer_norm.{}", "decoder": "model.decoder.layer_norm.{}"},
    linear=WORDS,
    norm=WORDS,
    embeddings={
        "source_embedding.weight": "model.encoder.embed_tokens.weight",
        "target_embedding.weight": "model.decoder.embed_tokens.weight",
    },
    shared="model.shared.weight",
    output_weight="lm_head.weight",
    output_bias="final_logits_bias",
)
# Tables of sinusoidal positions, which some files hold.
POSITIONS = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")
