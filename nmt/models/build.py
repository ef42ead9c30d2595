"""From settings to a model."""

from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from nmt.config import AttentionSettings, ModelSettings, RNNSettings, TiedEmbeddings, TransformerSettings
from nmt.data.tokenizer import Tokenizer
from nmt.models.attention import AttentionSeq2Seq
from nmt.models.interface import Seq2Seq
from nmt.models.layers import Embedding, output_layer
from nmt.models.rnn import RNNSeq2Seq
from nmt.models.transformer import Transformer


def build_model(settings: ModelSettings, tokenizer: Tokenizer) -> Seq2Seq:
    """Make the model that the settings name, for the vocabularies of a tokenizer, with random weights."""
    values = settings.model_dump(exclude={"kind", "tied_embeddings"})
    match settings:
        case TransformerSettings(d_model=width):
            parts = _vocabulary_layers(tokenizer, width, settings.tied_embeddings)
            return Transformer(*parts, **values)
        case RNNSettings():
            parts = _vocabulary_layers(tokenizer, settings.d_embedding, settings.tied_embeddings)
            return RNNSeq2Seq(*parts, **values)
        case AttentionSettings():
            parts = _vocabulary_layers(tokenizer, settings.d_embedding, settings.tied_embeddings)
            return AttentionSeq2Seq(*parts, **values | values.pop("attention"))


def parameter_shapes(settings: ModelSettings, tokenizer: Tokenizer) -> dict[str, torch.Size]:
    """Return the names and shapes of the parameters that the model would have, without the memory that they take."""
    with torch.device("meta"), _WithoutNormalNumbers():
        model = build_model(settings, tokenizer)
    return {name: parameter.shape for name, parameter in model.named_parameters()}


class _WithoutNormalNumbers(TorchFunctionMode):
    """Draw no normal numbers: where there is no memory for them, PyTorch takes a second to find out how."""

    def __torch_function__(
        self,
        function: Any,
        types: Any,
        arguments: tuple[Any, ...] = (),
        keywords: dict[str, Any] | None = None,
    ) -> Any:
        keywords = keywords or {}
        if function in (nn.init.normal_, torch.Tensor.normal_):
            return keywords["tensor"] if "tensor" in keywords else arguments[0]
        return function(*arguments, **keywords)


def _vocabulary_layers(
    tokenizer: Tokenizer, width: int, tied_embeddings: TiedEmbeddings
) -> tuple[Embedding, Embedding, nn.Linear]:
    source, target = tokenizer.source, tokenizer.target
    target_embedding = Embedding(target.size, width)
    is_shared = tied_embeddings == "three_way" or (tied_embeddings == "auto" and tokenizer.joint)
    source_embedding = target_embedding if is_shared else Embedding(source.size, width)
    tied_to = None if tied_embeddings == "none" else target_embedding
    return source_embedding, target_embedding, output_layer(target.size, width, tied_to)
