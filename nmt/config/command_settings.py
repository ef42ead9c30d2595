"""Settings of the commands, and what of them a trained model needs."""

import itertools
from typing import Annotated, Literal, Self

import pydantic
from pydantic import Field

from nmt.config.data_settings import DataSettings, TokenizerSettings
from nmt.config.decoding_settings import DecodingSettings
from nmt.config.kinds import (
    CheckpointName,
    Count,
    CountOrZero,
    Depth,
    Device,
    Draws,
    Encoding,
    Files,
    Number,
    Precision,
    RateOrZero,
    SearchPrecision,
    Seed,
    Settings,
    Shown,
    Size,
)
from nmt.config.model_settings import AttentionSettings, ModelSettings, RNNSettings, TransformerSettings
from nmt.config.tracking_settings import TrackingSettings
from nmt.config.training_settings import (
    ConsistencySettings,
    DecayingForcing,
    EvaluationSettings,
    OptimizerSettings,
    RDropSettings,
    ScheduleSettings,
    TeacherForcingSettings,
    TrainingSettings,
)

# Fewer have no 2.5 % at each end.
NumResamples = Annotated[int, Number, Field(ge=40, le=1_000_000)]


class RecordedSettings(Settings):
    """Part of what a finished run says of itself; the rest is not looked at, so that old runs stay readable."""

    model_config = pydantic.ConfigDict(extra="ignore")


class ModelFiles(RecordedSettings):
    """The settings of a finished run that translating needs."""

    model: ModelSettings
    tokenizer: TokenizerSettings
    decoding: DecodingSettings


class RunData(RecordedSettings):
    """The text that a finished run was made with."""

    data: DataSettings


class RunScoring(RecordedSettings):
    """The scoring of a finished run."""

    evaluation: EvaluationSettings


class KeptCheckpoints(RecordedSettings):
    """The number of checkpoints that a run keeps."""

    keep_checkpoints: Count


class RunCheckpoints(RecordedSettings):
    """The checkpoints of a finished run."""

    training: KeptCheckpoints


def check_guided(model: ModelSettings, training: TrainingSettings, key: str) -> None:
    """Raise ValueError where there is no attention that could learn from every link that `key` asks for."""
    wrong: tuple[str, object] | None = None
    if training.subword_sampling is not None:
        wrong = "training.subword_sampling: null", training.subword_sampling
    elif isinstance(model, RNNSettings):
        wrong = "model: attention or transformer", "rnn"
    elif isinstance(model, TransformerSettings) and model.layer_dropout:
        wrong = "model.layer_dropout: 0", model.layer_dropout
    elif isinstance(model, AttentionSettings):
        attention = model.attention
        for name, needed in (("choice", "soft"), ("span", "global")):
            if getattr(attention, name) != needed:
                wrong = f"model.attention.{name}: {needed}", getattr(attention, name)
    if wrong is not None:
        raise ValueError(f"{wrong[0]} is needed with {key}; got {wrong[1]}")


class RecipeSettings(Settings):
    """The keys of a training, wherever its run goes."""

    resume: bool
    seed: Seed
    device: Device
    precision: Precision
    deterministic: bool
    data: DataSettings
    tokenizer: TokenizerSettings
    model: ModelSettings
    optimizer: OptimizerSettings
    schedule: ScheduleSettings
    training: TrainingSettings
    teacher_forcing: TeacherForcingSettings
    consistency: ConsistencySettings
    decoding: DecodingSettings
    evaluation: EvaluationSettings
    tracking: TrackingSettings

    def check_taught(self, key: str) -> None:
        """Raise ValueError where the student would not read what its teacher did, whose words `key` asks for."""
        ratio, alpha = self.training.teacher_forcing_ratio, self.training.subword_sampling
        for part, needed, given in (
            ("consistency", "none", self.consistency.kind),
            ("teacher_forcing", "constant", self.teacher_forcing.kind),
            ("training.teacher_forcing_ratio", "1", "1" if ratio == 1 else f"{ratio:g}"),
            ("training.subword_sampling", "null", "null" if alpha is None else f"{alpha:g}"),
            ("data/augment", "none", "changes of pairs" if self.data.augment.changes_pairs else "none"),
        ):
            if given != needed:
                raise ValueError(f"{part}: {needed} is needed with {key}; got {given}")

    @pydantic.model_validator(mode="after")
    def _check_together(self) -> Self:
        model, training = self.model, self.training
        if isinstance(model, TransformerSettings) and self.data.max_length >= model.max_positions:
            raise ValueError(
                f"model.max_positions: more than data.max_length={self.data.max_length} is needed; "
                f"got {model.max_positions}"
            )
        if isinstance(self.teacher_forcing, DecayingForcing):
            first, final = training.teacher_forcing_ratio, self.teacher_forcing.final_ratio
            if final >= first:
                raise ValueError(
                    f"teacher_forcing.final_ratio: less than training.teacher_forcing_ratio={first} is needed; "
                    f"got {final}"
                )
        if isinstance(self.consistency, RDropSettings) and not model.draws:
            raise ValueError(
                "consistency: none is needed with model.dropout=0, since both passes of r_drop would be the same; "
                "got r_drop"
            )
        if training.teacher is not None:
            self.check_taught("training.teacher")
        if training.subword_sampling is not None and self.tokenizer.kind in ("word", "char"):
            raise ValueError(
                f"training.subword_sampling: null is needed with tokenizer={self.tokenizer.kind}, which has one way "
                f"to segment a text; got {training.subword_sampling}"
            )
        if self.data.augment.exchange and not self.tokenizer.joint:
            raise ValueError(
                "tokenizer.joint: true is needed with data.augment.exchange, by which each side has text of both "
                "languages; got false"
            )
        if self.data.augment.changes_pairs and (self.data.context or training.guided_alignment is not None):
            key = "data.context: 0" if self.data.context else "training.guided_alignment: null"
            given = self.data.context or training.guided_alignment
            raise ValueError(f"{key} is needed with data.augment, which changes lines alone; got {given}")
        if training.guided_alignment is not None and self.data.context:
            raise ValueError(
                "data.context: 0 is needed with training.guided_alignment, whose links are those of lines alone; "
                f"got {self.data.context}"
            )
        if training.guided_alignment is not None:
            check_guided(model, training, "training.guided_alignment")
        if model.tied_embeddings == "three_way" and not self.tokenizer.joint:
            raise ValueError(
                "model.tied_embeddings: auto, none or two_way is needed with two vocabularies "
                "(tokenizer.joint=false); got three_way"
            )
        if self.decoding.shortlist:
            raise ValueError(
                "decoding.shortlist: false is needed in training, after which `nmt shortlist run=DIR` makes one; "
                "got true"
            )
        return self


class TrainSettings(RecipeSettings):
    """See conf/train.yaml."""

    run: str | None

    @pydantic.model_validator(mode="after")
    def _check_run(self) -> Self:
        if self.resume and self.run is None:
            raise ValueError("run: the folder of the run is needed with resume=true; got null")
        return self


class LaunchSettings(Settings):
    """Where the runs of a sweep are trained, and how many at the same time."""

    at_once: Count
    cluster: Literal["slurm", "ray", "local"] | None
    cluster_options: dict[str, CountOrZero | bool | str] | None


class GridSweep(LaunchSettings):
    """See conf/sweep/grid.yaml."""

    kind: Literal["grid"]


class OptunaSweep(LaunchSettings):
    """See conf/sweep/optuna.yaml."""

    kind: Literal["optuna"]
    trials: Count
    random_trials: CountOrZero
    prune: bool
    prune_after_trials: CountOrZero
    seed: Seed


class SweepSettings(Settings):
    """The key `sweep` of nmt train -m."""

    sweep: Annotated[GridSweep | OptunaSweep, Field(discriminator="kind")]


class EvaluateSettings(Settings):
    """See conf/evaluate.yaml."""

    run: str | None
    checkpoint: CheckpointName
    ensemble: list[str]
    split: Literal["test", "validation"]
    source: str | None
    reference: Files | None
    hypothesis: str | None
    encoding: Encoding
    against: str | None
    num_resamples: NumResamples | None
    num_trials: Draws
    length_buckets: list[Count]
    comet: str | None
    comet_program: str
    json_file: str | None = Field(alias="json")
    overwrite: bool
    device: Device
    precision: SearchPrecision
    decoding: DecodingSettings
    evaluation: EvaluationSettings

    @pydantic.model_validator(mode="after")
    def _check_what(self) -> Self:
        if (self.run is None) == (self.hypothesis is None):
            raise ValueError("run: either `run` or `hypothesis` says what to score; got both or neither")
        if self.ensemble and self.run is None:
            raise ValueError(f"ensemble: [] is needed without `run`; got {', '.join(self.ensemble)}")
        if self.hypothesis is not None and self.reference is None:
            raise ValueError("reference: the file to compare `hypothesis` with is needed; got null")
        if self.run is not None and (self.source is None) != (self.reference is None):
            raise ValueError("source, reference: both are needed, or neither; got one of them")
        if self.against is not None and self.num_resamples is None:
            raise ValueError("num_resamples: a number is needed with `against`; got null")
        if any(low >= high for low, high in itertools.pairwise(self.length_buckets)):
            raise ValueError(f"length_buckets: rising numbers are needed; got {self.length_buckets}")
        if self.comet is not None and self.run is None and self.source is None:
            raise ValueError("source: the text that was translated is needed with `comet`; got null")
        return self


class DataReportSettings(Settings):
    """See conf/data.yaml."""

    data: DataSettings
    tokenizer: TokenizerSettings
    json_file: str | None = Field(alias="json")
    html: str | None
    overwrite: bool
    near_duplicates: bool


class ShortlistSettings(Settings):
    """See conf/shortlist.yaml."""

    run: str
    output: str | None
    overwrite: bool
    num_targets: Size
    num_frequent: Size
    max_pairs: Count
    num_iterations: Depth


class VerifySettings(Settings):
    """See conf/verify.yaml."""

    run: str
    tolerance: RateOrZero
    device: Device
    precision: Precision


class ReportSettings(Settings):
    """See conf/report.yaml."""

    run: str
    against: str | None
    output: str | None
    overwrite: bool
    translate: Literal["auto"] | bool
    checkpoint: CheckpointName
    split: Literal["test", "validation"]
    num_resamples: NumResamples
    num_trials: Draws
    num_sentences: Shown
    num_maps: Shown
    device: Device
    precision: Precision
    decoding: DecodingSettings
    evaluation: EvaluationSettings


class CompareSettings(Settings):
    """See conf/compare.yaml."""

    runs: Annotated[list[str], Field(min_length=1)]
    html: str | None
    overwrite: bool
