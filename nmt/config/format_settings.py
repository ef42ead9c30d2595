"""Settings to export models to other programs, and to import theirs: conf/export.yaml and conf/import.yaml."""

from typing import Annotated, Literal, Self

import pydantic

from nmt.config.data_settings import DataSettings
from nmt.config.decoding_settings import DecodingSettings
from nmt.config.kinds import CheckpointName, Quantization, RateOrZero, Settings, matching
from nmt.config.training_settings import EvaluationSettings

# A code of ISO 639, perhaps with a region, and perhaps with a name: `de`, `pt-BR`, `gsw:Schweizerdeutsch`.
LanguageCode = Annotated[
    str,
    matching(
        r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*(:[^\x00-\x1f]{1,60})?",
        "a code such as de, or with a name gsw:Schweizerdeutsch,",
    ),
]


class ExportSettings(Settings):
    """See conf/export.yaml."""

    run: str
    checkpoint: CheckpointName
    format: Literal["ctranslate2", "argos", "huggingface", "marian", "onnx", "web"]
    output: str
    overwrite: bool
    quantization: Quantization
    tolerance: RateOrZero
    device: Literal["cpu", "cuda"]
    source_language: LanguageCode | None
    target_language: LanguageCode | None
    splitter: str | None
    runtime: str | None
    decoding: DecodingSettings
    evaluation: EvaluationSettings

    @pydantic.model_validator(mode="after")
    def _check_format(self) -> Self:
        of = {"source_language": "argos", "target_language": "argos", "splitter": "argos", "runtime": "web"}
        for key, format_name in of.items():
            if self.format != format_name and getattr(self, key) is not None:
                raise ValueError(f"{key}: null is needed with format={self.format}; got {getattr(self, key)}")
        return self


class ImportSettings(Settings):
    """See conf/import.yaml."""

    format: Literal["huggingface", "marian"]
    input: str
    output: str
    data: DataSettings | None = None  # Hydra leaves out a group of which nothing is chosen
    decoding: DecodingSettings
    evaluation: EvaluationSettings
