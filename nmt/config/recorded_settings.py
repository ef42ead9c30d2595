"""The settings of a finished run that are read again: to translate, to score, or to read its text."""

import pydantic

from nmt.config.data_settings import DataSettings, TokenizerSettings
from nmt.config.decoding_settings import DecodingSettings
from nmt.config.kinds import Count, Settings
from nmt.config.model_settings import ModelSettings
from nmt.config.training_settings import EvaluationSettings


class RecordedSettings(Settings):
    """Some of the recorded settings of a finished run; others are ignored, so that old runs stay readable."""

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
