"""The pairs that are learned from, as they are segmented in an epoch."""

import logging

import torch

from nmt.config import TrainSettings
from nmt.data.dataset import Dataset, Int64Array
from nmt.data.subword_sampling import refuse_unsampled, sample_dataset
from nmt.data.tokenizer import Tokenizer

logger = logging.getLogger(__name__)

# Of a GPU's free memory: larger text stays on the host, and its batches are gathered there.
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
        self._set(dataset)

    def __len__(self) -> int:
        return len(self.selected)

    def enter(self, epoch: int) -> None:
        """Become the pairs of an epoch."""

    def _set(self, dataset: Dataset) -> None:
        self.dataset = dataset.to(self.device)
        self.source_lengths = dataset.source.lengths[self.selected] + 1
        self.target_lengths = dataset.target.lengths[self.selected] + 1


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
        self.plain, self.tokenizer = dataset, tokenizer
        self.alpha, self.seed, self.max_length = alpha, seed, max_length
        self.epoch: int | None = None

    def enter(self, epoch: int) -> None:
        """Draw the segmentation of an epoch; what is drawn depends on seed and epoch alone."""
        if epoch != self.epoch:
            self.epoch = epoch
            drawn = sample_dataset(self.plain, self.tokenizer, self.alpha, self.seed, epoch, self.max_length)
            self._set(drawn)


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
