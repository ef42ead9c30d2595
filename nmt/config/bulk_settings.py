"""Settings of the commands that process a text line by line, however long it is."""

import codecs
from typing import Annotated, Literal, Self

import pydantic
from pydantic import Field

from nmt.config.decoding_settings import DecodingSettings
from nmt.config.kinds import (
    CheckpointName,
    Count,
    Device,
    Encoding,
    Names,
    Number,
    SearchPrecision,
    Settings,
    ShardName,
    Shards,
)


class BulkSettings(Settings):
    """The keys of commands that process a file line by line, however long it is."""

    run: str
    checkpoint: CheckpointName
    ensemble: Names
    encoding: Encoding
    target_language: str | None
    output: str | None
    format: Literal["text", "jsonl"]
    overwrite: bool
    resume: bool
    shard: ShardName | None
    engine: Literal["local", "ray"]
    workers: Count | None
    device: Device
    precision: SearchPrecision
    decoding: DecodingSettings

    @property
    def first(self) -> tuple[str, str | None]:
        """The key and the path of the file whose lines are counted; None stands for standard input."""
        raise NotImplementedError

    @pydantic.model_validator(mode="after")
    def _check_files(self) -> Self:
        reason = (
            "engine=ray" if self.engine == "ray" else None if self.shard is None else f"shard={self.shard}"
        )
        for key, value in (self.first, ("output", self.output)):
            if reason is not None and value is None:
                raise ValueError(f"{key}: a file is needed with {reason}; got null")
        if self.shard is not None and codecs.lookup(self.encoding).name != "utf-8":
            raise ValueError(f"encoding: utf-8 is needed with shard={self.shard}; got {self.encoding}")
        if self.engine == "local" and self.workers is not None:
            raise ValueError(f"workers: null is needed with engine=local; got {self.workers}")
        for ending, program in ((".gz", "gzip"), (".zst", "zstd")):
            if self.output is not None and self.output.lower().endswith(ending):
                raise ValueError(
                    f"output: a name without {ending} is needed, since it is not compressed (| {program} does it); "
                    f"got {self.output}"
                )
        if self.resume and self.output is None:
            raise ValueError("output: the file to go on with is needed with resume=true; got null")
        return self


class TranslateSettings(BulkSettings):
    """See conf/translate.yaml."""

    input: str | None
    column: str | None
    prefix: str | None
    num_hypotheses: Annotated[int, Number, Field(gt=0, le=1_000)]

    @property
    def first(self) -> tuple[str, str | None]:
        """The input."""
        return "input", self.input

    @pydantic.model_validator(mode="after")
    def _check_format(self) -> Self:
        if self.num_hypotheses > 1 and self.format == "text":
            raise ValueError(
                f"format: jsonl is needed with num_hypotheses={self.num_hypotheses}, since as many lines come out as "
                "go in; got text"
            )
        if self.column is not None and (self.input is None or self.shard is not None):
            raise ValueError(
                f"column: null is needed {'with shard' if self.input else 'for standard input'}; got {self.column}"
            )
        return self


class ScoreSettings(BulkSettings):
    """See conf/score.yaml."""

    source: str
    target: str

    @property
    def first(self) -> tuple[str, str | None]:
        """The source."""
        return "source", self.source


class AlignSettings(ScoreSettings):
    """See conf/align.yaml."""


class JoinSettings(Settings):
    """See conf/join.yaml."""

    input: str
    output: str
    shards: Shards
    overwrite: bool
