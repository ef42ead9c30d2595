"""Settings of training and scoring: conf/optimizer/, schedule/, training/, teacher_forcing/ and the like."""

from typing import Annotated, Literal

from pydantic import Field

from nmt.config.kinds import (
    Count,
    CountOrZero,
    Files,
    Names,
    Number,
    PositiveShare,
    Rate,
    RateOrZero,
    Runs,
    Seconds,
    Settings,
    Share,
    UnitInterval,
    Weight,
)


class AdamSettings(Settings):
    """See conf/optimizer/adam.yaml."""

    kind: Literal["adam"]
    learning_rate: Rate
    betas: tuple[Share, Share]
    epsilon: PositiveShare


class AdamWSettings(Settings):
    """See conf/optimizer/adamw.yaml."""

    kind: Literal["adamw"]
    learning_rate: Rate
    betas: tuple[Share, Share]
    epsilon: PositiveShare
    weight_decay: RateOrZero


class MuonSettings(Settings):
    """See conf/optimizer/muon.yaml."""

    kind: Literal["muon"]
    learning_rate: Rate
    momentum: Share
    betas: tuple[Share, Share]
    epsilon: PositiveShare
    weight_decay: RateOrZero


OptimizerSettings = Annotated[AdamSettings | AdamWSettings | MuonSettings, Field(discriminator="kind")]


class InverseSquareRootSettings(Settings):
    """See conf/schedule/inverse_square_root.yaml."""

    kind: Literal["inverse_square_root"]
    warmup_updates: Count


class NoamSettings(Settings):
    """See conf/schedule/noam.yaml."""

    kind: Literal["noam"]
    factor: Weight
    d_model: Count
    warmup_updates: Count


class CosineSettings(Settings):
    """See conf/schedule/cosine.yaml."""

    kind: Literal["cosine"]
    warmup_updates: CountOrZero
    final_share: Share


class WarmupStableDecaySettings(Settings):
    """See conf/schedule/warmup_stable_decay.yaml."""

    kind: Literal["warmup_stable_decay"]
    warmup_updates: CountOrZero
    decay_share: PositiveShare


class ConstantSettings(Settings):
    """See conf/schedule/constant.yaml."""

    kind: Literal["constant"]
    warmup_updates: CountOrZero


ScheduleSettings = Annotated[
    InverseSquareRootSettings | NoamSettings | CosineSettings | WarmupStableDecaySettings | ConstantSettings,
    Field(discriminator="kind"),
]


Compile = Literal["auto", "on", "off"]


class TrainingSettings(Settings):
    """See conf/training/default.yaml."""

    max_updates: Count
    max_epochs: Count | None
    max_seconds: Seconds | None
    update_tokens: Count
    max_tokens: Count | Literal["auto"]
    compile: Compile
    label_smoothing: Share
    max_gradient_norm: Weight
    teacher_forcing_ratio: UnitInterval
    validate_every: Count
    checkpoint_every: Count
    keep_checkpoints: Annotated[int, Number, Field(ge=2, le=1_000_000_000)]
    patience: Count | None
    log_every: Count
    max_updates_skipped: Count
    subword_sampling: PositiveShare | None
    ema_decay: Share | None
    from_run: str | None
    source_vectors: str | None
    target_vectors: str | None
    guided_alignment: Files | None
    guided_alignment_weight: Weight
    teacher: Runs | None
    teacher_weight: PositiveShare
    freeze: Names


class ConstantForcing(Settings):
    """See conf/teacher_forcing/constant.yaml."""

    kind: Literal["constant"]


class DecayingForcing(Settings):
    """See linear.yaml, exponential.yaml and inverse_sigmoid.yaml in conf/teacher_forcing/."""

    kind: Literal["linear", "exponential", "inverse_sigmoid"]
    final_ratio: UnitInterval
    num_updates: Annotated[int, Number, Field(ge=2, le=1_000_000_000)]


TeacherForcingSettings = Annotated[ConstantForcing | DecayingForcing, Field(discriminator="kind")]


class NoConsistency(Settings):
    """See conf/consistency/none.yaml."""

    kind: Literal["none"]


class RDropSettings(Settings):
    """See conf/consistency/r_drop.yaml."""

    kind: Literal["r_drop"]
    weight: Weight


class SimCutSettings(Settings):
    """See conf/consistency/simcut.yaml."""

    kind: Literal["simcut"]
    weight: Weight
    cutoff: Annotated[float, Number, Field(gt=0, lt=1)]


ConsistencySettings = Annotated[NoConsistency | RDropSettings | SimCutSettings, Field(discriminator="kind")]


class EvaluationSettings(Settings):
    """See conf/evaluation/default.yaml."""

    lowercase: bool
    ter_case_sensitive: bool
    tokenize: Literal["13a", "intl", "char", "zh", "none"]
