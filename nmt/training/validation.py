"""Loss and BLEU of a model in training on the validation text, of which each rank does its share."""

import math
from dataclasses import dataclass

from nmt.config import TrainSettings
from nmt.data.context import Context
from nmt.data.corpus import ParallelText
from nmt.data.dataset import Dataset
from nmt.decoding.torch_engine import TorchEngine
from nmt.decoding.translator import Translator
from nmt.evaluation.model import total_loss
from nmt.evaluation.scoring import corpus_bleu
from nmt.evaluation.translating import validation_search
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


def validate(
    step: TrainingStep, settings: TrainSettings, text: ParallelText, dataset: Dataset, max_tokens: int
) -> Validation:
    """Return the loss of the validation text, and the BLEU of its translation by greedy search."""
    ranks = step.ranks
    share = slice(ranks.rank, None, ranks.size)
    losses = total_loss(step.model, dataset, step.tokenizer, max_tokens, step.device, step.dtype, share)
    search = validation_search(settings.decoding)
    translator = Translator(TorchEngine(step.model, step.tokenizer, step.device, step.dtype), search)
    size, context = len(text.source), Context.of(step.tokenizer.source).num_lines
    # With context, neighbours are translated by the same rank.
    own = [
        slice(size * rank // ranks.size, size * (rank + 1) // ranks.size)
        if context
        else slice(rank, None, ranks.size)
        for rank in range(ranks.size)
    ]
    lines = own[ranks.rank]
    before = text.source[max(0, lines.start - context) : lines.start] if context else ()
    translated = list(translator.translate(text.source[lines], before))
    hypotheses, total, num_tokens = [""] * size, 0.0, 0
    for rank, ((part, tokens), found) in enumerate(ranks.gather((losses, translated))):
        hypotheses[own[rank]] = found
        total, num_tokens = total + part, num_tokens + tokens
    bleu = corpus_bleu(hypotheses, text.target, settings.evaluation)
    return Validation(total / max(1, num_tokens), bleu)
