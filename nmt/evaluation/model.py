"""Figures of a model on text that it does not learn from."""

import logging
import math
from collections.abc import Sequence

import numpy as np
import torch

from nmt.config import DecodingSettings, EvaluationSettings, GreedySettings
from nmt.data.batching import collate, plan_by_length
from nmt.data.context import Context, Surroundings, in_order
from nmt.data.corpus import ParallelText
from nmt.data.dataset import Dataset, load_dataset
from nmt.data.lines import in_chunks
from nmt.data.tokenizer import Tokenizer
from nmt.decoding.pairs import most_read
from nmt.decoding.token_scores import token_log_probs
from nmt.decoding.translation import Candidate
from nmt.decoding.translator import Translator
from nmt.device import floating_point
from nmt.errors import LineNumbers
from nmt.evaluation.scoring import Evaluation, Score, score_against
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


def evaluate_model(
    model: Seq2Seq,
    tokenizer: Tokenizer,
    text: ParallelText,
    decoding: DecodingSettings,
    evaluation: EvaluationSettings,
    device: torch.device,
    dtype: torch.dtype,
    num_resamples: int | None = None,
) -> tuple[Evaluation, list[Candidate]]:
    """Translate and score a text, with loss and perplexity; return the translation as well, with its details.

    With `num_resamples` the scores have intervals.
    """
    found = translate_lines(model, tokenizer, text.source, decoding, device, dtype, details=True)
    loss = text_loss(model, tokenizer, text, decoding, device, dtype)
    scores = score_against([one.text for one in found], [text.target], evaluation, num_resamples)
    return evaluation_of(scores, len(found), loss), found


def translate_lines(
    model: Seq2Seq,
    tokenizer: Tokenizer,
    source: Sequence[str],
    decoding: DecodingSettings,
    device: torch.device,
    dtype: torch.dtype,
    details: bool = False,
) -> list[Candidate]:
    """Return the best translation of each line of a text, and say what of it was cut or split."""
    translator = Translator(model, tokenizer, decoding, device, dtype).searching(decoding, details=details)
    found, num_before = [], 0
    for chunk, before in in_order(in_chunks(source), translator.pairs.context.num_lines):
        found += [one.hypotheses[0] for one in translator.find(chunk, num_before, before=before)]
        num_before += len(chunk)
    translator.remarks.log()
    return found


def translate_text(
    model: Seq2Seq,
    tokenizer: Tokenizer,
    source: Sequence[str],
    decoding: DecodingSettings,
    device: torch.device,
    dtype: torch.dtype,
) -> list[str]:
    """Return the translation of a text; see `translate_lines`."""
    return [one.text for one in translate_lines(model, tokenizer, source, decoding, device, dtype)]


def load_as_read(
    text: ParallelText, model: Seq2Seq, tokenizer: Tokenizer, decoding: DecodingSettings
) -> Dataset:
    """Return a text as ids, whose source lines have the context that they are translated with."""
    context = Context.of(tokenizer.source)
    if not context.num_lines:
        return load_dataset(text, tokenizer)
    _, max_tokens = most_read(model, decoding.max_source_tokens)
    return load_dataset(text, tokenizer, Surroundings(context, max_tokens, text.source))


def text_loss(
    model: Seq2Seq,
    tokenizer: Tokenizer,
    text: ParallelText,
    decoding: DecodingSettings,
    device: torch.device,
    dtype: torch.dtype,
) -> float:
    """Return the negative log-likelihood of a text per target token, in nats; it is computed in floating point."""
    dataset, dtype = load_as_read(text, model, tokenizer, decoding), floating_point(dtype, device)
    total, num_tokens = total_loss(model.to(device), dataset, tokenizer, decoding.max_tokens, device, dtype)
    return total / max(1, num_tokens)


def evaluation_of(scores: list[Score], num_lines: int, loss: float) -> Evaluation:
    """Put scores, loss and the perplexity that it stands for together."""
    return Evaluation(scores, num_lines, loss, math.exp(min(loss, 700)))


def validation_search(settings: DecodingSettings) -> GreedySettings:
    """Return greedy search among all words with the limits of the run's own search, for lines as they are."""
    shared = {name: getattr(settings, name) for name in GreedySettings.model_fields if name != "kind"}
    return GreedySettings(kind="greedy", **(shared | {"split": "none", "shortlist": False}))


def name_search(decoding: DecodingSettings) -> str:
    """Return what a search is called."""
    size = {"beam": "beam_size", "mbr": "num_samples"}.get(decoding.kind)
    return decoding.kind if size is None else f"{decoding.kind} {getattr(decoding, size)}"
