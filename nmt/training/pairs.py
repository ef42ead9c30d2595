"""The pairs that are learned from, as they are segmented in an epoch."""

import logging

import torch

from nmt.config import TrainSettings
from nmt.data.dataset import Dataset, Int64Array
from nmt.data.subword_sampling import refuse_unsampled, sample_dataset
from nmt.data.tokenizer import Tokenizer

logger = logging.getLogger(__name__)

# Text that takes a larger share of a GPU's free memory stays on the host; its batches are gathered there.
LARGEST_SHARE_OF_MEMORY = 0.25


class TrainingPairs:
    """Those pairs of a data set that are trained on; lengths count EOS."""

    def __init__(self, dataset: Dataset, selected: Int64Array, device: torch.device) -> None:
        self.selected, self.device = selected, device
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
        return self.plain

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


class SampledPairs(TrainingPairs):
    """The same, segmented anew in each epoch (Kudo 2018; Provilkov et al. 2020)."""

    def __init__(
        self,
        dataset: Dataset,
        selected: Int64Array,
        device: torch.device,
        tokenizer: Tokenizer,
        alpha: float,
        seed: int,
        max_length: int,
    ) -> None:
        refuse_unsampled(tokenizer)
        super().__init__(dataset, selected, device)
        self.tokenizer, self.alpha, self.seed, self.max_length = tokenizer, alpha, seed, max_length

    def segment(self, epoch: int) -> Dataset:
        """Draw the segmentation of an epoch; what is drawn depends on seed and epoch alone."""
        return sample_dataset(self.plain, self.tokenizer, self.alpha, self.seed, epoch, self.max_length)


def training_pairs(
    settings: TrainSettings,
    dataset: Dataset,
    selected: Int64Array,
    tokenizer: Tokenizer,
    device: torch.device,
) -> TrainingPairs:
    """Return the `selected` pairs of a data set, segmented once or anew in each epoch, as the settings say."""
    alpha = settings.training.subword_sampling
    if alpha is None:
        return TrainingPairs(dataset, selected, device)
    return SampledPairs(dataset, selected, device, tokenizer, alpha, settings.seed, settings.data.max_length)
