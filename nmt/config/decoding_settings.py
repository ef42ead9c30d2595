"""Settings of searches: conf/decoding/."""

import re
from typing import Annotated, Literal, Self, get_args

import pydantic
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from nmt.config.kinds import Number, PositiveShare, Seed, Settings, Size, matching

ProtectedName = Literal["placeholders", "tags", "urls", "emails", "numbers"]
NAMES = ", ".join(get_args(ProtectedName))


def _require_pattern(pattern: str) -> str:
    """Return an item of `protect`. Raises PydanticCustomError if it is neither a known name nor a pattern."""
    # A word of small letters alone is a name, or a misspelt one, but no pattern.
    is_pattern = re.search(r"[^\s*a-z]", pattern) and "**" not in pattern
    if pattern not in get_args(ProtectedName) and not is_pattern:
        raise PydanticCustomError(
            "protect", f"a list of {NAMES}, or of patterns with more than small letters, as SKU-*,"
        )
    return pattern


Protected = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(_require_pattern)]


class SearchSettings(Settings):
    """The keys that all searches have."""

    max_length_ratio: Annotated[float, Number, Field(ge=0, le=100)]
    max_length_extra: Annotated[int, Number, Field(ge=0, le=10_000)]
    min_length: Annotated[int, Number, Field(ge=0, le=10_000)]
    repetition_penalty: Annotated[float, Number, Field(ge=0.1, le=10)]
    no_repeat_ngram_size: Size | None
    shortlist: bool
    split: Literal["long", "sentences", "none"]
    sentence_splitter: Annotated[
        str, matching("rules|sentencex:[a-z]{2,3}", "rules, or sentencex:LANGUAGE such as sentencex:de,")
    ]
    long_line: Size | None
    long_sentence: Size | None
    max_source_tokens: Size
    max_tokens: Annotated[int, Number, Field(gt=0, le=1 << 24)]

    @property
    def most_hypotheses(self) -> int | None:
        """The most translations of a line that the search can give; None where there is no limit."""
        return 1

    @pydantic.model_validator(mode="after")
    def _check_lengths(self) -> Self:
        longest = int(self.max_length_extra + self.max_length_ratio * self.max_source_tokens)
        if longest == 0:
            raise ValueError(
                "max_length_extra: more than 0 is needed with max_length_ratio=0, for a translation to have a token; "
                f"got {self.max_length_extra}"
            )
        if self.min_length > longest:
            raise ValueError(
                f"min_length: at most {longest} is needed, the limit of the longest source; got {self.min_length}"
            )
        return self


class GreedySettings(SearchSettings):
    """See conf/decoding/greedy.yaml."""

    kind: Literal["greedy"]


class BeamSettings(SearchSettings):
    """See conf/decoding/beam.yaml."""

    kind: Literal["beam"]
    beam_size: Annotated[int, Number, Field(gt=0, le=1_000)]
    length_penalty: Annotated[float, Number, Field(ge=0, le=10)]
    length_penalty_kind: Literal["power", "wu"]
    coverage_penalty: Annotated[float, Number, Field(ge=0, le=10)]
    early_stopping: bool
    num_groups: Annotated[int, Number, Field(gt=0, le=1_000)]
    diversity_penalty: Annotated[float, Number, Field(ge=0, le=100)]
    glossary: Annotated[str, Field(min_length=1)] | None
    protect: Annotated[list[Protected], Field(max_length=100)]

    @property
    def most_hypotheses(self) -> int:
        """All that are in the beam."""
        return self.beam_size

    @pydantic.model_validator(mode="after")
    def _check_groups(self) -> Self:
        if self.beam_size % self.num_groups:
            raise ValueError(
                f"num_groups: a divisor of beam_size={self.beam_size} is needed; got {self.num_groups}"
            )
        if self.num_groups > 1 and (self.glossary is not None or self.protect):
            raise ValueError(f"num_groups: 1 is needed with glossary or protect; got {self.num_groups}")
        if self.num_groups > 1 and self.coverage_penalty:
            raise ValueError(
                "num_groups: 1 is needed with coverage_penalty, which ranks all hypotheses together; "
                f"got {self.num_groups}"
            )
        return self


class RandomSettings(SearchSettings):
    """The keys of searches that draw tokens at random."""

    temperature: Annotated[float, Number, Field(ge=0.01, le=100)]
    top_k: Size | None
    top_p: PositiveShare | None
    seed: Seed


class SamplingSettings(RandomSettings):
    """See conf/decoding/sampling.yaml."""

    kind: Literal["sampling"]

    @property
    def most_hypotheses(self) -> None:
        """No limit: each is drawn for itself."""
        return


class MBRSettings(RandomSettings):
    """See conf/decoding/mbr.yaml."""

    kind: Literal["mbr"]
    num_samples: Annotated[int, Number, Field(gt=1, le=1_000)]
    utility: Literal["chrf", "bleu"]

    @property
    def most_hypotheses(self) -> int:
        """All samples, ranked by their expected utility."""
        return self.num_samples


DecodingSettings = Annotated[
    GreedySettings | BeamSettings | SamplingSettings | MBRSettings, Field(discriminator="kind")
]
