"""Bootstrap resampling (Koehn 2004): scores of texts that are drawn from the lines of a text, and their interval."""

import os
import secrets
from typing import Any, NamedTuple

import numpy as np

from nmt.data.arrays import FloatArray
from nmt.errors import SettingsError


def require_sacrebleu_seed() -> None:
    """Raise SettingsError for a wrong SACREBLEU_SEED, before anything is translated to be scored."""
    _sacrebleu_seed()


class ResampledTexts(NamedTuple):
    """The texts (R) that sacreBLEU draws from the lines of a text (N).

    Each is drawn when it is scored: the indices of all their lines, R · N, would take eight kilobytes a line.
    """

    seed: str  # as sacreBLEU's signatures tell it
    number: int  # that the random numbers are drawn from
    num_texts: int

    @classmethod
    def draw(cls, num_texts: int) -> "ResampledTexts":
        """Return texts that are the same each time they are scored. Raises SettingsError for a wrong SACREBLEU_SEED."""
        return cls(*_sacrebleu_seed(), num_texts)

    def scores(self, metric: Any, counts: FloatArray) -> FloatArray:
        """Return the score of each text, (R), by a metric of sacreBLEU with its counts for each line, (N, C)."""
        generator, num_lines = np.random.default_rng(self.number), len(counts)
        sums = (counts[generator.choice(num_lines, num_lines)].sum(0) for _ in range(self.num_texts))
        return np.array([metric._compute_score_from_stats(one).score for one in sums])


def _sacrebleu_seed() -> tuple[str, int]:
    """Return the seed of sacreBLEU, and the number that it stands for: any number for `none`.

    It is SACREBLEU_SEED, where that is set. Raises SettingsError for another seed than a whole number, or none.
    """
    seed = os.environ.get("SACREBLEU_SEED", "12345").lower()
    if seed != "none" and not (seed.isascii() and seed.isdigit()):
        raise SettingsError(f"SACREBLEU_SEED: a whole number, or none, is needed; got {seed}")
    return seed, secrets.randbits(64) if seed == "none" else int(seed)


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
