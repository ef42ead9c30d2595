"""Settings of the server."""

from typing import Annotated, Self

import pydantic
from pydantic import Field

from nmt.config.format_settings import LanguageCode
from nmt.config.kinds import (
    CheckpointName,
    Count,
    CountOrZero,
    Device,
    Names,
    Number,
    SearchPrecision,
    Settings,
    matching,
)

Port = Annotated[int, Number, Field(ge=0, le=65_535)]
Milliseconds = Annotated[float, Number, Field(ge=0, le=60_000)]
# The limit is longer than anybody waits for an answer.
WaitSeconds = Annotated[float, Number, Field(gt=0, le=86_400)]
Proxies = Annotated[int, Number, Field(ge=0, le=100)]
Prefix = Annotated[str, matching("(/[A-Za-z0-9._~-]+)*", "a path such as /mt, or nothing,")]


class ServeSettings(Settings):
    """See conf/serve.yaml."""

    run: str | None
    runs: Names
    checkpoint: CheckpointName
    source_language: LanguageCode | None
    target_language: LanguageCode | None
    host: str
    port: Port
    url_prefix: Prefix
    memory: Count | None
    batch_lines: Count
    batch_milliseconds: Milliseconds
    max_characters: Count | None
    max_texts: Count | None
    max_alternatives: CountOrZero
    max_bytes: Count
    max_waiting: Count
    max_connections: Count
    requests_per_minute: Count | None
    characters_per_minute: Count | None
    proxies: Proxies
    body_seconds: WaitSeconds
    shutdown_seconds: WaitSeconds
    held_bytes: CountOrZero
    api_keys: str | None
    api_key_link: str | None
    suggestions: str | None
    device: Device
    precision: SearchPrecision

    @property
    def folders(self) -> list[str]:
        """The folders of all runs."""
        return [*([] if self.run is None else [self.run]), *self.runs]

    @pydantic.model_validator(mode="after")
    def _check_runs(self) -> Self:
        if not self.folders:
            raise ValueError("run: the folder of a run is needed, or several as runs=[A,B]; got null")
        for key in ("source_language", "target_language"):
            if len(self.folders) > 1 and getattr(self, key) is not None:
                raise ValueError(f"{key}: null is needed with several runs; got {getattr(self, key)}")
        if self.api_key_link is not None and self.api_keys is None:
            raise ValueError(f"api_key_link: null is needed without api_keys; got {self.api_key_link}")
        return self
