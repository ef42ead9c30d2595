"""Settings of `nmt distil`: teachers, the use of their translations, and the training of a student."""

import re
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

import pydantic
from pydantic import Field

from nmt.config.kinds import Files, Number, Ratio, Runs, Settings, as_list, matching
from nmt.config.model_settings import TransformerSettings
from nmt.config.recipe_settings import RecipeSettings, check_guided


def _is_url(text: str) -> bool:
    """Whether a text is the name of a host, perhaps with a port, and a path of visible ASCII, and nothing else."""
    try:
        parts = urlsplit(text)
        has_host = (parts.hostname or "").encode("idna") != b""
        has_valid_port = parts.port is None or parts.port > 0
        has_more = "@" in parts.netloc or "?" in text or "#" in text
        return has_host and has_valid_port and not has_more and re.search(r"[^!-~]", parts.path) is None
    except ValueError:
        return False


class DistillationSettings(Settings):
    """See conf/distillation/default.yaml."""

    monolingual: Files | None
    reverse: Runs | None
    monolingual_target: Files | None
    search: dict[str, Any] | None
    num_hypotheses: Annotated[int, Number, Field(gt=0, le=1_000)]
    choose: Literal["all", "closest"]
    min_agreement: Annotated[float, Number, Field(ge=0, le=100)]
    max_ratio: Ratio | None
    server: Literal["libretranslate", "openai"]
    server_model: str | None
    server_temperature: Annotated[float, Number, Field(ge=0, le=2)] | None
    source_language: str | None
    target_language: str | None
    api_key_variable: Annotated[
        str, matching("[A-Za-z_][A-Za-z0-9_]{0,99}", "the name of an environment variable")
    ]
    original: bool
    words: bool


class DistilSettings(RecipeSettings):
    """See conf/distil.yaml."""

    teacher: Runs
    student: Annotated[str, Field(min_length=1)]
    distillation: DistillationSettings
    align: bool
    shortlist: bool
    export: Literal["ctranslate2", "onnx", "huggingface", "marian"] | None

    @property
    def teachers(self) -> list[str]:
        """The teachers, at least one."""
        return as_list(self.teacher)

    @property
    def reverse_teachers(self) -> list[str]:
        """The runs that translate references back, if there are any."""
        return as_list(self.distillation.reverse)

    @property
    def is_remote(self) -> bool:
        """Whether the teacher is a server."""
        return any(teacher.startswith(("http://", "https://")) for teacher in self.teachers)

    @pydantic.model_validator(mode="after")
    def _check_server(self) -> Self:
        distillation = self.distillation
        if not self.is_remote:
            return self
        if len(self.teachers) > 1:
            raise ValueError(f"teacher: one URL, or runs, are needed; got {', '.join(self.teachers)}")
        if not _is_url(self.teachers[0]):
            raise ValueError(
                "teacher: a URL with the name of a host, and a path in ASCII but no user or query, is needed; "
                f"got {self.teachers[0].rpartition('@')[2]}"
            )
        needed = ["source_language", "target_language"] + ["server_model"] * (distillation.server == "openai")
        for key in needed:
            if getattr(distillation, key) is None:
                raise ValueError(
                    f"distillation.{key}: a name that the server knows is needed with a URL; got null"
                )
        is_greedy = distillation.server == "openai" and distillation.server_temperature == 0
        if is_greedy and distillation.num_hypotheses > 1:
            raise ValueError(
                "distillation.server_temperature: more than 0, or null, is needed with several hypotheses, which would "
                "all be the same; got 0"
            )
        if distillation.words:
            raise ValueError(
                "distillation.words: false is needed with a URL, which says nothing of other words; got true"
            )
        if distillation.search is not None:
            raise ValueError(
                "distillation.search: null is needed with a URL, whose server searches as it does"
            )
        return self

    @pydantic.model_validator(mode="after")
    def _check_reverse(self) -> Self:
        if any(run.startswith(("http://", "https://")) for run in self.reverse_teachers):
            raise ValueError(
                f"distillation.reverse: the folder of a run is needed; got {', '.join(self.reverse_teachers)}"
            )
        if self.distillation.monolingual_target is not None and not self.reverse_teachers:
            raise ValueError(
                "distillation.monolingual_target: distillation.reverse=RUN is needed with it, "
                "which translates it back; got null"
            )
        return self

    @pydantic.model_validator(mode="after")
    def _check_student(self) -> Self:
        if self.data.context:
            raise ValueError(
                f"data.context: 0 is needed, since lines are learned alone; got {self.data.context}"
            )
        if self.distillation.words:
            self.check_taught("distillation.words=true")
            if self.training.teacher is not None:
                raise ValueError(
                    "training.teacher: null is needed with distillation.words=true, which takes the key `teacher`; "
                    f"got {self.training.teacher}"
                )
        if self.align and self.data.augment.changes_pairs:
            raise ValueError(
                "data/augment: none is needed with align=true, whose links are those of lines as they are; "
                "got changes of pairs"
            )
        if self.align and self.training.guided_alignment is not None:
            raise ValueError(
                "training.guided_alignment: null is needed with align=true, which links words by the teacher; "
                f"got {self.training.guided_alignment}"
            )
        if self.align:
            check_guided(self.model, self.training, "align=true")
        if self.export is not None and not (
            isinstance(self.model, TransformerSettings) and self.model.decoder == "attention"
        ):
            raise ValueError(
                "export: null is needed, since other programs take a Transformer with model.decoder=attention alone; "
                f"got {self.export}"
            )
        return self
