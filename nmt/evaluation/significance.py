"""Is one translation better than another, or was it chance? By resampling the text as sacreBLEU does."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nmt.config import EvaluationSettings
from nmt.data.arrays import FloatArray
from nmt.evaluation.resampling import Interval, ResampledTexts
from nmt.evaluation.scoring import Statistics, require_same_length

SAME = 1e-9  # points of a score: a smaller difference is one of rounding
TRIALS_AT_ONCE = 32  # at least; a multiple of 32, so that the generator draws the same numbers as in one call
CELLS_AT_ONCE = 1 << 22  # trials times lines, where there are few lines


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

    The random numbers are sacreBLEU's, which SACREBLEU_SEED changes; its p-values are too small, for two reasons that
    are mended here. Its bootstrap looks at how far the size of a difference is from the mean size, not at how far a
    difference is from the mean. Both of its tests count only trials with a larger difference, and not those with the
    same, of which there are many where few lines differ or where a score counts few errors. The p-value of the
    bootstrap is 1 where all drawn texts have the same difference, from which nothing can be said. Raises DataError
    unless all texts have the same number of lines, at least one.
    """
    require_same_length(others, references, "against")
    statistics = [Statistics(lines, references, settings) for lines in (hypotheses, others)]
    texts = ResampledTexts.draw(num_resamples)
    found = []
    for name, metric in statistics[0].metrics.items():
        counts = [one.of_lines[name] for one in statistics]
        value, other_value = (_score(metric, of_lines.sum(0)) for of_lines in counts)
        signature = metric.get_signature()
        for key, given in (("seed", texts.seed), ("ar", num_trials), ("bs", num_resamples)):
            signature.update(key, given)
        of_this, of_other = (texts.scores(metric, of_lines) for of_lines in counts)
        drawn, difference = of_this - of_other, value - other_value
        num_larger = _num_at_least(drawn - drawn.mean(), difference)
        if np.ptp(drawn) < SAME:  # as of a text of one line
            num_larger = num_resamples
        swapped = _randomised(metric, counts[0], counts[1], num_trials, texts.number)
        found.append(
            Comparison(
                name,
                value,
                other_value,
                Interval.of(of_this),
                Interval.of(of_other),
                (num_larger + 1) / (num_resamples + 1),
                (_num_at_least(swapped, difference) + 1) / (num_trials + 1),
                str(signature),
            )
        )
    return found


def _score(metric: Any, counts: FloatArray) -> float:
    """Return the score of a text by a metric of sacreBLEU, from its counts (C)."""
    return float(metric._compute_score_from_stats(counts).score)


def _num_at_least(differences: FloatArray, size: float) -> int:
    """Return how many differences are at least of a size, whatever their signs."""
    return int(np.count_nonzero(np.abs(differences) >= abs(size) - SAME))


def _randomised(metric: Any, one: FloatArray, other: FloatArray, num_trials: int, seed: int) -> FloatArray:
    """Return the difference in each trial (R), which swaps two translations, with their counts (N, C), at random lines.

    The trials are drawn and added up some at a time, so that memory does not grow with their number.
    """
    generator, (num_lines, _) = np.random.default_rng(seed), one.shape
    at_once = max(1, CELLS_AT_ONCE // (num_lines * TRIALS_AT_ONCE)) * TRIALS_AT_ONCE
    total, other_total, change = one.sum(0), other.sum(0), other - one
    found: list[float] = []
    while (num_left := num_trials - len(found)) > 0:
        is_swapped = generator.integers(2, size=(min(at_once, num_left), num_lines), dtype=bool)
        found += [
            _score(metric, total + moved) - _score(metric, other_total - moved)
            for moved in is_swapped @ change
        ]
    return np.array(found)
