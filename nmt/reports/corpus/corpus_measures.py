"""Measures of a corpus: of each split, of what splits have in common, and what in them asks for attention."""

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from nmt.config import DataReportSettings
from nmt.data.alignment import Alignment, find_alignment
from nmt.data.arrays import Int64Array
from nmt.data.cleaning import Counts, PreparedCorpus
from nmt.data.corpus import Corpus, ParallelText
from nmt.data.dataset import load_dataset
from nmt.data.duplicates import Fingerprints, Overlap, are_repeated, find_near_duplicates, find_overlap
from nmt.data.tokenizer import Tokenizer
from nmt.reports.corpus.sides import Histogram, SideMeasures, measure_side

NUM_EXAMPLES = 5
# Ratios of lengths from 1 : 16 to 16 : 1, in steps of a quarter of a doubling.
RATIO_EDGES = 2.0 ** (np.arange(-16, 17) / 4)

logger = logging.getLogger(__name__)

Texts = dict[str, ParallelText]


@dataclass(frozen=True)
class SplitMeasures:
    """Measures of the text of one split."""

    num_pairs: int
    num_empty: int  # pairs with a blank side
    num_identical: int  # pairs whose two sides are the same
    lines_identical: list[int]  # numbers of the first ones, from 1
    duplicates: dict[str, int]  # pairs, source lines and target lines that occurred before
    num_too_long: int  # pairs with more than data.max_length tokens on a side
    ratio: float  # characters of the target to those of the source, of the whole text
    ratios: Histogram  # of each pair
    alignment: Alignment
    source: SideMeasures
    target: SideMeasures


@dataclass(frozen=True)
class NearDuplicatePairs:
    """Pairs of one split that are nearly the same as an earlier one, or as one of an earlier split."""

    split: str
    of_split: str
    num_pairs: int
    examples: list[tuple[int, int]]  # numbers of lines in `split` and `of_split`, from 1


@dataclass(frozen=True)
class CorpusMeasures:
    """Measures of a corpus."""

    splits: dict[str, SplitMeasures]
    overlaps: dict[str, Overlap]  # of validation and test with training, before any filter
    near_duplicates: list[NearDuplicatePairs] | None  # None where nobody asked
    num_candidates: int  # for near duplicates
    num_compared: int
    filtered: Counts
    vocabulary_size: tuple[int, int]
    has_pieces: bool  # whether the vocabulary is of pieces, not of words or characters

    def as_dict(self) -> dict[str, Any]:
        """Return all numbers for JSON."""
        return asdict(self)


def measure_corpus(
    corpus: Corpus, prepared: PreparedCorpus, tokenizer: Tokenizer, settings: DataReportSettings
) -> CorpusMeasures:
    """Measure the splits of a corpus as it was read; `prepared` is what filters made of it."""
    texts = corpus.texts
    prints = {split: Fingerprints.of(text) for split, text in texts.items()}
    splits: dict[str, SplitMeasures] = {}
    seen: tuple[Any, Any] = (None, None)
    max_length = settings.data.max_length
    for split, text in texts.items():
        logger.info("%-12s %d pairs are measured", split, len(text.source))
        sizes = [len(text.source)] if corpus.groups is None else corpus.groups.sizes[split]
        splits[split], counts = _measure_split(text, sizes, prints[split], tokenizer, max_length, seen)
        seen = counts if split == "train" else seen
    everything, is_mixture = np.ones(len(prints["train"]), bool), prepared.corpus.groups is not None
    near, num_candidates, num_compared = None, 0, 0
    if settings.near_duplicates:
        logger.info("all          %d pairs are searched for near duplicates", sum(map(len, prints.values())))
        near, num_candidates, num_compared = _near_duplicates(texts, prints)
    return CorpusMeasures(
        splits=splits,
        overlaps={
            split: find_overlap(own, prints["train"], everything, is_mixture)
            for split, own in prints.items()
            if split != "train"
        },
        near_duplicates=near,
        num_candidates=num_candidates,
        num_compared=num_compared,
        filtered=prepared.filtered,
        vocabulary_size=(tokenizer.source.size, tokenizer.target.size),
        has_pieces=settings.tokenizer.kind in ("unigram", "bpe"),
    )


def _measure_split(
    text: ParallelText,
    sizes: Sequence[int],
    prints: Fingerprints,
    tokenizer: Tokenizer,
    max_length: int,
    seen: tuple[Any, Any],
) -> tuple[SplitMeasures, tuple[Any, Any]]:
    dataset = load_dataset(text, tokenizer)
    source, source_counts = measure_side(text.source, sizes, dataset.source, tokenizer.source, seen[0])
    target, target_counts = measure_side(text.target, sizes, dataset.target, tokenizer.target, seen[1])
    lengths = [np.fromiter(map(len, side), np.int64, len(side)) for side in (text.source, text.target)]
    identical = np.flatnonzero(prints.has_text & (prints.source == prints.target))
    with_text = prints.select(prints.has_text)
    longest = np.maximum(dataset.source.lengths, dataset.target.lengths)
    measures = SplitMeasures(
        num_pairs=len(prints),
        num_empty=int((~prints.has_text).sum()),
        num_identical=len(identical),
        lines_identical=(identical[:NUM_EXAMPLES] + 1).tolist(),
        duplicates={
            kind: int(are_repeated(getattr(with_text, kind)).sum()) for kind in ("pair", "source", "target")
        },
        num_too_long=int(((longest > max_length) & prints.has_text).sum()),
        ratio=target.num_characters / max(source.num_characters, 1),
        ratios=_histogram_of_ratios(*(length[prints.has_text] for length in lengths)),
        alignment=find_alignment(*lengths),
        source=source,
        target=target,
    )
    return measures, (source_counts, target_counts)


def _histogram_of_ratios(source: Int64Array, target: Int64Array) -> Histogram:
    """Count the ratios of lengths; those beyond the ends are in the first and the last bin."""
    ratios = np.clip(target / np.maximum(source, 1), RATIO_EDGES[0], RATIO_EDGES[-1] * 0.999)
    counts, _ = np.histogram(ratios, RATIO_EDGES)
    return Histogram(RATIO_EDGES.tolist(), counts.tolist())


def _near_duplicates(
    texts: Texts, prints: dict[str, Fingerprints]
) -> tuple[list[NearDuplicatePairs], int, int]:
    """Find near duplicates among the pairs of all splits that do not repeat an earlier pair exactly."""
    names, firsts = list(texts), np.cumsum([0, *(len(own) for own in prints.values())])
    is_new = ~are_repeated(np.concatenate([own.pair for own in prints.values()]))
    has_text = np.concatenate([own.has_text for own in prints.values()])

    def place(index: int) -> tuple[str, int]:
        number = int(np.searchsorted(firsts, index, side="right")) - 1
        return names[number], index - int(firsts[number])

    def text_of(index: int) -> str:
        split, line = place(index)
        return f"{texts[split].source[line]} {texts[split].target[line]}"

    found = find_near_duplicates(np.flatnonzero(is_new & has_text), text_of)
    groups: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for later, earlier in zip(found.later.tolist(), found.earlier.tolist(), strict=True):
        (split, line), (of_split, of_line) = place(later), place(earlier)
        groups.setdefault((split, of_split), []).append((line + 1, of_line + 1))
    pairs = [
        NearDuplicatePairs(*key, len(lines), _spread(lines))
        for key, lines in sorted(groups.items(), key=lambda item: [names.index(name) for name in item[0]])
    ]
    return pairs, found.num_candidates, found.num_compared


def _spread(items: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    step = max(len(items) // NUM_EXAMPLES, 1)
    return list(items[::step][:NUM_EXAMPLES])
