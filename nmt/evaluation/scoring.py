"""BLEU, chrF and TER by sacreBLEU (Post 2018), with the signatures that make them comparable."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from nmt.config import EvaluationSettings
from nmt.errors import DataError


@dataclass(frozen=True)
class Score:
    """One figure, and how it came about."""

    name: str
    value: float
    signature: str


@dataclass(frozen=True)
class Evaluation:
    """What is known of a translation; loss is per target token in nats, where a model was there to tell it."""

    scores: list[Score]
    num_lines: int
    loss: float | None = None
    perplexity: float | None = None
    bleu_interval: tuple[float, float] | None = None  # 95 %, by resampling sentences

    def as_dict(self) -> dict[str, object]:
        """Return what `json=FILE` holds."""
        figures: dict[str, object] = {score.name.lower(): score.value for score in self.scores}
        signatures = {score.name.lower(): score.signature for score in self.scores}
        rest = {name: value for name, value in asdict(self).items() if name != "scores" and value is not None}
        return figures | {"signatures": signatures} | rest


def corpus_bleu(hypotheses: Sequence[str], references: Sequence[str], settings: EvaluationSettings) -> float:
    """Return BLEU of a translation, line by line against one reference."""
    metric = BLEU(lowercase=settings.lowercase, tokenize=settings.tokenize)
    return float(metric.corpus_score(list(hypotheses), [list(references)]).score)


def score(hypotheses: Sequence[str], references: Sequence[str], settings: EvaluationSettings) -> list[Score]:
    """Return BLEU, chrF and TER of a translation against one reference.

    Raises DataError unless both have the same number of lines, at least one.
    """
    if len(hypotheses) != len(references):
        raise DataError(
            f"hypothesis: as many lines as in the reference are needed, {len(references)}; got {len(hypotheses)}"
        )
    if not references:
        raise DataError("reference: text is needed; got none")
    metrics = [
        BLEU(lowercase=settings.lowercase, tokenize=settings.tokenize),
        CHRF(lowercase=settings.lowercase),
        TER(case_sensitive=not settings.lowercase),
    ]
    scores = []
    for metric in metrics:
        result = metric.corpus_score(list(hypotheses), [list(references)])
        scores.append(
            Score(
                metric.__class__.__name__.replace("CHRF", "chrF"),
                float(result.score),
                str(metric.get_signature()),
            )
        )
    return scores
