"""Cleaning of a corpus before training: filters, and a warning if training text holds validation or test text.

Training pairs are left out as data.filter says; each is counted under the first filter that rejects it.
"""

import json
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np

from nmt.config import FilterSettings
from nmt.data.arrays import BoolArray, Int64Array, map_file
from nmt.data.cache import cached_folder, entry_name
from nmt.data.characters import script_shares
from nmt.data.corpus import Corpus, ParallelText
from nmt.data.dataset import LeftOut
from nmt.data.duplicates import BLANK, Fingerprints, Overlap, are_among, find_overlap
from nmt.data.stored_text import open_text, store_text
from nmt.errors import DataError
from nmt.files.reading import read_json
from nmt.files.writing import to_json
from nmt.wording import LineNumbers

KEPT, FACTS = "kept", "facts.json"

logger = logging.getLogger(__name__)

Counts = dict[str, int]


@dataclass(frozen=True)
class PreparedCorpus:
    """A corpus to learn from, and what is known of it."""

    corpus: Corpus
    kept: BoolArray  # whether each training pair that was read stays
    filtered: Counts
    overlaps: dict[str, Overlap]  # with training, of validation and test text

    def log(self) -> None:
        """Log what the filters left out, and warn of validation and test text that is still in training text."""
        if self.filtered:
            logger.info(
                "filter       left out of %d training pairs: %s; %d stay",
                len(self.kept),
                describe(self.filtered),
                len(self.corpus.train.source),
            )
        for split, overlap in self.overlaps.items():
            if overlap.found:
                logger.warning(
                    "%-12s %s; data.filter.overlap=either leaves these out of training", split, overlap
                )

    def warn(self, left_out: LeftOut, max_length: int) -> None:
        """Warn of training pairs that cannot be learned from, with their line numbers in the text as it was read."""
        numbers = np.flatnonzero(self.kept) + 1
        for indices, reason in (
            (left_out.empty, "with an empty side"),
            (left_out.too_long, f"longer than data.max_length={max_length} tokens"),
        ):
            if len(indices):
                lines = LineNumbers(numbers[indices].tolist())
                logger.warning(
                    "left out     %d of %d training pairs %s: %s", len(indices), len(self.kept), reason, lines
                )

    def tell_short(self, num_short: int, context: int) -> None:
        """Log how many training lines lack some of their context."""
        if num_short:
            logger.info(
                "context      %d of %d training lines have fewer than %d lines before them, as many as fit into "
                "data.max_length tokens",
                num_short,
                len(self.corpus.train.source),
                context,
            )

    def as_dict(self, left_out: LeftOut) -> dict[str, Any]:
        """Return numbers of training pairs for JSON: read, left out by filters, empty, too long; and overlaps."""
        return {
            "num_read": len(self.kept),
            "filtered": self.filtered,
            "empty": len(left_out.empty),
            "too_long": len(left_out.too_long),
            "num_train": len(self.corpus.train.source) - len(left_out.empty) - len(left_out.too_long),
            "overlaps": {split: asdict(overlap) for split, overlap in self.overlaps.items()},
        }


def prepare_corpus(corpus: Corpus, settings: FilterSettings) -> PreparedCorpus:
    """Filter training text, compare the rest with validation and test text, and put tags before source lines.

    Text too large for memory is prepared once, into the cache, and the next run reads it from there. No filter rejects
    a pair with a blank side, since training leaves it out and counts it anyway. Raises DataError if no training pair
    stays.
    """
    if not corpus.train.is_stored:
        kept, counts, overlaps = _filter(corpus, settings)
        return PreparedCorpus(corpus.keep(kept).tagged(), kept, counts, overlaps)
    of_groups = corpus.groups and [corpus.groups.names, corpus.groups.tags, corpus.groups.sizes]
    sides = [side for text in corpus.texts.values() for side in (text.source, text.target)]
    name = entry_name("prepared", settings.model_dump_json(), json.dumps(of_groups), *sides)
    folder = cached_folder(name, partial(_store, corpus, settings))
    facts = read_json(folder / FACTS)
    kept = map_file(folder / KEPT, bool)
    train = ParallelText(*open_text(folder)) if facts["is_changed"] else corpus.train
    groups = corpus.groups and corpus.groups.keep(kept)
    overlaps = {split: Overlap(**overlap) for split, overlap in facts["overlaps"].items()}
    return PreparedCorpus(
        replace(corpus, train=train, groups=groups).tagged(), kept, facts["filtered"], overlaps
    )


def _store(corpus: Corpus, settings: FilterSettings, folder: Path) -> None:
    """Write the training text that stays, with its tags, if it differs from what was read; and the facts about it."""
    kept, counts, overlaps = _filter(corpus, settings, folder)
    source: Iterable[str] = corpus.train.source
    if corpus.groups is not None:
        source = corpus.groups.tag("train", source)
    is_changed = source is not corpus.train.source or not kept.all()
    if is_changed:
        store_text(folder, compress(zip(source, corpus.train.target, strict=True), kept), "writing")
    kept.tofile(folder / KEPT)
    overlaps_found = {split: asdict(overlap) for split, overlap in overlaps.items()}
    facts = {"filtered": counts, "overlaps": overlaps_found, "is_changed": is_changed}
    (folder / FACTS).write_bytes(to_json(facts))


def _filter(
    corpus: Corpus, settings: FilterSettings, folder: Path | None = None
) -> tuple[BoolArray, Counts, dict[str, Overlap]]:
    """Return which training pairs stay, how many each filter left out, and overlaps of held-out text with the rest."""
    train = Fingerprints.of(corpus.train, folder)
    held_out = {split: Fingerprints.of(text) for split, text in corpus.texts.items() if split != "train"}
    is_mixture = corpus.groups is not None
    known = [*held_out.values(), *(own.exchanged for own in held_out.values() if is_mixture)]
    kept, counts = np.ones(len(train), bool), Counter[str]()
    for where, prints in train.parts():
        text = ParallelText(corpus.train.source[where], corpus.train.target[where])
        for name, rejected in _rejections(text, settings, prints, known):
            rejected &= kept[where] & prints.has_text
            counts[name] += int(rejected.sum())
            kept[where] &= ~rejected
    if settings.duplicates != "none":  # where the first is left out already, the next one stays
        # A line of several target languages is no duplicate.
        repeated = np.zeros(len(train), bool)
        for own in [kept] if corpus.groups is None else corpus.groups.of_languages():
            repeated |= train.find_repeated(settings.duplicates, own & kept)
        counts["duplicates"] = int(repeated.sum())
        kept &= ~repeated
    if not kept.any():
        raise DataError(f"data.filter: a training pair that passes is needed; got none: {describe(counts)}")
    overlaps = {split: find_overlap(own, train, kept, is_mixture) for split, own in held_out.items()}
    return kept, dict(counts), overlaps


def describe(counts: Mapping[str, int]) -> str:
    """Return the counts of all filters in words."""
    return ", ".join(f"{number} by {name}" for name, number in counts.items())


def _rejections(
    text: ParallelText, settings: FilterSettings, train: Fingerprints, held_out: Sequence[Fingerprints]
) -> Iterator[tuple[str, BoolArray]]:
    """Yield, for each filter of single pairs that is on, its key and the pairs that do not pass."""
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


def _counts(parts: Iterator[Sequence[str]] | Iterator[str], length: int) -> Int64Array:
    return np.fromiter(map(len, parts), np.int64, length)
