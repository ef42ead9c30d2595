"""BLEU, chrF and TER by sacreBLEU (Post 2018), with the signatures that make them comparable."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from nmt.config import EvaluationSettings
from nmt.errors import DataError
from nmt.evaluation.resampling import Interval, ResampledTexts


@dataclass(frozen=True)
class Score:
    """One figure, and how it came about."""

    name: str
    value: float
    signature: str
    interval: Interval | None = None


@dataclass(frozen=True)
class Evaluation:
    """Scores of a translation; the loss, in nats per target token, is None unless a model was scored."""

    scores: list[Score]
    num_lines: int
    loss: float | None = None

    @property
    def perplexity(self) -> float | None:
        """The perplexity of the loss, where there is one."""
        return None if self.loss is None else perplexity_of(self.loss)

    def as_dict(self) -> dict[str, object]:
        """Return what `json=FILE` holds."""
        figures: dict[str, object] = {key_of(score.name): score.value for score in self.scores}
        signatures = {key_of(score.name): score.signature for score in self.scores}
        intervals = {key_of(score.name): score.interval for score in self.scores if score.interval}
        named = {"num_lines": self.num_lines, "loss": self.loss, "perplexity": self.perplexity}
        rest = {name: value for name, value in named.items() if value is not None}
        return figures | {"signatures": signatures} | ({"intervals": intervals} if intervals else {}) | rest


def perplexity_of(loss: float) -> float:
    """Return the perplexity of a loss in nats per token; it ends where floating-point numbers do."""
    return math.exp(min(loss, 700))


def key_of(name: str) -> str:
    """Return what a figure is called in JSON."""
    return name.lower().replace(" ", "_").replace("-", "_")


def bleu_name(settings: EvaluationSettings) -> str:
    """Return the name of BLEU, which tells when BLEU is of tokenised or of lower-cased text.

    Tokenised, lower-cased BLEU can be five points more than BLEU of the same translation.
    """
    parts = ["tokenised"] if settings.tokenize == "none" else []
    parts += ["lower-case"] if settings.lowercase else []
    return f"{'-'.join(parts)} BLEU".lstrip()


def metrics(settings: EvaluationSettings) -> dict[str, Any]:
    """Return sacreBLEU's BLEU, chrF and TER by the names that their figures have."""
    return {
        bleu_name(settings): _bleu(settings),
        "lower-case chrF" if settings.lowercase else "chrF": CHRF(lowercase=settings.lowercase),
        "TER": TER(case_sensitive=settings.ter_case_sensitive),
    }


def _bleu(settings: EvaluationSettings) -> BLEU:
    """Return sacreBLEU's BLEU, which warns of tokenised text unless the settings say that it is tokenised."""
    is_tokenized = settings.tokenize == "none"
    return BLEU(lowercase=settings.lowercase, tokenize=settings.tokenize, force=is_tokenized)


def corpus_bleu(hypotheses: Sequence[str], references: Sequence[str], settings: EvaluationSettings) -> float:
    """Return BLEU of a translation, line by line against one reference."""
    return float(_bleu(settings).corpus_score(list(hypotheses), [list(references)]).score)


def score_against(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    settings: EvaluationSettings,
    num_resamples: int | None = None,
) -> list[Score]:
    """Return BLEU, chrF and TER of a translation against one reference or several, each with as many lines.

    With `num_resamples` each has an interval, by the bootstrap. Raises DataError as `require_same_length` does.
    """
    return Statistics(hypotheses, references, settings).score(num_resamples)


class Statistics:
    """The counts of sacreBLEU for each line, from which it scores any set of lines without counting again."""

    def __init__(
        self, hypotheses: Sequence[str], references: Sequence[Sequence[str]], settings: EvaluationSettings
    ) -> None:
        require_same_length(hypotheses, references)
        self.metrics = metrics(settings)
        self.of_lines = {
            name: np.array(
                metric._extract_corpus_statistics(list(hypotheses), list(map(list, references))), float
            )
            for name, metric in self.metrics.items()
        }

    def score(
        self, num_resamples: int | None = None, lines: Sequence[int] | None = None, with_ter: bool = True
    ) -> list[Score]:
        """Return the scores of the lines with these indices, at least one; None stands for all lines."""
        scores = []
        texts = None if num_resamples is None else ResampledTexts.draw(num_resamples)
        for name, metric in self.metrics.items():
            if name == "TER" and not with_ter:
                continue
            counts = self.of_lines[name] if lines is None else self.of_lines[name][list(lines)]
            value = metric._compute_score_from_stats(counts.sum(0)).score
            interval = None
            metric.n_bootstrap = num_resamples
            if texts is not None:
                metric.seed = texts.seed
                interval = Interval.of(texts.scores(metric, counts))
            scores.append(Score(name, float(value), str(metric.get_signature()), interval))
        return scores


def require_same_length(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], key: str = "hypothesis"
) -> None:
    """Raise DataError, of `key`, unless a translation and its references have as many lines, at least one."""
    for number, lines in enumerate(references):
        if len(hypotheses) != len(lines):
            which = "the reference" if len(references) == 1 else f"reference {number + 1}"
            raise DataError(
                f"{key}: as many lines as in {which} are needed, {len(lines)}; got {len(hypotheses)}"
            )
    if not hypotheses:
        raise DataError("reference: text is needed; got none")
