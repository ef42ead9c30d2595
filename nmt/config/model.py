"""Settings of models: conf/model/."""

from typing import Annotated, Literal, Self

import pydantic
from pydantic import Field, PositiveInt

from nmt.config.kinds import Settings, Share

TiedEmbeddings = Literal["none", "two_way", "three_way"]
Cell = Literal["lstm", "gru", "tanh"]


class RNNSettings(Settings):
    """See conf/model/rnn.yaml."""

    kind: Literal["rnn"]
    cell: Cell
    d_embedding: PositiveInt
    d_hidden: PositiveInt
    num_layers: PositiveInt
    bidirectional: bool
    context: Literal["last", "mean"]
    context_use: Literal["initial", "every_step", "both"]
    context_join: Literal["concatenate", "add"]
    dropout: Share
    tied_embeddings: TiedEmbeddings


class AttentionScoreSettings(Settings):
    """See conf/model/attention.yaml."""

    score: Literal["additive", "dot", "scaled_dot", "general"]
    d_attention: PositiveInt
    join: Literal["input", "output", "output_only"]


class AttentionSettings(Settings):
    """See conf/model/attention.yaml."""

    kind: Literal["attention"]
    cell: Cell
    d_embedding: PositiveInt
    d_hidden: PositiveInt
    num_layers: PositiveInt
    bidirectional: bool
    attention: AttentionScoreSettings
    dropout: Share
    tied_embeddings: TiedEmbeddings


class TransformerSettings(Settings):
    """See conf/model/transformer.yaml."""

    kind: Literal["transformer"]
    num_encoder_layers: PositiveInt
    num_decoder_layers: PositiveInt
    d_model: PositiveInt
    d_ff: PositiveInt
    num_heads: PositiveInt
    norm: Literal["pre", "post"]
    positions: Literal["sinusoidal", "learned"]
    max_positions: PositiveInt
    activation: Literal["relu", "gelu"]
    dropout: Share
    tied_embeddings: TiedEmbeddings

    @pydantic.model_validator(mode="after")
    def _check_widths(self) -> Self:
        if self.d_model % self.num_heads:
            raise ValueError(
                f"d_model: a multiple of num_heads={self.num_heads} is needed; got {self.d_model}; "
                f"{self.d_model - self.d_model % self.num_heads + self.num_heads} would do"
            )
        if self.d_model % 2:
            raise ValueError(f"d_model: an even number is needed; got {self.d_model}")
        return self


ModelSettings = Annotated[RNNSettings | AttentionSettings | TransformerSettings, Field(discriminator="kind")]
