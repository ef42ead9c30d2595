"""Settings of models: conf/model/."""

from typing import Annotated, Literal, Self

import pydantic
from pydantic import Field

from nmt.config.kinds import Depth, Settings, Share, Size, Weight

TiedEmbeddings = Literal["auto", "none", "two_way", "three_way"]
Cell = Literal["lstm", "gru", "tanh"]


class RecurrentSettings(Settings):
    """The keys that both recurrent models have."""

    cell: Cell
    d_embedding: Size
    d_hidden: Size
    num_layers: Depth
    bidirectional: bool
    dropout: Share
    tied_embeddings: TiedEmbeddings

    @property
    def embedding_width(self) -> int:
        """The width of word vectors."""
        return self.d_embedding

    @property
    def is_stochastic(self) -> bool:
        """Whether two passes of one batch in training differ."""
        return self.dropout > 0


class RNNSettings(RecurrentSettings):
    """See conf/model/rnn.yaml."""

    kind: Literal["rnn"]
    context: Literal["last", "mean"]
    context_use: Literal["initial", "every_step", "both"]
    context_join: Literal["concatenate", "add"]


class RecurrentAttentionSettings(Settings):
    """See conf/model/attention.yaml."""

    score: Literal["additive", "dot", "scaled_dot", "general", "location"]
    location_positions: Size
    d_attention: Size
    num_heads: Size
    join: Literal["input", "output", "output_only"]
    span: Literal["global", "local_m", "local_p"]
    window: Size
    choice: Literal["soft", "straight_through"]
    temperature: Weight
    coverage: bool

    @pydantic.model_validator(mode="after")
    def _check_together(self) -> Self:
        if rest := self.d_attention % self.num_heads:
            raise ValueError(
                f"d_attention: a multiple of num_heads={self.num_heads} is needed; got {self.d_attention}; "
                f"{self.d_attention - rest + self.num_heads} would do"
            )
        if self.coverage and self.score == "location":
            raise ValueError(
                "coverage: false is needed with score=location, which has no keys that coverage could enter; "
                "got true"
            )
        if self.coverage and self.join == "output_only":
            raise ValueError(
                "coverage: false is needed with join=output_only, which attends from all positions at once, "
                "while coverage goes from one position to the next; got true"
            )
        return self


class AttentionSettings(RecurrentSettings):
    """See conf/model/attention.yaml."""

    kind: Literal["attention"]
    attention: RecurrentAttentionSettings

    @property
    def is_stochastic(self) -> bool:
        """Whether two passes of one batch in training differ."""
        return super().is_stochastic or self.attention.choice != "soft"


class TransformerSettings(Settings):
    """See conf/model/transformer.yaml."""

    kind: Literal["transformer"]
    num_encoder_layers: Depth
    num_decoder_layers: Depth
    decoder: Literal["attention", "ssru"]
    d_model: Size
    d_ff: Size
    num_heads: Size
    num_key_value_heads: Size | None
    norm: Literal["pre", "post"]
    normalization: Literal["layer", "rms"]
    positions: Literal["sinusoidal", "learned", "rotary", "relative"]
    max_positions: Size
    max_relative_distance: Size
    activation: Literal["relu", "gelu", "silu", "swiglu"]
    attention_bias: bool
    zero_start: bool
    initial_gain: Weight
    dropout: Share
    attention_dropout: Share
    activation_dropout: Share | None
    layer_dropout: Share
    tied_embeddings: TiedEmbeddings

    @property
    def embedding_width(self) -> int:
        """The width of word vectors."""
        return self.d_model

    @property
    def is_stochastic(self) -> bool:
        """Whether two passes of one batch in training differ."""
        return any((self.dropout, self.attention_dropout, self.activation_dropout, self.layer_dropout))

    @pydantic.model_validator(mode="after")
    def _check_widths(self) -> Self:
        if self.d_model % self.num_heads:
            raise ValueError(
                f"d_model: a multiple of num_heads={self.num_heads} is needed; got {self.d_model}; "
                f"{self.d_model - self.d_model % self.num_heads + self.num_heads} would do"
            )
        if self.d_model % 2:
            raise ValueError(f"d_model: an even number is needed; got {self.d_model}")
        if self.positions == "rotary" and self.d_model // self.num_heads % 2:
            raise ValueError(
                "num_heads: an even width of each head is needed with positions=rotary; "
                f"got {self.d_model // self.num_heads} with {self.num_heads} heads"
            )
        if self.num_key_value_heads is not None and self.num_heads % self.num_key_value_heads:
            raise ValueError(
                f"num_key_value_heads: a divisor of num_heads={self.num_heads} is needed; "
                f"got {self.num_key_value_heads}"
            )
        return self


ModelSettings = Annotated[RNNSettings | AttentionSettings | TransformerSettings, Field(discriminator="kind")]
