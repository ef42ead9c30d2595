"""Random draws that depend on the seed alone, and are the same in every version of Python."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Chance:
    """A source of draws. Only `Random.random` is used: its sequence is the one that Python keeps stable."""

    def __init__(self, seed: int | str) -> None:
        self._random = Random(seed).random

    def happens(self, probability: float) -> bool:
        """Whether an event of this probability happens."""
        return self._random() < probability

    def choose(self, options: Sequence[T]) -> T:
        """One of the options, all equally likely."""
        return options[int(self._random() * len(options))]

    def weigh(self, options: Mapping[T, float]) -> T:
        """One of the options, each with a probability in proportion to its weight."""
        left = self._random() * sum(options.values())
        for option, weight in options.items():
            left -= weight
            if left < 0:
                return option
        return option
