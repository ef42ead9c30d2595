"""The interface of engines, which compute for a translator: search, and log-probabilities and attention of pairs."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from nmt.config import DecodingSettings
from nmt.data.arrays import FloatArray
from nmt.data.learned_lengths import LearnedLengths
from nmt.data.tokenizer import Tokenizer


class Sentence(NamedTuple):
    """A source as token ids, without EOS; the prefix of its translation; and its number, which random draws depend on.

    After the prefix, the translation contains all `phrases`; an empty one is left out. With `is_whole`, the last
    word of the prefix is complete: no token may make it longer.
    """

    source: Sequence[int]
    prefix: Sequence[int] = ()
    number: int = 0
    phrases: Sequence[Sequence[int]] = ()
    is_whole: bool = False

    @property
    def num_given(self) -> int:
        """The number of tokens that the translation has in any case: those of the prefix and of the phrases."""
        return len(self.prefix) + sum(map(len, self.phrases))


class Hypothesis(NamedTuple):
    """A translation as token ids, without EOS, and the score that the search ranks it by, where it ranks.

    `phrases` are the indices of the phrases that the tokens belong to, -1 for none; empty in a search without phrases.
    """

    tokens: list[int]
    score: float | None = None
    phrases: Sequence[int] = ()


class Found(NamedTuple):
    """The hypotheses of a sentence, those of a beam best first, and the seconds that its batch took."""

    hypotheses: list[Hypothesis]
    seconds: float


class Reads(Protocol):
    """A model that reads at most `max_positions` tokens of a sentence, EOS counted; None means no limit.

    `learned_lengths` are those of the lines that it was trained on, None where they are not known.
    """

    max_positions: int | None
    learned_lengths: LearnedLengths | None


class Search(Protocol):
    """A way of searching with a model."""

    def __call__(self, sentences: Sequence[Sentence]) -> list[Found]:
        """Return the hypotheses of all sentences, in their order."""


class Engine(Reads, Protocol):
    """A model with its tokenizer, in the library that computes it."""

    tokenizer: Tokenizer

    def search(self, settings: DecodingSettings, num_hypotheses: int) -> Search:
        """Return a search for `num_hypotheses` of each sentence.

        Raises UserError for a missing shortlist, or for settings that the engine does not support.
        """

    def token_log_probs(
        self, source: Sequence[Sequence[int]], target: Sequence[Sequence[int]], max_tokens: int
    ) -> list[list[float]]:
        """Return the log-probability, in nats, of each token of given translations, EOS last.

        At most `max_tokens` padded tokens of a side go through the model at once.
        """

    def attention(
        self, source: Sequence[Sequence[int]], target: Sequence[Sequence[int]]
    ) -> list[FloatArray] | None:
        """Return the attention of given translations: how much each target token attends to each source token.

        Each is an array (T, S), EOS of both sides counted, or with padding behind it. None for a model without
        attention.
        """


def limit_of(num_source_tokens: int, settings: DecodingSettings, max_positions: int | None) -> int:
    """Return the most tokens, EOS not counted, of the translation of a source of `num_source_tokens`."""
    limit = int(num_source_tokens * settings.max_length_ratio) + settings.max_length_extra
    return max(1, limit if max_positions is None else min(limit, max_positions - 1))


def most_read(model: Reads, max_source_tokens: int) -> tuple[int, int]:
    """Return how many tokens of a source line a model reads, at most `max_source_tokens`, and how many with context."""
    alone = (
        max_source_tokens if model.max_positions is None else min(max_source_tokens, model.max_positions - 1)
    )
    learned = model.learned_lengths and model.learned_lengths.with_context
    return alone, min(alone, learned or alone)
