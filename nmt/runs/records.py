"""Types of the records of a run, which later versions read and strangers may have written."""

from typing import Annotated

import pydantic
from pydantic import Field

from nmt.config import Settings

Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{24,64}$")]
Checkpoint = Annotated[str, Field(pattern=r"^step-[0-9]{6,18}$")]


class Recorded(Settings):
    """A part of a record; keys that a later version adds are ignored."""

    model_config = pydantic.ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)
