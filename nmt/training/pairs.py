"""The pairs that are learned from, as they are segmented in an epoch."""

import logging
from collections.abc import Callable
from functools import partial

import numpy as np
import torch

from nmt.config import TrainSettings
from nmt.data.arrays import Int64Array
from nmt.data.dataset import Dataset
from nmt.data.subword_sampling import refuse_unsampled, sample_dataset
from nmt.data.tokenizer import Tokenizer

logger = logging.getLogger(__name__)

# Text that takes a larger share of a GPU's free memory stays on the host; its batches are gathered there.
LARGEST_SHARE_OF_MEMORY = 0.25


class TrainingPairs:
    """Those pairs of a data set that are trained on; lengths count EOS."""

    def __init__(
        self,
        dataset: Dataset,
        selected: Int64Array,
        device: torch.device,
        resample: Callable[[int], Dataset] | None = None,
    ) -> None:
        """Take the `selected` pairs of a data set; `resample` draws its text anew for an epoch."""
        self.selected, self.device, self.resample = selected, device, resample
        if device.type == "cuda":
            num_bytes = dataset.source.tokens.nbytes + dataset.target.tokens.nbytes
            free, _ = torch.cuda.mem_get_info(device)
            if num_bytes > LARGEST_SHARE_OF_MEMORY * free:
                logger.info("data         stays on the host: %.1f GB", num_bytes / 1e9)
                self.device = torch.device("cpu")
        self.plain = dataset
        self._set(dataset)

    def __len__(self) -> int:
        return len(self.selected)

    def segment(self, epoch: int) -> Dataset:
        """Return the text as it is segmented in an epoch, on the host; nothing else decides but the epoch."""
        return self.plain if self.resample is None else self.resample(epoch)

    def enter(self, dataset: Dataset) -> None:
        """Become the pairs of an epoch, of the text that `segment` returned."""
        if dataset is not self.current:
            self._set(dataset)

    def lengths_of(self, dataset: Dataset) -> tuple[Int64Array, Int64Array]:
        """Return the lengths of both sides of the pairs in a text that `segment` returned."""
        return dataset.source.lengths[self.selected] + 1, dataset.target.lengths[self.selected] + 1

    def _set(self, dataset: Dataset) -> None:
        self.current, self.dataset = dataset, dataset.to(self.device)
        self.source_lengths, self.target_lengths = self.lengths_of(dataset)
        self.longer_lengths = np.maximum(self.source_lengths, self.target_lengths)


def training_pairs(
    settings: TrainSettings,
    dataset: Dataset,
    selected: Int64Array,
    tokenizer: Tokenizer,
    device: torch.device,
) -> TrainingPairs:
    """Return the `selected` pairs of a data set, segmented once or anew in each epoch, as the settings say.

    Segmentations are drawn as Kudo (2018) and Provilkov et al. (2020) do; seed and epoch alone decide on them.
    """
    alpha = settings.training.subword_sampling
    if alpha is None:
        return TrainingPairs(dataset, selected, device)
    refuse_unsampled(tokenizer)
    longest = settings.data.max_length
    resample = partial(sample_dataset, dataset, tokenizer, alpha, settings.seed, max_length=longest)
    return TrainingPairs(dataset, selected, device, resample)
