"""Loss and BLEU of a model in training on the validation text, of which each rank does its share."""

import math
from dataclasses import dataclass
from itertools import chain

from nmt.config import TrainSettings
from nmt.data.corpus import ParallelText
from nmt.decoding.torch_engine import TorchEngine
from nmt.decoding.translator import Translator
from nmt.evaluation.scoring import corpus_bleu
from nmt.evaluation.translating import TextLoss, total_loss, validation_search
from nmt.training.step import TrainingStep


@dataclass(frozen=True)
class Validation:
    """Loss and BLEU of a validation."""

    loss: float  # nats per target token
    bleu: float

    @property
    def perplexity(self) -> float:
        """The perplexity that the loss stands for."""
        return math.exp(min(self.loss, 700))


def validate(step: TrainingStep, settings: TrainSettings, text: ParallelText) -> Validation:
    """Return the loss of the validation text, and the BLEU of its translation by greedy search."""
    engine = TorchEngine(step.model, step.tokenizer, step.device, step.dtype)
    translator = Translator(engine, validation_search(settings.decoding))
    ranks, size, context = step.ranks, len(text.source), translator.context.num_lines
    # Each rank takes adjacent lines, since a line may be read with those before it.
    start, end = (size * rank // ranks.size for rank in (ranks.rank, ranks.rank + 1))
    source, before = text.source[start:end], text.source[max(0, start - context) : start]
    own = total_loss(translator, source, text.target[start:end], start, before)
    translated = list(translator.translate(source, before))
    losses, hypotheses = zip(*ranks.gather((own, translated)), strict=True)
    loss = TextLoss.joined(TextLoss(*part) for part in losses)
    if ranks.is_first:
        loss.log()
    bleu = corpus_bleu(list(chain.from_iterable(hypotheses)), text.target, settings.evaluation)
    return Validation(loss.mean, bleu)
