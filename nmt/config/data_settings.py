"""Settings of text: conf/data/."""

from pathlib import PurePath
from typing import Annotated, Any, Literal, Self

import pydantic
from pydantic import Discriminator, Field, Tag

from nmt.config.corpus_settings import CorpusSettings
from nmt.config.kinds import (
    Count,
    CountOrZero,
    Encoding,
    Files,
    GeneratedPairs,
    Number,
    Seed,
    Settings,
    Weight,
    as_list,
    matching,
)


class GrammarData(CorpusSettings):
    """See conf/data/grammar.yaml."""

    kind: Literal["grammar"]
    seed: Seed
    num_train: GeneratedPairs
    num_validation: GeneratedPairs
    num_test: GeneratedPairs

    @property
    def origin(self) -> str:
        """See CorpusSettings."""
        return "the built-in German and English; your own two files: data=files"

    @property
    def languages(self) -> tuple[Files, Files]:
        """See CorpusSettings."""
        return "de", "en"


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


def _listed(names: Files) -> str:
    return ", ".join(as_list(names))


def _ending(files: Files) -> str:
    """Return how the name of a file ends, without that of compression: `de` of `train.de.gz`."""
    name = as_list(files)[0].removesuffix(".gz").removesuffix(".zst")
    return PurePath(name).suffix.removeprefix(".")


def _only(names: set[str]) -> str:
    return names.pop() if len(names) == 1 else ""


TestSetName = Annotated[str, Tag("name")]
"""A test set of sacreBLEU with its language pair: `wmt14:de-en`."""


class FilesData(CorpusSettings):
    """See conf/data/files.yaml."""

    kind: Literal["files"]
    train: TextPair
    validation: Annotated[Annotated[TextPair, Tag("files")] | TestSetName, Discriminator(_is_name)]
    test: Annotated[Annotated[OptionalTextPair, Tag("files")] | TestSetName, Discriminator(_is_name)]
    encoding: Encoding

    @property
    def origin(self) -> str:
        """See CorpusSettings."""
        return f"from {_listed(self.train.source)} to {_listed(self.train.target)}"

    @property
    def languages(self) -> tuple[Files, Files]:
        """See CorpusSettings."""
        return _ending(self.train.source), _ending(self.train.target)


class Multi30kData(CorpusSettings):
    """See conf/data/multi30k.yaml."""

    kind: Literal["multi30k"]
    directory: str
    source_language: Literal["de", "en", "fr", "cs"]
    target_language: Literal["de", "en", "fr", "cs"]

    @property
    def origin(self) -> str:
        """See CorpusSettings."""
        return f"Multi30k, from {self.directory}"

    @property
    def languages(self) -> tuple[Files, Files]:
        """See CorpusSettings."""
        return self.source_language, self.target_language

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

    @property
    def origin(self) -> str:
        """See CorpusSettings."""
        return f"the data set {self.path}"

    @property
    def languages(self) -> tuple[Files, Files]:
        """See CorpusSettings."""
        return self.source_column, self.target_column

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

    @property
    def origin(self) -> str:
        """See CorpusSettings."""
        return f"{', '.join(self.corpora)} of OPUS, from {self.source} to {self.target}"

    @property
    def languages(self) -> tuple[Files, Files]:
        """See CorpusSettings."""
        return self.source, self.target

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

    @property
    def origin(self) -> str:
        """See CorpusSettings."""
        return f"from {self.source_column} to {self.target_column}, in {_listed(self.train)}"

    @property
    def languages(self) -> tuple[Files, Files]:
        """See CorpusSettings."""
        return self.source_column, self.target_column

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

    @property
    def origin(self) -> str:
        """See CorpusSettings."""
        return f"from {_listed(self.source)} to {_listed(self.target)}, in {_listed(self.train)}"

    @property
    def languages(self) -> tuple[Files, Files]:
        """See CorpusSettings."""
        return self.source, self.target

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

    @property
    def origin(self) -> str:
        """See CorpusSettings."""
        return f"a mixture of {len(self.pairs)} pairs of languages"

    @property
    def languages(self) -> tuple[Files, Files]:
        """See CorpusSettings."""
        return _only({part.source for part in self.pairs}), _only({part.target for part in self.pairs})

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
