"""The training pairs, as they are segmented in an epoch."""

import logging
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch

from nmt.config import TrainSettings
from nmt.data.arrays import Int64Array
from nmt.data.augmentation import augment_dataset
from nmt.data.context import Context
from nmt.data.dataset import PAIRS_LOOKED_AT, Dataset, Ids
from nmt.data.learned_lengths import LearnedLengths
from nmt.data.mixture import Groups
from nmt.data.subword_sampling import refuse_unsampled, sample_dataset
from nmt.data.tokenizer import Tokenizer

logger = logging.getLogger(__name__)

# Text that takes a larger share of a GPU's free memory stays on the host; its batches are gathered there.
LARGEST_SHARE_OF_MEMORY = 0.25
# Pairs that are laid out together: that takes some 100 bytes a pair, and a GPU trains on them for minutes.
PAIRS_OF_PART = 2_000_000
USUAL_SHARE = 0.99  # of the lines have at most the usual length


class EpochPart(NamedTuple):
    """All pairs, or a part of them, in one segmentation: a data set, and the rows of it to train on."""

    dataset: Dataset
    rows: Int64Array


class TrainingPairs:
    """The pairs of a data set to train on: all together or, where there are many, a part at a time.

    Parts are numbered over all epochs: 0 to `num_parts` - 1 are the first epoch. Each has every `num_parts`-th pair of
    the text, so that it resembles the whole, and memory does not depend on the length of the text.

    `plain` is the text as it was tokenised, and `current` the part that is trained on, both on the host; `dataset` is
    the text of `current` on the device. An update names pairs by their indices in `rows`, which are those of pairs in
    `dataset`. The lengths, which count EOS, are in the order of `rows`.
    """

    def __init__(
        self,
        dataset: Dataset,
        rows_of_epoch: Int64Array,
        device: torch.device,
        resample: Callable[[Dataset, int], Dataset] | None = None,
    ) -> None:
        """Take some pairs of a data set, each as often as its row is in `rows_of_epoch`, which are in order.

        `resample` changes and segments a data set anew, given the number of the part.
        """
        self.plain, self.rows_of_epoch, self.device, self.resample = dataset, rows_of_epoch, device, resample
        self.num_parts = -(-len(rows_of_epoch) // PAIRS_OF_PART)
        if device.type == "cuda":
            num_bytes = dataset.source.tokens.nbytes + dataset.target.tokens.nbytes
            free, _ = torch.cuda.mem_get_info(device)
            if num_bytes > LARGEST_SHARE_OF_MEMORY * free:
                logger.info("data         stays on the host: %.1f GB", num_bytes / 1e9)
                self.device = torch.device("cpu")
        self.dataset = dataset.to(self.device)
        self._set(EpochPart(dataset, self.rows_of(0)))

    def rows_of(self, number: int) -> Int64Array:
        """Return the indices in the text of the pairs of a part."""
        return np.asarray(self.rows_of_epoch[number % self.num_parts :: self.num_parts])

    def totals(self) -> tuple[int, int, int]:
        """Return the numbers of pairs, of source tokens and of target tokens in an epoch."""
        parts = (EpochPart(self.plain, self.rows_of(number)) for number in range(self.num_parts))
        of_parts = [self.lengths_of(part) for part in ([self.current] if self.num_parts == 1 else parts)]
        source, target = (sum(int(lengths[side].sum()) for lengths in of_parts) for side in range(2))
        return sum(len(lengths) for lengths, _ in of_parts), source, target

    def segment(self, number: int) -> EpochPart:
        """Return a part as it is segmented in its turn, on the host; the result depends on its number alone."""
        rows = self.rows_of(number)
        if self.resample is None:
            return EpochPart(self.plain, rows)
        if self.num_parts == 1:
            return EpochPart(self.resample(self.plain, number), rows)
        return EpochPart(self.resample(self.plain.take(rows), number), np.arange(len(rows)))

    def enter(self, part: EpochPart) -> None:
        """Switch to a part that `segment` returned."""
        if part.dataset is not self.current.dataset:
            self.dataset = part.dataset.to(self.device)
        self._set(part)

    @staticmethod
    def lengths_of(part: EpochPart) -> tuple[Int64Array, Int64Array]:
        """Return the source lengths and the target lengths of the pairs of a part, EOS counted."""
        source, target = (ids.lengths_of(part.rows) + 1 for ids in (part.dataset.source, part.dataset.target))
        return source, target

    def _set(self, part: EpochPart) -> None:
        self.current, self.rows = part, part.rows
        self.source_lengths, self.target_lengths = self.lengths_of(part)
        self.longer_lengths = np.maximum(self.source_lengths, self.target_lengths)


def training_pairs(
    settings: TrainSettings,
    dataset: Dataset,
    selected: Int64Array,
    tokenizer: Tokenizer,
    device: torch.device,
    groups: Groups | None = None,
) -> TrainingPairs:
    """Return the `selected` pairs of a data set, changed and segmented once or anew in each epoch, as the settings say.

    In a mixture, each of its `groups` has its share. Segmentations are drawn as Kudo (2018) and Provilkov et al. (2020)
    do; they depend on the seed and the number of the part alone.
    """
    rows = selected if groups is None else groups.repeat(selected, settings.seed)
    alpha, augment = settings.training.subword_sampling, settings.data.augment
    if alpha is None and not augment.changes_pairs:
        return TrainingPairs(dataset, rows, device)
    if alpha is not None:
        refuse_unsampled(tokenizer)
    longest, seed = settings.data.max_length, settings.seed

    def resample(plain: Dataset, number: int) -> Dataset:
        if augment.changes_pairs:
            plain = augment_dataset(plain, tokenizer, augment, seed, number, longest)
        return plain if alpha is None else sample_dataset(plain, tokenizer, alpha, seed, number, longest)

    return TrainingPairs(dataset, rows, device, resample)


def learned_lengths(dataset: Dataset, selected: Int64Array, context: Context) -> LearnedLengths:
    """Return the usual and the longest length of the source lines of the `selected` pairs, EOS not counted."""
    counts, with_context = np.zeros(1, np.int64), 0  # counts of the lines of each length
    for start in range(0, len(selected), PAIRS_LOOKED_AT):
        rows = selected[start : start + PAIRS_LOOKED_AT]
        lengths = dataset.source.lengths_of(rows)
        with_context = max(with_context, int(lengths.max()))
        if context.num_lines:
            lengths = lengths_behind(dataset.source.take(rows), context.separator_id)
        found = np.bincount(lengths)
        longer, shorter = (found, counts) if len(found) > len(counts) else (counts, found)
        counts = longer + np.pad(shorter, (0, len(longer) - len(shorter)))
    usual = int(np.searchsorted(np.cumsum(counts), USUAL_SHARE * len(selected)))
    return LearnedLengths(usual, len(counts) - 1, with_context if context.num_lines else None)


def lengths_behind(ids: Ids, separator_id: int) -> Int64Array:
    """Return the number of tokens after the last separator in each sentence; all of them where there is none."""
    places = np.flatnonzero(ids.tokens.numpy() == separator_id)
    starts, ends = ids.offsets[:-1], ids.offsets[1:]
    last = np.concatenate([[-1], places])[np.searchsorted(places, ends)]
    return ends - np.maximum(last + 1, starts)
