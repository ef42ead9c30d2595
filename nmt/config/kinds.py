"""Types of the values in settings, with their ranges, and the base class of all settings."""

import codecs
import re
from typing import Annotated, Any, Literal, LiteralString

import pydantic
from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

MAX_SHARDS = 1_000_000


def _require_text(name: str) -> str:
    """Return the name of an encoding. Raises PydanticCustomError if Python lacks it, or if it is not one of text."""
    try:
        "a".encode(name)  # "hex" and the like make bytes of bytes
        # Files are decoded in blocks, with errors replaced.
        codecs.getincrementaldecoder(name)("replace").decode(b"\xff", final=True)
    except (LookupError, ValueError):
        raise PydanticCustomError(
            "encoding", "utf-8, utf-16, latin-1 or another encoding of Python's"
        ) from None
    return name


def _require_shard(name: str) -> str:
    """Return the name of a shard. Raises PydanticCustomError unless it is I/N with 1 <= I <= N <= MAX_SHARDS."""
    number, _, count = name.partition("/")
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count) <= MAX_SHARDS):
        raise PydanticCustomError("shard", "a part of a file, such as 3/8, the third of eight")
    return name


def _refuse_bool(value: Any) -> Any:
    if isinstance(value, bool):
        raise PydanticCustomError("no_number", "Input should be a number")
    return value


def _refuse_integers(value: Any) -> Any:
    if value == "int8":
        raise PydanticCustomError(
            "integers",
            "auto, float32, bfloat16 or float16 (in 8-bit integers, what is exported translates: "
            "nmt export run=DIR output=FOLDER quantization=int8, then run=FOLDER)",
        )
    return value


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def matching(pattern: str, expected: LiteralString) -> AfterValidator:
    """Return the check that all of a text matches a pattern; its error says in words what is expected."""

    def require(text: str) -> str:
        if re.fullmatch(pattern, text) is None:
            raise PydanticCustomError("pattern", expected)
        return text

    return AfterValidator(require)


Number = BeforeValidator(_refuse_bool)

Share = Annotated[float, Number, Field(ge=0, lt=1)]
UnitInterval = Annotated[float, Number, Field(ge=0, le=1)]
PositiveShare = Annotated[float, Number, Field(gt=0, le=1)]
# These limits are far beyond what anybody trains: a larger number is a typing error, or meant to do harm.
Size = Annotated[int, Number, Field(gt=0, le=65_536)]
Depth = Annotated[int, Number, Field(gt=0, le=1_000)]
# A model with more pieces would exceed the size up to which a stranger's run is read.
VocabularySize = Annotated[int, Number, Field(ge=5, le=1_000_000)]
GeneratedPairs = Annotated[int, Number, Field(gt=0, le=10_000_000)]
Draws = Annotated[int, Number, Field(gt=0, le=1_000_000)]
Shown = Annotated[int, Number, Field(ge=0, le=10_000)]
# Updates, tokens, words, pairs: nothing is allocated in proportion to the number itself.
Count = Annotated[int, Number, Field(gt=0, le=1_000_000_000)]
# Lines of context: their number is part of the name of a piece.
ContextLines = Annotated[int, Number, Field(ge=0, le=99)]
CountOrZero = Annotated[int, Number, Field(ge=0, le=1_000_000_000)]
# torch, NumPy and the JSON reader take seeds up to this limit; nanoseconds since 1970 have 19 digits.
Seed = Annotated[int, Number, Field(ge=0, le=(1 << 63) - 1)]
Rate = Annotated[float, Number, Field(gt=0, le=1_000)]
RateOrZero = Annotated[float, Number, Field(ge=0, le=1_000)]
Weight = Annotated[float, Number, Field(gt=0, le=1e12)]
Ratio = Annotated[float, Number, Field(ge=1, le=1e12)]
Shards = Annotated[int, Number, Field(gt=0, le=MAX_SHARDS)]
Seconds = Annotated[float, Number, Field(gt=0, le=1e12)]
ShardName = Annotated[str, AfterValidator(_require_shard)]
Encoding = Annotated[str, AfterValidator(_require_text)]
# A single name may stand for a list of it.
Names = Annotated[list[str], BeforeValidator(_listed)]
Files = str | Annotated[list[str], Field(min_length=1)]
Runs = Annotated[str, Field(min_length=1)] | Annotated[list[str], Field(min_length=1, max_length=32)]
CheckpointName = Literal["best", "last", "average"] | str  # or step-N
Device = Literal["auto", "cpu", "cuda", "mps"]
Quantization = Literal["float32", "float16", "int8"]
Precision = Literal["auto", "float32", "bfloat16", "float16"]
SearchPrecision = Annotated[Precision, BeforeValidator(_refuse_integers)]


class Settings(pydantic.BaseModel):
    """Base class of all settings: they never change after the check, and unknown keys are refused."""

    model_config = pydantic.ConfigDict(
        frozen=True, extra="forbid", coerce_numbers_to_str=True, allow_inf_nan=False
    )


def as_list(named: str | list[str] | None) -> list[str]:
    """Return the files or runs of a key as a list; the key may hold a single one, a list, or null."""
    return [named] if isinstance(named, str) else named or []
