"""One update: forward, backward, clipping and the optimizer, over the micro-batches of an update."""

import logging
import time
from dataclasses import dataclass

import numpy as np
import torch

from nmt.config import TrainSettings
from nmt.data.batching import Update, collate
from nmt.data.dataset import Dataset, Int64Array
from nmt.data.tokenizer import Tokenizer
from nmt.models.interface import Seq2Seq
from nmt.training.objective import Objective
from nmt.training.optimizer import build_optimizer
from nmt.training.schedule import learning_rate

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class UpdateFigures:
    """What one update came to; sums are over its target tokens, in nats."""

    total: float  # what was minimised
    negative_log_likelihood: float
    num_tokens: int
    learning_rate: float
    gradient_norm: float
    seconds_collating: float  # waiting for data


class TrainingStep:
    """A model, its objective and its optimizer, moved by one update at a time.

    What an update does depends on the weights, the moments, the settings and its number alone.
    """

    def __init__(
        self,
        settings: TrainSettings,
        model: Seq2Seq,
        tokenizer: Tokenizer,
        train: tuple[Dataset, Int64Array],
        device: torch.device,
        dtype: torch.dtype,
    ) -> None:
        self.settings, self.tokenizer = settings, tokenizer
        self.device, self.dtype = device, dtype
        self.model = model.to(device)
        self.dataset, self.pairs = train  # of the data set, those pairs that are trained on
        self.target_lengths = self.dataset.target.lengths[self.pairs] + 1  # EOS
        self.objective = Objective(self.model, settings.training.label_smoothing)
        self.optimizer = build_optimizer(settings.optimizer, self.model)
        self.scaler = torch.amp.GradScaler(device.type, enabled=dtype == torch.float16)

    def run(self, number: int, micro_batches: Update) -> UpdateFigures:
        """Run update `number`, counted from 1, on micro-batches of indices into the pairs."""
        limits = self.settings.training
        rate = learning_rate(
            self.settings.schedule, number, self.settings.optimizer.learning_rate, limits.max_updates
        )
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.objective.train()
        num_tokens = sum(int(self.target_lengths[rows].sum()) for rows in micro_batches)
        total = nll = torch.zeros((), device=self.device)
        seconds_collating = 0.0
        for index, rows in enumerate(micro_batches):
            seed = np.random.SeedSequence([self.settings.seed, number, index, 0]).generate_state(1)
            torch.manual_seed(int(seed[0]))  # of dropout, and of which tokens are sampled
            began = time.perf_counter()
            batch = collate(self.dataset, self.pairs[rows], self.tokenizer).to(self.device)
            seconds_collating += time.perf_counter() - began
            sample_mask = None
            if limits.teacher_forcing_ratio < 1:
                coins = torch.rand(batch.target_in.shape, device=self.device)
                sample_mask = coins >= limits.teacher_forcing_ratio
            with torch.autocast(self.device.type, self.dtype, enabled=self.dtype != torch.float32):
                loss = self.objective(batch, sample_mask)
            self.scaler.scale(loss.total / num_tokens).backward()
            total, nll = total + loss.total.detach(), nll + loss.negative_log_likelihood
        self.scaler.unscale_(self.optimizer)
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), limits.max_gradient_norm)
        if norm.isfinite():
            self.scaler.step(self.optimizer)
        else:
            logger.warning("update %d skipped: its gradient is not finite", number)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)
        return UpdateFigures(float(total), float(nll), num_tokens, rate, float(norm), seconds_collating)
