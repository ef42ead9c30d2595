"""Bootstrap resampling (Koehn 2004): scores of texts that are drawn from the lines of a text, and their interval."""

import os
from typing import Any, NamedTuple

import numpy as np

from nmt.data.arrays import FloatArray, Int64Array
from nmt.errors import SettingsError


class ResampledTexts(NamedTuple):
    """Texts drawn from lines: the seed as sacreBLEU's signatures tell it, and the indices of their lines, (R, N)."""

    seed: str
    rows: Int64Array

    @classmethod
    def draw(cls, num_lines: int, num_texts: int) -> "ResampledTexts":
        """Draw the texts that sacreBLEU draws. Raises SettingsError as `sacrebleu_generator` does."""
        return cls(_seed(), sacrebleu_generator().choice(num_lines, (num_texts, num_lines)))

    def scores(self, metric: Any, counts: FloatArray) -> FloatArray:
        """Return the score of each text, (R), by a metric of sacreBLEU with its counts for each line, (N, C)."""
        return np.array([metric._compute_score_from_stats(counts[rows].sum(0)).score for rows in self.rows])


def sacrebleu_generator() -> np.random.Generator:
    """Return sacreBLEU's random numbers: its seed is SACREBLEU_SEED, where that is set; `none` stands for any.

    Raises SettingsError for another seed.
    """
    seed = _seed()
    return np.random.default_rng(None if seed == "none" else int(seed))


def _seed() -> str:
    seed = os.environ.get("SACREBLEU_SEED", "12345").lower()
    if seed != "none" and not (seed.isascii() and seed.isdigit()):
        raise SettingsError(f"SACREBLEU_SEED: a whole number, or none, is needed; got {seed}")
    return seed


class Interval(NamedTuple):
    """The 95 % confidence interval of a score.

    sacreBLEU prints one as wide around the mean, which can reach beyond any score that is possible.
    """

    low: float
    high: float

    @classmethod
    def of(cls, scores: FloatArray) -> "Interval":
        """Return what is left of the scores of drawn texts without the lowest and the highest fortieth."""
        left_out, ordered = len(scores) // 40, np.sort(scores)
        return cls(float(ordered[left_out]), float(ordered[len(scores) - 1 - left_out]))
