"""Settings of text and tokenizers: conf/data/ and conf/tokenizer/."""

from typing import Annotated, Any, Literal, Self

import pydantic
from pydantic import Discriminator, Field, Tag

from nmt.config.kinds import (
    ContextLines,
    Count,
    CountOrZero,
    Encoding,
    Files,
    GeneratedPairs,
    Names,
    Number,
    PositiveShare,
    Ratio,
    Seed,
    Settings,
    UnitInterval,
    VocabularySize,
    Weight,
    as_list,
    matching,
)


class FilterSettings(Settings):
    """See conf/data/filter/."""

    min_words: Count | None
    max_words: Count | None
    max_characters: Count | None
    max_ratio: Ratio | None
    identical: bool
    duplicates: Literal["none", "pair", "source", "target"]
    overlap: Literal["none", "pair", "source", "target", "either"]
    source_scripts: Names | None
    target_scripts: Names | None
    script_share: PositiveShare


class AugmentSettings(Settings):
    """See conf/data/augment/."""

    exchange: UnitInterval
    upper_case: UnitInterval
    title_case: UnitInterval
    end_punctuation: UnitInterval
    typos: UnitInterval
    noise: UnitInterval

    @property
    def changes_pairs(self) -> bool:
        """Whether any pair is changed."""
        return any(dict(self).values())


class CorpusSettings(Settings):
    """The keys that all choices in conf/data/ have."""

    filter: FilterSettings
    augment: AugmentSettings
    max_length: Count
    context: ContextLines


class GrammarData(CorpusSettings):
    """See conf/data/grammar.yaml."""

    kind: Literal["grammar"]
    seed: Seed
    num_train: GeneratedPairs
    num_validation: GeneratedPairs
    num_test: GeneratedPairs


class TextPair(Settings):
    """The files of the two sides."""

    source: Files
    target: Files

    @pydantic.model_validator(mode="after")
    def _check_other(self) -> Self:
        _require_other("target", self.target, self.source, "file")
        return self


class OptionalTextPair(Settings):
    """The files of the two sides; both are None where there is no such text."""

    source: Files | None
    target: Files | None

    @pydantic.model_validator(mode="after")
    def _check_both(self) -> Self:
        if (self.source is None) != (self.target is None):
            given, missing = ("source", "target") if self.target is None else ("target", "source")
            raise ValueError(f"{missing}: a file is needed, since {given} is given; got null")
        if self.source is not None:
            _require_other("target", self.target, self.source, "file")
        return self


def _require_other(key: str, target: Any, source: Any, what: str) -> None:
    """Raise ValueError where both sides are the same: what learns to copy has a high BLEU."""
    if target == source:
        raise ValueError(f"{key}: another {what} than that of the source is needed; got {target}")


def _is_name(value: Any) -> str:
    return "name" if isinstance(value, str) else "files"


TestSetName = Annotated[str, Tag("name")]
"""A test set of sacreBLEU with its language pair: `wmt14:de-en`."""


class FilesData(CorpusSettings):
    """See conf/data/files.yaml."""

    kind: Literal["files"]
    train: TextPair
    validation: Annotated[Annotated[TextPair, Tag("files")] | TestSetName, Discriminator(_is_name)]
    test: Annotated[Annotated[OptionalTextPair, Tag("files")] | TestSetName, Discriminator(_is_name)]
    encoding: Encoding


class Multi30kData(CorpusSettings):
    """See conf/data/multi30k.yaml."""

    kind: Literal["multi30k"]
    directory: str
    source_language: Literal["de", "en", "fr", "cs"]
    target_language: Literal["de", "en", "fr", "cs"]

    @pydantic.model_validator(mode="after")
    def _check_languages(self) -> Self:
        _require_other("target_language", self.target_language, self.source_language, "language")
        return self


class HubData(CorpusSettings):
    """See conf/data/hub.yaml."""

    kind: Literal["hub"]
    path: str
    name: str | None
    revision: str | None
    data_files: dict[str, Files] | None
    source_column: str
    target_column: str
    train_split: str
    validation_split: str
    test_split: str | None
    test: str | None
    streaming: bool
    num_train: Count | None

    @pydantic.model_validator(mode="after")
    def _check_columns_and_test(self) -> Self:
        _require_other("target_column", self.target_column, self.source_column, "column")
        if self.test is not None and self.test_split is not None:
            raise ValueError(f"test: null is needed beside test_split={self.test_split}; got {self.test}")
        return self


CorpusName = Annotated[
    str, matching("[A-Za-z0-9_.-]{1,80}(/[A-Za-z0-9_.-]{1,40})?", "names such as TED2020 or Europarl/v8")
]
Language = Annotated[
    str, matching("[A-Za-z0-9_-]{1,20}", "a code of at most 20 letters, digits, _ and -, such as de,")
]
Languages = Language | Annotated[list[Language], Field(min_length=1)]


class OpusData(CorpusSettings):
    """See conf/data/opus.yaml."""

    kind: Literal["opus"]
    corpora: list[CorpusName]
    source: Language
    target: Language
    validation: str | None
    num_validation: Count
    test: str | None
    num_test: CountOrZero

    @pydantic.model_validator(mode="after")
    def _check_languages(self) -> Self:
        _require_other("target", self.target, self.source, "language")
        return self

    @pydantic.model_validator(mode="after")
    def _check_context(self) -> Self:
        if self.context and (self.validation is None or (self.test is None and self.num_test)):
            raise ValueError(
                "context: 0 is needed where pairs are held out of the corpora, since these have no neighbours then; "
                f"name test sets as data.validation and data.test, or num_test=0; got {self.context}"
            )
        return self


class TableData(CorpusSettings):
    """See conf/data/table.yaml."""

    kind: Literal["table"]
    train: Files
    validation: Files
    test: Files | None
    source_column: str
    target_column: str
    header: bool
    encoding: Encoding

    @pydantic.model_validator(mode="after")
    def _check_columns(self) -> Self:
        _require_other("target_column", self.target_column, self.source_column, "column")
        return self


class TmxData(CorpusSettings):
    """See conf/data/tmx.yaml."""

    kind: Literal["tmx"]
    train: Files
    validation: Files
    test: Files | None
    source: Languages
    target: Languages

    @pydantic.model_validator(mode="after")
    def _check_languages(self) -> Self:
        both = [
            {name.lower().replace("_", "-") for name in as_list(side)} for side in (self.source, self.target)
        ]
        if both[0] & both[1]:
            raise ValueError(f"target: another language than that of the source is needed; got {self.target}")
        return self


BothSides = tuple[Files, Files]


class PartSettings(Settings):
    """One corpus of a mixture: the files of both sides of each split. Its defaults are in no file of conf/."""

    source: Language
    target: Language
    train: BothSides
    validation: BothSides | None = None
    test: BothSides | None = None
    weight: Weight = 1.0


class MixtureData(CorpusSettings):
    """See conf/data/mixture.yaml."""

    kind: Literal["mixture"]
    pairs: Annotated[list[PartSettings], Field(min_length=1)]
    tags: Literal["auto", "on", "off"]
    temperature: Annotated[float, Number, Field(ge=1, le=100)]

    @pydantic.model_validator(mode="after")
    def _check_parts(self) -> Self:
        if all(part.validation is None for part in self.pairs):
            raise ValueError("pairs: validation text in one of them at least is needed; got none")
        if self.tags == "off" and len({part.target for part in self.pairs}) > 1:
            raise ValueError("tags: on or auto is needed with several target languages; got off")
        if self.context:
            raise ValueError(
                f"context: 0 is needed with data=mixture, whose corpora have tags and shares; got {self.context}"
            )
        if self.augment.exchange and self.has_tags:
            raise ValueError(
                "augment.exchange: 0 is needed with data=mixture and tags, which say what the target language is; "
                f"got {self.augment.exchange}"
            )
        return self

    @property
    def has_tags(self) -> bool:
        """Whether source lines begin with a tag of the target language."""
        return self.tags == "on" or len({part.target for part in self.pairs}) > 1


DataSettings = Annotated[
    GrammarData | FilesData | Multi30kData | HubData | OpusData | TableData | TmxData | MixtureData,
    Field(discriminator="kind"),
]


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
