"""The loss of a model in training, and the text that it is measured on."""

import logging

import numpy as np
import torch

from nmt.config import DecodingSettings
from nmt.data.batching import collate, plan_by_length
from nmt.data.context import Context, Surroundings
from nmt.data.corpus import ParallelText
from nmt.data.dataset import Dataset, load_dataset
from nmt.data.tokenizer import Tokenizer
from nmt.decoding.engine import most_read
from nmt.decoding.token_scores import token_log_probs
from nmt.errors import LineNumbers
from nmt.models.interface import Seq2Seq

logger = logging.getLogger(__name__)


@torch.no_grad()
def total_loss(
    model: Seq2Seq,
    dataset: Dataset,
    tokenizer: Tokenizer,
    max_tokens: int,
    device: torch.device,
    dtype: torch.dtype,
    share: slice = slice(None),
) -> tuple[float, int]:
    """Return the negative log-likelihood of the target tokens, in nats, and their number; or of a `share` of the pairs.

    Pairs with an empty side do not count.
    """
    model.eval()
    source, target = dataset.source.lengths, dataset.target.lengths
    limit = model.max_positions
    counted = (source > 0) & (target > 0)
    if limit is not None:
        counted &= np.maximum(source, target) < limit
    pairs = np.flatnonzero(counted)
    if len(pairs) < len(dataset) and not share.start:  # whoever has the first share says it
        left_out = LineNumbers((np.flatnonzero(~counted) + 1).tolist())
        logger.warning("%s", left_out.tell("left out of the loss, being empty or too long"))
    pairs = pairs[share]
    total, num_tokens = 0.0, 0
    for rows in plan_by_length(np.maximum(source, target) + 1, max_tokens, pairs):
        batch = collate(dataset, rows, tokenizer).to(device)
        with torch.autocast(device.type, dtype, enabled=dtype != torch.float32):
            total -= float(token_log_probs(model, batch).sum(dtype=torch.float64))
        num_tokens += batch.num_tokens
    return total, num_tokens


def load_as_read(
    text: ParallelText, model: Seq2Seq, tokenizer: Tokenizer, decoding: DecodingSettings
) -> Dataset:
    """Return a text as ids, whose source lines have the context that they are translated with."""
    context = Context.of(tokenizer.source)
    if not context.num_lines:
        return load_dataset(text, tokenizer)
    _, max_tokens = most_read(model, decoding.max_source_tokens)
    return load_dataset(text, tokenizer, Surroundings(context, max_tokens, text.source))
