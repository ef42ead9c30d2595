"""Confidence in a translation: a curve from the log-probability of a word to the share of such words that are right.

A word is what white space separates, and its log-probability the sum over its pieces. A second curve leads from the
mean confidence of the words of a line to the share of them that are right. `confidence.json` of a run holds both
curves, and how reliable they are on text that they were not fitted on.
"""

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean
from typing import Annotated, Literal

import numpy as np
import pydantic
from pydantic import Field, NonNegativeInt, PositiveInt

from nmt.config import RecordedSettings
from nmt.config.check import read_checked
from nmt.config.kinds import UnitInterval
from nmt.data.arrays import FloatArray
from nmt.decoding.translation import Candidate
from nmt.runs.directory import CONFIDENCE, RunDirectory
from nmt.runs.records import Checkpoint, Hash

MAX_KNOTS = 1000
NUM_BINS = 10


class Curve(RecordedSettings):
    """Shares that never fall as values rise: linear between knots, constant beyond the first and the last."""

    at: Annotated[list[float], Field(min_length=1, max_length=MAX_KNOTS)]
    shares: list[UnitInterval]

    @pydantic.model_validator(mode="after")
    def _require_rising(self) -> "Curve":
        if len(self.shares) != len(self.at):
            raise ValueError("shares: as many as in at are needed")
        if any(one >= other for one, other in pairwise(self.at)):
            raise ValueError("at: rising numbers are needed")
        if any(one > other for one, other in pairwise(self.shares)):
            raise ValueError("shares: numbers that never fall are needed")
        return self

    def __call__(self, values: Sequence[float] | FloatArray) -> list[float]:
        """Return the shares at these values."""
        shares: list[float] = np.interp(values, self.at, self.shares).tolist()
        return shares


class Bin(RecordedSettings):
    """The words, or lines, whose confidence is in the same tenth."""

    number: PositiveInt
    confidence: UnitInterval  # their mean
    right: UnitInterval  # the share of words that are right; of lines, the mean of these shares


class Reliability(RecordedSettings):
    """How well confidences match the share that is right: the expected calibration error, and the tenths behind it."""

    error: UnitInterval
    bins: Annotated[list[Bin], Field(min_length=1, max_length=NUM_BINS)]


class Measured(RecordedSettings):
    """The reliability of the curves on the test text."""

    lines: Reliability
    words: Reliability


class Calibration(RecordedSettings):
    """Content of `confidence.json`: the curves, and what they were fitted on."""

    format: Literal[1]
    checkpoint: Checkpoint
    weights: Hash
    search: Annotated[str, Field(max_length=100)]
    num_lines: NonNegativeInt  # of the validation text, those whose words have log-probabilities
    num_words: NonNegativeInt
    words: Curve  # by log-probability, in nats
    lines: Curve  # by the mean confidence of the words
    test: Measured | None

    def __str__(self) -> str:
        """What was fitted and how well it does, for the log."""
        on_test = "no test text to measure it on"
        if self.test is not None:
            words, lines = self.test.words.error, self.test.lines.error
            on_test = f"calibration error on the test text {words:.3f} of words, {lines:.3f} of lines"
        fitted_on = f"{self.num_words} words in {self.num_lines} lines of the validation text"
        return f"confidence   fitted on {fitted_on}; {on_test}"

    def judge(self, candidate: Candidate) -> None:
        """Set the confidence of a translation and of its words, where the log-probabilities of these are known."""
        if candidate.word_log_probs:
            candidate.word_confidences = self.words(candidate.word_log_probs)
            (candidate.confidence,) = self.lines([fmean(candidate.word_confidences)])


def read_calibration(run: RunDirectory) -> Calibration | None:
    """Return the curves of a run; None where it has none. Raises RunError if they are damaged."""
    return read_checked(Calibration, run.path / CONFIDENCE)


def calibration_of(run: RunDirectory, checkpoint: str) -> Calibration | None:
    """Return the curves of a checkpoint; None if there are none, or if they were fitted on other weights.

    An exported folder has curves only if they belong to the weights that were exported.
    """
    found = read_calibration(run)
    if found is None or run.is_exported:
        return found
    return found if found.weights == run.weights_hash(checkpoint) else None
