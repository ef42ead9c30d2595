"""Which languages the lines of a side are in, as lingua guesses them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nmt.errors import UserError

MAX_ASKED = 10_000  # lines of a side; it takes half a minute
LEAST_LETTERS = 20  # of shorter lines nothing certain can be said
# How much more probable the first language must be than the second: names and numbers are at home in many.
LEAST_DISTANCE = 0.25
NUM_EXAMPLES = 5


@dataclass(frozen=True)
class Languages:
    """Languages that lines are guessed to be in; uncertain ones do not count."""

    counts: dict[str, int]  # lines in each language, the most frequent one first
    num_others: int  # lines in any but the first
    lines_of_others: list[int]  # numbers of the first ones, from 1

    @property
    def num_told(self) -> int:
        """How many lines a language was found for."""
        return sum(self.counts.values())


def load_detector() -> Any:
    """Return lingua's detector of all its languages. Raises UserError, with the extra, where lingua is not there."""
    try:
        from lingua import LanguageDetectorBuilder
    except ImportError as error:
        raise UserError(
            f"languages: lingua is needed for languages=true; got {error}; pip install 'nmt[languages]'"
        ) from None
    builder = LanguageDetectorBuilder.from_all_languages()
    return builder.with_minimum_relative_distance(LEAST_DISTANCE).build()


def guess_languages(lines: Sequence[str], detector: Any) -> Languages:
    """Guess the languages of lines, or of as many of them, at even distances, as can be asked for."""
    places = np.unique(np.linspace(0, len(lines) - 1, min(len(lines), MAX_ASKED)).astype(np.int64)).tolist()
    asked = [place for place in places if sum(map(str.isalpha, lines[place])) >= LEAST_LETTERS]
    guesses = detector.detect_languages_in_parallel_of([lines[place] for place in asked])
    told = [
        (place + 1, guess.name.capitalize())
        for place, guess in zip(asked, guesses, strict=True)
        if guess is not None
    ]
    counts = dict(Counter(name for _, name in told).most_common())
    main = next(iter(counts), None)
    others = [line for line, name in told if name != main]
    return Languages(counts, len(others), others[:NUM_EXAMPLES])
