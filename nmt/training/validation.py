"""Loss and BLEU of a model in training on the validation text, of which each rank does its share."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from nmt.config import TrainSettings
from nmt.data.corpus import ParallelText
from nmt.decoding.torch_engine import TorchEngine
from nmt.decoding.translator import Translator
from nmt.evaluation.scoring import corpus_bleu, perplexity_of
from nmt.evaluation.translating import TextLoss, text_loss, validation_search
from nmt.training.step import TrainingStep


@dataclass(frozen=True)
class Validation:
    """Loss and BLEU of a validation."""

    loss: float  # nats per target token
    bleu: float

    @property
    def perplexity(self) -> float:
        """The perplexity that the loss stands for."""
        return perplexity_of(self.loss)


def validate(step: TrainingStep, settings: TrainSettings, text: ParallelText, max_tokens: int) -> Validation:
    """Return the loss of the validation text, and the BLEU of its translation by greedy search.

    For the loss, at most `max_tokens` padded tokens of a side go through the model at once, as in training.
    """
    engine = TorchEngine(step.model, step.tokenizer, step.device, step.dtype)
    translator = Translator(engine, validation_search(settings.decoding))
    ranks, context = step.ranks, translator.context.num_lines
    start, end = _share(text.source, ranks.rank, ranks.size)
    source, before = text.source[start:end], text.source[max(0, start - context) : start]
    own = text_loss(translator, source, text.target[start:end], max_tokens, start, before)
    translated = list(translator.translate(source, before))
    losses, hypotheses = zip(*ranks.gather((own, translated)), strict=True)
    loss = TextLoss.joined(TextLoss(*part) for part in losses)
    if ranks.is_first:
        loss.log()
    bleu = corpus_bleu(list(chain.from_iterable(hypotheses)), text.target, settings.evaluation)
    return Validation(loss.mean, bleu)


def _share(lines: Sequence[str], rank: int, num_ranks: int) -> tuple[int, int]:
    """Return where the lines of a rank begin and end: adjacent ones, and about as many characters for each rank.

    A line may be read with those before it, and lines may be sorted by their length.
    """
    ends = np.cumsum([len(line) for line in lines])
    inner = np.searchsorted(ends, ends[-1] * np.arange(1, num_ranks) / num_ranks)
    bounds = [0, *inner.tolist(), len(lines)]
    return bounds[rank], bounds[rank + 1]
