"""The translation of a text by a model, and how probable the model finds the reference."""

import logging
import math
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from nmt.config import BeamSettings, DecodingSettings, EvaluationSettings, GreedySettings, MBRSettings
from nmt.data.context import encode_lines
from nmt.data.corpus import ParallelText
from nmt.data.lines import in_chunks
from nmt.decoding.chunks import number_chunks, put_beside
from nmt.decoding.translation import Candidate
from nmt.decoding.translator import Translator
from nmt.evaluation.scoring import Evaluation, score_against
from nmt.wording import LineNumbers

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
    return Evaluation(scores, len(found), mean_loss(translator, text)), found


def translate_lines(translator: Translator, source: Sequence[str]) -> list[Candidate]:
    """Return the best translation of each line of a text, and log which lines were cut or split."""
    translator.begin()
    found = [one.hypotheses[0] for one in translator.translations(source)]
    translator.remarks.log()
    return found


def translate_text(translator: Translator, source: Sequence[str]) -> list[str]:
    """Return the translation of a text; see `translate_lines`."""
    return [one.text for one in translate_lines(translator, source)]


def mean_loss(translator: Translator, text: ParallelText) -> float:
    """Return the negative log-likelihood of a text per target token, EOS counted, in nats; log what was left out."""
    loss = text_loss(translator, text.source, text.target, translator.settings.max_tokens)
    loss.log()
    return loss.mean


class TextLoss(NamedTuple):
    """The negative log-likelihood of all target tokens of a text, in nats, and their number, EOS counted.

    Pairs with an empty side, or one that is longer than the model can read, do not count; `left_out` are their lines.
    """

    total: float
    num_tokens: int
    left_out: list[int]

    @property
    def mean(self) -> float:
        """The loss per token; NaN for a text of which no pair counts."""
        return self.total / self.num_tokens if self.num_tokens else math.nan

    def log(self) -> None:
        """Log which lines were left out."""
        lines = LineNumbers(self.left_out)
        if lines.count:
            logger.warning("%s", lines.tell("left out of the loss, being empty or too long"))

    @classmethod
    def joined(cls, parts: Iterable["TextLoss"]) -> "TextLoss":
        """Return the loss of a text from those of its consecutive parts."""
        totals, numbers, left_out = zip(*parts, strict=True)
        return cls(sum(totals), sum(numbers), list(chain.from_iterable(left_out)))


def text_loss(
    translator: Translator,
    source: Sequence[str],
    target: Sequence[str],
    max_tokens: int,
    num_before: int = 0,
    before: Sequence[str] = (),
) -> TextLoss:
    """Return the loss of lines that follow `num_before` others in their text; of these, `before` are context.

    A batch has at most `max_tokens` padded tokens of a side.
    """
    engine, reader, limit = translator.engine, translator.pairs, translator.engine.max_positions
    total, num_tokens, left_out = 0.0, 0, list[int]()
    chunks = number_chunks(in_chunks(source), reader.context.num_lines, num_before, before)
    for lines, num_earlier, others, earlier in put_beside(chunks, target, "target"):
        ids, _ = reader.read_with_context(lines, earlier)
        other_ids = encode_lines(engine.tokenizer.target, others or [])
        pairs = []
        for number, pair in enumerate(zip(ids, other_ids, strict=True), 1):
            if all(pair) and (limit is None or max(map(len, pair)) < limit):
                pairs.append(pair)
            else:
                left_out.append(num_earlier + number)
        sides = [one for one, _ in pairs], [other for _, other in pairs]
        for log_probs in engine.token_log_probs(*sides, max_tokens):
            total -= math.fsum(log_probs)
            num_tokens += len(log_probs)
    return TextLoss(total, num_tokens, left_out)


def validation_search(settings: DecodingSettings) -> GreedySettings:
    """Return greedy search with the limits of the run's own search, without a shortlist and without splitting lines."""
    shared = {name: getattr(settings, name) for name in GreedySettings.model_fields if name != "kind"}
    return GreedySettings(kind="greedy", **(shared | {"split": "none", "shortlist": False}))


def name_search(decoding: DecodingSettings) -> str:
    """Return what a search is called."""
    has_size = isinstance(decoding, BeamSettings | MBRSettings)
    return f"{decoding.kind} {decoding.most_hypotheses}" if has_size else decoding.kind
