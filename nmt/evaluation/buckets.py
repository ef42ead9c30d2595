"""Buckets of similar sentences: by their length, or by how rare their words are."""

from collections.abc import Sequence
from dataclasses import dataclass

from nmt.evaluation.scoring import Score, Statistics


@dataclass(frozen=True)
class Bucket:
    """The lines whose number of words, say, is from `low` to `high`, both included; `high` is None for no upper end."""

    low: int
    high: int | None
    lines: list[int]  # their indices

    @property
    def name(self) -> str:
        """The range, for people."""
        if self.high is None:
            return f"{self.low} or more"
        return str(self.low) if self.low == self.high else f"{self.low}–{self.high}"


def sort_into_buckets(numbers: Sequence[int], bounds: Sequence[int], lowest: int = 1) -> list[Bucket]:
    """Return a bucket up to each of the rising `bounds`, and one for what is beyond.

    `numbers` has one for each line; lines below `lowest` are in no bucket.
    """
    lows = [lowest, *(bound + 1 for bound in bounds)]
    highs = [*bounds, None]
    return [
        Bucket(
            low,
            high,
            [i for i, number in enumerate(numbers) if low <= number and (high is None or number <= high)],
        )
        for low, high in zip(lows, highs, strict=True)
    ]


def score_bucket(bucket: Bucket, statistics: Statistics, num_resamples: int | None = None) -> list[Score]:
    """Return BLEU and chrF of the lines of a bucket, which must not be empty; TER says little of few lines."""
    return statistics.score(num_resamples, bucket.lines, with_ter=False)


def count_words(lines: Sequence[str]) -> list[int]:
    """Return how many words, between white space, each line has."""
    return [len(line.split()) for line in lines]
