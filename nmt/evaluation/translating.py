"""A text as a model translates it, and how probable the model finds the true translation."""

import logging
import math
from collections.abc import Sequence

from nmt.config import DecodingSettings, EvaluationSettings, GreedySettings
from nmt.data.context import in_order
from nmt.data.corpus import ParallelText
from nmt.data.lines import in_chunks
from nmt.decoding.translation import Candidate
from nmt.decoding.translator import Translator
from nmt.errors import LineNumbers
from nmt.evaluation.scoring import Evaluation, Score, score_against

logger = logging.getLogger(__name__)


def evaluate_text(
    translator: Translator,
    text: ParallelText,
    evaluation: EvaluationSettings,
    num_resamples: int | None = None,
) -> tuple[Evaluation, list[Candidate]]:
    """Translate and score a text, with loss and perplexity; return the translation as well.

    With `num_resamples` the scores have intervals.
    """
    found = translate_lines(translator, text.source)
    scores = score_against([one.text for one in found], [text.target], evaluation, num_resamples)
    return evaluation_of(scores, len(found), text_loss(translator, text)), found


def translate_lines(translator: Translator, source: Sequence[str]) -> list[Candidate]:
    """Return the best translation of each line of a text, and say what of it was cut or split."""
    translator.begin()
    found, num_before = [], 0
    for chunk, before in in_order(in_chunks(source), translator.pairs.context.num_lines):
        found += [one.hypotheses[0] for one in translator.find(chunk, num_before, before=before)]
        num_before += len(chunk)
    translator.remarks.log()
    return found


def translate_text(translator: Translator, source: Sequence[str]) -> list[str]:
    """Return the translation of a text; see `translate_lines`."""
    return [one.text for one in translate_lines(translator, source)]


def text_loss(translator: Translator, text: ParallelText) -> float:
    """Return the negative log-likelihood of a text per target token, EOS counted, in nats.

    Pairs with an empty side, or one that is longer than the model can read, do not count, which is said.
    """
    engine, reader, limit = translator.engine, translator.pairs, translator.engine.max_positions
    num_before, total, num_tokens, left_out = 0, 0.0, 0, LineNumbers()
    for chunk, before in in_order(in_chunks(text.source), reader.context.num_lines):
        read = reader.read([*before, *chunk])
        source, _ = reader.join(read[: len(before)], read[len(before) :])
        target = engine.tokenizer.target.encode(text.target[num_before : num_before + len(chunk)])
        kept = []
        for i, (ids, others) in enumerate(zip(source, target, strict=True)):
            if ids and others and (limit is None or max(len(ids), len(others)) < limit):
                kept.append(i)
            else:
                left_out.add(num_before + i + 1)
        sides = [source[i] for i in kept], [target[i] for i in kept]
        for log_probs in engine.token_log_probs(*sides, translator.settings.max_tokens):
            total -= math.fsum(log_probs)
            num_tokens += len(log_probs)
        num_before += len(chunk)
    if left_out.count:
        logger.warning("%s", left_out.tell("left out of the loss, being empty or too long"))
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
