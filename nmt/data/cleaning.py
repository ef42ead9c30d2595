"""Cleaning of a corpus before it is learned from: filters, and a warning where it holds what it is tested with."""

import logging
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from nmt.config import FilterSettings
from nmt.data.corpus import Corpus
from nmt.data.dataset import LeftOut
from nmt.data.filters import Counts, describe, filter_corpus
from nmt.data.fingerprints import Fingerprints, Mask, Overlap, find_overlap
from nmt.errors import LineNumbers

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class PreparedCorpus:
    """A corpus to learn from, and what is known of it."""

    corpus: Corpus
    kept: Mask  # which of the training pairs that were read
    filtered: Counts
    overlaps: dict[str, Overlap]  # with training, of validation and test text

    def log(self) -> None:
        """Say in a line each what was left out, and which held-out text was not."""
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
        """Say which training pairs, by their places in the text as it was read, cannot be learned from."""
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

    def as_dict(self, left_out: LeftOut) -> dict[str, Any]:
        """Return the numbers of training pairs for JSON: read, left out by filters and for length, and overlaps."""
        return {
            "num_read": len(self.kept),
            "filtered": self.filtered,
            "empty": len(left_out.empty),
            "too_long": len(left_out.too_long),
            "num_train": len(self.corpus.train.source) - len(left_out.empty) - len(left_out.too_long),
            "overlaps": {split: asdict(overlap) for split, overlap in self.overlaps.items()},
        }


def prepare_corpus(corpus: Corpus, settings: FilterSettings) -> PreparedCorpus:
    """Apply the filters to training text, compare what is left with validation and test text, and put tags before it.

    Raises DataError if no training pair stays.
    """
    texts = {"train": corpus.train, "validation": corpus.validation, "test": corpus.test}
    prints = {split: Fingerprints.of(text) for split, text in texts.items() if text is not None}
    filtered, train, counts, kept = filter_corpus(corpus, settings, prints)
    overlaps = {
        split: find_overlap(held_out, train) for split, held_out in prints.items() if split != "train"
    }
    return PreparedCorpus(filtered.tagged(), kept, counts, overlaps)
