"""Models and batches so small that a test can look at every number."""

from typing import Any

import torch

from nmt.data.batching import Batch
from nmt.models.build import MODELS
from nmt.models.interface import Seq2Seq
from nmt.models.layers import vocabulary_layers

PAD, UNK, BOS, EOS = range(4)
VOCABULARY_SIZE = 11

# What the constructor of each model is given, unless a test says otherwise.
RECURRENT = {"cell": "lstm", "d_hidden": 6, "num_layers": 1, "bidirectional": True, "dropout": 0.1}
TINY_SIZES = {
    "rnn": {**RECURRENT, "context": "last", "context_use": "both", "context_join": "concatenate"},
    "attention": RECURRENT,
    "transformer": {
        "num_encoder_layers": 2,
        "num_decoder_layers": 2,
        "decoder": "attention",
        "max_positions": 64,
        "d_ff": 12,
        "num_heads": 2,
        "num_key_value_heads": None,
        "norm": "pre",
        "normalization": "layer",
        "positions": "sinusoidal",
        "max_relative_distance": 16,
        "activation": "relu",
        "attention_bias": False,
        "dropout": 0.1,
        "attention_dropout": 0.0,
        "activation_dropout": None,
        "layer_dropout": 0.0,
    },
}
TINY_ATTENTION = {
    "score": "additive",
    "d_attention": 6,
    "location_positions": 128,
    "num_heads": 1,
    "join": "output",
    "span": "global",
    "window": 10,
    "choice": "soft",
    "temperature": 1.0,
    "coverage": False,
}


def make_model(
    kind: str,
    width: int = 8,
    tied: str = "none",
    seed: int = 0,
    sizes: tuple[int, int] = (VOCABULARY_SIZE, VOCABULARY_SIZE),
    is_random: bool = True,
    **options: Any,
) -> Seq2Seq:
    """Make a tiny model for vocabularies of these sizes in evaluation, with random weights in float64.

    The random weights are larger than the initial ones of training, which `is_random=False` keeps, in float32.
    """
    torch.manual_seed(seed)
    layers = vocabulary_layers(*sizes, width, tied)
    given = {**TINY_SIZES[kind], ("d_model" if kind == "transformer" else "d_embedding"): width, **options}
    if kind == "attention":
        attention = {key: given.pop(key, value) for key, value in TINY_ATTENTION.items()}
        given = {**given, "attention": attention}
    model = MODELS[kind](layers, **given)
    if not is_random:
        return model.eval()
    # Biases of zero would hide mistakes with a bias, and small weights would hide which of them are confused.
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return model.double().eval()


def make_batch(
    seed: int = 1, source_lengths: tuple[int, ...] = (5, 3, 7), target_lengths: tuple[int, ...] = (4, 6, 2)
) -> Batch:
    """Make a batch of random sentences of these lengths, EOS included."""
    generator = torch.Generator().manual_seed(seed)

    def sentence(length: int) -> torch.Tensor:
        words = torch.randint(4, VOCABULARY_SIZE, (length - 1,), generator=generator)
        return torch.cat([words, torch.tensor([EOS])])

    source = [sentence(length) for length in source_lengths]
    target = [sentence(length) for length in target_lengths]
    target_in = [torch.cat([torch.tensor([BOS]), row[:-1]]) for row in target]
    pad = torch.nn.utils.rnn.pad_sequence
    return Batch(
        pad(source, batch_first=True, padding_value=PAD),
        torch.tensor(source_lengths),
        pad(target_in, batch_first=True, padding_value=PAD),
        pad(target, batch_first=True, padding_value=PAD),
        torch.tensor(target_lengths),
        (torch.tensor(source_lengths), torch.tensor(target_lengths)),
    )
