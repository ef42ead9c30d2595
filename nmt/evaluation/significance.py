"""Is one translation better than another, or was it chance? By the tests that sacreBLEU has."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sacrebleu.significance import PairedTest

from nmt.config import EvaluationSettings
from nmt.evaluation.scoring import Interval, metrics, require_same_length


@dataclass(frozen=True)
class Comparison:
    """Two translations of one text by one metric.

    A p-value is the probability of a difference of at least this size between translations that are equally good.
    """

    name: str
    value: float
    other_value: float
    interval: Interval
    other_interval: Interval
    p_bootstrap: float  # paired bootstrap resampling (Koehn 2004)
    p_randomisation: float  # approximate randomisation (Riezler & Maxwell 2005)
    signature: str

    @property
    def difference(self) -> float:
        """How many points more the first one has than the other."""
        return self.value - self.other_value


def compare(
    hypotheses: Sequence[str],
    others: Sequence[str],
    references: Sequence[Sequence[str]],
    settings: EvaluationSettings,
    num_resamples: int,
    num_trials: int,
) -> list[Comparison]:
    """Compare a translation with another one of the same text, the baseline, by BLEU, chrF and TER.

    The random numbers are sacreBLEU's, which SACREBLEU_SEED changes. sacreBLEU counts only trials with a larger
    difference, so that it gives the smallest possible p where few lines differ, or no score does. Two things mend that:
    the expected number of randomisation trials that swap all lines that differ, or none, is added to its count; and
    where scores are the same, p is 1. Raises DataError unless all texts have the same number of lines, at least one.
    """
    require_same_length(hypotheses, references)
    require_same_length(others, references, "against")
    found = []
    for name, metric in metrics(settings).items():
        results: dict[str, tuple[Any, Any]] = {}
        for test, num_samples in (("bs", num_resamples), ("ar", num_trials)):
            paired = PairedTest(
                [("other", list(others)), ("this", list(hypotheses))],
                {name: metric},
                [list(lines) for lines in references],
                test_type=test,
                n_samples=num_samples,
            )
            signatures, scores = paired()
            ((other, this),) = (rows for column, rows in scores.items() if column != "System")
            results[test] = other, this
        (other, this), (_, randomised) = results["bs"], results["ar"]
        (signature,) = signatures.values()
        signature.update("bs", num_resamples)
        num_different = _num_different(metric, hypotheses, others, references)
        num_same = round(num_trials * 2.0 ** (1 - num_different))
        is_tie = this.score == other.score
        found.append(
            Comparison(
                name,
                float(this.score),
                float(other.score),
                Interval(float(this.mean), float(this.ci)),
                Interval(float(other.mean), float(other.ci)),
                1.0 if is_tie else float(this.p_value),
                1.0 if is_tie else min(1.0, float(randomised.p_value) + num_same / (num_trials + 1)),
                str(signature),
            )
        )
    return found


def _num_different(
    metric: Any, hypotheses: Sequence[str], others: Sequence[str], references: Sequence[Sequence[str]]
) -> int:
    """Return how many lines differ to a metric, which may ignore case, say."""
    places = [i for i, (one, other) in enumerate(zip(hypotheses, others, strict=True)) if one != other]
    if not places:
        return 0
    cited = [[lines[i] for i in places] for lines in references]
    counts = [
        metric._extract_corpus_statistics([lines[i] for i in places], cited) for lines in (hypotheses, others)
    ]
    return sum(one != other for one, other in zip(*counts, strict=True))
