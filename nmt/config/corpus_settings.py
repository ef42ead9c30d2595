"""Settings that all sources of text have: conf/data/filter/ and conf/data/augment/."""

from typing import Literal

from nmt.config.kinds import ContextLines, Count, Files, Names, PositiveShare, Ratio, Settings, UnitInterval


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

    @property
    def origin(self) -> str:
        """Where the text comes from, for people."""
        raise NotImplementedError

    @property
    def languages(self) -> tuple[Files, Files]:
        """The names that the text gives to its source and target language; empty, or no language, where it does not."""
        raise NotImplementedError
