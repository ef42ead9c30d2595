"""How far a score may be off by the choice of the sentences, by sacreBLEU's bootstrap (Koehn 2004)."""

from collections.abc import Sequence

from sacrebleu.metrics.bleu import BLEU

from nmt.config import EvaluationSettings

NUM_SAMPLES = 1000


def bleu_interval(
    hypotheses: Sequence[str], references: Sequence[str], settings: EvaluationSettings
) -> tuple[float, float]:
    """Return the lower and the upper end of the 95 % interval of BLEU over resampled sentences."""
    metric = BLEU(lowercase=settings.lowercase, tokenize=settings.tokenize)
    found = metric.corpus_score(list(hypotheses), [list(references)], n_bootstrap=NUM_SAMPLES)
    return float(found._mean - found._ci), float(found._mean + found._ci)
