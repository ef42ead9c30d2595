"""From settings to a model."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from nmt.config import ModelSettings
from nmt.data.tokenizer import Tokenizer
from nmt.models.interface import Seq2Seq
from nmt.models.layers import vocabulary_layers
from nmt.models.rnn import RNNSeq2Seq
from nmt.models.rnn_attention import AttentionSeq2Seq
from nmt.models.transformer import Transformer

MODELS: dict[str, Callable[..., Seq2Seq]] = {
    "rnn": RNNSeq2Seq,
    "attention": AttentionSeq2Seq,
    "transformer": Transformer,
}


def build_model(settings: ModelSettings, tokenizer: Tokenizer) -> Seq2Seq:
    """Make the model that the settings name, for the vocabularies of a tokenizer, with random weights."""
    options = settings.model_dump()
    kind, tied, zero_start = (
        options.pop("kind"),
        options.pop("tied_embeddings"),
        options.pop("zero_start", False),
    )
    if tied == "auto":
        tied = "three_way" if tokenizer.joint else "two_way"
    layers = vocabulary_layers(tokenizer.source.size, tokenizer.target.size, settings.embedding_width, tied)
    if zero_start:
        layers.target_embedding.zero_id = tokenizer.target.bos_id
    return MODELS[kind](layers, **options)


def parameter_shapes(settings: ModelSettings, tokenizer: Tokenizer) -> dict[str, torch.Size]:
    """Return the names and shapes of the parameters that the model would have, without allocating them."""
    with torch.device("meta"), _WithoutNormalNumbers():
        model = build_model(settings, tokenizer)
    return {name: parameter.shape for name, parameter in model.named_parameters()}


class _WithoutNormalNumbers(TorchFunctionMode):
    """Draw no normal numbers: on the meta device, PyTorch would take a second to find out how."""

    def __torch_function__(self, function: Any, types: Any, arguments: Any = (), keywords: Any = None) -> Any:
        keywords = keywords or {}
        if function in (nn.init.normal_, torch.Tensor.normal_):
            return keywords["tensor"] if "tensor" in keywords else arguments[0]
        return function(*arguments, **keywords)
