"""Settings of a training, and which of them do not go together."""

from typing import Any, Self

import pydantic

from nmt.config.data_settings import DataSettings
from nmt.config.decoding_settings import DecodingSettings
from nmt.config.kinds import Device, Precision, Seed, Settings
from nmt.config.model_settings import AttentionSettings, ModelSettings, RNNSettings, TransformerSettings
from nmt.config.tokenizer_settings import TokenizerSettings
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


def check_guided(model: ModelSettings, training: TrainingSettings, key: str) -> None:
    """Raise ValueError where the model has no attention that could learn all word links that `key` asks for."""
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
    """The keys that every training has, without that of the folder of its run."""

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
        """Raise ValueError where the student would not read what its teacher has read.

        `key` is the key that asks for the word probabilities of the teacher.
        """
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
        if isinstance(self.consistency, RDropSettings) and not model.is_stochastic:
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

    def recorded(self) -> dict[str, Any]:
        """Return what `config.json` records as plain values: all settings but the folder and whether to resume."""
        return self.model_dump(mode="json", exclude={"run", "resume"})
