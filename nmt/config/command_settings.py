"""Settings of a sweep, and of the commands that examine runs and text: scores, reports, shortlists."""

import itertools
from typing import Annotated, Literal, Self

import pydantic
from pydantic import Field

from nmt.config.data_settings import DataSettings
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
    Names,
    Number,
    Precision,
    RateOrZero,
    SearchPrecision,
    Seed,
    Settings,
    Shown,
    Size,
    as_list,
)
from nmt.config.tokenizer_settings import TokenizerSettings
from nmt.config.training_settings import EvaluationSettings

# Of fewer samples, 2.5 % at each end are less than one.
NumResamples = Annotated[int, Number, Field(ge=40, le=1_000_000)]


class LaunchSettings(Settings):
    """Where the runs of a sweep are trained, and how many at the same time."""

    at_once: Count
    cluster: Literal["slurm", "ray", "local"] | None
    cluster_options: dict[str, CountOrZero | bool | str] | None

    @pydantic.model_validator(mode="after")
    def _check_options(self) -> Self:
        if self.cluster_options is not None and self.cluster is None:
            raise ValueError(f"cluster_options: null is needed without a cluster; got {self.cluster_options}")
        return self


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
    ensemble: Names
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
    decoding: DecodingSettings | None  # None: two runs are compared, each by its own search
    evaluation: EvaluationSettings

    @pydantic.model_validator(mode="after")
    def _check_what(self) -> Self:
        if self.run is None and self.hypothesis is None:
            raise ValueError(
                "run: the folder of a run is needed, or hypothesis=FILE reference=FILE; got null"
            )
        if self.run is not None and self.hypothesis is not None:
            raise ValueError(
                f"hypothesis: null is needed with run; got {self.hypothesis}; against={self.hypothesis} compares both"
            )
        if self.ensemble and self.run is None:
            raise ValueError(f"ensemble: [] is needed without `run`; got {', '.join(self.ensemble)}")
        unused = (("checkpoint", "best"), ("split", "test"), ("device", "auto"), ("precision", "auto"))
        for key, needed in unused:
            if self.run is None and getattr(self, key) != needed:
                raise ValueError(f"{key}: {needed} is needed without `run`; got {getattr(self, key)}")
        if self.run is None and self.decoding is not None:
            raise ValueError(
                f"decoding: no search is needed without `run`, since nothing is translated; got {self.decoding.kind}"
            )
        if self.hypothesis is not None and self.reference is None:
            raise ValueError("reference: the file to compare `hypothesis` with is needed; got null")
        for key, other in (("source", "reference"), ("reference", "source")):
            if self.run is not None and getattr(self, key) is None and getattr(self, other) is not None:
                raise ValueError(f"{key}: a file is needed with run and {other}; got null")
        if self.against is not None and self.num_resamples is None:
            raise ValueError("num_resamples: a number is needed with `against`; got null")
        if any(low >= high for low, high in itertools.pairwise(self.length_buckets)):
            raise ValueError(f"length_buckets: rising numbers are needed; got {self.length_buckets}")
        if self.comet is not None and self.run is None and self.source is None:
            raise ValueError("source: the text that was translated is needed with `comet`; got null")
        if self.comet is not None and len(references := as_list(self.reference or [])) > 1:
            raise ValueError(f"reference: one file is needed with `comet`; got {len(references)}")
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
    decoding: DecodingSettings | None  # None: two runs are compared, each by its own search
    evaluation: EvaluationSettings


class CompareSettings(Settings):
    """See conf/compare.yaml."""

    runs: Annotated[Names, Field(min_length=1)]
    html: str | None
    overwrite: bool
