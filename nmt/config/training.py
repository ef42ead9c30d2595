"""Settings of training, search and scoring: conf/optimizer/ to conf/evaluation/."""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from nmt.config.kinds import PositiveShare, Settings, Share, Size, UnitInterval


class AdamSettings(Settings):
    """See conf/optimizer/adam.yaml."""

    kind: Literal["adam"]
    learning_rate: PositiveFloat
    betas: tuple[Share, Share]
    epsilon: PositiveFloat


class AdamWSettings(Settings):
    """See conf/optimizer/adamw.yaml."""

    kind: Literal["adamw"]
    learning_rate: PositiveFloat
    betas: tuple[Share, Share]
    epsilon: PositiveFloat
    weight_decay: NonNegativeFloat


OptimizerSettings = Annotated[AdamSettings | AdamWSettings, Field(discriminator="kind")]


class InverseSquareRootSettings(Settings):
    """See conf/schedule/inverse_square_root.yaml."""

    kind: Literal["inverse_square_root"]
    warmup_updates: PositiveInt


class NoamSettings(Settings):
    """See conf/schedule/noam.yaml."""

    kind: Literal["noam"]
    factor: PositiveFloat
    d_model: PositiveInt
    warmup_updates: PositiveInt


class CosineSettings(Settings):
    """See conf/schedule/cosine.yaml."""

    kind: Literal["cosine"]
    warmup_updates: NonNegativeInt
    final_share: Share


class ConstantSettings(Settings):
    """See conf/schedule/constant.yaml."""

    kind: Literal["constant"]
    warmup_updates: NonNegativeInt


ScheduleSettings = Annotated[
    InverseSquareRootSettings | NoamSettings | CosineSettings | ConstantSettings, Field(discriminator="kind")
]


Compile = Literal["auto", "on", "off"]


class TrainingSettings(Settings):
    """See conf/training/default.yaml."""

    max_updates: PositiveInt
    max_epochs: PositiveInt | None
    max_seconds: PositiveFloat | None
    update_tokens: PositiveInt
    max_tokens: PositiveInt | Literal["auto"]
    compile: Compile
    label_smoothing: Share
    max_gradient_norm: PositiveFloat
    teacher_forcing_ratio: UnitInterval
    validate_every: PositiveInt
    checkpoint_every: PositiveInt
    keep_checkpoints: Annotated[int, Field(ge=2)]
    patience: PositiveInt | None
    log_every: PositiveInt
    max_updates_skipped: PositiveInt
    subword_sampling: PositiveShare | None
    ema_decay: Share | None
    from_run: str | None
    source_vectors: str | None
    target_vectors: str | None
    freeze: list[str]


class ConstantForcing(Settings):
    """See conf/teacher_forcing/constant.yaml."""

    kind: Literal["constant"]


class DecayingForcing(Settings):
    """See conf/teacher_forcing/linear.yaml and those beside it."""

    kind: Literal["linear", "exponential", "inverse_sigmoid"]
    final_ratio: UnitInterval
    num_updates: Annotated[int, Field(ge=2)]


TeacherForcingSettings = Annotated[ConstantForcing | DecayingForcing, Field(discriminator="kind")]


class NoConsistency(Settings):
    """See conf/consistency/none.yaml."""

    kind: Literal["none"]


class RDropSettings(Settings):
    """See conf/consistency/r_drop.yaml."""

    kind: Literal["r_drop"]
    weight: PositiveFloat


class SimCutSettings(Settings):
    """See conf/consistency/simcut.yaml."""

    kind: Literal["simcut"]
    weight: PositiveFloat
    cutoff: Annotated[float, Field(gt=0, lt=1)]


ConsistencySettings = Annotated[NoConsistency | RDropSettings | SimCutSettings, Field(discriminator="kind")]


class SearchSettings(Settings):
    """What greedy and beam search have in common."""

    max_length_ratio: Annotated[float, Field(ge=0, le=100)]
    max_length_extra: Annotated[int, Field(ge=0, le=10_000)]
    min_length: Annotated[int, Field(ge=0, le=10_000)]
    max_source_tokens: Size
    max_tokens: Annotated[int, Field(gt=0, le=1 << 24)]


class GreedySettings(SearchSettings):
    """See conf/decoding/greedy.yaml."""

    kind: Literal["greedy"]


class BeamSettings(SearchSettings):
    """See conf/decoding/beam.yaml."""

    kind: Literal["beam"]
    beam_size: Annotated[int, Field(gt=0, le=1_000)]
    length_penalty: Annotated[float, Field(ge=0, le=10)]
    length_penalty_kind: Literal["power", "wu"]


DecodingSettings = Annotated[GreedySettings | BeamSettings, Field(discriminator="kind")]


class EvaluationSettings(Settings):
    """See conf/evaluation/default.yaml."""

    lowercase: bool
    ter_case_sensitive: bool
    tokenize: Literal["13a", "intl", "char", "zh", "none"]
