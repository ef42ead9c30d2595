"""Types of what a run records, which later versions read and strangers may have written."""

from typing import Annotated

from pydantic import Field

Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{24,64}$")]
Checkpoint = Annotated[str, Field(pattern=r"^step-[0-9]{6,18}$")]
