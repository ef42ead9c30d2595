"""What is read again of a finished run: the settings to translate, to score, or to read its text, and records."""

import pydantic

from nmt.config.data_settings import DataSettings
from nmt.config.decoding_settings import DecodingSettings
from nmt.config.kinds import Count, Settings
from nmt.config.model_settings import ModelSettings
from nmt.config.tokenizer_settings import TokenizerSettings
from nmt.config.training_settings import EvaluationSettings


class RecordedSettings(Settings):
    """A part of what a run recorded; other keys are ignored, so that runs of other versions stay readable."""

    model_config = pydantic.ConfigDict(extra="ignore")


class RunModel(RecordedSettings):
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
