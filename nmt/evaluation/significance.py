"""Is one translation better than another, or was it chance? By resampling the text as sacreBLEU does."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from sacrebleu.significance import PairedTest

from nmt.config import EvaluationSettings
from nmt.evaluation.resampling import Interval, ResampledTexts
from nmt.evaluation.scoring import Statistics, require_same_length

SAME = 1e-9  # points of a score: a smaller difference is one of rounding


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

    The random numbers are sacreBLEU's, which SACREBLEU_SEED changes. Its p-values are too small, for two reasons that
    are mended here. Its bootstrap looks at how far the size of a difference is from the mean size, not at how far a
    difference is from the mean. Both of its tests count only trials with a larger difference, and so give the smallest
    possible p where few lines differ: the expected number of randomisation trials that swap all lines that differ, or
    none, is added to its count. Where the scores are the same, p is 1, and so is that of the bootstrap where all drawn
    texts have the same difference, from which nothing can be said. Raises DataError unless all texts have the same
    number of lines, at least one.
    """
    require_same_length(others, references, "against")
    statistics = [Statistics(lines, references, settings) for lines in (hypotheses, others)]
    texts = ResampledTexts.draw(statistics[0].num_lines, num_resamples)
    found = []
    for name, metric in statistics[0].metrics.items():
        test = PairedTest(
            [("other", list(others)), ("this", list(hypotheses))],
            {name: metric},
            [list(lines) for lines in references],
            test_type="ar",
            n_samples=num_trials,
        )
        signatures, columns = test()
        ((other, this),) = (cast(list[Any], rows) for column, rows in columns.items() if column != "System")
        (signature,) = signatures.values()
        signature.update("bs", num_resamples)
        counts = [one.of_lines[name] for one in statistics]
        of_this, of_other = (texts.scores(metric, of_lines) for of_lines in counts)
        drawn, difference = of_this - of_other, float(this.score) - float(other.score)
        num_larger = int(np.count_nonzero(np.abs(drawn - drawn.mean()) >= abs(difference)))
        if np.ptp(drawn) < SAME:  # as of a text of one line
            num_larger = num_resamples
        num_different = np.count_nonzero((counts[0] != counts[1]).any(1))
        num_same = round(num_trials * 2.0 ** (1 - num_different))
        found.append(
            Comparison(
                name,
                float(this.score),
                float(other.score),
                Interval.of(of_this),
                Interval.of(of_other),
                1.0 if difference == 0 else (num_larger + 1) / (num_resamples + 1),
                1.0 if difference == 0 else min(1.0, float(this.p_value) + num_same / (num_trials + 1)),
                str(signature),
            )
        )
    return found
