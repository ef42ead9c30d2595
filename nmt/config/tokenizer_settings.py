"""Settings of tokenizers: conf/tokenizer/."""

from typing import Annotated, Literal, Self

import pydantic
from pydantic import Field

from nmt.config.kinds import Number, Settings, VocabularySize


class TokenizerSettings(Settings):
    """See conf/tokenizer/."""

    kind: Literal["unigram", "bpe", "word", "char"]
    vocabulary_size: VocabularySize
    character_coverage: Annotated[float, Number, Field(ge=0.98, le=1)]  # the limits of SentencePiece
    byte_fallback: bool
    normalization: Literal["identity", "nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf"]
    joint: bool
    model: str | None

    @pydantic.model_validator(mode="after")
    def _check_sides(self) -> Self:
        if self.model is not None and not self.joint:
            raise ValueError(
                "joint: true is needed, since `model` is one vocabulary for both sides; got false"
            )
        if self.byte_fallback and self.kind in ("word", "char"):
            raise ValueError(f"byte_fallback: false is needed with tokenizer={self.kind}; got true")
        return self
