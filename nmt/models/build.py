"""From settings to a model."""

from torch import nn

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


def _vocabulary_layers(
    tokenizer: Tokenizer, width: int, tied_embeddings: TiedEmbeddings
) -> tuple[Embedding, Embedding, nn.Linear]:
    source, target = tokenizer.source, tokenizer.target
    target_embedding = Embedding(target.size, width)
    is_shared = tied_embeddings == "three_way"
    source_embedding = target_embedding if is_shared else Embedding(source.size, width)
    tied_to = None if tied_embeddings == "none" else target_embedding
    return source_embedding, target_embedding, output_layer(target.size, width, tied_to)
