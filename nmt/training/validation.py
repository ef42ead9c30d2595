"""Figures of a model on text that it does not learn from."""

import numpy as np
import torch

from nmt.config import DecodingSettings, GreedySettings
from nmt.data.batching import collate, plan_by_length
from nmt.data.dataset import Dataset
from nmt.data.tokenizer import Tokenizer
from nmt.training.objective import Objective


@torch.no_grad()
def mean_loss(
    objective: Objective,
    dataset: Dataset,
    tokenizer: Tokenizer,
    max_tokens: int,
    device: torch.device,
    dtype: torch.dtype,
) -> float:
    """Return the negative log-likelihood per target token, in nats; pairs with an empty side do not count."""
    objective.eval()
    source, target = dataset.source.lengths, dataset.target.lengths
    limit = objective.model.max_positions
    counted = (source > 0) & (target > 0)
    if limit is not None:
        counted &= np.maximum(source, target) < limit
    pairs = np.flatnonzero(counted)
    total, num_tokens = 0.0, 0
    for rows in plan_by_length(np.maximum(source, target) + 1, max_tokens, pairs):
        batch = collate(dataset, rows, tokenizer).to(device)
        with torch.autocast(device.type, dtype, enabled=dtype != torch.float32):
            total += float(objective(batch).negative_log_likelihood)
        num_tokens += batch.num_tokens
    return total / max(1, num_tokens)


def validation_search(settings: DecodingSettings) -> GreedySettings:
    """Return greedy search with the limits of the run's own search."""
    shared = {name: getattr(settings, name) for name in GreedySettings.model_fields if name != "kind"}
    return GreedySettings(kind="greedy", **shared)
