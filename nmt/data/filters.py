"""Training pairs that are left out, as data.filter says; each is counted under the first reason that holds."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from nmt.config import FilterSettings
from nmt.data.characters import OTHER, SCRIPTS, script_shares
from nmt.data.corpus import Corpus, ParallelText
from nmt.data.fingerprints import BLANK, Fingerprints, Mask, are_among, are_repeated
from nmt.errors import DataError, SettingsError, nearest

Counts = dict[str, int]


def filter_corpus(
    corpus: Corpus, settings: FilterSettings, prints: dict[str, Fingerprints]
) -> tuple[Corpus, Fingerprints, Counts, Mask]:
    """Return a corpus whose training text has passed, its fingerprints, counts for each filter, and which pairs stay.

    `prints` are the fingerprints of the splits, by their names. A pair with a blank side is nobody's business here:
    training leaves it out, and counts it, anyway. Raises DataError if nothing stays.
    """
    _require_known(settings)
    train, kept = prints["train"], np.ones(len(prints["train"]), bool)
    held_out = [prints[split] for split in ("validation", "test") if split in prints]
    counts: Counts = {}
    for name, rejected in _rejections(corpus.train, settings, train, held_out, kept):
        rejected &= kept & train.has_text
        counts[name] = int(rejected.sum())
        kept &= ~rejected
    if not kept.any():
        raise DataError(f"data.filter: a training pair that passes is needed; got none: {describe(counts)}")
    if kept.all():
        return corpus, train, counts, kept
    indices = np.flatnonzero(kept).tolist()
    text = ParallelText([corpus.train.source[i] for i in indices], [corpus.train.target[i] for i in indices])
    groups = corpus.groups and corpus.groups.keep(kept)
    return Corpus(text, corpus.validation, corpus.test, groups), train.select(kept), counts, kept


def describe(counts: Counts) -> str:
    """Return the counts of all filters in words."""
    return ", ".join(f"{number} by {name}" for name, number in counts.items())


def _rejections(
    text: ParallelText,
    settings: FilterSettings,
    train: Fingerprints,
    held_out: Sequence[Fingerprints],
    kept: Mask,
) -> Iterator[tuple[str, Mask]]:
    """Yield, for each filter that is on, its key and the pairs that do not pass; `kept` grows smaller meanwhile."""
    if settings.min_words is not None or settings.max_words is not None:
        words = [_counts(map(str.split, side), len(side)) for side in (text.source, text.target)]
        if settings.min_words is not None:
            yield "min_words", np.minimum(*words) < settings.min_words
        if settings.max_words is not None:
            yield "max_words", np.maximum(*words) > settings.max_words
    if settings.max_characters is not None or settings.max_ratio is not None:
        characters = [_counts(map(str.strip, side), len(side)) for side in (text.source, text.target)]
        longer, shorter = np.maximum(*characters), np.minimum(*characters)
        if settings.max_characters is not None:
            yield "max_characters", longer > settings.max_characters
        if settings.max_ratio is not None:
            yield "max_ratio", longer > settings.max_ratio * shorter
    for side in ("source", "target"):
        scripts: list[str] | None = getattr(settings, f"{side}_scripts")
        if scripts is not None:
            yield f"{side}_scripts", script_shares(getattr(text, side), scripts) < settings.script_share
    if settings.identical:
        yield "identical", train.source == train.target
    if settings.overlap != "none":
        kinds = ("source", "target") if settings.overlap == "either" else (settings.overlap,)
        found = np.zeros(len(train), bool)
        for kind in kinds:
            known = np.concatenate([getattr(prints, kind) for prints in held_out])
            found |= are_among(getattr(train, kind), known[known != BLANK])
        yield "overlap", found
    if settings.duplicates != "none":
        candidates = kept & train.has_text  # of what is left out already, the next one is the first
        repeated = np.zeros(len(train), bool)
        repeated[candidates] = are_repeated(getattr(train, settings.duplicates)[candidates])
        yield "duplicates", repeated


def _counts(parts: Iterator[Sequence[str]] | Iterator[str], length: int) -> npt.NDArray[np.int64]:
    return np.fromiter(map(len, parts), np.int64, length)


def _require_known(settings: FilterSettings) -> None:
    names = [script for script in SCRIPTS if script not in ("", OTHER)]
    for key in ("source_scripts", "target_scripts"):
        for script in getattr(settings, key) or []:
            if script not in names:
                close = nearest(script, names) or f"; there are {', '.join(names)}"
                raise SettingsError(f"data.filter.{key}: a script of Unicode is needed; got {script}{close}")
