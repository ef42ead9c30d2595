"""Figures of a model on text that it does not learn from."""

import logging
import math

import numpy as np
import torch

from nmt.config import DecodingSettings, EvaluationSettings, GreedySettings
from nmt.data.batching import collate, plan_by_length
from nmt.data.corpus import ParallelText
from nmt.data.dataset import Dataset, load_dataset
from nmt.data.tokenizer import Tokenizer
from nmt.decoding.translator import Translator
from nmt.evaluation.intervals import bleu_interval
from nmt.evaluation.scoring import Evaluation, score
from nmt.models.interface import Seq2Seq
from nmt.training.objective import Objective

logger = logging.getLogger(__name__)


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
    if len(pairs) < len(dataset):
        logger.warning("left out of the loss: %d pairs that are empty or too long", len(dataset) - len(pairs))
    total, num_tokens = 0.0, 0
    for rows in plan_by_length(np.maximum(source, target) + 1, max_tokens, pairs):
        batch = collate(dataset, rows, tokenizer).to(device)
        with torch.autocast(device.type, dtype, enabled=dtype != torch.float32):
            total += float(objective(batch).negative_log_likelihood)
        num_tokens += batch.num_tokens
    return total / max(1, num_tokens)


def evaluate_model(
    model: Seq2Seq,
    tokenizer: Tokenizer,
    text: ParallelText,
    decoding: DecodingSettings,
    evaluation: EvaluationSettings,
    device: torch.device,
    dtype: torch.dtype,
) -> Evaluation:
    """Translate and score a text, with loss and perplexity, and say what of it was cut."""
    translator = Translator(model, tokenizer, decoding, device, dtype)
    hypotheses = list(translator.translate(text.source))
    translator.warn()
    objective = Objective(model.to(device), label_smoothing=0.0)
    loss = mean_loss(objective, load_dataset(text, tokenizer), tokenizer, decoding.max_tokens, device, dtype)
    scores = score(hypotheses, text.target, evaluation)
    interval = bleu_interval(hypotheses, text.target, evaluation)
    return Evaluation(scores, len(hypotheses), loss, math.exp(min(loss, 700)), interval)


def validation_search(settings: DecodingSettings) -> GreedySettings:
    """Return greedy search with the limits of the run's own search."""
    shared = {name: getattr(settings, name) for name in GreedySettings.model_fields if name != "kind"}
    return GreedySettings(kind="greedy", **shared)
